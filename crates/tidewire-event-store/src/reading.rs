//! The reading side of a store, also while it is written.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ToSql};
use tidewire_events::{Record, Severity};

use crate::{
    error::Error,
    rows::checksum,
    schema::{check, open_readable, signed, time},
};

/// Records that are read at a time. A reader holds no snapshot in between, so that it never keeps the log from being cut.
const PAGE: usize = 256;

/// In which order records are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were stored: what a spooler or a follower wants.
    #[default]
    Stored,
    /// By the time of their last event.
    Time,
}

/// Which records are read.
#[derive(Default)]
pub struct Query<'a> {
    /// In which order.
    pub order: Order,
    /// Records behind this one only; 0: all.
    pub after: u64,
    /// Events at or after this time, nanoseconds since 1970. (Of a record that has one, all events are given.)
    pub since_ns: Option<u64>,
    /// Events at or before this time.
    pub until_ns: Option<u64>,
    /// These kinds; empty: all.
    pub kinds: &'a [String],
    /// These analyzers; empty: all.
    pub analyzers: &'a [String],
    /// Records of this fold; `None`: all.
    pub fold: Option<u64>,
    /// This severity or worse.
    pub severity: Severity,
    /// What else has to hold.
    pub filter: Option<&'a dyn Fn(&Record) -> bool>,
}

/// A record of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its number, from 1 in the order of storing. No number is given twice.
    pub id: u64,
    /// The record.
    pub record: Record,
}

/// Reads a store.
pub struct Reader {
    path: PathBuf,
    connection: Connection,
}

/// Where a page ended.
struct Position {
    id: i64,
    last_ns: i64,
}

impl Reader {
    /// Opens a store for reading.
    ///
    /// # Errors
    /// It is not there, is no store, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let connection = open_readable(path)?;
        if !check(path, &connection)? {
            return Err(Error::NotAStore { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Calls `each` with every record that matches, in order, until it returns `false`.
    ///
    /// # Errors
    /// The store cannot be read, or a record is damaged. Records before were given.
    pub fn read(&self, query: &Query<'_>, mut each: impl FnMut(Stored) -> bool) -> Result<(), Error> {
        let kinds = self.kinds(query)?;
        let mut position = Position { id: signed(query.after), last_ns: query.since_ns.map_or(i64::MIN, time) };
        let mut is_first = true;
        loop {
            let page = self.page(query, kinds.as_deref(), &position, is_first)?;
            is_first = false;
            let Some(last) = page.last() else { return Ok(()) };
            position = Position { id: last.0, last_ns: last.1 };
            let is_whole = page.len() == PAGE;
            for (id, _, crc, bytes) in page {
                let id = id.cast_unsigned();
                let damaged = |what: String| Error::Damaged { path: self.path.clone(), id, what };
                if crc != checksum(id, &bytes) {
                    return Err(damaged("its checksum is wrong".into()));
                }
                let record = Record::decode(&bytes).map_err(|error| damaged(error.to_string()))?;
                if query.filter.is_none_or(|filter| filter(&record)) && !each(Stored { id, record }) {
                    return Ok(());
                }
            }
            if !is_whole {
                return Ok(());
            }
        }
    }

    /// Everything that matches, in order.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn all(&self, query: &Query<'_>) -> Result<Vec<Stored>, Error> {
        let mut all = Vec::new();
        self.read(query, |stored| {
            all.push(stored);
            true
        })?;
        Ok(all)
    }

    /// How many records and events there are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn counts(&self) -> Result<(u64, u64), Error> {
        let text = "SELECT count(*), coalesce(sum(events), 0) FROM record";
        let counts = self.connection.query_row(text, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let (records, events) = counts.map_err(Error::database(&self.path, "counting"))?;
        Ok((records.cast_unsigned(), events.cast_unsigned()))
    }

    /// Numbers of the kinds that match; `None`: all do.
    fn kinds(&self, query: &Query<'_>) -> Result<Option<Vec<i64>>, Error> {
        if query.kinds.is_empty() && query.analyzers.is_empty() {
            return Ok(None);
        }
        let is_among = |names: &[String], name: &str| names.is_empty() || names.iter().any(|of| of == name);
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.connection.prepare_cached("SELECT id, analyzer, kind FROM kind ORDER BY id")?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (analyzer, kind) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
                if is_among(query.analyzers, analyzer) && is_among(query.kinds, kind) {
                    found.push(row.get(0)?);
                }
            }
            Ok(found)
        };
        read().map(Some).map_err(Error::database(&self.path, "reading kinds"))
    }

    /// The next records: their number, time, checksum and bytes.
    #[allow(clippy::type_complexity, reason = "a row, taken apart at once")]
    fn page(
        &self,
        query: &Query<'_>,
        kinds: Option<&[i64]>,
        position: &Position,
        is_first: bool,
    ) -> Result<Vec<(i64, i64, i64, Vec<u8>)>, Error> {
        // With a plus a column is no reason to choose an index: each order has its own.
        let mut text =
            String::from("SELECT id, last_ns, crc, bytes FROM record WHERE +severity >= ? AND first_ns <= ?");
        let severity = query.severity.number();
        let until = query.until_ns.map_or(i64::MAX, time);
        let mut values: Vec<&dyn ToSql> = vec![&severity, &until];
        let since = query.since_ns.map_or(i64::MIN, time);
        let after = signed(query.after);
        match query.order {
            Order::Stored => {
                text.push_str(" AND id > ? AND +last_ns >= ?");
                values.extend([&position.id as &dyn ToSql, &since]);
            }
            Order::Time if is_first => {
                text.push_str(" AND last_ns >= ? AND +id > ?");
                values.extend([&since as &dyn ToSql, &after]);
            }
            Order::Time => {
                text.push_str(" AND (last_ns, id) > (?, ?) AND +id > ?");
                values.extend([&position.last_ns as &dyn ToSql, &position.id, &after]);
            }
        }
        let fold = query.fold.map(signed);
        if let Some(fold) = &fold {
            text.push_str(" AND fold = ?");
            values.push(fold);
        }
        if let Some(kinds) = kinds {
            text.push_str(" AND kind IN (");
            text.push_str(&kinds.iter().map(i64::to_string).collect::<Vec<_>>().join(","));
            text.push(')');
        }
        text.push_str(match query.order {
            Order::Stored => " ORDER BY id LIMIT ?",
            Order::Time => " ORDER BY last_ns, id LIMIT ?",
        });
        let limit = PAGE as i64;
        values.push(&limit);
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut statement = self.connection.prepare_cached(&text)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            statement.query_map(values.as_slice(), row)?.collect()
        };
        read().map_err(Error::database(&self.path, "reading records"))
    }
}
