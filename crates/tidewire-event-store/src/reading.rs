//! The reading side of a store, also while it is written.

use std::{
    cell::RefCell,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension as _, ToSql};
use tidewire_events::{Record, Severity};

use crate::{
    error::{Error, is_damage},
    positions::{Destination, counts, destinations},
    read_progress::ReadProgress,
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
    /// These kinds, each a name, or the beginning of names and a `*`; empty: all.
    pub kinds: &'a [String],
    /// These analyzers; empty: all.
    pub analyzers: &'a [String],
    /// Records of this fold; `None`: all.
    pub fold: Option<u64>,
    /// This severity or worse.
    pub severity: Severity,
    /// A further condition on records that can be read. (Others are passed on.)
    pub filter: Option<&'a dyn Fn(&Record) -> bool>,
    /// Progress of earlier queries of the same series: of a fold whose records were joined meanwhile, only later events are passed on.
    pub given: Option<&'a ReadProgress>,
}

/// A record of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its number, from 1 in the order of storing. No number is given twice.
    pub id: u64,
    /// The record, or why it cannot be read.
    pub content: Content,
}

/// A record that can be read, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The record: it was plain, or sealed for an identity of the reader's.
    Record(Record),
    /// A record that is sealed for others, with what is known of it.
    Sealed(Row),
    /// A record that cannot be read, and why. Those behind it can.
    Damaged(String),
}

impl Stored {
    /// The record, if it can be read.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match &self.content {
            Content::Record(record) => Some(record),
            Content::Sealed(_) | Content::Damaged(_) => None,
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
    /// The last record that was looked at, in these or left out of them; [`Query::after`] of the query if there was none.
    pub last: u64,
    /// The record behind them, if it is damaged: they end before it.
    pub damaged: Option<u64>,
    /// Whether nothing more was there, apart from what is damaged.
    pub is_last: bool,
}

/// Columns of a row. The plus of a column keeps it from the choice of an index: each order has its own; and kinds are looked up.
const COLUMNS: &str =
    "SELECT record.id, kind.analyzer, kind.kind, severity, fold, events, first_ns, last_ns, key.name, crc, bytes
    FROM record CROSS JOIN kind ON kind.id = record.kind LEFT JOIN key ON key.id = record.key
    WHERE +severity >= ? AND first_ns <= ?";
const WRONG: &str = "its checksum is wrong";

impl Query<'_> {
    /// Whether a record is of the query's time, where that is later than columns can say: they end in 2262 (`time`).
    fn is_within(&self, record: &Record) -> bool {
        let is_beyond = |bound: u64| i64::try_from(bound).is_err();
        self.since_ns.is_none_or(|since| !is_beyond(since) || record.last_ns() >= since)
            && self.until_ns.is_none_or(|until| !is_beyond(until) || record.first_ns() <= until)
    }
}

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

    /// Content of a row: decoded, unsealed if there is a key, or damaged.
    fn content(&self, row: Row) -> Result<Content, Error> {
        if row.key.is_none() {
            return Ok(
                Record::decode(&row.bytes).map_or_else(|error| Content::Damaged(error.to_string()), Content::Record)
            );
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
            (Err(error), None) => Ok(Content::Damaged(error.to_string())),
        }
    }

    /// Calls `each` with every record that matches, in order, until it returns `false`. One that is damaged keeps none from being read.
    ///
    /// # Errors
    /// The store cannot be read. Records before were given.
    pub fn read(&self, query: &Query<'_>, mut each: impl FnMut(Stored) -> bool) -> Result<(), Error> {
        let mut position = Position { id: signed(query.after), last_ns: query.since_ns.map_or(i64::MIN, time) };
        let mut is_first = true;
        let own = ReadProgress::default();
        let given = query.given.unwrap_or(&own);
        loop {
            let page = Page { rows: PAGE, bytes: PAGE_BYTES };
            let (rows, is_last) = self.page(query, &position, is_first, page)?;
            is_first = false;
            for found in rows {
                let (id, content) = match found {
                    Found::Row(row) => {
                        position = Position { id: signed(row.id), last_ns: time(row.last_ns) };
                        let Some(row) = given.rest(row) else { continue };
                        (row.id, self.content(row)?)
                    }
                    Found::Damaged(id, last_ns) => {
                        position = Position { id: signed(id), last_ns };
                        (id, Content::Damaged(WRONG.to_owned()))
                    }
                };
                let matches = match &content {
                    Content::Record(record) => {
                        query.is_within(record) && query.filter.is_none_or(|filter| filter(record))
                    }
                    _ => true,
                };
                if matches && !each(Stored { id, content }) {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
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
        let query = Query { order: Order::Stored, filter: None, ..*query };
        let position = Position { id: signed(query.after), last_ns: i64::MIN };
        let (found, is_last) = self.page(&query, &position, true, Page { rows: rows_max, bytes: bytes_max })?;
        let mut read = Rows { rows: Vec::new(), last: query.after, damaged: None, is_last };
        for one in found {
            match one {
                Found::Row(row) => {
                    read.last = row.id;
                    read.rows.extend(match query.given {
                        Some(given) => given.rest(row),
                        None => Some(row),
                    });
                }
                Found::Damaged(id, _) => {
                    read.damaged = Some(id);
                    break;
                }
            }
        }
        Ok(read)
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

    /// The next records, and whether they are the last. Kinds are looked up in the same statement: a new kind has
    /// records only behind it.
    fn page(
        &self,
        query: &Query<'_>,
        position: &Position,
        is_first: bool,
        limits: Page,
    ) -> Result<(Vec<Found>, bool), Error> {
        let (severity, fold) = (query.severity.number(), query.fold.map(signed));
        let (since, until) = (query.since_ns.map_or(i64::MIN, time), query.until_ns.map_or(i64::MAX, time));
        let (after, limit) = (signed(query.after), i64::try_from(limits.rows).unwrap_or(i64::MAX));
        let mut text = String::from(COLUMNS);
        let mut values: Vec<&dyn ToSql> = vec![&severity, &until];
        let ordered: (&str, [&dyn ToSql; 3]) = match query.order {
            Order::Stored => (" AND record.id > ? AND +last_ns >= ? AND ? NOTNULL", [&position.id, &since, &after]),
            Order::Time if is_first => {
                (" AND last_ns >= ? AND +record.id > ? AND ? NOTNULL", [&since as &dyn ToSql, &after, &after])
            }
            Order::Time => {
                (" AND (last_ns, record.id) > (?, ?) AND +record.id > ?", [&position.last_ns, &position.id, &after])
            }
        };
        text.push_str(ordered.0);
        values.extend(ordered.1);
        if let Some(fold) = &fold {
            text.push_str(" AND fold = ?");
            values.push(fold);
        }
        let beginnings: Vec<&str> = query.kinds.iter().filter_map(|kind| kind.strip_suffix('*')).collect();
        for (column, names, beginnings) in
            [("kind.kind", query.kinds, &beginnings[..]), ("kind.analyzer", query.analyzers, &[])]
        {
            if !names.is_empty() {
                let places = vec!["?"; names.len()].join(",");
                let _ = write!(text, " AND ({column} IN ({places})");
                // No name has a star, so that a beginning with its star is no name in the list.
                values.extend(names.iter().map(|name| name as &dyn ToSql));
                if !beginnings.is_empty() {
                    let places = vec!["(?)"; beginnings.len()].join(",");
                    let begins = format!("substr({column}, 1, length(column1)) = column1");
                    let _ = write!(text, " OR EXISTS (SELECT 1 FROM (VALUES {places}) WHERE {begins})");
                    values.extend(beginnings.iter().map(|beginning| beginning as &dyn ToSql));
                }
                text.push(')');
            }
        }
        text.push_str(match query.order {
            Order::Stored => " ORDER BY record.id LIMIT ?",
            Order::Time => " ORDER BY last_ns, record.id LIMIT ?",
        });
        values.push(&limit);
        let read = || -> rusqlite::Result<(Vec<Found>, bool)> {
            let mut statement = self.connection.prepare_cached(&text)?;
            let mut found = statement.query(values.as_slice())?;
            let (mut all, mut bytes) = (Vec::new(), 0);
            while let Some(next) = found.next()? {
                let one = Found::of(next)?;
                bytes += if let Found::Row(row) = &one { row.bytes.len() } else { 0 };
                all.push(one);
                if bytes >= limits.bytes {
                    return Ok((all, false));
                }
            }
            let is_last = all.len() < limits.rows;
            Ok((all, is_last))
        };
        read().map_err(Error::database(&self.path, "reading records"))
    }
}

/// Whether a row is what was stored.
enum Found {
    Row(Row),
    /// Its number and its last time, if that can be read.
    Damaged(u64, i64),
}

impl Found {
    fn of(columns: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let id = columns.get::<_, i64>(0)?.cast_unsigned();
        match row(columns) {
            Ok((row, crc)) if crc == checksum(row.id, &row.bytes) => Ok(Self::Row(row)),
            Ok((row, _)) => Ok(Self::Damaged(id, time(row.last_ns))),
            Err(error) if is_damage(&error) => Ok(Self::Damaged(id, columns.get(7).unwrap_or(i64::MIN))),
            Err(error) => Err(error),
        }
    }
}
