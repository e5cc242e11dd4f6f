//! Opening: one writer, a check of everything, and what is done about damage.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, params, types::ValueRef};
use rustix::fs::{FlockOperation, flock};
use tidewire_events::Record;

use crate::{
    error::{Error, is_damage},
    reading::row,
    rows::{checksum, insert, insert_row, key_number, kind_of, note_numbers},
    schema::{check, create, open_readable, open_writable, signed},
};

/// What was done about a damaged store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Where the damaged file is now, with its log beside it.
    pub kept_aside: PathBuf,
    /// What was found.
    pub damage: String,
    /// Records that could be read and are in the new store, with their numbers.
    pub records: u64,
    /// Numbers between the first and the last of these that no record has. Records that retention removed are among them.
    pub missing: u64,
    /// Whether positions of producers and destinations, and the account of what was removed, could be read.
    pub has_positions: bool,
}

/// The path with something behind it.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Files of a database: itself, its log, and the index of the log.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// Makes this process the only writer.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    let path_of_lock = beside(path, ".lock");
    let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path_of_lock);
    let file = open.map_err(Error::file(&path_of_lock, "opening"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Locked { path: path.to_owned() }),
        Err(error) => Err(Error::file(&path_of_lock, "locking")(error.into())),
    }
}

/// Makes names in a file's directory durable.
fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(Error::file(directory, "syncing the directory"))
}

/// Opens the store at this path; makes it, or recovers it.
pub(crate) fn open(path: &Path) -> Result<(Connection, Option<Recovery>), Error> {
    let recovering = beside(path, ".recovering");
    if !path.exists() && recovering.exists() {
        // Recovery ended between its last two steps: the new store is complete.
        // A log that is left belongs to the damaged file.
        put_aside(path, &free_name(path))?;
        fs::rename(&recovering, path).map_err(Error::file(path, "finishing a recovery"))?;
        sync_directory(path)?;
    }
    remove(&recovering)?;
    if !path.exists() {
        // Only its owner reads events; SQLite gives the log the same permissions.
        let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        made.map_err(Error::file(path, "creating"))?;
        sync_directory(path)?;
    }
    match open_checked(path) {
        Ok(connection) => Ok((connection, None)),
        Err(error) if error.is_damage() => recover(path, &recovering, &error),
        Err(error) => Err(error),
    }
}

fn open_checked(path: &Path) -> Result<Connection, Error> {
    let mut connection = open_writable(path)?;
    if !check(path, &connection)? {
        create(path, &mut connection)?;
    }
    let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let verdict = verdict.map_err(Error::database(path, "checking"))?;
    if verdict != "ok" {
        return Err(Error::Damaged { path: path.to_owned(), id: 0, what: verdict });
    }
    let mut damaged = None;
    let read = scan(&connection, "SELECT id, crc, bytes, key FROM record ORDER BY id", &[], |id, found| {
        if matches!(found, Found::Damaged) {
            damaged.get_or_insert(id);
        }
    });
    read.map_err(Error::database(path, "checking"))?;
    match damaged {
        None => Ok(connection),
        Some(id) => Err(Error::Damaged { path: path.to_owned(), id, what: "its checksum is wrong".into() }),
    }
}

/// What a row holds.
enum Found {
    Plain(Record),
    Sealed,
    /// Bytes that are not those that were stored.
    Damaged,
}

/// Calls for each row with what it holds.
fn scan(connection: &Connection, text: &str, bounds: &[i64], mut each: impl FnMut(u64, Found)) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(text)?;
    let mut rows = statement.query(rusqlite::params_from_iter(bounds))?;
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>(0)?.cast_unsigned();
        let bytes = row.get_ref(2)?.as_blob().ok();
        let is_whole = bytes.is_some_and(|bytes| row.get::<_, i64>(1).ok() == Some(checksum(id, bytes)));
        let is_sealed = row.get_ref(3)? != ValueRef::Null;
        each(
            id,
            match bytes.filter(|_| is_whole) {
                Some(_) if is_sealed => Found::Sealed,
                Some(bytes) => Record::decode(bytes).map_or(Found::Damaged, Found::Plain),
                None => Found::Damaged,
            },
        );
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), Error> {
    for file in ENDINGS.map(|ending| beside(path, ending)) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file(&file, "removing")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes a store of what can be read of a damaged one, then puts it into its place. Whenever this ends, the next opening
/// finds either the damaged file or the complete new one.
fn recover(path: &Path, recovering: &Path, damage: &Error) -> Result<(Connection, Option<Recovery>), Error> {
    let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(recovering);
    made.map_err(Error::file(recovering, "creating"))?;
    let mut fresh = open_writable(recovering)?;
    create(recovering, &mut fresh)?;
    let (mut records, mut ends, mut has_positions) = (0, None, false);
    if let Ok(damaged) = open_readable(path) {
        salvage(&damaged, &mut fresh, &mut |id| {
            records += 1;
            ends = Some(ends.map_or((id, id), |(first, last): (u64, u64)| (first.min(id), last.max(id))));
        })
        .map_err(Error::database(recovering, "recovering records"))?;
        has_positions = copy_positions(path, &fresh).is_ok();
    }
    // A log that stays beside it would be lost with its name: then nothing has happened.
    let written = fresh.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    if written.map_err(Error::database(recovering, "writing the recovered store"))? != 0 {
        let failed = Error::file(recovering, "writing the recovered store");
        return Err(failed(std::io::Error::other("its log cannot be written back")));
    }
    let closed = fresh.close().map_err(|(_, error)| error);
    closed.map_err(Error::database(recovering, "closing"))?;
    File::open(recovering).and_then(|file| file.sync_all()).map_err(Error::file(recovering, "syncing"))?;
    let kept_aside = free_name(path);
    put_aside(path, &kept_aside)?;
    fs::rename(recovering, path).map_err(Error::file(path, "putting the recovered store into its place"))?;
    sync_directory(path)?;
    let missing = ends.map_or(0, |(first, last)| last - first + 1 - records);
    let recovery = Recovery { kept_aside, damage: damage.to_string(), records, missing, has_positions };
    Ok((open_checked(path)?, Some(recovery)))
}

/// A name for a damaged file that no other has.
fn free_name(path: &Path) -> PathBuf {
    let is_free = |name: &PathBuf| ENDINGS.iter().all(|ending| !beside(name, ending).exists());
    let aside = (1..).map(|number| beside(path, &format!(".damaged-{number}"))).find(is_free);
    aside.unwrap_or_else(|| beside(path, ".damaged"))
}

/// Renames a database and its log, the database first: without it, the next opening knows that a recovery was not finished.
fn put_aside(path: &Path, aside: &Path) -> Result<(), Error> {
    for ending in ENDINGS {
        let (from, to) = (beside(path, ending), beside(aside, ending));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file(&from, "keeping the damaged file aside")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a log was left: the last process did not end orderly.
pub(crate) fn has_log(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// Copies every record that can be read. Where reading fails, it goes on behind, in growing steps.
fn salvage(damaged: &Connection, fresh: &mut Connection, each: &mut dyn FnMut(u64)) -> rusqlite::Result<()> {
    let last = damaged.query_row("SELECT id FROM record ORDER BY id DESC LIMIT 1", [], |row| row.get::<_, i64>(0));
    let last = last.unwrap_or(i64::MAX - 1);
    let (mut next, mut skip) = (0_i64, 1_i64);
    while next <= last {
        let transaction = fresh.transaction()?;
        let (mut failed, mut read_to) = (None, next);
        let text = "SELECT id, crc, bytes, key FROM record WHERE id >= ?1 ORDER BY id";
        let read = scan(damaged, text, &[next], |id, found| {
            read_to = signed(id).saturating_add(1);
            if failed.is_some() {
                return;
            }
            let copied = match found {
                Found::Plain(record) => copy(&transaction, id, &record).map(|()| true),
                Found::Sealed => copy_sealed(damaged, &transaction, id),
                Found::Damaged => Ok(false),
            };
            match copied {
                Ok(true) => each(id),
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        transaction.commit()?;
        match read {
            Ok(()) => return Ok(()),
            Err(error) if is_damage(&error) => {
                skip = if read_to > next { 1 } else { skip.saturating_mul(2) };
                next = read_to.saturating_add(skip);
            }
            // The damaged file says nothing more.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

fn copy(transaction: &Connection, id: u64, record: &Record) -> rusqlite::Result<()> {
    let Ok(message) = record.message() else { return Ok(()) };
    let kind = kind_of(transaction, message.names())?;
    insert(transaction, id, kind, record)?;
    note_numbers(transaction, std::slice::from_ref(record))
}

/// Copies a sealed record with its key, if what is known of it can be read.
fn copy_sealed(damaged: &Connection, transaction: &Connection, id: u64) -> rusqlite::Result<bool> {
    let text =
        "SELECT record.id, kind.analyzer, kind.kind, severity, fold, events, first_ns, last_ns, key.name, crc, bytes,
          key.wrapped
        FROM record JOIN kind ON kind.id = record.kind JOIN key ON key.id = record.key WHERE record.id = ?1";
    let read = damaged.prepare_cached(text).and_then(|mut statement| {
        statement.query_row([signed(id)], |found| Ok((row(found)?.0, found.get::<_, Vec<u8>>(11)?)))
    });
    let Ok((row, wrapped)) = read else { return Ok(false) };
    let Some(name) = &row.key else { return Ok(false) };
    let text = "INSERT INTO key (name, wrapped) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    transaction.prepare_cached(text)?.execute(params![name, wrapped])?;
    let key = key_number(transaction, name)?;
    let kind = kind_of(transaction, (&row.analyzer, &row.kind))?;
    insert_row(transaction, id, kind, key, &row)?;
    Ok(true)
}

/// Copies what is not records. The id of the store comes with its numbers, or not at all: without them, numbers may be given again,
/// which collectors would take for what they have.
fn copy_positions(damaged: &Path, fresh: &Connection) -> rusqlite::Result<()> {
    let path = damaged.to_string_lossy();
    fresh.execute("ATTACH ?1 AS damaged", params![path])?;
    let copied = fresh.execute_batch(
        "BEGIN;
        INSERT INTO producer SELECT * FROM damaged.producer;
        INSERT INTO destination SELECT * FROM damaged.destination;
        INSERT INTO removed SELECT * FROM damaged.removed;
        INSERT INTO clock SELECT * FROM damaged.clock;
        INSERT INTO fact SELECT * FROM damaged.fact WHERE true
          ON CONFLICT (name) DO UPDATE SET value = iif(name = 'store_id', excluded.value, max(value, excluded.value));
        COMMIT;",
    );
    if copied.is_err() {
        let _ = fresh.execute_batch("ROLLBACK");
    }
    fresh.execute_batch("DETACH damaged")?;
    copied
}
