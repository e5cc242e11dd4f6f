//! `--to sqlite:FILE`: a database with a table for each kind of record.

mod existing;
mod tables;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, OpenFlags, Statement, types::Null};
use tidewire::legible::legible;
use tidewire_exports::{
    json::push_address,
    table::{self, Cell, Kind, Row, Table},
};
use tidewire_types::counted;

use self::tables::{definition, insertion};
use super::row_writer::RowWriter;
use crate::{
    error::OutputError,
    files::{Keeper, names::Names},
    place::{self, folder},
    rotate::Rotate,
    settings::Settings,
};

/// Rows of a transaction: enough that beginning and ending it cost nothing.
const TRANSACTION_ROWS: u32 = 512;

/// A database, or several, one after the other.
pub struct Sqlite {
    shown: String,
    names: Names,
    rotate: Rotate,
    tables: &'static [Table],
    current: Option<Current>,
    scratch: Vec<u8>,
    failure: Option<String>,
    /// Rows in the databases before this one.
    committed: u64,
    keeper: Option<Arc<Keeper>>,
}

struct Current {
    connection: Connection,
    hidden: String,
    file: folder::Identity,
    opened_ns: u64,
    /// Whether a row is in it. Until then it is as old as its first one.
    is_begun: bool,
    /// Rows of the transaction that is open; 0: none is.
    waiting: u32,
    /// Rows of those that ended.
    committed: u64,
}

impl Sqlite {
    /// Opens a database, so that what prevents it is known before the run begins.
    pub fn open(path: &Path, settings: &Settings, now_ns: u64) -> Result<Self, OutputError> {
        let shown = legible(&path.to_string_lossy()).into_owned();
        let cannot = |error: io::Error| OutputError::Write(format!("{shown}: cannot be written: {error}"));
        if path.symlink_metadata().is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
            return Err(OutputError::Usage(format!("{shown} is no file: a database cannot be written to it")));
        }
        let found = place::find(path).map_err(cannot)?;
        let path = found.map_or_else(|| path.to_owned(), |found| found.path);
        let name = path.file_name().ok_or_else(|| cannot(io::ErrorKind::InvalidFilename.into()))?.to_owned();
        let folder = Arc::new(folder::existing_parent(&path).map_err(cannot)?);
        // SQLite would take a log for that of the file that gets this name.
        if let Some(log) = existing::log_beside(&folder, &name) {
            return Err(OutputError::Write(format!(
                "{shown}: another program has this database open, or ended without closing it: {log} exists"
            )));
        }
        if !settings.rotate.is_on() {
            existing::refuse_over(&folder, &name, &shown)?;
        }
        let keeper = Keeper::new(&folder, vec![name.clone()], settings);
        let names = Names::new(&folder, name, settings);
        let mut sqlite = Self {
            shown: shown.clone(),
            names,
            rotate: settings.rotate,
            tables: settings.tables,
            current: None,
            scratch: Vec::new(),
            failure: None,
            committed: 0,
            keeper,
        };
        sqlite.begin(now_ns).map_err(|error| OutputError::Write(format!("{shown}: cannot be written: {error}")))?;
        Ok(sqlite)
    }

    fn begin(&mut self, now_ns: u64) -> Result<(), String> {
        let hidden = self.names.hidden();
        let made = self.names.folder().create(&hidden).and_then(|file| folder::identity(&file));
        let file = made.map_err(|error| error.to_string())?;
        let path = self.names.folder().by_handle().join(&hidden);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let begun = Connection::open_with_flags(path, flags).and_then(|connection| {
            // With one owner the log needs no shared memory; what a transaction ended is in the file or in the log.
            connection.execute_batch(
                "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;",
            )?;
            connection.pragma_update(None, "application_id", existing::APPLICATION_ID)?;
            self.tables.iter().try_for_each(|table| connection.execute_batch(&definition(table)))?;
            Ok(connection)
        });
        let connection = begun.map_err(|error| {
            self.remove(&hidden);
            error.to_string()
        })?;
        self.current =
            Some(Current { connection, hidden, file, opened_ns: now_ns, is_begun: false, waiting: 0, committed: 0 });
        Ok(())
    }

    fn push(&mut self, row: &Row<'_>, now_ns: u64) -> Result<(), String> {
        if self.is_due(now_ns)? {
            self.complete()?;
        }
        if self.current.is_none() {
            self.begin(now_ns)?;
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        if !std::mem::replace(&mut current.is_begun, true) {
            current.opened_ns = now_ns;
        }
        let pushed = current.insert(row, &mut self.scratch);
        pushed.map_err(|error| error.to_string())
    }

    fn is_due(&mut self, now_ns: u64) -> Result<bool, String> {
        let Some(current) = self.current.as_ref().filter(|current| current.is_begun) else { return Ok(false) };
        if self.rotate.ns.is_some_and(|ns| now_ns.saturating_sub(current.opened_ns) >= ns) {
            return Ok(true);
        }
        // Sizes are looked at between transactions.
        let Some(most) = self.rotate.bytes.filter(|_| current.waiting == 0) else { return Ok(false) };
        let pages = |name: &str| current.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let bytes = pages("page_count").and_then(|count| Ok(count * pages("page_size")?));
        Ok(bytes.map_err(|error| error.to_string())? as u64 >= most)
    }

    /// Ends the database; it gets its name.
    fn complete(&mut self) -> Result<(), String> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let ended = current.commit().and_then(|()| {
            // The log is no longer needed, and is removed.
            current.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE;")
        });
        let committed = current.committed;
        self.committed += committed;
        let closed = ended.and_then(|()| current.connection.close().map_err(|(_, error)| error));
        let named = closed.map_err(|error| error.to_string()).and_then(|()| {
            let name = self.names.final_name();
            if let Some(log) = name.and_then(|name| existing::log_beside(self.names.folder(), name)) {
                return Err(format!(
                    "{log} appeared beside it: another program opened the database of that name, and SQLite would apply its log to this one"
                ));
            }
            let what = counted(committed, "row", "rows");
            self.names.give(&current.hidden, current.file, current.opened_ns, &what).map_err(|error| error.to_string())
        });
        named.map_err(|error| format!("{error}; {}", there(&self.names, &current.hidden, committed)))?;
        if let Some(keeper) = &self.keeper {
            keeper.retain();
        }
        Ok(())
    }

    /// Removes a database that nothing is in, with its logs.
    fn remove(&self, hidden: &str) {
        for end in ["", "-wal", "-shm", "-journal"] {
            let _ = self.names.folder().remove(format!("{hidden}{end}"));
        }
    }

    fn note(&mut self, result: Result<(), String>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }
}

impl Current {
    fn insert(&mut self, row: &Row<'_>, scratch: &mut Vec<u8>) -> rusqlite::Result<()> {
        if self.waiting == 0 {
            self.connection.execute_batch("BEGIN")?;
        }
        self.waiting += 1;
        let table = row.table();
        let mut statement = self.connection.prepare_cached(insertion(table.name))?;
        let (mut index, mut bound) = (0, Ok(()));
        row.cells(&mut |cell| {
            if let Some(column) = table.columns.get(index).filter(|_| bound.is_ok()) {
                index += 1;
                bound = bind(&mut statement, index, column.kind, &cell, scratch);
            }
        });
        bound?;
        statement.raw_execute()?;
        drop(statement);
        if self.waiting >= TRANSACTION_ROWS { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> rusqlite::Result<()> {
        if self.waiting > 0 {
            self.connection.execute_batch("COMMIT")?;
            self.committed += u64::from(std::mem::take(&mut self.waiting));
        }
        Ok(())
    }
}

/// Describes where an incomplete database was left.
fn there(names: &Names, hidden: &str, committed: u64) -> String {
    let rows = counted(committed, "row that was committed is", "rows that were committed are");
    format!("the {rows} {}", names.folder().place_of(hidden, None))
}

/// Binds a cell: numbers as they are, everything else as text.
fn bind(
    statement: &mut Statement<'_>,
    index: usize,
    kind: Kind,
    cell: &Cell<'_>,
    scratch: &mut Vec<u8>,
) -> rusqlite::Result<()> {
    scratch.clear();
    match (cell, kind) {
        (Cell::Null, _) => return statement.raw_bind_parameter(index, Null),
        (Cell::Number(ns), Kind::Time) => table::push_time(scratch, *ns),
        (Cell::Number(number), _) => return statement.raw_bind_parameter(index, table::long(*number)),
        (Cell::Signed(number), _) => return statement.raw_bind_parameter(index, number),
        (Cell::Truth(truth), _) => return statement.raw_bind_parameter(index, truth),
        (Cell::Text(text), _) => return statement.raw_bind_parameter(index, text),
        (Cell::Address(address), _) => push_address(scratch, *address),
        (cell, kind) => table::push_json(scratch, kind, cell),
    }
    statement.raw_bind_parameter(index, std::str::from_utf8(scratch).unwrap_or_default())
}

impl RowWriter for Sqlite {
    fn row(&mut self, row: &Row<'_>, now_ns: u64) {
        if self.failure.is_none() {
            let pushed = self.push(row, now_ns);
            self.note(pushed);
        }
    }

    fn flush(&mut self, now_ns: u64) {
        if let Some(keeper) = &self.keeper {
            keeper.look();
        }
        if self.failure.is_some() {
            return;
        }
        let committed = self.current.as_mut().map_or(Ok(()), Current::commit).map_err(|error| error.to_string());
        let flushed = committed.and_then(|()| match self.is_due(now_ns)? {
            true => self.complete(),
            false => Ok(()),
        });
        self.note(flushed);
    }

    fn finish(&mut self, _: u64, is_whole: bool) -> Result<(), OutputError> {
        self.names.is_whole = is_whole;
        if self.failure.is_none() {
            let completed = self.complete();
            self.note(completed);
        }
        let Some(error) = self.failure.take() else { return Ok(()) };
        let there = |current: &Current| format!("; {}", there(&self.names, &current.hidden, current.committed));
        let there = self.current.as_ref().map(there);
        Err(OutputError::Write(format!("{}: cannot be written: {error}{}", self.shown, there.unwrap_or_default())))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.names.folder().by_handle())
    }

    fn written_rows(&self) -> [u64; 2] {
        [self.committed + self.current.as_ref().map_or(0, |current| current.committed); 2]
    }

    fn removed(&self) -> (u64, u64) {
        self.keeper.as_ref().map_or((0, 0), |keeper| keeper.removed())
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

impl Drop for Sqlite {
    /// Removes a database that a run which did not begin left empty.
    fn drop(&mut self) {
        if let Some(current) = self.current.take_if(|current| !current.is_begun) {
            drop(current.connection);
            self.remove(&current.hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// SQLite applies a log to whatever database has its name: `x-journal` of a killed program would damage a new `x`.
    #[test]
    fn a_log_that_appears_beside_the_name_keeps_the_database_hidden() {
        let settings = Settings { tables: &tables::TABLES[..1], ..Settings::default() };
        for end in ["-wal", "-shm", "-journal"] {
            let place = tempfile::tempdir().unwrap();
            let [path, log] = ["x.db".to_owned(), format!("x.db{end}")].map(|name| place.path().join(name));
            let mut sqlite = Sqlite::open(&path, &settings, 0).unwrap();
            fs::write(&log, "a log of another program").unwrap();
            let said = sqlite.finish(0, true).unwrap_err().to_string();
            assert!(
                said.contains(&format!("x.db{end} appeared beside it")) && said.contains(".part beside it"),
                "{said}"
            );
            drop(sqlite);
            let is_hidden = |entry: fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".part");
            assert!(!path.exists() && fs::read_dir(place.path()).unwrap().any(|entry| is_hidden(entry.unwrap())));
            let said = Sqlite::open(&path, &settings, 0).err().unwrap().to_string();
            assert!(said.contains(&format!("x.db{end} exists")), "{said}");
            fs::remove_file(&log).unwrap();
            Sqlite::open(&path, &settings, 0).unwrap().finish(0, true).unwrap();
            assert!(path.is_file());
        }
    }
}
