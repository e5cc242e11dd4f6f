//! The file at the place of a database: one of an earlier run is replaced, any other is not.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use rusqlite::{Connection, OpenFlags};
use tidewire::legible::legible;
use tidewire_exports::table::Table;
use tidewire_types::hex;

use super::tables::{TABLES, definition};
use crate::{error::OutputError, place::folder::Folder};

/// `PRAGMA application_id` of our databases: "Tide".
pub const APPLICATION_ID: i32 = 0x5469_6465;

/// Endings of the names of SQLite's logs. It applies a log to whatever database has the name before the ending.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The log of another database that lies beside a name, if there is one.
pub fn log_beside(folder: &Folder, name: &OsStr) -> Option<String> {
    LOGS.into_iter().find_map(|end| {
        let mut log = name.to_owned();
        log.push(end);
        folder.by_handle().join(&log).symlink_metadata().ok()?;
        Some(legible(&log.to_string_lossy()).into_owned())
    })
}

/// Refuses to replace a file that no run of this program wrote.
pub fn refuse_over(folder: &Folder, name: &OsStr, shown: &str) -> Result<(), OutputError> {
    let path = folder.by_handle().join(name);
    if !path.metadata().is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let foreign = Connection::open_with_flags(immutable(&path), flags).and_then(|connection| foreign(&connection));
    let why = match foreign {
        Ok(None) => return Ok(()),
        Ok(Some(why)) => why,
        Err(_) => "is there, and is no database".into(),
    };
    Err(OutputError::Usage(format!("{shown} {why}; an existing file must be of an earlier run")))
}

/// The URI of a database that is looked at only: one whose mode is WAL would get a log otherwise, which stays.
fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' => uri.push('/'),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => {
                uri.push('%');
                uri.push_str(&hex::encode(&[byte]));
            }
        }
    }
    uri + "?immutable=1"
}

/// The evidence that a database is of another program. Ours have our application ID, or exactly our tables: versions before the ID wrote these.
fn foreign(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id != 0 && id != APPLICATION_ID {
        return Ok(Some(format!("is a database of another program (its application_id is {id})")));
    }
    // Names that begin so are SQLite's own. Indexes are of tables, which are here as well.
    let query = "SELECT type, name, ifnull(sql, '') FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_' AND type <> 'index'";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let [kind, name, sql]: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
        let table = TABLES.iter().find(|table| kind == "table" && table.name == name);
        match table {
            None => return Ok(Some(format!("has a {kind} '{}' of another program", legible(&name)))),
            Some(table) if id == 0 && !is_of_definition(&sql, table) => {
                return Ok(Some(format!("has a table '{name}' of another program: its columns are others")));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// SQLite keeps the text of a definition as it was given.
fn is_of_definition(sql: &str, table: &Table) -> bool {
    definition(table).trim_end_matches(';') == sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_databases_of_ours_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = Folder::open(folder.path()).unwrap();
        let columns = definition(&TABLES[0]);
        let (ours, id) = (columns.as_str(), format!("PRAGMA application_id={APPLICATION_ID};"));
        for (number, (statements, is_ours)) in [
            (format!("{id} {ours}"), true),
            (format!("PRAGMA journal_mode=WAL; {id} {ours}"), true),
            // Of a version before the ID; with a user's index and SQLite's own statistics.
            (format!("{ours} CREATE INDEX i ON flows(id); ANALYZE;"), true),
            // Of another version, with other columns.
            (format!("{id} CREATE TABLE flows(a)"), true),
            ("CREATE TABLE flows(a)".into(), false),
            ("CREATE TABLE transactions(id INTEGER, amount)".into(), false),
            (format!("{ours} CREATE TABLE salaries(a)"), false),
            (format!("{id} {ours} CREATE TABLE notes(a)"), false),
            ("CREATE VIEW flows AS SELECT 1".into(), false),
            (format!("{ours} CREATE VIEW v AS SELECT 1"), false),
            (format!("PRAGMA application_id=252006673; {ours}"), false),
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("{number} %?#ü.db");
            Connection::open(folder.path().join(&name)).unwrap().execute_batch(&statements).unwrap();
            let refused = refuse_over(&place, name.as_ref(), "x");
            assert_eq!(refused.is_ok(), is_ours, "{statements}: {refused:?}");
            assert_eq!(log_beside(&place, name.as_ref()), None, "{statements}");
        }
    }
}
