//! Reads files of a folder ([`crate::lines`]) back into a store: events fold again, sealed records stay as they are.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value as Json;
use tidewire_event_store::{Batch, Error, KeyId, Row, Store};
use tidewire_events::{Event, Folder, FolderSettings, Output, Severity};

/// Bytes of a line at most: a sealed record in base64.
const LINE_BYTES_MAX: u64 = 16 << 20;
/// Lines that are stored together.
const LINES_TOGETHER: usize = 4096;
/// Lines that are named of those that cannot be read.
const NAMED_MAX: usize = 20;

/// Result of reading files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesRead {
    /// Events that are in the store.
    pub events: u64,
    /// Events of records of which the files have the first event only.
    pub left_out: u64,
    /// Lines that cannot be read, with file, number and reason; the first of them.
    pub wrong: Vec<String>,
    /// How many there were.
    pub wrong_count: u64,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// It was to end.
    #[error("stopped")]
    Stopped,
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] Error),
}

/// A line.
enum Line {
    Event(Event),
    /// The first event of a record with so many.
    Record(Event, u64),
    Sealed(Row),
    Key(KeyId, Vec<u8>),
}

/// Reads files of a folder into a store, until `is_stopped`. An invalid line does not keep others from being read.
///
/// # Errors
/// A file cannot be read, the store not be written, or it was stopped.
pub fn read_files(
    files: &[PathBuf],
    store: &mut Store,
    is_stopped: &dyn Fn() -> bool,
) -> Result<FilesRead, FilesError> {
    let mut read = FilesRead::default();
    let mut reading = Reading { folder: folder(), batch: Batch::default(), out: Output::default(), lines: 0 };
    for path in files {
        let failed = |source| FilesError::File { path: path.clone(), source };
        let mut lines = BufReader::new(File::open(path).map_err(failed)?);
        let mut text = Vec::new();
        for number in 1_u64.. {
            if is_stopped() {
                return Err(FilesError::Stopped);
            }
            text.clear();
            if (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut text).map_err(failed)? == 0 {
                break;
            }
            let line = std::str::from_utf8(&text).map_err(|_| "no UTF-8".to_owned());
            match line.and_then(|line| parse(line.trim_end())).and_then(|line| reading.add(line, &mut read)) {
                Ok(()) if reading.lines >= LINES_TOGETHER => reading.store(store)?,
                Ok(()) => {}
                Err(why) => note(&mut read, path, number, &why),
            }
        }
    }
    reading.store(store)?;
    Ok(read)
}

fn folder() -> Folder {
    Folder::new(FolderSettings::default(), [0; 2], 0, 0)
}

fn note(read: &mut FilesRead, path: &Path, number: u64, why: &str) {
    read.wrong_count += 1;
    if read.wrong.len() < NAMED_MAX {
        read.wrong.push(format!("{}: line {number} is left out: {why}", path.display()));
    }
}

struct Reading {
    folder: Folder,
    batch: Batch,
    out: Output,
    lines: usize,
}

impl Reading {
    fn add(&mut self, line: Line, read: &mut FilesRead) -> Result<(), String> {
        self.lines += 1;
        match line {
            Line::Event(event) => {
                self.folder.push_event(0, &event, &mut self.out).map_err(|error| error.to_string())?;
                read.events += 1;
            }
            Line::Record(event, count) => {
                self.folder.push_event(0, &event, &mut self.out).map_err(|error| error.to_string())?;
                read.events += 1;
                read.left_out = read.left_out.saturating_add(count.saturating_sub(1));
            }
            Line::Sealed(row) => {
                read.events = read.events.saturating_add(row.events);
                self.batch.rows.push(row);
            }
            Line::Key(id, wrapped) => self.batch.keys.push((id, wrapped)),
        }
        Ok(())
    }

    fn store(&mut self, store: &mut Store) -> Result<(), FilesError> {
        // Messages were checked.
        let _ = self.folder.cut(&mut self.out);
        let out = std::mem::take(&mut self.out);
        (self.batch.records, self.batch.closed) = (out.records, out.closed);
        store.append(&std::mem::take(&mut self.batch))?;
        self.lines = 0;
        Ok(())
    }
}

fn parse(text: &str) -> Result<Line, String> {
    if let Some(event) = event_of(text) {
        return Event::from_json(&event, 0).map(Line::Event).map_err(|error| error.to_string());
    }
    let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(wrapped) = json.get("wrapped") {
        return Ok(Line::Key(key(&json)?, base64(wrapped)?));
    }
    if json.get("sealed").is_some() {
        return sealed(&json).map(Line::Sealed);
    }
    // Within a text the quotes would have a backslash.
    let (_, event) = text.split_once(",\"event\":").ok_or("neither an event nor a record")?;
    let event = event.strip_suffix('}').ok_or("the record does not end")?;
    let event = Event::from_json(event, 0).map_err(|error| error.to_string())?;
    Ok(Line::Record(event, number(&json, "count")?))
}

/// The event in a line of one, as the analyzer's order of fields has it.
fn event_of(text: &str) -> Option<String> {
    let digits = |text: &'_ str| text.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0);
    let rest = text.strip_prefix("{\"record\":")?;
    let rest = rest.get(digits(rest)?..)?.strip_prefix(",\"number\":")?;
    let rest = rest.get(digits(rest)?..)?.strip_prefix(',')?;
    Some(format!("{{{rest}"))
}

fn sealed(json: &Json) -> Result<Row, String> {
    if json.get("part").is_some() {
        return Err("a part of a record, as topics have them".into());
    }
    let text = |name: &str| json.get(name).and_then(Json::as_str).ok_or_else(|| format!("no '{name}'"));
    let name = |name: &str| text(name).map(str::to_owned);
    let is_name = |name: &String| tidewire_events::is_name(name);
    Ok(Row {
        id: number(json, "record")?,
        analyzer: Some(name("analyzer")?).filter(is_name).ok_or("'analyzer' is no name")?,
        kind: Some(name("kind")?).filter(is_name).ok_or("'kind' is no name")?,
        severity: Severity::by_name(text("severity")?).ok_or("'severity' is invalid")?,
        fold: number(json, "fold")?,
        events: number(json, "count")?,
        first_ns: number(json, "first_ns")?,
        last_ns: number(json, "last_ns")?,
        key: Some(key(json)?),
        bytes: base64(json.get("sealed").unwrap_or(&Json::Null))?,
    })
}

fn number(json: &Json, name: &str) -> Result<u64, String> {
    json.get(name).and_then(Json::as_u64).ok_or_else(|| format!("'{name}' is no whole number"))
}

fn base64(json: &Json) -> Result<Vec<u8>, String> {
    let text = json.as_str().ok_or("no base64")?;
    BASE64_STANDARD.decode(text).map_err(|error| format!("no base64: {error}"))
}

fn key(json: &Json) -> Result<KeyId, String> {
    let text = json.get("key").and_then(Json::as_str).unwrap_or_default();
    let id = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
    Ok(id.ok_or("'key' is no id of a key")?.to_be_bytes())
}
