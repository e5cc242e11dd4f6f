//! Syncs that fail. The system forgets what it could not write, and the next sync says that all is well.

use super::{
    block, found,
    lossy::{Lossy, Numbers, Unwritten},
    packet,
};
use crate::{Compression, Directory, Error, Identities, SegmentWriter, Settings, Storage as _, name::MANIFEST};
use tidewire_wire::{LinkType, Timestamp};

/// Writes a segment, and calls until it works, or something is lost. Returns its packets, each with where it ends, how many bytes were
/// acknowledged, and whether something was lost.
fn written(
    storage: &Lossy,
    settings: &Settings,
    numbers: &mut Numbers,
    syncs_one_in: u64,
    finishes: bool,
) -> (Vec<(u64, Vec<u8>)>, u64, bool) {
    let directory = loop {
        let manifest = storage.create(&format!("{MANIFEST}{}", numbers.below(u64::MAX)));
        if let Ok(directory) = Directory::with_storage(storage.clone(), settings, manifest.expect("a file")) {
            break directory;
        }
    };
    let name = directory.begin(1_700_000_000_000_000_000, 0);
    let mut writer = SegmentWriter::create(storage, &name, None).expect("a segment");
    let mut head = Vec::new();
    block::section_header(&mut head, &block::Writer::default());
    block::interface_description(&mut head, &block::Interface::new("eth0", LinkType::ETHERNET));
    let mut at = head.len() as u64;
    let (mut packets, mut acknowledged) = (Vec::new(), 0);
    let mut bytes = head;
    for number in 0..60 {
        let packet = packet(number, numbers);
        let time = 1_700_000_000_000_000_000 + number;
        at += u64::from(block::enhanced_packet(
            &mut bytes,
            &block::Packet::new(0, Timestamp::from_nanos(time), &packet, packet.len() as u32),
        ));
        match writer.write(&bytes) {
            Ok(()) => packets.push((at, packet)),
            Err(Error::Lost { .. }) => return (packets, acknowledged, true),
            Err(error) => panic!("{error}"),
        }
        bytes.clear();
        // As the recorder does: a sync that failed is reported, and the next one comes in time.
        if numbers.below(syncs_one_in) == 0 {
            match writer.sync() {
                Err(Error::Lost { .. }) => return (packets, acknowledged, true),
                _ => acknowledged = writer.durable_bytes(),
            }
        }
    }
    if !finishes {
        return (packets, acknowledged, false);
    }
    loop {
        match writer.finish() {
            Ok(_) => return (packets, at, false),
            Err(Error::Lost { .. }) => return (packets, acknowledged, true),
            Err(_) => {}
        }
    }
}

/// Checks that acknowledged packets are found after the power failed, and no packet that was not written.
fn check(
    case: &str,
    storage: &Lossy,
    settings: &Settings,
    numbers: &mut Numbers,
    recorded: &(Vec<(u64, Vec<u8>)>, u64),
) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    storage.after_power_failure(folder.path(), numbers);
    let directory = Directory::open(folder.path(), settings, 1).expect("a directory");
    directory.repair(&Identities::default(), 1).expect("repaired");
    drop(directory);
    let found = found(folder.path());
    for (number, (end, packet)) in recorded.0.iter().enumerate() {
        let there = found.get(&(number as u64));
        assert!(there.is_none_or(|there| there == packet), "{case}: packet {number} is another one");
        assert!(there.is_some() || *end > recorded.1, "{case}: packet {number} was acknowledged, and is lost");
    }
    found.len()
}

#[test]
fn what_a_failed_sync_left_is_written_again_or_reported_as_lost() {
    let (mut failed, mut lost, mut whole) = (0, 0, 0);
    for round in 0..90 {
        let mut numbers = Numbers::new(21, round);
        let compression = Compression::ALL[(round % 3) as usize];
        let settings = Settings { compression, ..Settings::default() };
        let unwritten = if round % 2 == 0 { Unwritten::Kept } else { Unwritten::Dropped };
        let storage = Lossy::with_syncs(2 + round % 4, Numbers::new(22, round), unwritten);
        let (packets, acknowledged, is_lost) = written(&storage, &settings, &mut numbers, 3, true);
        failed += storage.failed();
        assert!(!is_lost || unwritten == Unwritten::Dropped, "round {round}: it was in memory");
        lost += u64::from(is_lost);
        whole += u64::from(!is_lost);
        check(&format!("round {round}"), &storage, &settings, &mut numbers, &(packets, acknowledged));
    }
    println!("{failed} syncs failed; of {} segments {lost} were lost in part", lost + whole);
    assert!(failed > 400 && lost > 4 && whole > 40, "{failed} {lost} {whole}");
}

#[test]
fn sectors_that_a_disk_stores_in_any_order_leave_no_zeros_in_a_packet() {
    let (mut kept, mut all) = (0, 0);
    for round in 0..60 {
        let mut numbers = Numbers::new(23, round);
        let compression = Compression::ALL[(round % 3) as usize];
        let settings = Settings { compression, ..Settings::default() };
        let storage = Lossy::new(u64::MAX);
        let (packets, acknowledged, _) = written(&storage, &settings, &mut numbers, 12, false);
        all += packets.len();
        kept += check(&format!("round {round}"), &storage, &settings, &mut numbers, &(packets, acknowledged));
    }
    println!("{kept} of {all} packets kept");
    assert!(kept > all / 4 && kept < all, "{kept} of {all}");
}
