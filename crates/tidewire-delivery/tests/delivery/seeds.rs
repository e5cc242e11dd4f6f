//! The seeds of the fuzz target `delivery`, replayed, and changed at random.

#[path = "../../../../fuzz/drivers/delivery.rs"]
mod driver;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tidewire_delivery::{
    limits::PROTOCOL_VERSION,
    protocol::{Code, Message, Packer, put_row},
};
use tidewire_event_store::Row;
use tidewire_events::Severity;

use crate::rig::records;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/delivery")
}

fn seeds() -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder()).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn seeds_of_delivery() {
    let seeds = seeds();
    assert!(seeds.len() > 8);
    seeds.iter().for_each(|seed| driver::run(seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn changed_seeds_and_any_bytes(
        which: usize,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        driver::run(&bytes);
        let seeds = seeds();
        let mut seed = seeds[which % seeds.len()].clone();
        for (at, value) in changes {
            let at = at % seed.len();
            seed[at] = value;
        }
        driver::run(&seed);
    }
}

/// Records, plain and sealed, as a batch has them behind record 5.
fn raw() -> Vec<u8> {
    let (mut raw, mut before) = (Vec::new(), 5);
    for (at, record) in records(0..6).iter().enumerate() {
        let mut row = Row::plain(7 + at as u64 * 300, record).unwrap();
        if at % 2 == 1 {
            (row.key, row.severity, row.bytes) = (Some([9; 16]), Severity::High, vec![at as u8; 40]);
        }
        put_row(&mut raw, before, &row);
        before = row.id;
    }
    raw
}

#[test]
#[ignore = "writes the seeds; run it after a change to them"]
fn write_seeds() {
    std::fs::create_dir_all(folder()).unwrap();
    let write = |name: &str, what: u8, bytes: &[u8]| {
        std::fs::write(folder().join(name), [&[what], bytes].concat()).unwrap();
    };
    let raw = raw();
    write("records", 2, &raw);
    let compressed = Packer::new().unwrap().pack(&raw).unwrap();
    let (version, store) = (PROTOCOL_VERSION, [3; 16]);
    let messages = [
        ("hello", Message::Hello { version, store, delivered: 300, name: "edge-1", program: "tidewire 0.1.0" }),
        ("hello-other", Message::Hello { version: 9, store: [0; 16], delivered: 0, name: "", program: "" }),
        ("welcome", Message::Welcome { version, durable: Some(300) }),
        ("welcome-new", Message::Welcome { version, durable: None }),
        ("refused", Message::Refused { code: Code::Busy, reason: "later" }),
        ("keys", Message::Keys(vec![([9; 16], b"wrapped"), ([8; 16], b"too")])),
        ("batch", Message::Batch { after: 5, through: 2000, raw_bytes: raw.len(), compressed: &compressed }),
        ("acknowledged", Message::Acknowledged { through: 2000 }),
        ("ping", Message::Ping),
        ("goodbye", Message::Goodbye),
    ];
    let mut all = Vec::new();
    for (name, message) in &messages {
        let mut frame = Vec::new();
        message.encode(&mut frame);
        all.extend_from_slice(&frame);
        // Without the length and the checksum.
        write(name, 1, &[&frame[4..5], &frame[9..]].concat());
    }
    write("frames", 0, &all);
}
