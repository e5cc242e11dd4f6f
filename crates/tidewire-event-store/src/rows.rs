//! Rows: how a record becomes one.

use rusqlite::{Connection, params};
use tidewire_events::Record;

use crate::schema::{signed, time};

/// The number of a kind, given now if there is none.
pub(crate) fn kind_of(transaction: &Connection, (analyzer, kind): (&str, &str)) -> rusqlite::Result<i64> {
    let text = "INSERT INTO kind (analyzer, kind) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    transaction.prepare_cached(text)?.execute([analyzer, kind])?;
    let text = "SELECT id FROM kind WHERE analyzer = ?1 AND kind = ?2";
    transaction.prepare_cached(text)?.query_row([analyzer, kind], |row| row.get(0))
}

/// What is stored with a record to find out whether its bytes changed.
pub(crate) fn checksum(id: u64, bytes: &[u8]) -> i64 {
    let mut hasher = crc32fast::Hasher::new_with_initial(id as u32);
    hasher.update(bytes);
    hasher.finalize().into()
}

pub(crate) fn insert(transaction: &Connection, id: u64, kind: i64, record: &Record) -> rusqlite::Result<()> {
    let text = "INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    transaction.prepare_cached(text)?.execute(params![
        signed(id),
        kind,
        record.severity().number(),
        signed(record.fold()),
        signed(record.count()),
        time(record.first_ns()),
        time(record.last_ns()),
        checksum(id, record.bytes()),
        record.bytes(),
    ])?;
    Ok(())
}

/// The numbers behind those of these records.
pub(crate) fn note_numbers(transaction: &Connection, records: &[Record]) -> rusqlite::Result<()> {
    let text = "INSERT INTO fact VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)";
    let folds = records.iter().map(|record| record.fold() + 1).max();
    let numbers = records.iter().map(|record| record.last() + 1).max();
    for (name, next) in [("next_fold", folds), ("next_number", numbers)] {
        if let Some(next) = next {
            transaction.prepare_cached(text)?.execute(params![name, signed(next)])?;
        }
    }
    Ok(())
}
