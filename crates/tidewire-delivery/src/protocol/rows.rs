//! The records of a batch, before compression: for each, how far its number is from the one before (varint), 0 (plain) or 1 (sealed),
//! then a plain record (sized), or key (16), severity (1), fold, events (varints), first and last time (8 each), analyzer, kind and
//! bytes (sized). What is in the clear of a plain record is taken from its bytes, so that it cannot differ from them.

use tidewire_event_store::{RECORD_BYTES_MAX, Row};
use tidewire_events::{Record, Severity, is_name, limits::NAME_BYTES_MAX};

use super::{
    error::Garbled,
    wire::{Cursor, put_sized, put_varint},
};
use crate::limits::BATCH_ROWS_MAX;

/// Appends a record; `before`: the number of the one before it.
pub fn put_row(bytes: &mut Vec<u8>, before: u64, row: &Row) {
    put_varint(bytes, row.id.saturating_sub(before));
    match &row.key {
        None => bytes.push(0),
        Some(key) => {
            bytes.push(1);
            bytes.extend_from_slice(key);
            bytes.push(row.severity.number());
            put_varint(bytes, row.fold);
            put_varint(bytes, row.events);
            bytes.extend_from_slice(&row.first_ns.to_le_bytes());
            bytes.extend_from_slice(&row.last_ns.to_le_bytes());
            put_sized(bytes, row.analyzer.as_bytes());
            put_sized(bytes, row.kind.as_bytes());
        }
    }
    put_sized(bytes, &row.bytes);
}

/// Reads the records of a batch that follow `after`, up to `through`.
///
/// # Errors
/// They are invalid, or their numbers do not rise within these bounds.
pub fn rows(bytes: &[u8], after: u64, through: u64) -> Result<Vec<Row>, Garbled> {
    let mut cursor = Cursor::new(bytes);
    let mut rows = Vec::new();
    let mut before = after;
    while cursor.end().is_err() {
        let step = cursor.varint("a record's number")?;
        let id = before.checked_add(step).filter(|id| step > 0 && *id <= through);
        let id = id.ok_or(Garbled::Value("a record's number"))?;
        if rows.len() == BATCH_ROWS_MAX {
            return Err(Garbled::Value("the number of records"));
        }
        rows.push(row(&mut cursor, id)?);
        before = id;
    }
    Ok(rows)
}

fn row(cursor: &mut Cursor<'_>, id: u64) -> Result<Row, Garbled> {
    match cursor.byte("whether it is sealed")? {
        0 => {
            let wrong = |what: String| Garbled::Record { id, what };
            let record = Record::decode(cursor.sized(RECORD_BYTES_MAX, "a record")?);
            let record = record.map_err(|error| wrong(error.to_string()))?;
            Row::plain(id, &record).map_err(|error| wrong(error.to_string()))
        }
        1 => {
            let key = cursor.array("a key's id")?;
            let severity = Severity::by_number(cursor.byte("a severity")?).ok_or(Garbled::Value("a severity"))?;
            let (fold, events) = (cursor.varint("a fold")?, cursor.varint("a count")?);
            if !(1..=tidewire_events::limits::RECORD_EVENTS_MAX).contains(&events) {
                return Err(Garbled::Value("a count"));
            }
            let (first_ns, last_ns) = (cursor.u64("a time")?, cursor.u64("a time")?);
            let mut name = |what| {
                let name = cursor.text(NAME_BYTES_MAX, what)?;
                if is_name(name) { Ok(name.to_owned()) } else { Err(Garbled::Value(what)) }
            };
            let (analyzer, kind) = (name("an analyzer")?, name("a kind")?);
            let bytes = cursor.sized(RECORD_BYTES_MAX, "a record")?.to_vec();
            Ok(Row { id, analyzer, kind, severity, fold, events, first_ns, last_ns, key: Some(key), bytes })
        }
        _ => Err(Garbled::Value("whether it is sealed")),
    }
}
