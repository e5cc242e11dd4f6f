//! Reads what is left of a damaged store.

use std::path::Path;

use rusqlite::{Connection, params, types::ValueRef};
use tidewire_events::Record;

use crate::{
    error::is_damage,
    reading::row,
    rows::{KindCounts, checksum, insert, insert_row, key_number, kind_of, note_numbers},
    schema::{LOST_MAX, signed},
};

/// Content of a salvaged row.
pub(crate) enum Found {
    Plain(Record),
    Sealed,
    /// Bytes that are not those that were stored.
    Damaged,
}

/// Calls for each row with its length and what it holds, until it returns `false`.
pub(crate) fn scan(
    connection: &Connection,
    text: &str,
    bounds: &[i64],
    mut each: impl FnMut(u64, usize, Found) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(text)?;
    let mut rows = statement.query(rusqlite::params_from_iter(bounds))?;
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>(0)?.cast_unsigned();
        let bytes = row.get_ref(2)?.as_blob().ok();
        let is_whole = bytes.is_some_and(|bytes| row.get::<_, i64>(1).ok() == Some(checksum(id, bytes)));
        let is_sealed = row.get_ref(3)? != ValueRef::Null;
        let found = match bytes.filter(|_| is_whole) {
            Some(_) if is_sealed => Found::Sealed,
            Some(bytes) => Record::decode(bytes).map_or(Found::Damaged, Found::Plain),
            None => Found::Damaged,
        };
        if !each(id, bytes.map_or(0, <[u8]>::len), found) {
            break;
        }
    }
    Ok(())
}

/// Records that are copied in one transaction: the log of the new store is written back between them, and stays small.
const STEP: i64 = 10_000;
const STEP_BYTES: usize = 8 << 20;

/// Copies every record that can be read, and returns the number of the last one there was, if that can be read. Where reading fails,
/// it goes on behind, in growing steps, and then at the first record behind the damage.
pub(crate) fn salvage(
    damaged: &Connection,
    fresh: &mut Connection,
    each: &mut dyn FnMut(u64),
) -> rusqlite::Result<Option<i64>> {
    let last = damaged.query_row("SELECT id FROM record ORDER BY id DESC LIMIT 1", [], |row| row.get::<_, i64>(0)).ok();
    let end = last.unwrap_or(i64::MAX - 1);
    let (mut next, mut skip) = (0_i64, 1_i64);
    // Where reading failed last.
    let mut failed_at = None;
    while next <= end {
        if let Some(failed_at) = failed_at.take().filter(|_| skip > 1 && can_read(damaged, next)) {
            next = first_behind(damaged, failed_at, next);
        }
        let transaction = fresh.transaction()?;
        let (mut failed, mut read_to, mut rows, mut bytes) = (None, next, 0, 0);
        let mut kinds = KindCounts::default();
        let text = "SELECT id, crc, bytes, key FROM record WHERE id >= ?1 ORDER BY id LIMIT ?2";
        let read = scan(damaged, text, &[next, STEP], |id, length, found| {
            (read_to, rows, bytes) = (signed(id).saturating_add(1), rows + 1, bytes + length);
            let copied = match found {
                Found::Plain(record) => copy(&transaction, &mut kinds, id, &record).map(|()| true),
                Found::Sealed => copy_sealed(damaged, &transaction, &mut kinds, id),
                Found::Damaged => Ok(false),
            };
            match copied {
                Ok(true) => each(id),
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
            failed.is_none() && bytes < STEP_BYTES
        });
        if let Some(error) = failed {
            return Err(error);
        }
        kinds.write(&transaction)?;
        transaction.commit()?;
        match read {
            Ok(()) if rows < STEP && bytes < STEP_BYTES => return Ok(last),
            Ok(()) => next = read_to,
            Err(error) if is_damage(&error) => {
                skip = if read_to > next { 1 } else { skip.saturating_mul(2) };
                failed_at = Some(read_to);
                next = read_to.saturating_add(skip);
            }
            // The damaged file says nothing more.
            Err(_) => return Ok(last),
        }
    }
    Ok(last)
}

/// Whether the first record from a number on can be read.
fn can_read(damaged: &Connection, from: i64) -> bool {
    let read = damaged.query_row("SELECT id FROM record WHERE id >= ?1 ORDER BY id LIMIT 1", [from], |_| Ok(()));
    read.is_ok()
}

/// The first number that can be read from, between one that cannot and one that can.
fn first_behind(damaged: &Connection, mut cannot: i64, mut can: i64) -> i64 {
    while can - cannot > 1 {
        let middle = cannot + (can - cannot) / 2;
        match can_read(damaged, middle) {
            true => can = middle,
            false => cannot = middle,
        }
    }
    can
}

fn copy(transaction: &Connection, kinds: &mut KindCounts, id: u64, record: &Record) -> rusqlite::Result<()> {
    let Ok(message) = record.message() else { return Ok(()) };
    let kind = kind_of(transaction, message.names())?;
    insert(transaction, id, kind, record)?;
    kinds.add(kind, 1);
    note_numbers(transaction, std::slice::from_ref(record))
}

/// Copies a sealed record with its key, if what is known of it can be read.
fn copy_sealed(
    damaged: &Connection,
    transaction: &Connection,
    kinds: &mut KindCounts,
    id: u64,
) -> rusqlite::Result<bool> {
    let text =
        "SELECT record.id, kind.analyzer, kind.kind, severity, fold, events, first_ns, last_ns, key.name, crc, bytes,
          key.wrapped
        FROM record JOIN kind ON kind.id = record.kind JOIN key ON key.id = record.key WHERE record.id = ?1";
    let read = damaged.prepare_cached(text).and_then(|mut statement| {
        statement.query_row([signed(id)], |found| Ok((row(found)?.0, found.get::<_, Vec<u8>>(11)?)))
    });
    let Ok((row, wrapped)) = read else { return Ok(false) };
    let Some(name) = &row.key else { return Ok(false) };
    let text = "INSERT INTO key (name, wrapped) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    transaction.prepare_cached(text)?.execute(params![name, wrapped])?;
    let key = key_number(transaction, name)?;
    let kind = kind_of(transaction, (&row.analyzer, &row.kind))?;
    insert_row(transaction, id, kind, key, &row)?;
    kinds.add(kind, 1);
    Ok(true)
}

/// Copies what is not records. The id of the store comes with its numbers, or not at all: without them, numbers may be given again,
/// which collectors would take for what they have.
pub(crate) fn copy_positions(damaged: &Path, fresh: &Connection) -> rusqlite::Result<()> {
    let path = damaged.to_string_lossy();
    fresh.execute("ATTACH ?1 AS damaged", params![path])?;
    // The copy is not in use: numbers that its log may have had are left out here.
    let copied = fresh.execute_batch(&format!(
        "BEGIN;
        INSERT INTO producer SELECT * FROM damaged.producer;
        INSERT INTO destination SELECT * FROM damaged.destination;
        INSERT INTO removed SELECT * FROM damaged.removed;
        INSERT INTO clock SELECT * FROM damaged.clock;
        INSERT INTO fact SELECT * FROM damaged.fact WHERE true
          ON CONFLICT (name) DO UPDATE SET value = iif(name IN ('store_id', 'clock_boot'), excluded.value, max(value, excluded.value));
        UPDATE fact SET value = value + {LOST_MAX}
          WHERE name = 'next_id' AND EXISTS (SELECT 1 FROM fact WHERE name = 'in_use' AND value = 1);
        DELETE FROM fact WHERE name = 'in_use';
        COMMIT;"
    ));
    if copied.is_err() {
        let _ = fresh.execute_batch("ROLLBACK");
    }
    fresh.execute_batch("DETACH damaged")?;
    copied
}
