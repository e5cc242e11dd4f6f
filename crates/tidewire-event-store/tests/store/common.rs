//! Records to store, and what a store holds.

use std::path::Path;

use tidewire_event_store::{Batch, Query, Reader, Store};
use tidewire_events::{Event, Folder, FolderSettings, Output, Record, Severity, Value};

/// An event with a number. Its text makes records of several hundred bytes.
pub fn event(number: u64) -> Event {
    let severity = Severity::ALL[(number % 5) as usize];
    let kind = if number.is_multiple_of(2) { "even" } else { "uneven" };
    let event = Event {
        time_ns: 1_000_000 + number * 1000,
        analyzer: "test".into(),
        kind: kind.into(),
        severity,
        ..Event::default()
    };
    event.with("number", Value::U64(number)).with("text", Value::Text(text(number).repeat(10)))
}

/// Each event as a record of its own.
pub fn records(numbers: std::ops::Range<u64>) -> Vec<Record> {
    numbers
        .map(|number| {
            let mut folder = Folder::new(FolderSettings::default(), [0; 2], number, number);
            let mut out = Output::default();
            folder.push_event(0, &event(number), &mut out).unwrap();
            folder.close_all(&mut out).unwrap();
            out.records.remove(0)
        })
        .collect()
}

pub fn batch(numbers: std::ops::Range<u64>) -> Batch {
    Batch { records: records(numbers), ..Batch::default() }
}

/// A text that only the record of this number has.
pub fn text(number: u64) -> String {
    format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Changes a byte of the record of this number in the file.
pub fn damage(path: &Path, number: u64) {
    let mut bytes = std::fs::read(path).unwrap();
    let text = text(number);
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, &bytes).unwrap();
}

/// A store without damage.
pub fn open(path: &Path) -> Store {
    let (store, recovery) = Store::open(path).unwrap();
    assert_eq!(recovery, None);
    store
}

/// The numbers of all events in a store; each event is compared with what it was.
pub fn numbers(path: &Path) -> Vec<u64> {
    let reader = Reader::open(path).unwrap();
    let mut numbers = Vec::new();
    for stored in reader.all(&Query::default()).unwrap() {
        for (_, found) in stored.record().unwrap().events().unwrap() {
            let Value::U64(number) = found.fields[0].value else { panic!("{found:?}") };
            assert_eq!(found, event(number));
            numbers.push(number);
        }
    }
    numbers
}
