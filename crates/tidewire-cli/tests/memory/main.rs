//! One budget: with little memory a run takes no more than the budget beyond what a run over nothing takes, and writes the same.
//!
//! A process of its own: the system says how much memory the largest of all children took.
#![forbid(unsafe_code)]

#[path = "../common/mod.rs"]
mod common;

use std::{
    fs,
    hash::{DefaultHasher, Hasher as _},
    io::{BufRead as _, BufReader, Write as _},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Stdio,
};

use nix::sys::resource::{UsageWho, getrusage};
use tidewire_testing::InTime as _;

use common::*;

/// The budget of the runs.
const MEMORY: &str = "16M";
const MEMORY_BYTES: u64 = 16 << 20;

/// Memory that may come on top of a run over nothing: buffers of outputs, which are made when they are needed, and the allocator's rest.
const CONSTANT_BYTES: u64 = 8 << 20;

/// Connections that end long before the input does, so that all of them fit in the engine's part: many records.
const ENDED: u16 = 6000;
/// Segments of 50 requests of one connection: many transactions of few bytes.
const SEGMENTS: u16 = 400;
/// Answers of DNS that point to long names.
const ANSWERS: u16 = 12_000;
/// Connections that never end: more than the engine has room for, and more fields than their part holds.
const OPEN: u16 = 15_000;

/// Commands that print; each over all captures.
const PRINTED: [&[&str]; 8] = [
    &["flows"],
    &["flows", "--json"],
    &["flows", "--csv"],
    &["streams", "--json"],
    &["transactions"],
    &["transactions", "--json"],
    &["transactions", "--csv"],
    &["match", "-e", "GET", "-e", "e", "--json"],
];

/// Formats of files; whether two runs write the same bytes.
const WRITTEN: [(&str, &str, bool); 9] = [
    ("flows", "json", true),
    ("flows", "csv", true),
    ("flows", "eve", true),
    ("flows", "ipfix", true),
    ("flows", "zeek", true),
    ("flows", "sqlite", false),
    ("transactions", "json", true),
    ("transactions", "eve", true),
    ("transactions", "zeek-json", true),
];

/// Formats of columns, whose groups of rows follow the budget.
const COLUMNS: [(&str, &str, bool); 4] = [
    ("flows", "parquet", false),
    ("flows", "arrow", false),
    ("transactions", "parquet", false),
    ("transactions", "arrow", false),
];

/// The most that a child of this process took so far, bytes.
fn peak_bytes() -> u64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() as u64 * 1024
}

/// Writes a capture piece by piece: what this process holds when it makes a child counts as the child's.
fn capture(bench: &Bench, name: &str, pieces: u16, mut piece: impl FnMut(&mut Pcap, u16)) -> String {
    let path = bench.path(name);
    let mut file = fs::File::create(&path).unwrap();
    let mut packets = 0;
    for number in 0..pieces {
        let mut pcap = Pcap::new();
        let head = if number == 0 { 0 } else { pcap.bytes().len() };
        pcap.packets = packets;
        piece(&mut pcap, number);
        packets = pcap.packets;
        file.write_all(&pcap.bytes()[head..]).unwrap();
    }
    path.to_str().unwrap().to_owned()
}

fn ended(bench: &Bench) -> String {
    capture(bench, "ended.pcap", ENDED, |pcap, number| {
        let host = format!("host-{number:05}.department.example.org");
        let request = format!("GET /path/{number:05} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: agent/1.0\r\n\r\n");
        let response = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi";
        pcap.packets = u32::from(number) * 100;
        conversation(pcap, 1024 + number, &[(false, request.as_bytes()), (true, response.as_bytes())]);
    })
}

fn requests(bench: &Bench) -> String {
    let mut talk = Talk::new(40_000);
    capture(bench, "requests.pcap", SEGMENTS, |pcap, number| {
        if number == 0 {
            talk.handshake(pcap);
        }
        let requests = (0..50).map(|index| format!("GET /{number:04}/{index:02} HTTP/1.1\r\n\r\n"));
        talk.say(pcap, false, requests.collect::<String>().as_bytes());
        talk.segment(pcap, true, talk.sequence(true), ACK, b"");
    })
}

fn open(bench: &Bench, name: &str, connections: u16) -> String {
    capture(bench, name, connections, |pcap, number| {
        let mut talk = Talk::new(1024 + number);
        talk.handshake(pcap);
        let request = format!("GET / HTTP/1.1\r\nHost: host-{number:05}.department.example.org\r\n\r\n");
        talk.say(pcap, false, request.as_bytes());
        talk.say(pcap, true, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    })
}

/// Answers of DNS, each with 32 records whose names are pointers to one long name (RFC 1035 section 4.1.4): much text from few bytes.
fn answers(bench: &Bench) -> String {
    let name = [&[63][..], &[b'n'; 63], &[63], &[b'a'; 63], &[63], &[b'm'; 63], &[61], &[b'e'; 61], &[0]].concat();
    let record = [&[0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 60, 0, 24, 0xc0, 12, 0xc0, 12][..], &[0; 20]].concat();
    let body = [&name[..], &[0, 6, 0, 1], &record.repeat(32)].concat();
    let (server, client) = (Ipv4Addr::new(192, 0, 2, 53), Ipv4Addr::new(192, 0, 2, 1));
    capture(bench, "answers.pcap", ANSWERS, |pcap, number| {
        let head = [&number.to_be_bytes()[..], &[0x81, 0x80, 0, 1, 0, 32, 0, 0, 0, 0]].concat();
        let datagram = udp(server, client, (53, 10_000 + number % 8000), &[&head[..], &body].concat());
        pcap.frame(&ipv4(server, client, 17, number, 0, &datagram));
    })
}

/// Bytes of an output, and a digest of them.
type Digest = (usize, u64);

/// Digests lines but those that say when a run took place.
fn digest(path: &Path) -> Digest {
    let (mut bytes, mut hasher) = (0, DefaultHasher::new());
    let (mut file, mut line) = (BufReader::new(fs::File::open(path).unwrap()), Vec::new());
    while file.read_until(b'\n', &mut line).unwrap() > 0 {
        let is_time = [&b"#open\t"[..], b"#close\t"].iter().any(|start| line.starts_with(start));
        if !is_time && !line.windows(20).any(|part| part == b"\"event_type\":\"stats\"") {
            bytes += line.len();
            hasher.write(&line);
        }
        line.clear();
    }
    (bytes, hasher.finish())
}

fn succeeds(words: &[&str], output: Stdio) {
    let status = command(words).stdout(output).stderr(Stdio::null()).status_in_time().unwrap();
    assert!(status.success(), "{words:?}");
}

/// Digest of the output.
fn printed(bench: &Bench, words: &[&str], capture: &str, memory: &str) -> Digest {
    let path = bench.path("printed");
    succeeds(&[words, &["--memory", memory, capture]].concat(), fs::File::create(&path).unwrap().into());
    digest(&path)
}

/// Digests of the written files, by their names.
fn written(bench: &Bench, (name, format): (&str, &str), capture: &str, memory: &str) -> Vec<(PathBuf, Digest)> {
    let folder = bench.path("written");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let is_folder = ["zeek", "zeek-json", "parquet"].contains(&format);
    let place = if is_folder { folder.clone() } else { folder.join("records") };
    succeeds(&[name, "--to", &format!("{format}:{}", place.display()), "--memory", memory, capture], Stdio::null());
    let mut files = Vec::new();
    read_all(&folder, &mut files);
    files.sort();
    files
}

fn read_all(folder: &Path, files: &mut Vec<(PathBuf, Digest)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, files);
        } else {
            let found = digest(&path);
            files.push((path, found));
        }
    }
}

#[test]
fn every_command_and_format_keeps_the_budget() {
    let bench = Bench::new();
    let columns: &[_] = if cfg!(feature = "parquet") { &COLUMNS } else { &[] };
    let formats = || WRITTEN.iter().chain(columns);
    // Memory of each that does not grow.
    let few = open(&bench, "few.pcap", 20);
    for words in PRINTED {
        printed(&bench, words, &few, MEMORY);
    }
    formats().for_each(|(name, format, _)| drop(written(&bench, (name, format), &few, MEMORY)));
    let least = peak_bytes();
    let keeps = |what: &dyn std::fmt::Debug, capture: &str| {
        let grown = peak_bytes() - least;
        assert!(grown <= MEMORY_BYTES + CONSTANT_BYTES, "{what:?} of {capture}: {} KiB", grown >> 10);
    };
    let (ended, requests, open) = (ended(&bench), requests(&bench), open(&bench, "open.pcap", OPEN));
    let mut outputs = Vec::new();
    for capture in [&open, &ended, &requests] {
        let compares = *capture != open;
        for words in PRINTED {
            let output = printed(&bench, words, capture, MEMORY);
            keeps(&words, capture);
            if compares {
                outputs.push((capture, words, output));
            }
        }
    }
    let mut files = Vec::new();
    for capture in [&open, &ended, &requests] {
        let compares = *capture != open;
        for &(name, format, is_same) in formats() {
            let output = written(&bench, (name, format), capture, MEMORY);
            keeps(&(name, format), capture);
            if compares && is_same {
                files.push((capture, name, format, output));
            }
        }
    }
    let answers = answers(&bench);
    let (bytes, _) = printed(&bench, &["transactions", "--json"], &answers, MEMORY);
    assert!(bytes > 4000 * usize::from(ANSWERS), "{bytes} bytes: names are not there");
    keeps(&"transactions --json", &answers);
    for (name, format) in [("flows", "eve"), ("flows", "zeek")] {
        written(&bench, (name, format), &answers, MEMORY);
        keeps(&(name, format), &answers);
    }
    // The others take more, and come last.
    for (capture, words, output) in outputs {
        assert_eq!(output, printed(&bench, words, capture, "1G"), "{words:?} of {capture}");
    }
    for (capture, name, format, output) in files {
        assert_eq!(output, written(&bench, (name, format), capture, "1G"), "{name} --to {format} of {capture}");
    }
}
