//! Bounds hold, whatever the clock does, and nothing is removed that is being read.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use tidewire_archive::{Archive, Identities, Now, Query, Retention, Settings};
use tidewire_files::{Block, Source as _};

use crate::rig::{Numbers, Recorder, Seen, recall};

const BEGUN_NS: u64 = 1_700_000_000_000_000_000;
const HOUR: Duration = Duration::from_secs(3600);

fn packets(numbers: &mut Numbers, from: u64, count: u64) -> Vec<Seen> {
    let packet = |number: u64| {
        let timestamp_ns = BEGUN_NS + (from + number) * 1_000_000;
        Seen { timestamp_ns, wire_bytes: 1000, link: 1, bytes: numbers.bytes(1000) }
    };
    (0..count).map(packet).collect()
}

/// Bytes of all files.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a directory").flatten();
    entries.map(|entry| entry.metadata().expect("a file").len()).sum()
}

fn at(wall: Duration, instant: Instant) -> Now {
    Now { wall_ns: BEGUN_NS + wall.as_nanos() as u64, instant, up: Duration::ZERO }
}

#[test]
fn the_size_is_never_exceeded_by_more_than_one_segment() {
    let mut numbers = Numbers(0x5e6_0001);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings { segment_bytes: 60_000, ..Settings::default() };
    let mut recorder = Recorder::new(folder.path(), &settings);
    let retention = Retention { size_bytes: Some(300_000), ..Retention::default() };
    let mut removed = 0;
    for segment in 0..90 {
        let count = 20 + numbers.below(30);
        recorder.segment(&packets(&mut numbers, segment * 50, count), &Identities::default());
        assert!(size(folder.path()) <= 300_000 + 60_000, "{}", size(folder.path()));
        let now = at(Duration::from_secs(segment), Instant::now());
        removed += recorder.directory.retain(&retention, 1, &now).expect("removed").len();
        assert!(size(folder.path()) <= 300_000);
    }
    assert!(removed > 75, "{removed}");
    // The oldest went.
    let left = recall(folder.path(), &Query::default());
    assert_eq!(left.last().map(|packet| packet.timestamp_ns / 1_000_000 % 10_000 / 50), Some(89));
    assert!(left.is_sorted_by_key(|packet| packet.timestamp_ns));
}

/// Where the bound is small, so is the manifest: lines of segments that are gone take no room from those that are there.
#[test]
fn the_manifest_takes_a_small_part_of_the_size() {
    let mut numbers = Numbers(0x5e6_0005);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings { segment_bytes: 8_000, ..Settings::default() };
    let mut recorder = Recorder::new(folder.path(), &settings);
    let retention = Retention { size_bytes: Some(100_000), ..Retention::default() };
    for segment in 0..300 {
        recorder.segment(&packets(&mut numbers, segment * 10, 6), &Identities::default());
        let now = at(Duration::from_secs(segment), Instant::now());
        recorder.directory.retain(&retention, 1, &now).expect("removed");
        assert!(size(folder.path()) <= 100_000, "{}", size(folder.path()));
    }
    assert!(recorder.directory.kept().bytes > 70_000, "{:?}", recorder.directory.kept());
    let found = tidewire_archive::verify(folder.path()).expect("read");
    assert!(found.findings.is_empty() && found.removed + found.intact == 300, "{found:?}");
}

/// A run of a minute a day removes what is old, if the machine had time to get the right clock, and nothing that it has just recorded.
#[test]
fn short_runs_remove_what_earlier_ones_left() {
    let mut numbers = Numbers(0x5e6_0006);
    let retention = Retention { age: Some(HOUR), ..Retention::default() };
    let folder = tempfile::tempdir().expect("a folder");
    for run in 0..4 {
        // As of capture files: no bound by time, so that indexes know how old segments are.
        let segment_time = if run < 2 { Duration::MAX } else { Duration::from_secs(60) };
        let mut recorder = Recorder::new(folder.path(), &Settings { segment_time, ..Settings::default() });
        recorder.segment(&packets(&mut numbers, run * 50, 20), &Identities::default());
        let retain = |up: Duration| {
            let now = Now { up, ..at(HOUR * 24 * 300, Instant::now()) };
            recorder.directory.retain(&retention, 1, &now).expect("removed").len()
        };
        assert_eq!(retain(Duration::from_secs(599)), 0, "the clock may be that of its battery");
        assert_eq!(retain(Duration::from_secs(600)), usize::from(run > 0));
        assert_eq!(recorder.directory.kept().segments, 1);
    }
}

/// One packet of a segment has a time that is decades ahead: the segment is as old as the others.
#[test]
fn a_packet_decades_ahead_keeps_no_segment() {
    let mut numbers = Numbers(0x5e6_0008);
    let retention = Retention { age: Some(HOUR), ..Retention::default() };
    for segment_time in [Duration::MAX, Duration::from_secs(60)] {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = || Settings { segment_time, ..Settings::default() };
        let mut some = packets(&mut numbers, 0, 20);
        some[7].timestamp_ns += 50 * 365 * 86_400 * 1_000_000_000;
        Recorder::new(folder.path(), &settings()).segment(&some, &Identities::default());
        let mut recorder = Recorder::new(folder.path(), &settings());
        recorder.segment(&packets(&mut numbers, 50, 20), &Identities::default());
        let now = Now { up: Duration::from_secs(600), ..at(HOUR * 24 * 3650, Instant::now()) };
        assert_eq!(recorder.directory.retain(&retention, 1, &now).expect("removed").len(), 1, "{segment_time:?}");
    }
}

/// Names have the times at which segments began.
#[test]
fn a_clock_that_was_set_back_keeps_the_newest() {
    let mut numbers = Numbers(0x5e6_0007);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    let mut names = Vec::new();
    for segment in 0..6 {
        if segment == 3 {
            recorder.now_ns -= 86_400_000_000_000;
        }
        names.push(recorder.segment(&packets(&mut numbers, segment * 2000, 2000), &Identities::default()));
    }
    let bytes = folder.path().join(names[0].to_string()).metadata().expect("a file").len();
    let retention = Retention { size_bytes: Some(bytes * 9 / 2), ..Retention::default() };
    let removed = recorder.directory.retain(&retention, 1, &at(Duration::ZERO, Instant::now())).expect("removed");
    assert!(!removed.is_empty() && removed.len() < 4, "{removed:?}");
    let first: Vec<_> = removed.into_iter().map(|removed| removed.name).collect();
    assert_eq!(first, names[..first.len()]);
}

#[test]
fn what_is_being_read_stays() {
    let mut numbers = Numbers(0x5e6_0002);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    for segment in 0..4 {
        recorder.segment(&packets(&mut numbers, segment * 2000, 2000), &Identities::default());
    }
    let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
    let mut reading = archive.recall(&Query::default()).expect("a query");
    let mut block = Block::new();
    assert!(reading.fill(&mut block).expect("packets"));
    let mut seen = block.batch().frames.len();
    let retention = Retention { size_bytes: Some(1), ..Retention::default() };
    let now = at(Duration::ZERO, Instant::now());
    let removed = recorder.directory.retain(&retention, 1, &now).expect("removed");
    assert_eq!(removed.len(), 3, "all but the one that is being read");
    while reading.fill(&mut block).expect("packets") {
        seen += block.batch().frames.len();
    }
    assert_eq!(seen, 2000, "the first segment whole; those that were removed are no error");
    assert_eq!(reading.figures().captures_gone, 3, "they are counted");
    drop(reading);
    assert_eq!(recorder.directory.retain(&retention, 1, &now).expect("removed").len(), 1);
}

#[test]
fn a_clock_that_jumps_removes_nothing_early_and_nothing_stays_for_ever() {
    let mut numbers = Numbers(0x5e6_0003);
    let retention = Retention { age: Some(HOUR), ..Retention::default() };
    let day = HOUR * 24;
    // The wall clock, as far as it is from the true one after a while, and back again.
    for jump in [day * 4000, HOUR * 2, Duration::ZERO] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::new(folder.path(), &Settings::default());
        recorder.segment(&packets(&mut numbers, 0, 20), &Identities::default());
        let begun = Instant::now();
        let retain = |wall: Duration, elapsed: Duration| {
            recorder.directory.retain(&retention, 1, &at(wall, begun + elapsed)).expect("removed").len()
        };
        assert_eq!(retain(Duration::from_secs(61), Duration::ZERO), 0);
        let minutes = |count: u32| Duration::from_secs(60) * count;
        for minute in 1..59 {
            // To and fro.
            let wall = minutes(minute) + if minute % 2 == 0 { jump } else { Duration::ZERO };
            assert_eq!(retain(wall, minutes(minute)), 0, "minute {minute} of {jump:?}");
        }
        // A clock that went back makes it younger, as long as it does.
        assert_eq!(retain(Duration::ZERO, HOUR * 3), 0);
        assert_eq!(retain(HOUR * 3 + jump, HOUR * 3), 1, "{jump:?}");
    }
}

/// Packets whose times go to and fro are found by their times, in the order of recording.
#[test]
fn times_that_go_back_are_found() {
    let mut numbers = Numbers(0x5e6_0004);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    let (mut all, mut clock) = (Vec::new(), BEGUN_NS);
    for _ in 0..6 {
        let mut part = packets(&mut numbers, 0, 400);
        for packet in &mut part {
            clock += 1_000_000;
            if numbers.below(50) == 0 {
                let jump = numbers.below(7_200_000_000_000);
                clock = if numbers.below(2) == 0 { clock + jump } else { clock - jump.min(clock - 1) };
            }
            packet.timestamp_ns = clock;
        }
        recorder.segment(&part, &Identities::default());
        all.extend(part);
    }
    assert_eq!(recall(folder.path(), &Query::default()), all);
    let (earliest, latest) = all
        .iter()
        .fold((u64::MAX, 0), |(low, high), packet| (low.min(packet.timestamp_ns), high.max(packet.timestamp_ns)));
    let mut found_in_all = 0;
    for _ in 0..300 {
        let time = |numbers: &mut Numbers| earliest + numbers.below(latest - earliest);
        let (one, other) = (time(&mut numbers), time(&mut numbers));
        let (from, to) = (one.min(other), one.max(other) + 1);
        let expected: Vec<Seen> =
            all.iter().filter(|packet| (from..to).contains(&packet.timestamp_ns)).cloned().collect();
        let found = recall(folder.path(), &Query { from_ns: Some(from), to_ns: Some(to), ..Query::default() });
        assert!(found == expected, "{from} to {to}: {} of {}", found.len(), expected.len());
        found_in_all += found.len();
    }
    assert!(found_in_all > 10_000);
}
