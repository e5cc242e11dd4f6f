//! Rows: how a record becomes one.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};
use tidewire_events::{DecodeError, Record, Severity};

use crate::schema::{signed, time};

/// A data key, by its random id.
pub type KeyId = [u8; 16];

/// Bytes of a record, at most: what a reader, or the receiver of a batch, sets aside for one.
pub const RECORD_BYTES_MAX: usize = 2 << 20;

/// A record as it is stored, plain or sealed, with what is known of it without its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number in the store that it is from.
    pub id: u64,
    /// Who found it.
    pub analyzer: String,
    /// Its kind.
    pub kind: String,
    /// How bad it is.
    pub severity: Severity,
    /// Which fold it belongs to.
    pub fold: u64,
    /// How many events it holds.
    pub events: u64,
    /// The earliest time of its events, nanoseconds since 1970.
    pub first_ns: u64,
    /// The latest.
    pub last_ns: u64,
    /// The data key that its bytes are sealed with; `None`: they are a plain record.
    pub key: Option<KeyId>,
    /// A record, or what became of one when it was sealed.
    pub bytes: Vec<u8>,
}

impl Row {
    /// The row of a plain record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn plain(id: u64, record: &Record) -> Result<Self, DecodeError> {
        let message = record.message()?;
        let (analyzer, kind) = message.names();
        Ok(Self {
            id,
            analyzer: analyzer.to_owned(),
            kind: kind.to_owned(),
            severity: message.severity(),
            fold: record.fold(),
            events: record.count(),
            first_ns: record.first_ns(),
            last_ns: record.last_ns(),
            key: None,
            bytes: record.bytes().to_vec(),
        })
    }

    /// The record, if it is plain.
    ///
    /// # Errors
    /// Its bytes are no record.
    pub fn record(&self) -> Result<Option<Record>, DecodeError> {
        if self.key.is_some() { Ok(None) } else { Record::decode(&self.bytes).map(Some) }
    }
}

/// The number of a data key; `None`: the store does not have it.
pub(crate) fn key_number(connection: &Connection, key: &KeyId) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM key WHERE name = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}

/// The number of a kind, given now if there is none.
pub(crate) fn kind_of(transaction: &Connection, (analyzer, kind): (&str, &str)) -> rusqlite::Result<i64> {
    let text = "INSERT INTO kind (analyzer, kind, records) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING";
    transaction.prepare_cached(text)?.execute([analyzer, kind])?;
    let text = "SELECT id FROM kind WHERE analyzer = ?1 AND kind = ?2";
    transaction.prepare_cached(text)?.query_row([analyzer, kind], |row| row.get(0))
}

/// By how much the number of records of kinds changes in a transaction.
#[derive(Default)]
pub(crate) struct KindCounts(HashMap<i64, i64>);

impl KindCounts {
    pub(crate) fn add(&mut self, kind: i64, records: i64) {
        *self.0.entry(kind).or_default() += records;
    }

    /// Writes them. Kinds without records are removed: analyzers choose their names. Whether there was one.
    pub(crate) fn write(&self, transaction: &Connection) -> rusqlite::Result<bool> {
        let mut are_fewer = false;
        for (kind, records) in &self.0 {
            let text = "UPDATE kind SET records = records + ?2 WHERE id = ?1";
            transaction.prepare_cached(text)?.execute(params![kind, records])?;
            if *records < 0 {
                let text = "DELETE FROM kind WHERE id = ?1 AND records <= 0";
                are_fewer |= transaction.prepare_cached(text)?.execute([kind])? > 0;
            }
        }
        Ok(are_fewer)
    }
}

/// The checksum stored with a record, which shows whether its bytes changed.
pub(crate) fn checksum(id: u64, bytes: &[u8]) -> i64 {
    let mut hasher = crc32fast::Hasher::new_with_initial(id as u32);
    hasher.update(bytes);
    hasher.finalize().into()
}

pub(crate) fn insert(transaction: &Connection, id: u64, kind: i64, record: &Record) -> rusqlite::Result<()> {
    put(transaction, [signed(id), kind], record.severity(), record.fold(), record.count(), None, record.bytes(), {
        [record.first_ns(), record.last_ns()]
    })
}

/// Inserts a row under another number; `key`: that of its data key.
pub(crate) fn insert_row(
    transaction: &Connection,
    id: u64,
    kind: i64,
    key: Option<i64>,
    row: &Row,
) -> rusqlite::Result<()> {
    let times = [row.first_ns, row.last_ns];
    put(transaction, [signed(id), kind], row.severity, row.fold, row.events, key, &row.bytes, times)
}

#[allow(clippy::too_many_arguments, reason = "the columns")]
fn put(
    transaction: &Connection,
    [id, kind]: [i64; 2],
    severity: Severity,
    fold: u64,
    events: u64,
    key: Option<i64>,
    bytes: &[u8],
    [first_ns, last_ns]: [u64; 2],
) -> rusqlite::Result<()> {
    let text = "INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    transaction.prepare_cached(text)?.execute(params![
        id,
        kind,
        severity.number(),
        signed(fold),
        signed(events),
        time(first_ns),
        time(last_ns),
        key,
        checksum(id.cast_unsigned(), bytes),
        bytes,
    ])?;
    Ok(())
}

/// The numbers behind those of these records.
pub(crate) fn note_numbers(transaction: &Connection, records: &[Record]) -> rusqlite::Result<()> {
    // Records of others may have any.
    let folds = records.iter().map(|record| record.fold().saturating_add(1)).max();
    raise_numbers(transaction, records.iter().map(|record| record.last().saturating_add(1)).max(), folds)
}

/// The first event number and the first fold that no record has, if they are behind those that are known.
pub(crate) fn raise_numbers(transaction: &Connection, number: Option<u64>, fold: Option<u64>) -> rusqlite::Result<()> {
    let text = "INSERT INTO fact VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)";
    for (name, next) in [("next_fold", fold), ("next_number", number)] {
        if let Some(next) = next {
            transaction.prepare_cached(text)?.execute(params![name, time(next)])?;
        }
    }
    Ok(())
}
