//! Events, plain and sealed.

use std::ops::Range;

use tidewire_events::{
    Event, FlowKey, FoldSettings, Folder, FolderSettings, Identity, Output, Record, Severity, Value,
};

/// Bytes that must not be found where events are sealed.
pub const EXCERPT: &[u8] = b"GET /secret-of-the-excerpt";
pub const ADDRESS: &str = "203.0.113.77";

/// An event of one of 97 conversations.
pub fn event(number: u64) -> Event {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = FlowKey {
        protocol: 6,
        client_addr: ADDRESS.parse().unwrap(),
        client_port: 40_000 + (number % 97) as u16,
        server_addr: [192, 0, 2, 9].into(),
        server_port: 443,
    };
    let event = Event {
        time_ns: 1_800_000_000_000_000_000 + number * 1000,
        analyzer: "test".into(),
        kind: "test.one".into(),
        severity: Severity::Medium,
        key: Some(key),
        excerpt: Some(EXCERPT.to_vec()),
        ..Event::default()
    };
    event.with("number", Value::U64(number)).with("text", Value::Text(format!("{mixed:016x}")))
}

/// These events as one record.
pub fn records(numbers: Range<u64>) -> Vec<Record> {
    folded(numbers.map(event))
}

/// One event that is worse than the others.
pub fn severe(number: u64) -> Vec<Record> {
    folded([Event { severity: Severity::Critical, ..event(number) }].into_iter())
}

fn folded(events: impl Iterator<Item = Event>) -> Vec<Record> {
    let identity = Identity::Members(Vec::new());
    let default = FoldSettings { identity, bytes_max: 4 << 20, ..FoldSettings::default() };
    let mut folder = Folder::new(FolderSettings { default, ..FolderSettings::default() }, [0; 2], 0, 0);
    let mut out = Output::default();
    for event in events {
        folder.push_event(0, &event, &mut out).unwrap();
    }
    folder.close_all(&mut out).unwrap();
    assert_eq!(out.records.len(), 1);
    out.records
}

/// Events whose record is larger than a message, as nothing of it repeats.
pub fn large(numbers: Range<u64>) -> Vec<Record> {
    let long = |number: u64| {
        let mut mixed = number + 1;
        let mut next = || {
            mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ number;
            format!("{mixed:016x}")
        };
        let text = (0..200).map(|_| next()).collect();
        event(number).with("long", Value::Text(text))
    };
    folded(numbers.map(long))
}
