//! How far destinations are, and how much there is: asked by the writer and by readers.

use rusqlite::Connection;

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
}

/// How many records and events there are.
pub(crate) fn counts(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let text = "SELECT count(*), coalesce(sum(events), 0) FROM record";
    let (records, events) = connection.query_row(text, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    Ok((records.cast_unsigned(), events.cast_unsigned()))
}

/// All destinations that have a position.
pub(crate) fn destinations(connection: &Connection) -> rusqlite::Result<Vec<Destination>> {
    let text = "SELECT name, delivered, lost_records, lost_events FROM destination ORDER BY name";
    let mut statement = connection.prepare_cached(text)?;
    let rows = statement.query_map([], |row| {
        let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        let (delivered, lost_records, lost_events) = (number(1)?, number(2)?, number(3)?);
        Ok(Destination { name: row.get(0)?, delivered, lost_records, lost_events })
    })?;
    rows.collect()
}
