//! Opening: one writer, a check, and what is done about damage.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use rustix::fs::OFlags;

use crate::{
    error::Error,
    link::link_in_place,
    salvage::{Found, copy_positions, salvage, scan},
    schema::{APPLICATION_ID, check, create, open_readable, open_writable, signed},
};

/// Result of recovering a damaged store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Where the damaged file is now, with its log beside it.
    pub kept_aside: PathBuf,
    /// The damage.
    pub damage: String,
    /// Records that could be read and are in the new store, with their numbers.
    pub records: u64,
    /// Numbers from the first of these to the last that the damaged store had which no record has. Records that retention removed
    /// are among them. `None`: unknown, because nothing could be read, or not the end.
    pub missing: Option<u64>,
    /// Whether positions of producers and destinations, and the account of what was removed, could be read.
    pub has_positions: bool,
    /// Whether the disk had no room for a second store, so that the new one begins without records: all are in the file that is
    /// kept aside.
    pub lacked_room: bool,
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Up to this size, all of a store is checked when it is opened. Default 64 MiB: less than a second. Of a larger one the newest
    /// records are, and the others later, while nothing else is to be done ([`Store::check_step`](crate::Store::check_step)).
    pub check_bytes: u64,
}

impl Recovery {
    /// How many records could be read, and how many are missing, in words.
    #[must_use]
    pub fn account(&self) -> String {
        let missing = match self.missing {
            Some(missing) => format!("{missing} are missing"),
            None => "how many are missing is not known".to_owned(),
        };
        format!("{} records were recovered, {missing}", self.records)
    }
}

impl Default for Opening {
    fn default() -> Self {
        Self { check_bytes: 64 << 20 }
    }
}

/// Where a database has the number that says whose it is (<https://www.sqlite.org/fileformat2.html>, section 1.3), and what stands at
/// its beginning.
const APPLICATION_ID_AT: usize = 68;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Whether a file is a database that is no store. One of which everything is still in its log may be.
#[must_use]
pub fn is_of_another_program(path: &Path) -> bool {
    let mut header = [0; 100];
    // A FIFO in its place is not waited for.
    let open = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let read = open.and_then(|mut file| file.read_exact(&mut header));
    let number = header[APPLICATION_ID_AT..].first_chunk::<4>().map(|bytes| i64::from(u32::from_be_bytes(*bytes)));
    let is_database = read.is_ok() && header.starts_with(MAGIC);
    is_database && number != Some(APPLICATION_ID) && (number != Some(0) || !beside(path, "-wal").exists())
}

/// The path with something behind it.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The file that is locked beside a store.
pub(crate) const LOCK: &str = ".lock";

/// Beside a store in which damage was found while it was open.
const DOUBT: &str = ".doubt";

/// The store that a recovery makes.
pub(crate) const RECOVERING: &str = ".recovering";

/// The copy of a store that was removed while it was open, until it is complete.
pub(crate) const PUTTING_BACK: &str = ".putting-back";

/// Files of a database: itself, its log, the index of the log, and what it has while it is made.
const ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Endings of all files that may lie beside a store.
const BESIDE: [&str; 8] = ["", "-wal", "-shm", "-journal", LOCK, DOUBT, RECOVERING, ".recovering-wal"];

/// Refuses a store of which another user has a file, or of which one is no regular file. Where all may make files, as in `/tmp`, others
/// could otherwise read what is stored, or say what was; a FIFO is waited for when it is opened.
///
/// # Errors
/// Which file it is, and whose; a link in the place of the store, where it leads, and whose it is.
pub fn check_owner(path: &Path) -> Result<(), Error> {
    refuse_link(path)?;
    for file in BESIDE.map(|ending| beside(path, ending)) {
        // Of a link, and of what it leads to.
        let found = [fs::symlink_metadata(&file), fs::metadata(&file)];
        found.iter().flatten().try_for_each(|found| is_own(&file, found))?;
        if let [Ok(found), _] = &found {
            check_type(&file, found)?;
        }
    }
    Ok(())
}

fn refuse_link(path: &Path) -> Result<(), Error> {
    link_in_place(path).map_or(Ok(()), |what| Err(refused(path, what)))
}

pub(crate) fn is_own(path: &Path, found: &fs::Metadata) -> Result<(), Error> {
    if found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let what = format!("it belongs to another user ({}); remove it, or name another store", found.uid());
    Err(refused(path, what))
}

/// Refuses what is no regular file.
fn check_type(path: &Path, found: &fs::Metadata) -> Result<(), Error> {
    let what = match found.file_type() {
        of if of.is_file() => return Ok(()),
        of if of.is_symlink() => "a link",
        of if of.is_dir() => "a directory",
        of if of.is_fifo() => "a FIFO",
        of if of.is_socket() => "a socket",
        _ => "a device",
    };
    Err(refused(path, format!("it is {what}, not a file; remove it, or name another store")))
}

fn refused(path: &Path, what: String) -> Error {
    Error::file(path, "refused")(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Refuses a file beside a store that is open now, and may not be the one that was looked at: it must be a regular file of this user with one
/// name, or none any more. What is written to a second name of another file would change that one.
pub(crate) fn check_opened(path: &Path, file: &File) -> Result<fs::Metadata, Error> {
    let found = file.metadata().map_err(Error::file(path, "opening"))?;
    check_type(path, &found)?;
    is_own(path, &found)?;
    if found.nlink() > 1 {
        return Err(refused(
            path,
            "it is another name of a file (a hard link); remove it, or name another store".into(),
        ));
    }
    Ok(found)
}

/// For files beside a store: of the last component, no link is followed, and no FIFO is waited for.
pub(crate) fn beside_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.create(true).truncate(false).write(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    options
}

/// Makes names in a file's directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(Error::file(directory, "syncing the directory"))
}

/// A store that was opened.
pub(crate) struct Opened {
    pub connection: Connection,
    pub recovery: Option<Recovery>,
    /// Records below this number were not checked.
    pub unchecked: i64,
}

/// Opens the store at this path; makes it, or recovers it.
pub(crate) fn open(path: &Path, opening: &Opening) -> Result<Opened, Error> {
    let recovering = beside(path, RECOVERING);
    if !path.exists() && recovering.exists() {
        // Recovery ended between its last two steps: the new store is complete.
        // A log that is left belongs to the damaged file.
        put_aside(path, &free_name(path))?;
        fs::rename(&recovering, path).map_err(Error::file(path, "finishing a recovery"))?;
        sync_directory(path)?;
    }
    remove(&recovering)?;
    remove(&beside(path, PUTTING_BACK))?;
    if !has_bytes(path) && has_bytes(&beside(path, "-wal")) {
        // SQLite removes the log of an empty database: with the store that is missing, it has everything.
        put_aside(path, &free_name(path))?;
    }
    if !path.exists() {
        // Only its owner reads events; SQLite gives the log the same permissions.
        let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        made.map_err(Error::file(path, "creating"))?;
        sync_directory(path)?;
    }
    let doubt = beside(path, DOUBT);
    let is_doubted = doubt.exists();
    let extent = if is_doubted { u64::MAX } else { opening.check_bytes };
    let opened = match open_checked(path, extent) {
        Ok((connection, unchecked)) => Opened { connection, recovery: None, unchecked },
        Err(error) if error.is_damage() => recover(path, &recovering, &error)?,
        Err(error) => return Err(error),
    };
    if is_doubted {
        fs::remove_file(&doubt).map_err(Error::file(&doubt, "removing"))?;
    }
    // Its log is there only now.
    check_owner(path)?;
    Ok(opened)
}

/// Requests a check of everything when the store is opened next: damage was found.
pub(crate) fn doubt(path: &Path) {
    // Where it cannot be made, damage is found as it was now.
    let _ = beside_options().open(beside(path, DOUBT));
}

/// Opens a database and checks it, or its newest records if it is larger than `extent`. Records below the number were not checked.
fn open_checked(path: &Path, extent: u64) -> Result<(Connection, i64), Error> {
    let mut connection = open_writable(path)?;
    if !check(path, &connection)? {
        create(path, &mut connection)?;
    }
    let failed = Error::database(path, "checking");
    let number = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let bytes = number("page_count").and_then(|pages| Ok(pages * number("page_size")?)).map_err(&failed)?;
    let is_all = bytes.cast_unsigned() <= extent;
    if is_all {
        let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        let verdict = verdict.map_err(&failed)?;
        if verdict != "ok" {
            return Err(Error::Damaged { path: path.to_owned(), id: 0, what: verdict });
        }
    }
    let (mut damaged, mut left, mut first) = (None, extent / 4, 0);
    let read = scan(&connection, "SELECT id, crc, bytes, key FROM record ORDER BY id DESC", &[], |id, bytes, found| {
        if matches!(found, Found::Damaged) {
            damaged = Some(id);
        }
        (left, first) = (left.saturating_sub(bytes as u64), signed(id));
        damaged.is_none() && (is_all || left > 0)
    });
    read.map_err(&failed)?;
    match damaged {
        None => Ok((connection, if is_all { 0 } else { first })),
        Some(id) => Err(wrong_checksum(path, id)),
    }
}

pub(crate) fn wrong_checksum(path: &Path, id: u64) -> Error {
    Error::Damaged { path: path.to_owned(), id, what: "its checksum is wrong".into() }
}

/// Whether something is in a file.
pub(crate) fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    remove_files(path, &ENDINGS)
}

/// Removes the log of a database, and its index.
pub(crate) fn remove_log(path: &Path) -> Result<(), Error> {
    remove_files(path, &ENDINGS[1..])
}

fn remove_files(path: &Path, endings: &[&str]) -> Result<(), Error> {
    for file in endings.iter().map(|ending| beside(path, ending)) {
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
fn recover(path: &Path, recovering: &Path, damage: &Error) -> Result<Opened, Error> {
    let (salvaged, lacked_room) = match begin(path, recovering, true) {
        // The bound of the store is kept, and what comes now is stored: a person may copy the rest.
        Err(error) if error.is_full() => {
            remove(recovering)?;
            (begin(path, recovering, false)?, true)
        }
        salvaged => (salvaged?, false),
    };
    let kept_aside = free_name(path);
    put_aside(path, &kept_aside)?;
    fs::rename(recovering, path).map_err(Error::file(path, "putting the recovered store into its place"))?;
    sync_directory(path)?;
    let Salvaged { records, has_positions, missing } = salvaged;
    let recovery = Recovery { kept_aside, damage: damage.to_string(), records, missing, has_positions, lacked_room };
    let (connection, _) = open_checked(path, 0)?;
    Ok(Opened { connection, recovery: Some(recovery), unchecked: 0 })
}

/// Data that a new store has of a damaged one.
#[derive(Default)]
struct Salvaged {
    records: u64,
    missing: Option<u64>,
    has_positions: bool,
}

/// Makes the new store, complete in one file.
fn begin(path: &Path, recovering: &Path, with_records: bool) -> Result<Salvaged, Error> {
    let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(recovering);
    made.map_err(Error::file(recovering, "creating"))?;
    let mut fresh = open_writable(recovering)?;
    create(recovering, &mut fresh)?;
    let (mut salvaged, mut first, mut last) = (Salvaged::default(), None, None);
    // Of a file that is shorter than its header says, too, SQLite then reads what is there (`lockBtree`).
    let lenient = |connection: &Connection| connection.pragma_update(None, "writable_schema", true);
    if let Ok(damaged) = open_readable(path) {
        lenient(&damaged).map_err(Error::database(path, "setting up"))?;
        if with_records {
            last = salvage(&damaged, &mut fresh, &mut |id| {
                salvaged.records += 1;
                first = Some(first.map_or(id, |first: u64| first.min(id)));
            })
            .map_err(Error::database(recovering, "recovering records"))?;
        }
        lenient(&fresh).map_err(Error::database(recovering, "setting up"))?;
        salvaged.has_positions = copy_positions(path, &fresh).is_ok();
        let strict = fresh.pragma_update(None, "writable_schema", false);
        strict.map_err(Error::database(recovering, "setting up"))?;
    }
    let numbers = |(first, last): (u64, i64)| (last.cast_unsigned() + 1).saturating_sub(first + salvaged.records);
    salvaged.missing = first.zip(last).map(numbers);
    // A log that stays beside it would be lost with its name: then nothing has happened.
    let written = fresh.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    if written.map_err(Error::database(recovering, "writing the recovered store"))? != 0 {
        let failed = Error::file(recovering, "writing the recovered store");
        return Err(failed(std::io::Error::other("its log cannot be written back")));
    }
    let closed = fresh.close().map_err(|(_, error)| error);
    closed.map_err(Error::database(recovering, "closing"))?;
    File::open(recovering).and_then(|file| file.sync_all()).map_err(Error::file(recovering, "syncing"))?;
    Ok(salvaged)
}

/// A name for a damaged file that no other has.
fn free_name(path: &Path) -> PathBuf {
    let is_free = |name: &PathBuf| ENDINGS.iter().all(|ending| !beside(name, ending).exists());
    let aside = (1..).map(|number| beside(path, &format!(".damaged-{number}"))).find(is_free);
    aside.unwrap_or_else(|| beside(path, ".damaged"))
}

/// Renames a database and its log, the database first: without it, the next opening knows that a recovery was not finished.
fn put_aside(path: &Path, aside: &Path) -> Result<(), Error> {
    put_files_aside(path, aside, &ENDINGS)
}

/// Keeps a log whose store is not there.
pub(crate) fn put_log_aside(path: &Path) -> Result<(), Error> {
    put_files_aside(path, &free_name(path), &ENDINGS[1..])
}

fn put_files_aside(path: &Path, aside: &Path, endings: &[&str]) -> Result<(), Error> {
    for ending in endings {
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
