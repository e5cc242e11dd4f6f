//! Bits that a disk flips are named, and never passed on as packets.

use std::{collections::HashSet, fs};

use tidewire_archive::{Archive, Compression, Identities, Query, Settings};

use crate::rig::{Numbers, Recorder, Seen, drain};

fn packets(numbers: &mut Numbers, count: u64) -> Vec<Seen> {
    let packet = |number: u64| {
        let bytes = if number.is_multiple_of(3) { vec![b'a'; 1400] } else { numbers.bytes(1400) };
        Seen { timestamp_ns: 1_700_000_000_000_000_000 + number, wire_bytes: 1400, link: 1, bytes }
    };
    (0..count).map(packet).collect()
}

#[test]
fn a_bit_that_flips_in_a_compressed_segment_makes_no_other_packet() {
    let mut numbers = Numbers(0xb17_0001);
    let packets = packets(&mut numbers, 1200);
    let known: HashSet<&[u8]> = packets.iter().map(|packet| &*packet.bytes).collect();
    for compression in [Compression::Zstd, Compression::Lz4] {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings { compression, ..Settings::default() };
        let mut recorder = Recorder::new(folder.path(), &settings);
        recorder.segment(&packets, &Identities::default());
        drop(recorder);
        let is_segment = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(compression.ending());
        let entries = fs::read_dir(folder.path()).expect("a directory").flatten().map(|entry| entry.path());
        let path = entries.into_iter().find(is_segment).expect("a segment");
        let whole = fs::read(&path).expect("a segment");
        let mut named = 0;
        for _ in 0..60 {
            let mut bytes = whole.clone();
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << numbers.below(8);
            fs::write(&path, &bytes).expect("written");
            let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
            let Ok(mut all) = archive.recall(&Query::default()) else {
                named += 1;
                continue;
            };
            let (found, errors) = drain(&mut all);
            for packet in &found {
                assert!(known.contains(&*packet.bytes), "{compression:?}: byte {at} made another packet");
            }
            assert!(found.len() == packets.len() || !errors.is_empty(), "{compression:?}: byte {at}");
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            named += usize::from(texts.iter().any(|text| text.contains("compressed frame ")));
        }
        assert!(named > 50, "{compression:?}: {named} of 60 say which frame it is");
    }
}
