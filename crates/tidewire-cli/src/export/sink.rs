//! An output of a run, which its workers share.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize},
    },
};

use tidewire::Stop;
use tidewire_exports::zeek::{self, Log};

use super::{
    eve_file::Eve,
    facts::{Content, Source},
    file::{Files, Frame, open_files},
    messages::Messages,
    network::Sending,
    open_tables::open_tables,
    rotate::Rotate,
    tables::Tables,
    target::{Format, Place, Target},
};
use crate::{clock::Clock, error::CliError, output_dir::Folder, row::Form};

/// An output, which fails or not whatever becomes of the others.
pub struct Output {
    pub sink: Sink,
    /// For messages: its format and place.
    pub shown: String,
    /// Whether nothing of it can be written any more.
    pub has_failed: AtomicBool,
    /// Files that were begun, and of these the ones that cannot be written.
    pub begun_files: AtomicUsize,
    pub failed_files: AtomicUsize,
}

/// Zeek's logs, each a file of its own.
pub type Logs = [Mutex<Files>; Log::ALL.len()];

pub enum Sink {
    Eve(Mutex<Eve>),
    Zeek(zeek::Form, Box<Logs>),
    Messages(Box<Mutex<Messages>>),
    Text(Form, Mutex<Files>),
    Tables(Mutex<Box<dyn Tables>>),
}

/// A worker that panicked leaves whole records.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    /// Nothing was written yet.
    pub fn new(sink: Sink, target: &Target) -> Self {
        let (has_failed, shown) = (AtomicBool::new(false), target.to_string());
        Self { sink, shown, has_failed, begun_files: AtomicUsize::new(0), failed_files: AtomicUsize::new(0) }
    }
}

impl Sink {
    /// Opens files and connections.
    pub fn open(
        target: &Target,
        rotate: Rotate,
        source: &Source,
        (content, stop): (&Content, &Stop),
        now_ns: u64,
    ) -> Result<Self, CliError> {
        Ok(match (target.format, &target.place) {
            (Format::Zeek, Place::Path(path)) => Self::logs(zeek::Form::Tsv, path, rotate)?,
            (Format::ZeekJson, Place::Path(path)) => Self::logs(zeek::Form::Json, path, rotate)?,
            (Format::Eve, place) => Self::Eve(Mutex::new(Eve::new(open_files(place, Frame::Lines, rotate, now_ns)?))),
            (Format::Json, place) => {
                Self::Text(Form::Json, Mutex::new(open_files(place, Frame::Lines, rotate, now_ns)?))
            }
            (Format::Csv, place) => {
                let header = Frame::Header((content.csv_header)(&Clock::iso_utc()));
                Self::Text(Form::Csv, Mutex::new(open_files(place, header, rotate, now_ns)?))
            }
            (Format::Sqlite | Format::Parquet | Format::Arrow, place) => {
                Self::Tables(Mutex::new(open_tables(target.format, place, rotate, source, content, now_ns)?))
            }
            (format, place) => {
                let (place, enterprise) = ((format, place), content.enterprise);
                let sending = Sending { is_live: source.is_live, rate: content.udp_rate, stop: stop.clone() };
                Self::Messages(Box::new(Mutex::new(Messages::open(place, enterprise, rotate, &sending, now_ns)?)))
            }
        })
    }

    fn logs(form: zeek::Form, path: &Path, rotate: Rotate) -> Result<Self, CliError> {
        let shown = tidewire::legible::legible(&path.to_string_lossy()).into_owned();
        if path.is_file() {
            return Err(CliError::Usage(format!("{shown} is a file; Zeek's logs are several: name a folder")));
        }
        let made = Folder::open_or_make(path);
        let folder =
            Arc::new(made.map_err(|error| CliError::Output(format!("{shown}: cannot be written to: {error}")))?);
        let logs = Log::ALL.map(|log| Mutex::new(Files::of_log(&folder, &shown, form, log, rotate)));
        Ok(Self::Zeek(form, Box::new(logs)))
    }

    /// Calls for the files of lines.
    pub fn each_file(&self, mut each: impl FnMut(&mut Files)) {
        match self {
            Self::Eve(eve) => each(&mut lock(eve).files),
            Self::Text(_, files) => each(&mut lock(files)),
            Self::Zeek(_, logs) => logs.iter().for_each(|files| each(&mut lock(files))),
            Self::Messages(_) | Self::Tables(_) => {}
        }
    }

    /// The folder that files are made in.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Eve(eve) => lock(eve).files.folder(),
            Self::Text(_, files) => lock(files).folder(),
            Self::Zeek(_, logs) => lock(&logs[0]).folder(),
            Self::Messages(messages) => lock(messages).folder(),
            Self::Tables(tables) => lock(tables).folder(),
        }
    }
}
