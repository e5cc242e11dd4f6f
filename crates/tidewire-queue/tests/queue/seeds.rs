//! The seeds of the fuzz target `queue`, and whatever it has found, replayed; and many inputs at random.

#[path = "../../../../fuzz/drivers/queue.rs"]
mod driver;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tidewire_queue::records::{Close, Open, PacketHeader};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/queue")
}

#[test]
fn seeds() {
    let files = std::fs::read_dir(folder()).unwrap();
    let inputs: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 5);
    inputs.iter().for_each(|input| driver::run(input));
}

proptest! {
    #[test]
    fn any_bytes(kind in 0..3_u8, mut input in prop::collection::vec(any::<u8>(), 0..600)) {
        input.insert(0, kind);
        driver::run(&input);
    }
}

/// A word of a queue's memory, as the target reads it.
fn word(place: u8, value: u64) -> Vec<u8> {
    [&[place][..], &value.to_le_bytes()].concat()
}

/// A record, as the target reads it.
fn record(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind, flags, stream, payload.len().min(255) as u8][..], payload].concat()
}

#[test]
#[ignore = "writes the seeds"]
fn write_seeds() {
    let write = |name: &str, kind: u8, parts: &[Vec<u8>]| {
        std::fs::create_dir_all(folder()).unwrap();
        std::fs::write(folder().join(name), [&[kind][..], &parts.concat()].concat()).unwrap();
    };
    write("message-request", 0, &[b"tidewire-queue 1\nqueue main\nname x\ngroup g\n".to_vec()]);
    write("message-attached", 0, &[b"attached\nepoch 1\nfirst 2\nposition 8\nplace 3\ngeneration 4\n".to_vec()]);
    for (name, text) in [
        ("full", "full\nmax 32\n"),
        ("no-queue", "no-queue\nasked a\nknown main, other\n"),
        ("user", "user\nuser 1000\n"),
        ("other", "request\nwhat is this\n"),
    ] {
        write(&format!("message-{name}"), 0, &[text.as_bytes().to_vec()]);
    }
    // Two records are published; the second one has a payload.
    let sound = [word(2, 2), word(0, 2), word(1, 8), word(4, 0), word(12, 1), word(14, 5 | 2 << 32)];
    write("memory-sound", 1, &sound);
    write("memory-lost", 1, &[&sound[..], &[word(2, 5000), word(0, 5001)]].concat());
    write("memory-ended", 1, &[&sound[..], &[word(3, 1)]].concat());
    let mut payloads = [Vec::new(), Vec::new(), Vec::new()];
    Open { ordinal: 1, ..Open::default() }.encode(&mut payloads[0]);
    Close { ordinal: 1, ..Close::default() }.encode(&mut payloads[1]);
    PacketHeader::default().encode(&mut payloads[2]);
    let [open, close, packet] = payloads;
    write("records-stream", 2, &[record(1, 0, 2, &open), record(2, 0, 2, b"hello"), record(3, 1, 2, &[9; 8])]);
    write("records-repeated", 2, &[record(1, 2, 4, &open), record(2, 128, 4, b"missed"), record(6, 0, 4, &packet)]);
    // A payload of five times its bytes, as long as a CLOSE.
    write("records-close", 2, &[record(1, 0, 3, &open), record(5, 0, 3, &close[..66])]);
}
