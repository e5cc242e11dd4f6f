//! Merging by time, of few files and of more than a process may open.

use crate::common::{FORMS, Numbers, Order, Packet, drain, gzip, pcap, zstd};
use std::path::PathBuf;
use tidewire_files::{Error, Merge};

/// A packet whose bytes name its file and its place there.
fn packet(file: usize, place: usize, micros: u64) -> Packet {
    let bytes = [(file as u32).to_be_bytes(), (place as u32).to_be_bytes()].concat();
    Packet { timestamp_ns: micros * 1000, wire_bytes: bytes.len() as u32, bytes, link: 1, interface: 0 }
}

/// Merged one packet at a time by looking at every head.
fn naive(files: &[Vec<Packet>]) -> Vec<Packet> {
    let mut next = vec![0; files.len()];
    let mut merged = Vec::new();
    let mut interfaces = Vec::new();
    loop {
        let heads = files.iter().enumerate().filter_map(|(file, packets)| Some((packets.get(next[file])?, file)));
        let Some((head, file)) = heads.min_by_key(|(packet, file)| (packet.timestamp_ns, *file)) else { return merged };
        if !interfaces.contains(&file) {
            interfaces.push(file);
        }
        let interface = interfaces.iter().position(|&known| known == file).unwrap() as u16;
        merged.push(Packet { interface, ..head.clone() });
        next[file] += 1;
    }
}

struct Folder {
    folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), paths: Vec::new() }
    }

    fn add(&mut self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(format!("{}.pcap", self.paths.len()));
        std::fs::write(&path, bytes).unwrap();
        self.paths.push(path.clone());
        path
    }
}

#[test]
fn files_are_merged_by_time_and_stably() {
    let mut numbers = Numbers(5);
    for files_count in [2, 3, 17, 300] {
        let mut folder = Folder::new();
        let mut files = Vec::new();
        for file in 0..files_count {
            let mut micros = numbers.below(1000);
            let mut packets = Vec::new();
            for place in 0..numbers.below(60) as usize {
                // Equal times, and now and then a step back, which a file keeps.
                micros = (micros + numbers.below(20)).saturating_sub(if numbers.below(8) == 0 { 30 } else { 0 });
                packets.push(packet(file, place, micros));
            }
            let (bytes, _) = pcap(FORMS[file % 2], Order { big_endian: file % 3 == 0 }, 1, &packets);
            folder.add(&match file % 5 {
                0 => gzip(&bytes),
                1 => zstd(&bytes),
                _ => bytes,
            });
            files.push(packets);
        }
        let merge = Merge::open(&folder.paths).unwrap();
        let got = drain(merge);
        assert!(got.errors.is_empty(), "{:?}", got.errors);
        assert_eq!(got.packets, naive(&files), "{files_count} files");
        assert!(got.frames.iter().all(|frame| frame.origin == 0));
    }
}

/// 5,000 files, more than a process may open: one after the other in time, and all at once.
#[test]
fn there_may_be_more_files_than_descriptors() {
    for step in [100u64, 0] {
        let mut folder = Folder::new();
        let files: Vec<Vec<Packet>> = (0..5000)
            .map(|file| (0..5).map(|place| packet(file, place, file as u64 * step + 10 * place as u64)).collect())
            .collect();
        for packets in &files {
            folder.add(&pcap(FORMS[0], Order { big_endian: false }, 1, packets).0);
        }
        let merge = Merge::open(&folder.paths).unwrap();
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
        assert!(descriptors < 600, "{descriptors} open files");
        let got = drain(merge);
        assert!(got.errors.is_empty(), "{:?}", got.errors);
        let mut expected: Vec<Packet> = files.into_iter().flatten().collect();
        expected.sort_by_key(|packet| packet.timestamp_ns);
        assert_eq!(got.packets.len(), expected.len());
        let bytes = |packets: Vec<Packet>| packets.into_iter().map(|packet| packet.bytes).collect::<Vec<_>>();
        assert!(bytes(got.packets) == bytes(expected));
    }
}

#[test]
fn damage_in_one_file_does_not_stop_the_others() {
    let mut folder = Folder::new();
    let packets = |file| (0..10).map(|place| packet(file, place, 10 * place as u64)).collect::<Vec<_>>();
    let files = [packets(0), packets(1), packets(2)];
    let order = Order { big_endian: false };
    folder.add(&pcap(FORMS[0], order, 1, &files[0]).0);
    let (bytes, starts) = pcap(FORMS[0], order, 1, &files[1]);
    folder.add(&bytes[..starts[4] as usize + 20]);
    folder.add(b"");
    folder.add(&pcap(FORMS[0], order, 1, &files[2]).0);
    let (bytes, starts) = pcap(FORMS[0], order, 1, &packets(4));
    folder.add(&bytes[..starts[0] as usize + 3]);
    let merge = Merge::open(&folder.paths).unwrap();
    let got = drain(merge);
    let mut expected = files.to_vec();
    expected[1].truncate(4);
    assert_eq!(got.packets, naive(&expected));
    let errors: Vec<String> = got.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("2.pcap: is empty")));
    assert!(errors.iter().any(|error| error.contains("1.pcap: damaged at byte")));
    assert!(errors.iter().any(|error| error.contains("4.pcap: damaged at byte 24:")));
}

#[test]
fn errors_of_the_caller_are_reported_at_once() {
    let mut folder = Folder::new();
    let good = folder.add(&pcap(FORMS[0], Order { big_endian: false }, 1, &[packet(0, 0, 0)]).0);
    let text = folder.add(b"no capture");
    let missing = folder.folder.path().join("missing");
    let open = |other: PathBuf| Merge::open(&[good.clone(), other]).map(|_| ()).unwrap_err();
    assert!(matches!(open(text), Error::NotACapture { .. }));
    assert!(matches!(open(missing), Error::Missing { .. }));
    assert!(matches!(open(folder.folder.path().to_path_buf()), Error::Directory { .. }));
}

#[test]
fn progress_ends_at_the_sizes_of_the_files() {
    use tidewire_files::{Block, Source};
    for files_count in [3, 300] {
        let mut folder = Folder::new();
        for file in 0..files_count {
            let packets: Vec<Packet> = (0..400).map(|place| packet(file, place, place as u64)).collect();
            folder.add(&pcap(FORMS[0], Order { big_endian: false }, 1, &packets).0);
        }
        let total: u64 = folder.paths.iter().map(|path| path.metadata().unwrap().len()).sum();
        let mut merge = Merge::open(&folder.paths).unwrap();
        assert_eq!(merge.bytes_total(), Some(total));
        let mut block = Block::new();
        while merge.fill(&mut block).unwrap() {
            assert!(merge.bytes_read() <= total);
        }
        assert_eq!(merge.bytes_read(), total);
    }
}
