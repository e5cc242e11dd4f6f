//! Any bytes as files of an archive: a segment, plain or compressed, without an index; the index of a small segment; a manifest. Nothing
//! panics, every search ends, and what it finds is bounded by what is there. Used by the fuzz target and by the test that replays the seeds.

use std::{fs, path::Path};
use tidewire_wire::Timestamp;

use tidewire_archive::{Archive, Compression, Error, Identities, Query, SegmentName, block, verify};

/// Bytes of a file at most: searches are what is tried, not reading.
const BYTES_MAX: usize = 256 << 10;
/// Packets at most that are taken of one search: an index may name the same bytes many times.
const PACKETS_MAX: usize = 100_000;

/// The segment that hostile indexes are beside: 40 packets of eight flows.
pub fn segment() -> Vec<u8> {
    let mut bytes = Vec::new();
    block::section_header(&mut bytes, &block::Writer::default());
    block::interface_description(&mut bytes, &block::Interface::new("fuzz0", tidewire_wire::LinkType::ETHERNET));
    for number in 0..40_u8 {
        let flow = number % 8;
        let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        packet.extend([0x45, 0, 0, 32, 0, number, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 + flow]);
        packet.extend([0x30, flow, 0, 53, 0, 12, 0, 0, number, 1, 2, 3]);
        let time = 1_700_000_000_000_000_000 + u64::from(number) * 1_000_000;
        block::enhanced_packet(
            &mut bytes,
            &block::Packet::new(0, Timestamp::from_nanos(time), &packet, packet.len() as u32),
        );
    }
    bytes
}

fn name(compression: Compression) -> SegmentName {
    SegmentName { begun_ns: 1_700_000_000_000_000_000, worker: 0, sequence: 1, compression, is_sealed: false }
}

/// The first byte says what the rest is. `folder`: an empty directory, which is emptied afterwards.
pub fn run(folder: &Path, input: &[u8]) {
    let Some((&what, rest)) = input.split_first() else { return };
    let rest = rest.get(..BYTES_MAX).unwrap_or(rest);
    let write = |name: String, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("a file");
    match what % 5 {
        kind @ 0..=2 => {
            write(name(Compression::ALL[usize::from(kind)]).to_string(), rest);
            search(folder);
        }
        3 => {
            let name = name(Compression::None);
            write(name.to_string(), &segment());
            let mut index = rest.to_vec();
            correct(&mut index);
            write(name.index(), &index);
            search(folder);
        }
        _ => {
            write("manifest.jsonl".into(), rest);
            write(name(Compression::None).to_string(), &segment());
            let _ = verify(folder);
        }
    }
    for entry in fs::read_dir(folder).expect("the directory").flatten() {
        let _ = fs::remove_file(entry.path());
    }
}

fn search(folder: &Path) {
    for query in [
        Query::default(),
        Query { filter: Some("udp port 53 and host 10.0.0.3".into()), ..Query::default() },
        Query { from_ns: Some(1_700_000_000_010_000_000), to_ns: Some(1_700_000_000_020_000_000), ..Query::default() },
        Query { stream: Some(3), ..Query::default() },
        Query { ports: vec![53], community_id: Some("1:none".into()), ..Query::default() },
    ] {
        let Ok(mut recall) = Archive::open([folder], Identities::default()).and_then(|archive| archive.recall(&query))
        else {
            continue;
        };
        let (mut packets, mut problems) = (0, 0);
        while packets < PACKETS_MAX {
            match recall.next_packet() {
                Ok(None) => break,
                Ok(Some(_)) => packets += 1,
                Err(Error::Damaged { .. } | Error::File(_) | Error::Filter(_)) => problems += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(problems <= 4, "each capture has one problem, and each index");
        }
    }
}

/// Makes checksums of the header's table and of whole sections right: a forged index has them.
fn correct(index: &mut [u8]) {
    const HEAD: usize = 24;
    const ENTRY: usize = 24;
    let word = |index: &[u8], at: usize| {
        index.get(at..at + 4).map_or(0, |word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
    };
    let long = |index: &[u8], at: usize| u64::from(word(index, at)) | u64::from(word(index, at + 4)) << 32;
    let count = word(index, 12).min(64) as usize;
    for at in (0..count).map(|entry| HEAD + entry * ENTRY) {
        let (start, bytes) = (long(index, at + 8) as usize, long(index, at + 16) as usize);
        let sum = start.checked_add(bytes).and_then(|end| index.get(start..end)).map(crc32c::crc32c);
        // Pages have checksums of their own.
        if let (Some(sum), 1 | 2 | 4 | 6, true) = (sum, word(index, at), at + 8 <= index.len()) {
            index[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }
    if let Some(sum) = index.get(HEAD..HEAD + count * ENTRY).map(crc32c::crc32c) {
        index[16..20].copy_from_slice(&sum.to_le_bytes());
    }
}
