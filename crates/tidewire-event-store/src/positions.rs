//! How far producers and destinations are, and how much there is: queried by the writer and by readers.

use rusqlite::{Connection, Transaction, params};
use tidewire_events::Severity;

use crate::{
    batch::Batch,
    rows::{note_numbers, raise_numbers},
    schema::{set_fact, signed, time},
};

/// A destination's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Its name.
    pub name: String,
    /// The last record that it acknowledged; 0: none.
    pub delivered: u64,
    /// Records that were removed before they were delivered to it.
    pub lost_records: u64,
    /// Events in these.
    pub lost_events: u64,
    /// Records that are less severe are not for it: none of them is lost.
    pub severity: Severity,
}

/// How many records and events there are.
pub(crate) fn counts(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let text = "SELECT count(*), coalesce(sum(events), 0) FROM record";
    let (records, events) = connection.query_row(text, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    Ok((records.cast_unsigned(), events.cast_unsigned()))
}

/// All destinations that have a position.
pub(crate) fn destinations(connection: &Connection) -> rusqlite::Result<Vec<Destination>> {
    let text = "SELECT name, delivered, lost_records, lost_events, severity FROM destination ORDER BY name";
    let mut statement = connection.prepare_cached(text)?;
    let rows = statement.query_map([], |row| {
        let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        let (delivered, lost_records, lost_events) = (number(1)?, number(2)?, number(3)?);
        let severity = Severity::by_number(row.get(4)?).unwrap_or_default();
        Ok(Destination { name: row.get(0)?, delivered, lost_records, lost_events, severity })
    })?;
    rows.collect()
}

/// Writes a batch's positions of producers and destinations, and its closed folds. `last`: the number of the last record.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    batch: &Batch,
    stored_ns: u64,
    last: u64,
    refused: &mut Vec<(String, u64)>,
) -> rusqlite::Result<()> {
    let text = "INSERT INTO producer VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, stored_ns = excluded.stored_ns";
    for (name, sequence) in &batch.producers {
        transaction.prepare_cached(text)?.execute(params![name, signed(*sequence), time(stored_ns)])?;
    }
    for name in &batch.forgotten {
        transaction.prepare_cached("DELETE FROM producer WHERE name = ?1")?.execute([name])?;
    }
    if let Some(names) = &batch.registered {
        register(transaction, names)?;
    }
    let text = "INSERT INTO destination VALUES (?1, ?2, 0, 0, 0)
        ON CONFLICT (name) DO UPDATE SET delivered = max(delivered, excluded.delivered)";
    for (name, delivered) in &batch.destinations {
        // A position only grows: one that is beyond everything would be there for ever.
        if *delivered > last {
            refused.push((name.clone(), *delivered));
        } else {
            transaction.prepare_cached(text)?.execute(params![name, signed(*delivered)])?;
        }
    }
    for (name, severity) in &batch.severities {
        let text = "UPDATE destination SET severity = ?2 WHERE name = ?1";
        transaction.prepare_cached(text)?.execute(params![name, severity.number()])?;
    }
    if let Some(state) = &batch.state {
        set_fact(transaction, "state", state)?;
    }
    if let Some(next) = batch.next_numbers {
        raise_numbers(transaction, Some(next.0), Some(next.1))?;
    }
    note_numbers(transaction, &batch.records)
}

/// Makes these the destinations there are.
fn register(transaction: &Transaction<'_>, names: &[String]) -> rusqlite::Result<()> {
    for known in destinations(transaction)?.iter().filter(|known| !names.contains(&known.name)) {
        transaction.prepare_cached("DELETE FROM destination WHERE name = ?1")?.execute([&known.name])?;
    }
    let text = "INSERT INTO destination VALUES (?1, 0, 0, 0, 0) ON CONFLICT DO NOTHING";
    for name in names {
        transaction.prepare_cached(text)?.execute([name])?;
    }
    Ok(())
}
