//! The stores that are read, and whose they are.

use std::{
    cell::{Cell, RefCell},
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use tidewire::legible::legible;
use tidewire_delivery::{keys, read_files};
use tidewire_event_store::{Error, Keyring, Query, ReadProgress, Reader, Row, SealError};
use tidewire_events::Record;
use tidewire_sensor::supervisor::status;

use super::options::Options;
use crate::{
    error::{self, CliError, notify},
    interrupt, own_input,
    units::counted,
};

/// The file of a store in a folder that is a sensor's.
const NAME: &str = "events.db";
/// A sensor's directory, and its store, by default.
const DIRECTORY: &str = "/run/tidewire";
const STORE: &str = "/var/lib/tidewire/events.db";
/// Rows, and bytes of them, that are read at a time.
const PAGE_ROWS: usize = 256;
const PAGE_BYTES: usize = 8 << 20;

/// Damaged records that are named, of each store.
const NAMED_MAX: u64 = 20;

/// A store.
pub struct Store {
    pub path: PathBuf,
    /// The sensor's name, where several stores are read.
    pub sensor: String,
    reader: Reader,
    /// Identities that read sealed records.
    keyring: Option<RefCell<Keyring>>,
    /// Records that cannot be read.
    damaged: Cell<u64>,
    /// Progress of reading: records may be joined meanwhile.
    given: RefCell<ReadProgress>,
}

/// Content of a record.
pub enum Opened {
    Plain(Record),
    /// It is encrypted, and no key for it was given.
    Sealed,
    /// It cannot be read, which was noted.
    Damaged,
}

/// All of them.
pub struct Stores {
    pub all: Vec<Store>,
    /// Where files of a folder were read to, as long as they are shown.
    _read: Option<TempDir>,
    /// Lines of such files that could not be read.
    wrong_lines: u64,
}

impl Stores {
    /// Opens what the options name.
    pub fn open(options: &Options) -> Result<Self, CliError> {
        let files = line_files(&options.store)?;
        if !files.is_empty() {
            return Self::of_lines(&files, options);
        }
        let mut all = Vec::new();
        for (path, sensor) in places(options)? {
            all.push(Store::open(path, sensor, &options.identity)?);
        }
        Ok(Self { all, _read: None, wrong_lines: 0 })
    }

    /// Reads files that a folder got into a store of their own, which only this user can read and which goes with the command.
    fn of_lines(files: &[PathBuf], options: &Options) -> Result<Self, CliError> {
        if options.follow {
            let what = "files are not followed; name the store of a sensor or of a collector";
            return Err(CliError::Usage(what.into()));
        }
        let folder =
            tempfile::tempdir().map_err(|error| CliError::Output(format!("no folder can be made: {error}")))?;
        interrupt::remove_at_end(folder.path());
        files.iter().for_each(|path| own_input::note(path));
        let path = folder.path().join(NAME);
        let (mut store, _) =
            tidewire_event_store::Store::open(&path).map_err(|error| CliError::Output(error.to_string()))?;
        let read = read_files(files, &mut store, &interrupt::is_interrupted);
        interrupt::check()?;
        let read = read.map_err(|error| CliError::Input(error.to_string()))?;
        drop(store);
        read.wrong.iter().for_each(notify);
        if read.wrong_count > read.wrong.len() as u64 {
            notify(format_args!("{} lines are left out in all", read.wrong_count));
        }
        if read.left_out > 0 {
            let count = counted(read.left_out, "event", "events");
            notify(format_args!(
                "{count} are not in these files, which have the first of their record only; the sensor's store has all"
            ));
        }
        let all = vec![Store::open(path, String::new(), &options.identity)?];
        Ok(Self { all, _read: Some(folder), wrong_lines: read.wrong_count })
    }

    /// Adds the store of a sensor that is new.
    pub fn add(&mut self, path: PathBuf, sensor: String, identities: &[PathBuf]) -> Result<(), CliError> {
        self.all.push(Store::open(path, sensor, identities)?);
        Ok(())
    }

    /// The exit code: records that could not be read are damage of the input.
    pub fn code(&self) -> u8 {
        let is_damaged = self.wrong_lines > 0 || self.all.iter().any(|store| store.damaged.get() > 0);
        if is_damaged { error::INPUT } else { error::OK }
    }

    /// Whether rows say which sensor they are from.
    pub fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Where nothing was found.
    pub fn words(&self) -> String {
        match &self.all[..] {
            [one] => format!(" in {}", legible(&one.path.display().to_string())),
            all => format!(" in {} stores", all.len()),
        }
    }
}

impl Store {
    fn open(path: PathBuf, sensor: String, identities: &[PathBuf]) -> Result<Self, CliError> {
        note_read(&path);
        let keyring = if identities.is_empty() { None } else { Some(RefCell::new(keyring(identities)?)) };
        let reader = Reader::open(&path).map_err(|error| not_readable(&path, &error))?;
        Ok(Self { path, sensor, reader, keyring, damaged: Cell::new(0), given: RefCell::default() })
    }

    /// Opens it again: another file has its name.
    pub fn reopen(&mut self) -> Result<(), CliError> {
        self.reader = Reader::open(&self.path).map_err(|error| not_readable(&self.path, &error))?;
        Ok(())
    }

    /// The record of a row.
    pub fn open_row(&self, row: &Row) -> Opened {
        let opened = match (row.key, &self.keyring) {
            (None, _) => Record::decode(&row.bytes).map_err(|error| error.to_string()),
            (Some(_), None) => return Opened::Sealed,
            (Some(key), Some(keyring)) => {
                let wrapped = || self.reader.key(&key).ok().flatten();
                match keyring.borrow_mut().unseal(row, wrapped) {
                    Err(SealError::NotForUs) => return Opened::Sealed,
                    unsealed => unsealed.map_err(|error| error.to_string()),
                }
            }
        };
        match opened {
            Ok(record) => Opened::Plain(record),
            Err(what) => {
                self.note_damage(row.id, &what);
                Opened::Damaged
            }
        }
    }

    /// Notes a record that cannot be read: another sensor's, or a hostile one's, does not keep the others from being read.
    pub fn note_damage(&self, id: u64, what: &dyn std::fmt::Display) {
        self.damaged.set(self.damaged.get() + 1);
        if self.damaged.get() <= NAMED_MAX {
            notify(format_args!("{}: record {id} is damaged and left out: {what}", self.path.display()));
        }
    }

    /// Calls `each` with every row that a query finds, in the order of storing, until it returns `false`.
    pub fn each(&self, query: &Query<'_>, mut each: impl FnMut(Row) -> Result<bool, CliError>) -> Result<(), CliError> {
        let mut after = query.after;
        // A reader that begins at the beginning reads all again.
        if after == 0 {
            self.given.take();
        }
        loop {
            let given = self.given.borrow();
            let next = Query { after, given: Some(&given), ..copied(query) };
            let read = self.reader.read_rows(&next, PAGE_ROWS, PAGE_BYTES);
            let read = read.map_err(|error| CliError::Input(error.to_string()))?;
            drop(given);
            let is_over = read.last == after && read.damaged.is_none();
            after = read.last;
            for row in read.rows {
                interrupt::check()?;
                if !each(row)? {
                    return Ok(());
                }
            }
            if let Some(id) = read.damaged {
                self.note_damage(id, &"its checksum is wrong");
                after = id;
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// A row by its number; `None`: it was removed meanwhile.
    pub fn row(&self, id: u64) -> Result<Option<Row>, CliError> {
        interrupt::check()?;
        let query = Query { after: id.saturating_sub(1), ..Query::default() };
        let read = self.reader.read_rows(&query, 1, PAGE_BYTES).map_err(|error| CliError::Input(error.to_string()))?;
        Ok(read.rows.into_iter().next().filter(|row| row.id == id))
    }

    /// The store's id: a newly created one has another id.
    pub fn id(&self) -> Option<[u8; 16]> {
        self.reader.store_id().ok()
    }

    /// The number of the last record.
    pub fn last_id(&self) -> Result<u64, CliError> {
        self.reader.last_id().map_err(|error| CliError::Input(error.to_string()))
    }
}

/// Notes a store, and what SQLite has beside it, as read.
fn note_read(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        own_input::note(Path::new(&name));
    }
}

/// The identities of files that no other user may read.
fn keyring(files: &[PathBuf]) -> Result<Keyring, CliError> {
    let mut keyring = Keyring::default();
    for path in files {
        own_input::note(path);
        let text = keys::files::read(path).map_err(|error| CliError::Usage(format!("--identity: {error}")))?;
        let wrong = |what| CliError::Usage(format!("--identity: {}: {what}", path.display()));
        keyring.add(&text).map_err(wrong)?;
    }
    Ok(keyring)
}

fn copied<'a>(query: &Query<'a>) -> Query<'a> {
    Query {
        order: query.order,
        after: query.after,
        since_ns: query.since_ns,
        until_ns: query.until_ns,
        kinds: query.kinds,
        analyzers: query.analyzers,
        fold: query.fold,
        severity: query.severity,
        filter: None,
        given: query.given,
    }
}

/// Files that a folder got, if they are what is named: `.jsonl` files, or folders of them.
fn line_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let is_lines = |path: &Path| {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !is_hidden && path.extension().is_some_and(|end| end == "jsonl")
    };
    let (mut files, mut has_stores) = (Vec::new(), false);
    for path in paths {
        let within = match path.is_dir() && !path.join(NAME).exists() {
            true => {
                let entries = fs::read_dir(path);
                let entries = entries.map_err(|error| CliError::Input(format!("{}: {error}", path.display())))?;
                // Their names say in which order they were written.
                let mut within: Vec<PathBuf> =
                    entries.flatten().map(|entry| entry.path()).filter(|path| is_lines(path)).collect();
                within.sort();
                within
            }
            false => Some(path.clone()).filter(|path| is_lines(path)).into_iter().collect(),
        };
        has_stores |= within.is_empty();
        files.extend(within);
    }
    if has_stores && !files.is_empty() {
        return Err(CliError::Usage("--store: name either stores, or files that a folder got".into()));
    }
    Ok(files)
}

/// Which stores the options name, with the names of their sensors.
pub fn places(options: &Options) -> Result<Vec<(PathBuf, String)>, CliError> {
    if options.store.is_empty() {
        let directory = options.directory.as_deref().unwrap_or(Path::new(DIRECTORY));
        return Ok(vec![(of_sensor(directory, options.directory.is_some()), String::new())]);
    }
    let (mut found, mut is_folder) = (Vec::new(), false);
    for path in &options.store {
        if path.is_dir() {
            is_folder |= !path.join(NAME).exists();
            found.extend(of_folder(path)?);
        } else {
            found.push((path.clone(), name_of(path)));
        }
    }
    // A single store needs no name; to a folder others may come.
    if let ([(_, name)], false) = (&mut found[..], is_folder) {
        name.clear();
    }
    Ok(found)
}

/// The store of the sensor in a directory: by its own account, or where it is by default.
fn of_sensor(directory: &Path, is_named: bool) -> PathBuf {
    if let Some(store) = status::ask(directory).ok().and_then(|status| status.store) {
        return store;
    }
    match is_named && directory != Path::new(DIRECTORY) {
        true => directory.join(NAME),
        false => STORE.into(),
    }
}

/// The stores in a folder: its own, or those of its folders, each with the name of its sensor.
fn of_folder(folder: &Path) -> Result<Vec<(PathBuf, String)>, CliError> {
    let own = folder.join(NAME);
    if own.exists() {
        return Ok(vec![(own, folder_name(folder))]);
    }
    let failed = |error: io::Error| CliError::Input(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let store = entry.map_err(failed)?.path().join(NAME);
        if store.exists() {
            found.push((store.clone(), store.parent().map(folder_name).unwrap_or_default()));
        }
    }
    if found.is_empty() {
        let what = "there is no store of events: no events.db in it, nor in a folder of it";
        return Err(CliError::Input(format!("{}: {what}", folder.display())));
    }
    found.sort();
    Ok(found)
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().map(|name| legible(&name.to_string_lossy()).into_owned()).unwrap_or_default()
}

/// The name of a store that was named as a file: its folder where it has the usual name, else itself.
fn name_of(path: &Path) -> String {
    let is_usual = path.file_name().is_some_and(|name| name == NAME);
    match path.parent().filter(|_| is_usual) {
        Some(folder) if folder.file_name().is_some() => folder_name(folder),
        _ => folder_name(path),
    }
}

/// Why a store cannot be read, and what to do about it.
fn not_readable(path: &Path, error: &Error) -> CliError {
    let shown = path.display();
    if !path.exists() {
        let is_hidden = fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        if is_hidden {
            return CliError::Input(format!("{shown}: permission denied; run it as root or as the sensor's user"));
        }
        let hint = "start a sensor (tidewire sensor -i eth0), or name one with --directory or --store";
        return CliError::Input(format!("there is no store of events at {shown}; {hint}"));
    }
    let is_denied = fs::File::open(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    match is_denied {
        true => CliError::Input(format!("{shown}: permission denied; run it as root or as the sensor's user")),
        false => CliError::Input(error.to_string()),
    }
}
