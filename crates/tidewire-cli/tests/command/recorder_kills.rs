//! `kill -9` of `tidewire record` at random moments.

use std::{
    collections::BTreeSet,
    env, fs,
    io::Write as _,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use tidewire_files::{Block, Reader, Source as _};
use tidewire_testing::{Ends as _, filters::Numbers};

use crate::common::{Bench, Pcap, command, complaint, text};

/// Kills, unless `KILLS` says how many.
const KILLS: u64 = 6;
const PACKETS: u32 = 6000;

/// A capture whose packets say which ones they are.
fn numbered(from: u32, packets: u32) -> Vec<u8> {
    let mut capture = Pcap::new();
    for number in from..from + packets {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 0, 2, 0x1c, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, (number % 200) as u8]);
        frame.extend([0x30, 0, 0, 53, 2, 8, 0, 0]);
        frame.extend(number.to_be_bytes());
        frame.resize(554, number as u8);
        capture.frame_at(1_700_000_000_000_000 + u64::from(number) * 1000, &frame);
    }
    capture.bytes().to_vec()
}

/// Bytes of segments, complete or not.
fn stored(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_segment = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.contains(".pcapng") && !name.contains(".tidx")
    };
    entries.filter(is_segment).filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

/// Numbers of the packets in an archive. Each is whole, and there once.
fn numbers_in(place: &str, out: &Path) -> BTreeSet<u32> {
    let (said, code) = complaint(&["recall", place, "-w", out.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
    let (mut reader, mut block, mut found) = (Reader::open(out).unwrap(), Block::new(), BTreeSet::new());
    while reader.fill(&mut block).expect("whole") {
        let batch = block.batch();
        for frame in batch.frames {
            let bytes = batch.bytes(frame);
            let number = u32::from_be_bytes(bytes[42..46].try_into().unwrap());
            assert!(bytes.len() == 554 && bytes[46..].iter().all(|byte| *byte == number as u8), "packet {number}");
            assert!(found.insert(number), "packet {number} is there twice");
        }
    }
    found
}

#[test]
fn a_killed_recorder_leaves_whole_packets_that_the_next_one_repairs() {
    let variable = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
    let (kills, seed) = (variable("KILLS").unwrap_or(KILLS), variable("SEED").unwrap_or(14));
    let mut random = Numbers(seed);
    let bench = Bench::new();
    let (capture, one) = (numbered(0, PACKETS), bench.file("one.pcap", &numbered(1_000_000, 1)));
    let out = bench.path("out.pcapng");
    let (mut repaired, mut kept) = (0, 0);
    for kill in 0..kills {
        let archive = bench.path(&format!("archive{kill}"));
        let place = archive.to_str().unwrap();
        let mut words = vec!["record", "-r", "-", "-o", place, "--durable", "5ms", "--segment-size", "200K"];
        // Compressed bytes are written when a frame is full, or synced.
        match random.below(4) {
            0 => words.extend(["--compress", "zstd"]),
            1 => words.extend(["--compress", "lz4"]),
            _ => {}
        }
        let mut recorder =
            command(&words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = recorder.stdin.take().unwrap();
        let fed = capture.clone();
        let pace = random.below(300);
        let feeder = thread::spawn(move || {
            for piece in fed.chunks(20_000) {
                if input.write_all(piece).is_err() {
                    return;
                }
                thread::sleep(Duration::from_micros(pace));
            }
            // It is killed before its input ends.
            thread::sleep(Duration::from_millis(300));
        });
        tidewire_testing::wait_until("a segment", || stored(&archive) > 0);
        let until = Instant::now() + Duration::from_micros(random.below(90_000));
        while Instant::now() < until {
            thread::sleep(Duration::from_micros(200));
        }
        let before = stored(&archive);
        recorder.kill().unwrap();
        recorder.wait_in_time("a killed recorder");
        feeder.join().expect("it feeds");
        let said = format!("kill {kill} of seed {seed}: {words:?}");
        let (complained, code) = complaint(&["record", "-r", &one, "-o", place]);
        assert_eq!(code, 0, "{said}: {complained}");
        repaired += u64::from(complained.contains("repaired: "));
        let (verified, code) = text(&["record", "--verify", place]);
        assert_eq!(code, 0, "{said}: {verified}");
        let mut found = numbers_in(place, &out);
        assert!(found.remove(&1_000_000), "{said}");
        // The first ones, without a hole: what was in the files at least.
        let hole = found.iter().copied().zip(0..).find(|(number, expected)| number != expected);
        assert!(hole.is_none(), "{said}: {hole:?} of {}", found.len());
        if words.len() == 9 {
            assert!(found.len() as u64 * 592 + 100_000 > before, "{said}: {} packets, {before} bytes", found.len());
        }
        kept += found.len();
        fs::remove_dir_all(&archive).unwrap();
    }
    println!("{kills} kills: {kept} packets kept, {repaired} segments repaired");
    // A segment that had just been ended needs no repair: few kills say nothing of how often.
    assert!(kills < 50 || repaired > kills / 4);
    assert!(kept as u64 > kills * 10, "{kept} packets kept");
}
