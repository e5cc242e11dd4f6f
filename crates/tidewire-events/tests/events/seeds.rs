//! The seeds of the fuzz target `events`, replayed, and changed at random.

#[path = "../../../../fuzz/drivers/events.rs"]
mod driver;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tidewire_events::{Event, FlowKey, Folder, FolderSettings, Output, StreamPosition, Value};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/events")
}

fn seeds() -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder()).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn seeds_of_events() {
    let seeds = seeds();
    assert!(seeds.len() > 5);
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

fn examples() -> Vec<(&'static str, Vec<Event>)> {
    let direction = tidewire_events::Direction::ServerToClient;
    let base =
        Event { time_ns: 1_795_233_648_885_962_000, analyzer: "a".into(), kind: "k.x".into(), ..Event::default() };
    let v6 = FlowKey { client_addr: "::1".parse().unwrap(), server_addr: "::2".parse().unwrap(), ..FlowKey::default() };
    let scan = |at: u64| {
        let key = FlowKey { protocol: 6, server_port: at as u16, ..FlowKey::default() };
        Event { time_ns: base.time_ns + at * at % 977, key: Some(key), stream: Some(at), ..base.clone() }
    };
    let full = |at: u64| {
        let place = Some(StreamPosition { direction, offset: at * 3 });
        let event = Event { key: Some(v6), place, excerpt: Some(vec![at as u8; 9]), ..base.clone() };
        let event =
            event.with("text", Value::Text(format!("text {}", at % 5))).with("yes", Value::Bool(at.is_multiple_of(7)));
        event.with("number", Value::I64(-(at as i64))).with("to", Value::Addr([1, 2, 3, at as u8].into()))
    };
    vec![
        ("identical", vec![base.clone(); 60]),
        ("scan", (0..120).map(scan).collect()),
        ("full", (0..70).map(full).collect()),
    ]
}

#[test]
#[ignore = "writes the seeds; run it after a change to them"]
fn write_seeds() {
    std::fs::create_dir_all(folder()).unwrap();
    let write = |name: String, what: u8, bytes: &[u8]| {
        std::fs::write(folder().join(name), [&[what], bytes].concat()).unwrap();
    };
    for (name, events) in examples() {
        let (mut frames, mut out) = (Vec::new(), Output::default());
        let mut folder = Folder::new(FolderSettings::default(), [0; 2], 0, 0);
        for event in &events {
            event.encode(&mut frames).unwrap();
            folder.push_event(0, event, &mut out).unwrap();
        }
        write(format!("messages-{name}"), 0, &frames);
        write(format!("state-{name}"), 2, &folder.state(5, &mut out).unwrap());
        let largest = out.records.iter().max_by_key(|record| record.count()).unwrap();
        write(format!("record-{name}"), 1, largest.bytes());
    }
}
