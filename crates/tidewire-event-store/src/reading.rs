//! The reading side of a store, also while it is written.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension as _, ToSql};
use tidewire_events::{Record, Severity};

use crate::{
    error::Error,
    positions::{Destination, counts, destinations},
    rows::{KeyId, Row, checksum},
    schema::{check, fact, open_readable, signed, time},
    sealing::{Keyring, SealError},
};

/// Records that are read at a time. A reader holds no snapshot in between, so that it never keeps the log from being cut.
const PAGE: usize = 256;
/// Bytes of these after which a page ends.
const PAGE_BYTES: usize = 8 << 20;

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
    /// What else has to hold, of records that can be read. (Sealed ones are given.)
    pub filter: Option<&'a dyn Fn(&Record) -> bool>,
}

/// A record of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its number, from 1 in the order of storing. No number is given twice.
    pub id: u64,
    /// What it holds.
    pub content: Content,
}

/// A record that can be read, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The record: it was plain, or sealed for an identity of the reader's.
    Record(Record),
    /// A record that is sealed for others, with what is known of it.
    Sealed(Row),
}

impl Stored {
    /// The record, if it can be read.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match &self.content {
            Content::Record(record) => Some(record),
            Content::Sealed(_) => None,
        }
    }
}

/// Reads a store.
pub struct Reader {
    path: PathBuf,
    connection: Connection,
    keyring: RefCell<Option<Keyring>>,
}

/// Where a page ended.
struct Position {
    id: i64,
    last_ns: i64,
}

/// Rows that follow each other, and what is behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<Row>,
    /// The record behind them, if it is damaged: they end before it.
    pub damaged: Option<u64>,
    /// Whether nothing more was there, apart from what is damaged.
    pub is_last: bool,
}

const WRONG: &str = "its checksum is wrong";

/// How much is read at once.
#[derive(Clone, Copy)]
struct Page {
    rows: usize,
    bytes: usize,
}

/// A row with its checksum, of columns in this order: id, analyzer, kind, severity, fold, events, first and last time, the key's name,
/// checksum, bytes.
pub(crate) fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<(Row, i64)> {
    let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    let severity = Severity::by_number(row.get(3)?).ok_or(rusqlite::Error::IntegralValueOutOfRange(3, -1))?;
    let read = Row {
        id: number(0)?,
        analyzer: row.get(1)?,
        kind: row.get(2)?,
        severity,
        fold: number(4)?,
        events: number(5)?,
        first_ns: number(6)?,
        last_ns: number(7)?,
        key: row.get(8)?,
        bytes: row.get(10)?,
    };
    Ok((read, row.get(9)?))
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
        Ok(Self { path: path.to_owned(), connection, keyring: RefCell::new(None) })
    }

    /// Reads sealed records with these identities from now on.
    pub fn unseal_with(&mut self, keyring: Keyring) {
        self.keyring = RefCell::new(Some(keyring));
    }

    /// What a row holds.
    fn content(&self, row: Row) -> Result<Content, Error> {
        let id = row.id;
        if row.key.is_none() {
            let record = Record::decode(&row.bytes).map_err(|error| self.damaged(id, error.to_string()))?;
            return Ok(Content::Record(record));
        }
        let mut keyring = self.keyring.borrow_mut();
        let Some(keyring) = keyring.as_mut() else { return Ok(Content::Sealed(row)) };
        let mut failed = None;
        let wrapped = || {
            let name = row.key.unwrap_or_default();
            self.key(&name).map_err(|error| failed = Some(error)).ok().flatten()
        };
        let unsealed = keyring.unseal(&row, wrapped);
        match (unsealed, failed) {
            (_, Some(error)) => Err(error),
            (Ok(record), None) => Ok(Content::Record(record)),
            (Err(SealError::NotForUs), None) => Ok(Content::Sealed(row)),
            (Err(error), None) => Err(self.damaged(id, error.to_string())),
        }
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
            let page = Page { rows: PAGE, bytes: PAGE_BYTES };
            let page = self.page(query, kinds.as_deref(), &position, is_first, page)?;
            is_first = false;
            if let Some(last) = page.rows.last() {
                position = Position { id: signed(last.id), last_ns: time(last.last_ns) };
            }
            for row in page.rows {
                let id = row.id;
                let content = self.content(row)?;
                let is_asked = match (&content, query.filter) {
                    (Content::Record(record), Some(filter)) => filter(record),
                    _ => true,
                };
                if is_asked && !each(Stored { id, content }) {
                    return Ok(());
                }
            }
            match page.damaged {
                Some(id) => return Err(self.damaged(id, WRONG.into())),
                None if page.is_last => return Ok(()),
                None => {}
            }
        }
    }

    fn damaged(&self, id: u64, what: String) -> Error {
        Error::Damaged { path: self.path.clone(), id, what }
    }

    /// The next records behind [`Query::after`] as they are stored, sealed ones as well; not more than so many, or than needed to have
    /// so many bytes. The filter and the order of the query are left out.
    ///
    /// # Errors
    /// The store cannot be read, or the next record is damaged.
    pub fn rows(&self, query: &Query<'_>, rows_max: usize, bytes_max: usize) -> Result<Vec<Row>, Error> {
        let read = self.read_rows(query, rows_max, bytes_max)?;
        match read.damaged {
            Some(id) if read.rows.is_empty() => Err(self.damaged(id, WRONG.into())),
            _ => Ok(read.rows),
        }
    }

    /// As [`rows`](Self::rows), with what ended them.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read_rows(&self, query: &Query<'_>, rows_max: usize, bytes_max: usize) -> Result<Rows, Error> {
        let kinds = self.kinds(query)?;
        let query = Query { order: Order::Stored, filter: None, ..*query };
        let position = Position { id: signed(query.after), last_ns: i64::MIN };
        let limits = Page { rows: rows_max, bytes: bytes_max };
        self.page(&query, kinds.as_deref(), &position, true, limits)
    }

    /// The store's id ([`Store::id`](crate::Store::id)).
    ///
    /// # Errors
    /// It cannot be read.
    pub fn store_id(&self) -> Result<[u8; 16], Error> {
        let id =
            fact::<[u8; 16]>(&self.connection, "store_id").map_err(Error::database(&self.path, "reading its id"))?;
        id.ok_or_else(|| Error::NotAStore { path: self.path.clone() })
    }

    /// The last number given to a record; 0 in a store that never had one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn last_id(&self) -> Result<u64, Error> {
        let next = fact::<i64>(&self.connection, "next_id");
        let next = next.map_err(Error::database(&self.path, "reading its numbers"))?;
        Ok(next.map_or(0, |next| next.cast_unsigned().saturating_sub(1)))
    }

    /// All destinations that have a position, by name.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn destinations(&self) -> Result<Vec<Destination>, Error> {
        destinations(&self.connection).map_err(Error::database(&self.path, "reading destinations"))
    }

    /// A data key, wrapped for its recipients; `None`: the store does not have it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn key(&self, name: &KeyId) -> Result<Option<Vec<u8>>, Error> {
        let read = || -> rusqlite::Result<Option<Vec<u8>>> {
            let mut statement = self.connection.prepare_cached("SELECT wrapped FROM key WHERE name = ?1")?;
            statement.query_row([name], |row| row.get(0)).optional()
        };
        read().map_err(Error::database(&self.path, "reading a key"))
    }

    /// A number that changes whenever the writer has stored something: cheaper than to look for records.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn changes(&self) -> Result<i64, Error> {
        let number =
            self.connection.prepare_cached("PRAGMA data_version").and_then(|mut of| of.query_row([], |row| row.get(0)));
        number.map_err(Error::database(&self.path, "reading"))
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
        counts(&self.connection).map_err(Error::database(&self.path, "counting"))
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

    /// The next records.
    fn page(
        &self,
        query: &Query<'_>,
        kinds: Option<&[i64]>,
        position: &Position,
        is_first: bool,
        limits: Page,
    ) -> Result<Rows, Error> {
        // With a plus a column is no reason to choose an index: each order has its own.
        let mut text = String::from(
            "SELECT record.id, kind.analyzer, kind.kind, severity, fold, events, first_ns, last_ns, key.name, crc, bytes
            FROM record JOIN kind ON kind.id = record.kind LEFT JOIN key ON key.id = record.key
            WHERE +severity >= ? AND first_ns <= ?",
        );
        let severity = query.severity.number();
        let until = query.until_ns.map_or(i64::MAX, time);
        let mut values: Vec<&dyn ToSql> = vec![&severity, &until];
        let since = query.since_ns.map_or(i64::MIN, time);
        let after = signed(query.after);
        match query.order {
            Order::Stored => {
                text.push_str(" AND record.id > ? AND +last_ns >= ?");
                values.extend([&position.id as &dyn ToSql, &since]);
            }
            Order::Time if is_first => {
                text.push_str(" AND last_ns >= ? AND +record.id > ?");
                values.extend([&since as &dyn ToSql, &after]);
            }
            Order::Time => {
                text.push_str(" AND (last_ns, record.id) > (?, ?) AND +record.id > ?");
                values.extend([&position.last_ns as &dyn ToSql, &position.id, &after]);
            }
        }
        let fold = query.fold.map(signed);
        if let Some(fold) = &fold {
            text.push_str(" AND fold = ?");
            values.push(fold);
        }
        if let Some(kinds) = kinds {
            text.push_str(" AND record.kind IN (");
            text.push_str(&kinds.iter().map(i64::to_string).collect::<Vec<_>>().join(","));
            text.push(')');
        }
        text.push_str(match query.order {
            Order::Stored => " ORDER BY record.id LIMIT ?",
            Order::Time => " ORDER BY last_ns, record.id LIMIT ?",
        });
        let limit = i64::try_from(limits.rows).unwrap_or(i64::MAX);
        values.push(&limit);
        let read = || -> rusqlite::Result<(Vec<(Row, i64)>, bool)> {
            let mut statement = self.connection.prepare_cached(&text)?;
            let mut found = statement.query(values.as_slice())?;
            let (mut all, mut bytes) = (Vec::new(), 0);
            while let Some(next) = found.next()? {
                let next = row(next)?;
                bytes += next.0.bytes.len();
                all.push(next);
                if bytes >= limits.bytes {
                    return Ok((all, false));
                }
            }
            let is_last = all.len() < limits.rows;
            Ok((all, is_last))
        };
        let (all, is_last) = read().map_err(Error::database(&self.path, "reading records"))?;
        let damaged = all.iter().position(|(row, crc)| *crc != checksum(row.id, &row.bytes));
        let mut rows: Vec<Row> = all.into_iter().map(|(row, _)| row).collect();
        let damaged = damaged.map(|at| rows.drain(at..).next().map_or(0, |row| row.id));
        Ok(Rows { rows, damaged, is_last })
    }
}
