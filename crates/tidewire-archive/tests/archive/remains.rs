//! A segment that was not completed is read as far as the next repair keeps it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidewire_archive::{Archive, Directory, Identities, Query, Settings};

use crate::rig::{Numbers, Seen, drain, encoded, recall};

/// Bytes of a segment that have a checksum together.
const PIECE: usize = 64 << 10;
/// Where the file of checksums has the random number of the machine's start.
const BOOT_AT: usize = 64 + 8;

fn packets(count: u64) -> Vec<Seen> {
    let mut numbers = Numbers(0x0e_0001);
    let packet = |number: u64| Seen {
        timestamp_ns: 1_700_000_000_000_000_000 + number,
        wire_bytes: 700,
        link: 1,
        bytes: numbers.bytes(700),
    };
    (0..count).map(packet).collect()
}

/// A segment under its hidden name, of which the first `synced` bytes are durable. Returns its path and that of its checksums.
fn left(folder: &Path, packets: &[Seen], synced: usize) -> (PathBuf, PathBuf) {
    let directory = Directory::open(folder, &Settings::default(), 1).expect("a directory");
    let name = directory.begin(1_700_000_000_000_000_000, 0);
    let mut writer = directory.create(&name).expect("a file");
    let bytes = encoded(packets);
    writer.write(&bytes[..synced]).expect("written");
    writer.sync().expect("synced");
    writer.write(&bytes[synced..]).expect("written");
    drop(writer);
    // As if all of it was in memory when the recorder was killed.
    fs::write(folder.join(name.hidden()), bytes).expect("written");
    (folder.join(name.hidden()), folder.join(format!(".{name}.sums")))
}

/// The machine was started since, as far as the file of checksums says: its record of that is spoiled.
fn restart(sums: &Path) {
    let mut bytes = fs::read(sums).expect("checksums");
    bytes[BOOT_AT] ^= 1;
    fs::write(sums, bytes).expect("written");
}

/// The packets that a recall finds, and its errors.
fn recalled(folder: &Path) -> (Vec<Seen>, String) {
    let archive = Archive::open([folder], Identities::default()).expect("an archive");
    let (found, errors) = drain(&mut archive.recall(&Query::default()).expect("a query"));
    (found, errors.iter().map(ToString::to_string).collect())
}

fn repaired(folder: &Path) -> Vec<Seen> {
    let directory = Directory::open(folder, &Settings::default(), 2).expect("a directory");
    directory.repair(&Identities::default(), 3).expect("repaired");
    drop(directory);
    recall(folder, &Query::default())
}

#[test]
fn zeros_that_a_power_failure_left_are_never_packets() {
    let packets = packets(1000);
    let block = encoded(&packets[..2]).len() - encoded(&packets[..1]).len();
    for (synced, zeros) in [(PIECE, 5 * PIECE), (PIECE, 5 * PIECE + 512), (3 * PIECE, 3 * PIECE)] {
        let folder = tempfile::tempdir().expect("a folder");
        let (part, sums) = left(folder.path(), &packets, synced);
        restart(&sums);
        let mut bytes = fs::read(&part).expect("a segment");
        bytes[zeros..zeros + 512].fill(0);
        fs::write(&part, &bytes).expect("written");
        let (found, said) = recalled(folder.path());
        assert!(packets.starts_with(&found) && said.is_empty(), "{said}");
        let kept = zeros / PIECE * PIECE / block;
        assert!((kept - 2..=kept).contains(&found.len()), "{} of {kept}", found.len());
        assert_eq!(repaired(folder.path()), found);
    }
}

/// Who looks closer may find packets in it.
#[test]
fn a_segment_whose_checksums_are_gone_is_named_and_set_aside_whole() {
    let packets = packets(1000);
    for content in [Vec::new(), vec![0; 4096]] {
        let folder = tempfile::tempdir().expect("a folder");
        let (part, sums) = left(folder.path(), &packets, encoded(&packets).len());
        let before = fs::read(&part).expect("a segment");
        fs::write(&sums, content).expect("written");
        let (found, said) = recalled(folder.path());
        assert!(found.is_empty() && said.contains("sets the file aside"), "{said}");
        assert_eq!(repaired(folder.path()), []);
        let aside = part.with_added_extension("damaged");
        assert!(fs::read(aside).expect("set aside") == before, "as it was");
    }
}

#[test]
fn what_the_disk_changed_is_left_out_and_named() {
    let packets = packets(1000);
    let folder = tempfile::tempdir().expect("a folder");
    let synced = encoded(&packets).len();
    let (part, _) = left(folder.path(), &packets, synced);
    let mut bytes = fs::read(&part).expect("a segment");
    bytes[synced / 2] ^= 1;
    fs::write(&part, &bytes).expect("written");
    let (found, said) = recalled(folder.path());
    assert!(said.contains("changed by the disk"), "{said}");
    assert!((850..1000).contains(&found.len()) && found.last() == packets.last(), "{}", found.len());
    assert_eq!(repaired(folder.path()), found);
}

#[test]
fn a_kill_costs_no_whole_block_where_the_machine_runs_on() {
    let packets = packets(1000);
    let bytes = encoded(&packets);
    let block = encoded(&packets[..2]).len() - encoded(&packets[..1]).len();
    for (kept, was_restarted) in [(5 * PIECE + 40_000, false), (5 * PIECE + 40_000, true), (5 * PIECE + 9, false)] {
        // Bytes that were not written are not there, or were allocated and are zeros.
        for is_allocated in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            let (part, sums) = left(folder.path(), &packets, PIECE);
            if was_restarted {
                restart(&sums);
            }
            let mut content = bytes[..kept].to_vec();
            if is_allocated {
                content.resize(bytes.len(), 0);
            }
            fs::write(&part, content).expect("written");
            let (found, said) = recalled(folder.path());
            assert!(packets.starts_with(&found) && said.is_empty(), "{said}");
            let whole = if was_restarted { 5 * PIECE } else { kept } / block;
            assert!((whole - 1..=whole).contains(&found.len()), "{kept}, {was_restarted}: {} of {whole}", found.len());
            assert_eq!(repaired(folder.path()), found);
        }
    }
}

#[test]
fn a_page_of_zeros_ends_what_is_kept_after_a_kill() {
    let packets = packets(1000);
    let folder = tempfile::tempdir().expect("a folder");
    let (part, _) = left(folder.path(), &packets, PIECE);
    let mut bytes = fs::read(&part).expect("a segment");
    // As a disk that was away leaves it: what was in memory is lost, page by page.
    let lost = 5 * PIECE + 3 * 4096;
    bytes[lost..lost + 4096].fill(0);
    fs::write(&part, &bytes).expect("written");
    let found = recalled(folder.path()).0;
    let block = encoded(&packets[..2]).len() - encoded(&packets[..1]).len();
    let (least, most) = (5 * PIECE / block, lost / block);
    assert!(packets.starts_with(&found) && (least..=most).contains(&found.len()), "{} of {most}", found.len());
    assert_eq!(repaired(folder.path()), found);
}

#[test]
fn what_is_being_written_is_read_up_to_its_end() {
    let packets = packets(1000);
    let folder = tempfile::tempdir().expect("a folder");
    let (part, _) = left(folder.path(), &packets, PIECE);
    let mut bytes = fs::read(&part).expect("a segment");
    // Its checksum is that of what will be here.
    let end = bytes.len() - 40_000;
    bytes[end..].fill(0);
    fs::write(&part, &bytes).expect("written");
    let recorder = Directory::open(folder.path(), &Settings::default(), 2).expect("a directory");
    let found = recalled(folder.path()).0;
    assert!(packets.starts_with(&found) && found.len() > end / 740, "{}", found.len());
    drop(recorder);
}

#[test]
fn what_is_no_segment_ends_a_search_for_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let (part, sums) = left(folder.path(), &packets(100), PIECE);
    let whole = fs::read(&part).expect("a segment");
    let mut numbers = Numbers(0x0e_0002);
    for round in 0..40 {
        let mut bytes = if round == 0 { vec![0; 1 << 20] } else { whole.clone() };
        for _ in 0..round {
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] = numbers.below(256) as u8;
        }
        fs::write(&part, &bytes).expect("written");
        if round % 2 == 0 {
            let _ = fs::remove_file(&sums);
        }
        let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
        for stream in [1, 50, u64::MAX] {
            let query = Query { stream: Some(stream), ..Query::default() };
            drain(&mut archive.recall(&query).expect("a query"));
        }
        let query = Query { community_id: Some("1:LQU9qZlK+B5F3KDmev6m5PMibrg=".into()), ..Query::default() };
        assert!(drain(&mut archive.recall(&query).expect("a query")).0.is_empty());
    }
}

#[test]
fn packets_of_several_open_segments_keep_their_numbers_when_they_are_repaired() {
    let packets = packets(900);
    let folder = tempfile::tempdir().expect("a folder");
    let directory = Directory::open(folder.path(), &Settings::default(), 1).expect("a directory");
    for (worker, part) in packets.chunks(300).enumerate() {
        let name = directory.begin(1_700_000_000_000_000_000 + worker as u64, worker as u16);
        let mut writer = directory.create(&name).expect("a file");
        writer.write(&encoded(part)).expect("written");
        writer.sync().expect("synced");
    }
    drop(directory);
    let numbers = || {
        let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
        let (mut recall, mut numbers) = (archive.recall(&Query::default()).expect("a query"), Vec::new());
        while let Some(found) = recall.next_packet().expect("whole") {
            numbers.push(found.frame.number);
        }
        numbers
    };
    let before = numbers();
    assert_eq!(before, (1..=900).collect::<Vec<u64>>());
    repaired(folder.path());
    assert_eq!(numbers(), before);
}
