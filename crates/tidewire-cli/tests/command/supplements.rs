//! Texts of sections, secrets and names of capture files, in what is recorded and written of them.

use std::{
    fs,
    path::{Path, PathBuf},
};
use tidewire_types::Timestamp;

use tidewire_archive::block::{
    Interface, Packet, Writer, enhanced_packet, interface_description, section_header, supplement,
};
use tidewire_files::{Block, Reader, Source as _, Supplement};

use crate::common::*;

const PACKETS: u64 = 3000;

/// A UDP packet over IPv4, which says which one it is.
fn frame(number: u64) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 186, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([&(1000 + number as u16 % 10).to_be_bytes()[..], &[0, 53, 0, 166, 0, 0]].concat());
    frame.extend(number.to_be_bytes());
    frame.resize(200, number as u8);
    frame
}

fn secrets(text: &str) -> Supplement {
    let mut body = [&b"KSLT"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    Supplement::Secrets(body)
}

fn names() -> Supplement {
    Supplement::Names([&[1, 0, 12, 0, 192, 0, 2, 2][..], b"example\0", &[0; 4]].concat())
}

fn texts(name: &str) -> Writer {
    Writer {
        hardware: "a laptop".into(),
        system: "Plan 9".into(),
        application: "Dumpcap".into(),
        comment: format!("{name}, the second try"),
    }
}

/// A capture with secrets and names before its packets, and other secrets in their middle.
fn capture(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    section_header(&mut bytes, &texts(name));
    interface_description(&mut bytes, &Interface::new(name, tidewire::LinkType::ETHERNET));
    supplement(&mut bytes, &names());
    supplement(&mut bytes, &secrets(&format!("first of {name}")));
    for number in 0..PACKETS {
        if number % (PACKETS / 2) == PACKETS / 2 - 1 {
            supplement(&mut bytes, &secrets(&format!("second of {name}")));
        }
        let content = frame(number);
        enhanced_packet(
            &mut bytes,
            &Packet::new(0, Timestamp::from_nanos(1_700_000_000_000_000_000 + number * 1_000_000), &content, 200),
        );
    }
    bytes
}

/// Supplements of a file beside its packets, and how many packets come before each of them.
fn supplements(path: &Path) -> (Vec<(Supplement, u64)>, u64) {
    let bytes = fs::read(path).unwrap();
    let (mut at, mut packets, mut found) = (0, 0, Vec::new());
    while at < bytes.len() {
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let (kind, length) = (word(at), word(at + 4) as usize);
        packets += u64::from(kind == 6);
        found
            .extend(tidewire_files::supplement(kind, &bytes[at + 8..at + length - 4], false).map(|one| (one, packets)));
        at += length;
    }
    let mut reader = Reader::open(path).unwrap();
    let (mut block, mut read) = (Block::new(), Vec::new());
    while reader.fill(&mut block).unwrap() {
        read.extend(reader.supplements());
    }
    assert!(read.iter().eq(found.iter().map(|(one, _)| one)), "{}", path.display());
    (found, packets)
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "pcapng")).collect();
    paths.sort();
    paths
}

/// Whether a file has these before its first packet, and those before packet so many or the first.
fn has(path: &Path, before: &[Supplement], later: Option<(&Supplement, u64)>) {
    let (found, _) = supplements(path);
    for one in before {
        assert!(found.contains(&(one.clone(), 0)), "{}: {one:?} in {found:?}", path.display());
    }
    if let Some((one, packets)) = later {
        assert!(found.iter().any(|(other, at)| other == one && *at <= packets), "{}: {found:?}", path.display());
    }
    let secrets = found.iter().filter(|(one, _)| matches!(one, Supplement::Secrets(_))).count();
    assert!(secrets <= 4, "each once: {found:?}");
}

/// The texts of a file's section.
fn section(path: &Path) -> Writer {
    match supplements(path).0.remove(0).0 {
        Supplement::Section(writer) => writer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn segments_have_what_their_packets_need() {
    let bench = Bench::new();
    let one = bench.file("one.pcapng", &capture("one"));
    let other = bench.file("other.pcapng", &capture("other"));
    let archive = bench.path("archive");
    let place = archive.to_str().unwrap();
    assert_eq!(complaint(&["record", "-r", &one, &other, "--segment-size", "200K", "-o", place]).1, 0);
    let paths = segments(&archive);
    assert!(paths.len() > 4, "{paths:?}");
    let first = [names(), secrets("first of one"), secrets("first of other")];
    for path in &paths {
        has(path, &first, None);
        let writer = section(path);
        assert_eq!((&*writer.hardware, &*writer.system), ("a laptop", "Plan 9"));
        assert!(writer.application.starts_with("tidewire ") && writer.application.ends_with("(Dumpcap)"));
        assert_eq!(writer.comment, "one, the second try\nother, the second try");
    }
    // A supplement in the middle is in all segments behind it.
    let second = secrets("second of one");
    let with: Vec<bool> = paths.iter().map(|path| supplements(path).0.iter().any(|(one, _)| *one == second)).collect();
    assert!(!with[0] && with[with.len() - 1] && with.is_sorted(), "{with:?}");
    assert_eq!(complaint(&["record", "--verify", place]).1, 0);
    // Reading by the index finds it as well, and from other directories, too.
    for (expression, packets) in [("udp", 2 * PACKETS), ("udp src port 1007", PACKETS / 5)] {
        let out = bench.path("out.pcapng");
        let said = complaint(&["recall", place, expression, "-w", out.to_str().unwrap()]);
        assert_eq!((said.1, supplements(&out).1), (0, packets), "{}", said.0);
        has(&out, &first, Some((&second, packets / 2)));
        assert_eq!(section(&out).comment, "one, the second try\nother, the second try");
    }
    let (out, again) = (bench.path("flows.pcapng"), bench.path("again"));
    assert_eq!(complaint(&["flows", place, "-w", out.to_str().unwrap()]).1, 0);
    has(&out, &first, Some((&second, PACKETS)));
    // Recorded once more.
    assert_eq!(complaint(&["record", "-r", out.to_str().unwrap(), "-o", again.to_str().unwrap()]).1, 0);
    has(&segments(&again)[0], &first, Some((&second, PACKETS)));
    assert!(section(&segments(&again)[0]).application.ends_with("(Dumpcap)"));
}

#[test]
fn files_that_are_written_have_them_too() {
    let bench = Bench::new();
    let one = bench.file("one.pcapng", &capture("one"));
    for words in [vec!["flows"], vec!["streams", "--where", "port = 1003"], vec!["follow"]] {
        let out = bench.path("out.pcapng");
        let id: &[&str] = if words == ["follow"] { &["1"] } else { &[] };
        let words = [&words[..], &[&one], id, &["-w", out.to_str().unwrap()]].concat();
        let said = complaint(&words);
        assert_eq!(said.1, 0, "{words:?}: {}", said.0);
        has(&out, &[names(), secrets("first of one")], None);
        assert_eq!(section(&out).comment, "one, the second try");
    }
}

#[test]
fn secrets_without_end_are_bounded() {
    let bench = Bench::new();
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    interface_description(&mut bytes, &Interface::new("eth0", tidewire::LinkType::ETHERNET));
    for number in 0..4000 {
        supplement(&mut bytes, &secrets(&format!("{number} {}", "x".repeat(1000))));
    }
    enhanced_packet(&mut bytes, &Packet::new(0, Timestamp::from_nanos(1_700_000_000_000_000_000), &frame(1), 200));
    let one = bench.file("one.pcapng", &bytes);
    let archive = bench.path("archive");
    assert_eq!(complaint(&["record", "-r", &one, "-o", archive.to_str().unwrap()]).1, 0);
    let path = &segments(&archive)[0];
    let (found, packets) = supplements(path);
    let bytes: usize = found.iter().map(|(one, _)| one.bytes()).sum();
    assert!(packets == 1 && bytes <= 1 << 20 && bytes > 1_000_000, "{bytes}");
    assert_eq!(complaint(&["record", "--verify", archive.to_str().unwrap()]).1, 0);
}
