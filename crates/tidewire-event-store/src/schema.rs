//! The tables, and how a connection is set up.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, ToSql, types::FromSql};

use crate::error::Error;

/// Says that a database is a store of events ("TWev").
pub(crate) const APPLICATION_ID: i64 = 0x5457_6576;
/// The version of the tables.
const VERSION: i64 = 3;

/// A log that grew further is cut again.
pub(crate) const LOG_BYTES_MAX: u64 = 32 << 20;
/// More records than a log can have.
pub(crate) const LOST_MAX: u64 = 1 << 20;

/// Records are in the order in which they were stored. Three indexes: what is removed first, what is read by time, and what
/// belongs together. `key` has the data keys that records are sealed with, wrapped for their recipients (`record.key`: which; none of a
/// plain one). `fact` has, among others, the store's id, for ever. `kind.records` counts the records of a kind: it goes with the last one.
/// `clock` says about once a minute which record was stored next, and when: see [`clock`](crate::clock).
const TABLES: &str = "
CREATE TABLE kind (
  id INTEGER PRIMARY KEY, analyzer TEXT NOT NULL, kind TEXT NOT NULL, records INTEGER NOT NULL, UNIQUE (analyzer, kind)
) STRICT;
CREATE TABLE record (
  id INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  severity INTEGER NOT NULL,
  fold INTEGER NOT NULL,
  events INTEGER NOT NULL,
  first_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL,
  key INTEGER,
  crc INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE TABLE key (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, wrapped BLOB NOT NULL) STRICT;
CREATE INDEX record_by_severity ON record (severity, id);
CREATE INDEX record_by_time ON record (last_ns);
CREATE INDEX record_by_fold ON record (fold);
CREATE TABLE fact (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE producer (name TEXT PRIMARY KEY, sequence INTEGER NOT NULL, stored_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE destination (
  name TEXT PRIMARY KEY, delivered INTEGER NOT NULL, lost_records INTEGER NOT NULL, lost_events INTEGER NOT NULL,
  severity INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE clock (id INTEGER PRIMARY KEY, stored_ns INTEGER NOT NULL, boot BLOB, boot_ns INTEGER) STRICT;
CREATE TABLE removed (
  reason TEXT, severity INTEGER, records INTEGER NOT NULL, events INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (reason, severity)
) STRICT, WITHOUT ROWID;
";

/// Opens a database for writing and sets it up. Durable: with FULL, a commit returns when the log is on the disk.
pub(crate) fn open_writable(path: &Path) -> Result<Connection, Error> {
    let failed = |what| Error::database(path, what);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed("opening"))?;
    let set = |name: &str, value: &dyn ToSql| connection.pragma_update(None, name, value).map_err(failed("setting up"));
    let pages = connection.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0));
    if pages.map_err(failed("opening"))? == 0 {
        // Before the first table; freed pages can then be given back to the file system.
        set("auto_vacuum", &"INCREMENTAL")?;
    }
    let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
    let mode = mode.map_err(failed("setting up"))?;
    if mode != "wal" {
        return Err(Error::NoLog { path: path.to_owned(), mode });
    }
    set("synchronous", &"FULL")?;
    set("cache_size", &-8192)?;
    // 16 MiB of log (SQLite's default is 4): pages that change often, as those of indexes, are copied less often. What grew
    // further behind a slow reader is cut again.
    set("wal_autocheckpoint", &4096)?;
    set("journal_size_limit", &signed(LOG_BYTES_MAX))?;
    set("busy_timeout", &5000)?;
    set("trusted_schema", &false)?;
    // Records that are removed or moved within a page are overwritten there, which costs no writing: see `Store::erase`.
    set("secure_delete", &"FAST")?;
    // A process that has confined itself has no directory for temporary files.
    set("temp_store", &"MEMORY")?;
    Ok(connection)
}

/// Opens a database for reading, beside its writer.
pub(crate) fn open_readable(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(Error::database(path, "opening"))?;
    connection.pragma_update(None, "busy_timeout", 5000).map_err(Error::database(path, "setting up"))?;
    connection.pragma_update(None, "trusted_schema", false).map_err(Error::database(path, "setting up"))?;
    Ok(connection)
}

/// Makes the tables of an empty database.
pub(crate) fn create(path: &Path, connection: &mut Connection) -> Result<(), Error> {
    let make = |connection: &mut Connection| {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO fact VALUES ('store_id', randomblob(16))", [])?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()
    };
    make(connection).map_err(Error::database(path, "making its tables"))
}

/// Whether it has tables: `false` of an empty database.
pub(crate) fn check(path: &Path, connection: &Connection) -> Result<bool, Error> {
    let number = |name: &str| {
        let number = connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        number.map_err(Error::database(path, "reading its version"))
    };
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    let tables = tables.map_err(Error::database(path, "reading its tables"))?;
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application != APPLICATION_ID {
        let is_empty = application == 0 && tables == 0;
        return if is_empty { Ok(false) } else { Err(Error::NotAStore { path: path.to_owned() }) };
    }
    if version != VERSION {
        return Err(Error::Version { path: path.to_owned(), found: version, known: VERSION });
    }
    Ok(true)
}

/// A fact by its name.
pub(crate) fn fact<T: FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<Option<T>> {
    let mut statement = connection.prepare_cached("SELECT value FROM fact WHERE name = ?1")?;
    statement.query_row([name], |row| row.get(0)).optional()
}

pub(crate) fn set_fact(connection: &Connection, name: &str, value: &dyn ToSql) -> rusqlite::Result<()> {
    let text = "INSERT INTO fact VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(text)?.execute(rusqlite::params![name, value]).map(drop)
}

/// A number of 64 bits as SQLite has it.
pub(crate) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// A time for comparisons: SQLite's end in 2262.
pub(crate) fn time(time_ns: u64) -> i64 {
    i64::try_from(time_ns).unwrap_or(i64::MAX)
}
