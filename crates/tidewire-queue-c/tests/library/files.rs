//! Files of queues: losses, on which all readers must agree; and hostile ones, which must be an error and nothing else.

use std::{
    fs::File,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::FileExt as _,
    },
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use tidewire_queue::{Geometry, Losses, Missing, Next, Publisher, Reader, Record};
use tidewire_testing::{InTime as _, filters::Numbers};

use crate::{
    common::{C2S, S2C, Sensor, Stream, conversation},
    programs::{Other, assert_same, by_rust, program, python},
};

/// Where another process finds a descriptor of ours.
fn place(descriptor: &OwnedFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), descriptor.as_raw_fd())
}

/// A queue whose publisher has ended, with so many records of so many bytes.
fn ended(geometry: Geometry, records: u64, bytes: impl Fn(u64) -> usize) -> OwnedFd {
    let mut publisher = Publisher::new(geometry, 5).unwrap();
    let file = publisher.file().try_clone_to_owned().unwrap();
    for number in 0..records {
        let direction = if number % 3 == 0 { S2C } else { C2S };
        let payload = vec![number as u8; bytes(number)];
        publisher.publish(&Record::data(1 + number % 7, direction, number, 0, number), &payload).unwrap();
    }
    publisher.finish();
    file
}

/// Slots that were overwritten, payloads that were, both, and neither.
#[test]
fn readers_agree_on_what_was_lost() {
    let Some(program) = program("tests/c/reader.c", false) else { return };
    let small = Geometry::new(1 << 10, 1 << 16);
    for (name, file, first) in [
        ("whole", ended(small, 900, |number| number as usize % 70), 0),
        ("slots", ended(small, 3000, |_| 8), 0),
        ("payload", ended(small, 1000, |number| number as usize % 1500), 0),
        ("both", ended(small, 5000, |number| number as usize % 999), 3),
        ("wrapped", ended(small, 700, |number| if number % 2 == 0 { 8191 } else { 13 }), 100),
    ] {
        let expected = by_rust(&mut Reader::open(&file, Some(first)).unwrap());
        let lost = expected.iter().filter(|line| line.starts_with("lost") || line.starts_with("missed")).count();
        assert_eq!(lost == 0, name == "whole", "{name}");
        for how in ["copy", "place"] {
            let other = Other::start(&program, &[how, &format!("-{first}"), &place(&file)]);
            assert_same(&format!("{name}, {how}"), &other.rest(), &expected);
        }
        let Some(script) = python() else { continue };
        let words = [script.to_str().unwrap(), "file", &place(&file), &first.to_string()];
        assert_same(&format!("{name}, python"), &Other::start(Path::new("python3"), &words).rest(), &expected);
    }
}

/// Which bytes of which streams are missing: the same in C and in Rust.
#[test]
fn readers_agree_on_which_bytes_are_missing() {
    let Some(program) = program("tests/c/reader.c", false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), Geometry::new(1 << 10, 1 << 16), 5);
    let file = sensor.publisher.file().try_clone_to_owned().unwrap();
    let mut long: Vec<Stream> = (1001..1004).map(Stream::new).collect();
    for id in 1..=200 {
        long.iter_mut().for_each(|stream| sensor.say(stream, S2C, &[b'x'; 700]));
        conversation(&mut sensor, id);
    }
    sensor.finish();
    let (mut reader, mut losses) = (Reader::open(&file, Some(0)).unwrap(), Losses::new(1000));
    let (mut payload, mut missing) = (Vec::new(), Vec::new());
    loop {
        payload.clear();
        match reader.next(&mut payload).unwrap() {
            Next::Record(record) => losses.read(&record, &payload, &mut missing),
            Next::Missed(record) => losses.missed(&record, &mut missing),
            Next::Lost { .. } => {}
            Next::Empty | Next::Ended(_) => break,
        }
    }
    let line = |missing: &Missing| {
        let Missing { stream, direction, offset, bytes } = *missing;
        format!("missing {stream} {offset} {bytes} {}", direction as u32)
    };
    let mut expected: Vec<String> = missing.iter().map(line).collect();
    assert!(!expected.is_empty());
    if losses.streams_missed() != 0 {
        expected.push(format!("streams missed {}", losses.streams_missed()));
    }
    let mut lines = Other::start(&program, &["track", "-0", &place(&file)]).rest();
    lines.pop();
    assert_same("track", &lines, &expected);
}

/// A queue's file with anything in it, of the right size and sealed as a publisher seals it.
fn forged(numbers: &mut Numbers, is_plausible: bool, has_seals: bool) -> OwnedFd {
    let geometry = Geometry::new(1 << 10, 1 << 16);
    let file = File::from(memfd_create("forged", MemfdFlags::ALLOW_SEALING).unwrap());
    let bytes = numbers.bytes(geometry.file_bytes() as usize);
    file.write_all_at(&bytes, 0).unwrap();
    let word = |at: u64, value: u64| file.write_all_at(&value.to_ne_bytes(), at * 8).unwrap();
    word(0, u64::from_le_bytes(*b"TWqueue\x01"));
    word(1, 1);
    word(2, geometry.slots());
    word(3, geometry.payload_bytes());
    let published = numbers.below(5000);
    let near = |numbers: &mut Numbers| published.wrapping_add(numbers.below(4)).wrapping_sub(2);
    if is_plausible {
        word(16, near(numbers));
        word(17, [0, 1 << 16, u64::MAX, 1 << 40][numbers.below(4) as usize]);
        word(32, near(numbers));
        word(48, numbers.below(3));
        for slot in 0..geometry.slots() {
            let sequence = published.saturating_sub(published.wrapping_sub(slot) % geometry.slots());
            let kind = numbers.below(8);
            let count = [0, 1, 95, 96, 97, 328, 8192, 8193][numbers.below(8) as usize];
            let at = (1 << 13) + slot * 8;
            for (index, value) in [sequence, numbers.below(1 << 20) & !7, count | kind << 32].into_iter().enumerate() {
                word(at + index as u64, value);
            }
            if kind == 2 {
                word(at + 7, numbers.below(200));
            }
        }
    }
    let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    let seals = if has_seals { seals } else { seals - SealFlags::SEAL };
    fcntl_add_seals(&file, seals).unwrap();
    file.into()
}

/// Neither random memory, nor memory in which almost everything is right, nor memory that changes all the time can crash it.
#[test]
fn a_hostile_publisher_is_an_error() {
    let Some(program) = program("tests/c/reader.c", true) else { return };
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let files: Vec<OwnedFd> = (0..40).map(|number| forged(&mut numbers, number % 4 != 0, number % 10 != 1)).collect();
    let output = Command::new(&program).arg("file").args(files.iter().map(place)).run_in_time().unwrap();
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), files.len());
    assert!(text.lines().all(|line| ["-9", "-8", "0", "1", "2", "3", "4"].contains(&line)), "{text}");
    assert!(text.contains("-9\n"), "{text}");
}

/// Records that overwrite each other while a program reads them in place, and whose payloads are not of their kinds.
#[test]
fn memory_that_changes_under_a_reader_is_an_error() {
    let Some(program) = program("tests/c/reader.c", true) else { return };
    for is_hostile in [false, true] {
        let mut publisher = Publisher::new(Geometry::new(1 << 10, 1 << 16), 5).unwrap();
        let file = publisher.file().try_clone_to_owned().unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut numbers = Numbers(99);
                let bytes = numbers.bytes(8192);
                while !stop.load(Ordering::Relaxed) {
                    let begin = numbers.below(4096) as usize;
                    let payload = &bytes[begin..begin + numbers.below(4096) as usize];
                    let kind = if is_hostile { numbers.below(8) as u16 } else { 2 };
                    let record = Record { kind, stream: begin as u64, ..Record::default() };
                    publisher.publish(&record, payload).unwrap();
                }
            });
            for _ in 0..10 {
                let output =
                    Command::new(&program).arg("file").args([place(&file), place(&file)]).run_in_time().unwrap();
                assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
