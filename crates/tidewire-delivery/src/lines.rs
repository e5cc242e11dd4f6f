//! Records as lines of JSON, as docs/output.md has them.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;
use tidewire_event_store::{KeyId, Row};
use tidewire_events::{DecodeError, Event, Record, Varied};
use tidewire_types::hex;

/// Distinct values of a member that a folded record shows.
const TOP: usize = 10;

/// Appends the lines of a record. `expand`: one for each event, otherwise one for all. One for all if it is sealed.
///
/// # Errors
/// The record is damaged; nothing is appended.
pub fn put_row(out: &mut Vec<u8>, row: &Row, expand: bool) -> Result<(), DecodeError> {
    let begun = out.len();
    let put = match row.record()? {
        None => {
            put_line(out, &sealed_line(row, &row.bytes, None));
            Ok(())
        }
        Some(record) if expand => put_events(out, row.id, &record),
        Some(record) => folded_line(row, &record, true).map(|line| put_line(out, &line)),
    };
    if put.is_err() {
        out.truncate(begun);
    }
    put
}

fn put_line(out: &mut Vec<u8>, line: &str) {
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

fn put_events(out: &mut Vec<u8>, id: u64, record: &Record) -> Result<(), DecodeError> {
    let mut unfold = record.unfold()?;
    while let Some((number, message)) = unfold.next()? {
        put_line(out, &event_line(id, number, &message.event()?));
    }
    Ok(())
}

/// The line of an event: its record, its number in the order of all, and its own members.
pub fn event_line(id: u64, number: u64, event: &Event) -> String {
    let event = event.to_json();
    let rest = event.strip_prefix('{').unwrap_or(&event);
    format!("{{\"record\":{id},\"number\":{number},{rest}")
}

/// The line of a record; `with_varied`: what varies among its events is in it, if there are several.
///
/// # Errors
/// The record is damaged.
pub fn folded_line(row: &Row, record: &Record, with_varied: bool) -> Result<String, DecodeError> {
    let first = record.message()?.event()?.to_json();
    let Row { id, events, first_ns, last_ns, .. } = row;
    let mut line = format!("{{\"record\":{id},\"count\":{events},\"first_ns\":{first_ns},\"last_ns\":{last_ns}");
    if *events > 1 && with_varied {
        let mut varied = Varied::default();
        varied.add(record)?;
        let _ = write!(line, ",\"varied\":{}", varied.to_json(TOP));
    }
    let _ = write!(line, ",\"event\":{first}}}");
    Ok(line)
}

/// The line of a sealed record, or of one of its parts (`part`: which of how many) where it has several.
pub fn sealed_line(row: &Row, bytes: &[u8], part: Option<(usize, usize)>) -> String {
    let mut line = json!({
        "record": row.id,
        "analyzer": row.analyzer,
        "kind": row.kind,
        "severity": row.severity.name(),
        "fold": row.fold,
        "count": row.events,
        "first_ns": row.first_ns,
        "last_ns": row.last_ns,
        "key": row.key.map(|key| hex::encode(&key)),
        "sealed": BASE64_STANDARD.encode(bytes),
    });
    if let Some((part, parts)) = part {
        line["part"] = part.into();
        line["parts"] = parts.into();
    }
    line.to_string()
}

/// Appends the line of a data key, wrapped for its recipients.
pub fn put_key(out: &mut Vec<u8>, key: &KeyId, wrapped: &[u8]) {
    put_line(out, &json!({ "key": hex::encode(key), "wrapped": BASE64_STANDARD.encode(wrapped) }).to_string());
}
