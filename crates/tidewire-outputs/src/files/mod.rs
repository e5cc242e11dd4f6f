//! A file of records, followed by others where it is rotated. Lines grow under the file's name; other formats have a hidden one until they
//! are complete.

mod accounts;
pub mod current;
mod keeper;
mod line_files;
pub mod names;

use std::{
    collections::VecDeque,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use current::{Current, Unit};
use names::Names;
use tidewire::legible::legible;
use tidewire_exports::zeek::{self, Log};
use tidewire_types::counted;

#[cfg(feature = "parquet")]
pub use self::keeper::HourFolder;
pub use self::{accounts::Accounts, keeper::Keeper, line_files::LineFiles};
use crate::{
    error::{Notify, OutputError},
    place::{
        self, Pipes, Standard,
        folder::{self, Folder},
    },
    rotate::Rotate,
    settings::Settings,
    sink::Account,
    target::OutputDestination,
};

/// Bytes that are collected before they are written.
const GATHERED_BYTES: usize = 256 << 10;

/// The beginning and the end of each file.
#[derive(Clone, Debug)]
pub enum Frame {
    /// Nothing; no part of the file is readable by itself.
    #[cfg_attr(not(any(feature = "parquet", test)), allow(dead_code, reason = "columns alone are such files"))]
    None,
    /// Nothing; messages that state their length.
    Messages,
    /// Nothing; each record is a line.
    Lines,
    /// A line that names the columns.
    Header(String),
    Zeek(zeek::Form, Log),
}

impl Frame {
    fn unit(&self) -> Unit {
        match self {
            Self::None => Unit::File,
            Self::Messages => Unit::Message,
            Self::Lines | Self::Header(_) | Self::Zeek(..) => Unit::Line,
        }
    }

    /// Whether the file can be read while it grows: each record is a line.
    fn is_of_lines(&self) -> bool {
        self.unit() == Unit::Line
    }
}

/// Where bytes go.
enum Where {
    /// As it is: a pipe, a device, standard output.
    Direct(File),
    /// To files of a folder.
    Folder(Names),
}

/// Files of one name, one after the other.
pub struct Files {
    /// For messages.
    shown: String,
    place: Where,
    frame: Frame,
    rotate: Rotate,
    current: Option<Current>,
    gathered: Vec<u8>,
    /// Rows that end in what is written next.
    gathered_rows: u64,
    /// Lines of a header among what is written next to a pipe or device.
    direct_header_lines: u64,
    /// Bytes of each message that is not written, and its records.
    gathered_messages: VecDeque<(usize, u64)>,
    failure: Option<io::Error>,
    /// Whether the failure was said.
    is_said: bool,
    /// Records in the files that are complete.
    records: u64,
    /// Records that were added, those of them that a reader finds or found, and those of complete files: messages are counted by their
    /// records.
    accepted: u64,
    written: u64,
    stored: u64,
    /// Whether it is finished: what is added then is counted as lost.
    is_over: bool,
    /// Removes files beyond the bounds.
    keeper: Option<Arc<Keeper>>,
    /// Whether it is opened again after a failure.
    is_opened_again: bool,
    notify: Notify,
}

impl Files {
    /// Opens `path`, so that what prevents it is known before the run begins.
    pub fn open(path: &Path, frame: Frame, settings: &Settings, now_ns: u64) -> Result<Self, OutputError> {
        let shown = legible(&path.to_string_lossy()).into_owned();
        let cannot = |error: io::Error| OutputError::Write(format!("{shown}: cannot be written: {error}"));
        // A capture that goes on without an output does not wait for a reader either.
        let pipes = if settings.goes_on_without { Pipes::NeedReader } else { Pipes::Wait };
        let path = match place::open(path, pipes).map_err(cannot)? {
            place::OutputPath::File(path) => path,
            place::OutputPath::Direct(_) if settings.rotate.is_on() => {
                return Err(OutputError::Usage(format!("{shown} is no file that --rotate could rename")));
            }
            place::OutputPath::Direct(file) => return Ok(Self::direct(shown, file, frame, settings)),
        };
        let name = path.file_name().ok_or_else(|| cannot(io::ErrorKind::InvalidFilename.into()))?;
        let folder = Arc::new(folder::existing_parent(&path).map_err(cannot)?);
        let names = Names::new(&folder, name.to_owned(), settings);
        let keeper = Keeper::new(&folder, vec![name.to_owned()], settings);
        let mut files = Self::new(shown.clone(), Where::Folder(names), frame, settings).kept_by(keeper);
        files.check_free()?;
        files.begin(now_ns).map_err(cannot)?;
        Ok(files)
    }

    /// Standard output.
    pub fn stdout(frame: Frame, settings: &Settings) -> Result<Self, OutputError> {
        const SHOWN: &str = "standard output";
        let file = place::opened(Standard::Output).map_err(|error| OutputError::of_stream(SHOWN, &error))?;
        Ok(Self::direct(SHOWN.into(), file, frame, settings))
    }

    /// A log of a folder; it is made with its first record.
    pub fn of_log(folder: &Arc<Folder>, shown: &str, form: zeek::Form, log: Log, settings: &Settings) -> Self {
        let name = format!("{}.log", log.name());
        let shown = format!("{shown}/{name}");
        let names = Names::new(folder, name.into(), settings);
        Self::new(shown, Where::Folder(names), Frame::Zeek(form, log), settings)
    }

    /// Has files beyond the bounds removed.
    pub fn kept_by(mut self, keeper: Option<Arc<Keeper>>) -> Self {
        self.keeper = keeper;
        self
    }

    /// Files of a folder that the caller completes, each with its first bytes.
    #[cfg(feature = "parquet")]
    pub fn of_parts(folder: &Arc<Folder>, shown: String, name: String, settings: &Settings) -> Self {
        let names = Names::of_several(folder, name.into(), settings);
        Self::new(shown, Where::Folder(names), Frame::None, settings).completed_by_caller()
    }

    fn direct(shown: String, file: File, frame: Frame, settings: &Settings) -> Self {
        let mut files = Self::new(shown, Where::Direct(file), frame, settings);
        files.rotate = Rotate::default();
        files.push_header(0);
        files
    }

    fn new(shown: String, place: Where, frame: Frame, settings: &Settings) -> Self {
        Self {
            shown,
            place,
            frame,
            rotate: settings.rotate,
            current: None,
            gathered: Vec::new(),
            gathered_rows: 0,
            direct_header_lines: 0,
            gathered_messages: VecDeque::new(),
            failure: None,
            is_said: false,
            records: 0,
            accepted: 0,
            written: 0,
            stored: 0,
            is_over: false,
            keeper: None,
            is_opened_again: settings.goes_on_without && settings.source.is_live,
            notify: settings.notify.clone(),
        }
    }

    /// Without limits of its own: a part of what the caller encodes is no file.
    #[cfg(feature = "parquet")]
    pub fn completed_by_caller(mut self) -> Self {
        self.rotate = Rotate::default();
        self
    }

    /// Whether it is a file, which has an end, and no pipe or device.
    #[cfg(feature = "parquet")]
    pub fn are_files(&self) -> bool {
        matches!(self.place, Where::Folder(_))
    }

    /// The folder that files are made and renamed in.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.place {
            Where::Direct(_) => None,
            Where::Folder(names) => Some(names.folder().by_handle()),
        }
    }

    /// Whether writing failed; what is added then is dropped.
    #[cfg(feature = "parquet")]
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The failure of writing, on the first call that finds it; without a message where the reader closed its end, which is no error.
    pub fn news(&mut self) -> Option<Option<String>> {
        let failure = self.failure.as_ref().filter(|_| !self.is_said)?;
        self.is_said = true;
        let is_closed = failure.kind() == io::ErrorKind::BrokenPipe;
        Some((!is_closed).then(|| format!("{}: cannot be written: {failure}", self.shown)))
    }

    /// Whether the file ends before so many further bytes.
    pub fn is_due(&self, bytes: usize, now_ns: u64) -> bool {
        let Some(current) = self.current.as_ref().filter(|current| current.is_begun) else { return false };
        let size = current.bytes + self.gathered.len() as u64;
        let too_large = self.rotate.bytes.is_some_and(|most| size > 0 && size + bytes as u64 > most);
        too_large || self.rotate.ns.is_some_and(|ns| now_ns.saturating_sub(current.opened_ns) >= ns)
    }

    /// Whether the next record is the first of a file.
    pub fn is_new(&self) -> bool {
        matches!(self.place, Where::Folder(_)) && self.current.as_ref().is_none_or(|current| !current.is_begun)
    }

    /// Begins the file's time.
    fn touch(&mut self, now_ns: u64) {
        if let Some(current) = self.current.as_mut().filter(|current| !current.is_begun) {
            (current.is_begun, current.opened_ns) = (true, now_ns);
        }
    }

    /// The records that were added, and what became of them. Those in memory are not lost before something fails.
    pub fn account(&self) -> Account {
        let has_ended = self.is_over || self.failure.is_some();
        let (accepted, written) = (self.accepted, self.written);
        let left = accepted.saturating_sub(written);
        let current = self.current.as_ref().map_or(0, |current| current.records_of(self.frame.unit()));
        let unfinished = if has_ended { 0 } else { (self.stored + current).saturating_sub(written) };
        let lost = if has_ended { left } else { 0 };
        let (removed_files, removed_bytes) = self.keeper.as_ref().map_or((0, 0), |keeper| keeper.removed());
        Account { accepted, written, unfinished, lost, removed_files, removed_bytes, ..Account::default() }
    }

    /// Adds whole records with the number of rows that end in these bytes, where the bytes do not say it.
    #[cfg(any(feature = "parquet", test))]
    pub fn push_rows(&mut self, bytes: &[u8], rows: u64, now_ns: u64) {
        self.accepted += rows;
        self.gathered_rows += rows;
        self.push(bytes, now_ns);
    }

    /// Adds a message with so many records.
    pub fn push_message(&mut self, bytes: &[u8], records: u64, now_ns: u64) {
        self.accepted += records;
        if !self.is_over && self.failure.is_none() {
            self.gathered_messages.push_back((bytes.len(), records));
        }
        self.push(bytes, now_ns);
    }

    /// Adds lines, each of them a record.
    pub fn push_lines(&mut self, lines: &[u8], now_ns: u64) {
        self.accepted += current::lines(lines);
        self.push(lines, now_ns);
    }

    /// Adds whole records; completes the file before them where it is due.
    fn push(&mut self, records: &[u8], now_ns: u64) {
        if self.failure.is_some() || self.is_over {
            return;
        }
        if self.is_due(records.len(), now_ns) {
            self.complete(now_ns);
        }
        let is_open = self.current.is_some() || matches!(self.place, Where::Direct(_));
        if !is_open && let Err(error) = self.begin(now_ns) {
            self.failure = Some(error);
            return;
        }
        self.touch(now_ns);
        if records.len() >= GATHERED_BYTES {
            let rows = std::mem::take(&mut self.gathered_rows);
            self.flush();
            self.gathered_rows = rows;
            self.write(records);
            return self.note_written();
        }
        self.gathered.extend_from_slice(records);
        if self.gathered.len() >= GATHERED_BYTES {
            self.flush();
        }
    }

    /// Writes what was collected. From the first time on a file of lines has its name, so that others follow it while it grows.
    pub fn flush(&mut self) {
        // One that is opened again has its name again.
        let is_gone = |current: &Current| current.is_shown && current.is_gone();
        if self.is_opened_again && self.failure.is_none() && self.current.as_ref().is_some_and(is_gone) {
            self.failure = Some(io::Error::other("it was removed while it was written"));
        }
        self.write_gathered();
        self.note_written();
    }

    fn write_gathered(&mut self) {
        if let Some(keeper) = &self.keeper {
            keeper.look();
        }
        if !self.gathered.is_empty() {
            let mut gathered = std::mem::take(&mut self.gathered);
            self.write(&gathered);
            gathered.clear();
            self.gathered = gathered;
        }
        if let (Where::Folder(names), Some(current), None) = (&mut self.place, &mut self.current, &self.failure)
            && self.frame.is_of_lines()
            && !current.is_shown
        {
            match folder::identity(&current.file).and_then(|file| names.show(&current.hidden, file)) {
                Ok(()) => current.is_shown = true,
                // It grows hidden until that run ends, or this one does.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) => self.failure = Some(error),
            }
        }
    }

    /// Writes what was collected, or completes the file where its time has come.
    pub fn flush_or_complete(&mut self, now_ns: u64) {
        if self.is_due(0, now_ns) {
            self.complete(now_ns);
        } else {
            self.flush();
        }
    }

    /// Writes lines that were collected, but completes nothing: other formats have no use for a part.
    pub fn flush_lines(&mut self) {
        if self.frame.is_of_lines() {
            self.flush();
        }
    }

    /// Writes bytes behind those that were written.
    fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let before = self.current.as_ref().map_or(0, |current| current.bytes);
        let written = match (&mut self.place, &mut self.current) {
            (Where::Direct(file), _) => place::streams::write_all(file, bytes),
            (_, Some(current)) => current.append(bytes, self.frame.unit()),
            _ => return,
        };
        let rows = std::mem::take(&mut self.gathered_rows);
        let whole = match (&self.current, &written) {
            (Some(current), _) => (current.bytes - before) as usize,
            (None, Ok(())) => bytes.len(),
            (None, Err(_)) => 0,
        };
        let in_messages = self.messages_within(bytes.len(), whole);
        match (&mut self.current, &written) {
            (Some(current), _) => current.message_records += in_messages,
            (None, Ok(())) if self.frame.is_of_lines() => {
                self.stored += current::lines(bytes) - std::mem::take(&mut self.direct_header_lines);
            }
            (None, _) => self.stored += in_messages,
        }
        match (written, &mut self.current) {
            (Err(error), _) => self.failure = Some(error),
            (Ok(()), Some(current)) => current.units += rows,
            (Ok(()), None) => self.stored += rows,
        }
    }

    /// Notes the records that a reader finds: they were written, whatever becomes of the file.
    fn note_written(&mut self) {
        let unit = self.frame.unit();
        let readable = |current: &&Current| unit == Unit::Message || unit == Unit::Line && current.is_shown;
        let current = self.current.as_ref().filter(readable).map_or(0, |current| current.records_of(unit));
        self.written = self.written.max(self.stored + current);
    }

    /// Takes the messages of the next `bytes`; the records of those that lie within `whole`, which were written.
    fn messages_within(&mut self, bytes: usize, whole: usize) -> u64 {
        let (mut at, mut records) = (0, 0);
        while let Some((length, of_message)) = self.gathered_messages.front().copied() {
            at += length;
            if at > bytes {
                break;
            }
            records += if at <= whole { of_message } else { 0 };
            self.gathered_messages.pop_front();
        }
        records
    }

    /// Completes the file: it gets its name.
    pub fn complete(&mut self, now_ns: u64) {
        let before = self.gathered.len();
        if let (Frame::Zeek(form, _), true) = (&self.frame, self.current.is_some()) {
            zeek::push_footer(&mut self.gathered, *form, second(now_ns));
        }
        let footer = current::lines(self.gathered.get(before..).unwrap_or_default());
        self.write_gathered();
        if self.failure.is_some() {
            return self.note_written();
        }
        if let Some(current) = &mut self.current {
            current.frame_lines += footer;
        }
        self.note_written();
        if let Some(current) = self.current.take() {
            match self.name_it(&current) {
                Ok(()) => {
                    self.records += current.records();
                    self.stored += current.records_of(self.frame.unit());
                    self.note_written();
                    if let Some(keeper) = &self.keeper {
                        keeper.retain();
                    }
                }
                Err(error) => (self.failure, self.current) = (Some(error), Some(current)),
            }
        }
    }

    /// Completes the last file, if one was begun. `is_whole`: whether it has all that the run was to find; another one replaces nothing.
    ///
    /// # Errors
    /// What could not be written, and how many records were. A file that is not shown keeps its hidden name then.
    pub fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        if self.is_over {
            return Ok(());
        }
        self.set_whole(is_whole);
        self.complete(now_ns);
        self.is_over = true;
        let Some(failure) = self.failure.take() else {
            self.note_earlier_log();
            return Ok(());
        };
        let unit = self.frame.unit();
        self.stored += match &self.current {
            Some(current) if unit != Unit::File && !current.is_gone() => current.records_of(unit),
            _ => 0,
        };
        self.written = self.written.max(self.stored);
        self.remove_empty();
        if failure.kind() == io::ErrorKind::BrokenPipe {
            return Err(OutputError::Closed);
        }
        let records = self.current.as_ref().map_or(0, Current::records);
        let [one, several] = unit.names();
        let records = counted(records, one, several);
        let there = match (self.current.take(), &self.place) {
            (Some(current), _) if current.is_gone() => "; what was in it is gone: it was removed meanwhile".into(),
            (Some(current), _) if current.is_shown => format!("; it has {records}"),
            (Some(current), Where::Folder(names)) => {
                let what = if unit == Unit::File {
                    format!("what there is, {records} without the end that readers need, is")
                } else {
                    records
                };
                format!("; {what} {}", names.folder().place_of(&current.hidden, Some(&current.file)))
            }
            _ => String::new(),
        };
        let before = match self.records {
            0 => String::new(),
            records => format!("; those before it have {}", counted(records, one, several)),
        };
        Err(OutputError::Write(format!("{}: cannot be written: {failure}{there}{before}", self.shown)))
    }

    /// Completes the last file, and removes what an earlier run wrote under its name, or reports where that is.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_and_settle(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        let finished = self.finish(now_ns, is_whole);
        self.settle_earlier(is_whole && finished.is_ok());
        finished
    }

    /// Removes the file if nothing is in it.
    fn remove_empty(&mut self) {
        if let Where::Folder(names) = &self.place
            && let Some(current) = self.current.take_if(|current| current.bytes == 0 && !current.is_shown)
        {
            let _ = names.folder().remove(&current.hidden);
        }
    }

    /// Whether files that are completed from now on may replace those of an earlier run.
    pub fn set_whole(&mut self, is_whole: bool) {
        if let Where::Folder(names) = &mut self.place {
            names.is_whole = is_whole;
        }
    }

    /// Removes the file of an earlier run with this name if this run's file is whole (`is_whole`), and reports its place otherwise.
    pub fn settle_earlier(&mut self, is_whole: bool) {
        let Where::Folder(names) = &mut self.place else { return };
        if is_whole {
            names.remove_earlier();
        } else if let Some(name) = names.keep_earlier() {
            let name = name.to_string_lossy();
            (self.notify)(format_args!(
                "{} is not whole; that of an earlier run is {} now",
                self.shown,
                legible(&name)
            ));
        }
    }

    /// Says that a log beside those of this run is of an earlier one, whose records have nothing to do with these.
    fn note_earlier_log(&self) {
        if let (Frame::Zeek(..), Where::Folder(names)) = (&self.frame, &self.place)
            && names.is_of_earlier_run()
        {
            (self.notify)(format_args!("{} is of an earlier run: this one had nothing to write to it", self.shown));
        }
    }

    /// Refuses a file that another run writes, and anything else than a file.
    ///
    /// # Errors
    /// It grows under its name, and another run holds its lock; a link, a pipe or a device has its name, or another user's file.
    pub fn check_free(&self) -> Result<(), OutputError> {
        match &self.place {
            Where::Folder(names) if self.frame.is_of_lines() => names
                .check_name()
                .and_then(|()| names.check_unlocked())
                .map_err(|error| OutputError::Write(format!("{}: cannot be written: {error}", self.shown))),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, now_ns: u64) -> io::Result<()> {
        let Where::Folder(names) = &self.place else { return Ok(()) };
        let hidden = names.hidden();
        let file = names.folder().create(&hidden)?;
        if self.frame.is_of_lines() {
            folder::lock(&file);
        }
        self.current = Some(Current::new(file, hidden, now_ns));
        self.push_header(now_ns);
        Ok(())
    }

    fn push_header(&mut self, now_ns: u64) {
        let before = self.gathered.len();
        match &self.frame {
            Frame::None | Frame::Messages | Frame::Lines => {}
            Frame::Header(line) => {
                self.gathered.extend_from_slice(line.as_bytes());
                self.gathered.push(b'\n');
            }
            Frame::Zeek(form, log) => zeek::push_header(&mut self.gathered, *form, *log, second(now_ns)),
        }
        let lines = current::lines(self.gathered.get(before..).unwrap_or_default());
        match &mut self.current {
            Some(current) => current.frame_lines += lines,
            None => self.direct_header_lines = lines,
        }
    }

    /// Gives a file its name.
    fn name_it(&mut self, current: &Current) -> io::Result<()> {
        let Where::Folder(names) = &mut self.place else { return Ok(()) };
        // A disk may find only now that it has no room, and a name must not outlive what it names.
        current.file.sync_data()?;
        if current.is_shown {
            names.number_shown(&current.file, current.opened_ns)
        } else {
            folder::check_bytes(&current.file, current.bytes)?;
            let [one, several] = self.frame.unit().names();
            let what = counted(current.records(), one, several);
            names.give(&current.hidden, folder::identity(&current.file)?, current.opened_ns, &what)
        }
    }
}

/// Opens the file or standard output of a place.
pub fn open_files(
    place: &OutputDestination,
    frame: Frame,
    settings: &Settings,
    now_ns: u64,
) -> Result<Files, OutputError> {
    match place {
        OutputDestination::Path(path) => Files::open(path, frame, settings, now_ns),
        _ => Files::stdout(frame, settings),
    }
}

impl Drop for Files {
    /// Removes a file that a run which did not begin left empty.
    fn drop(&mut self) {
        self.remove_empty();
    }
}

/// Seconds since the epoch.
fn second(ns: u64) -> i64 {
    (ns / 1_000_000_000) as i64
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn with(rotate: Rotate) -> Settings {
        Settings { rotate, ..Settings::default() }
    }

    const SECOND: u64 = 1_000_000_000;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn rotation_loses_no_record_and_leaves_no_hidden_file() {
        let place = tempfile::tempdir().unwrap();
        let rotate = Rotate { bytes: Some(1000), ns: Some(60 * SECOND) };
        for frame in [Frame::None, Frame::Lines] {
            let (folder, is_of_lines) = (place.path().join(format!("{frame:?}")), frame.is_of_lines());
            fs::create_dir(&folder).unwrap();
            let mut files = Files::open(&folder.join("all.txt"), frame, &with(rotate), 0).unwrap();
            let mut expected = String::new();
            for index in 0..1000_u64 {
                let record = format!("record {index}\n");
                expected.push_str(&record);
                files.push(record.as_bytes(), index * SECOND);
                files.flush();
                assert_eq!(names(&folder).contains(&"all.txt".to_owned()), is_of_lines);
            }
            files.finish(1000 * SECOND, true).unwrap();
            let names = names(&folder);
            assert!(names.len() > 16 && names.iter().all(|name| name.starts_with("all.1970")), "{names:?}");
            let texts: Vec<String> = names.iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect();
            assert!(texts.iter().all(|text| text.len() <= 1000 && text.ends_with('\n')));
            assert_eq!(texts.concat(), expected);
        }
    }

    #[test]
    fn what_has_no_lines_has_its_name_when_it_is_complete() {
        let place = tempfile::tempdir().unwrap();
        let mut files = Files::open(&place.path().join("a.ipfix"), Frame::None, &Settings::default(), 0).unwrap();
        files.push(b"message", 1);
        files.flush();
        assert!(names(place.path())[0].starts_with(".a.ipfix."));
        files.finish(2, true).unwrap();
        assert_eq!(names(place.path()), ["a.ipfix"]);
        drop(Files::open(&place.path().join("other"), Frame::Lines, &Settings::default(), 0).unwrap());
        assert_eq!(names(place.path()), ["a.ipfix"]);
    }

    /// Of bytes that do not say it, the caller says how many rows are in them: those that were written before the failure count.
    #[test]
    fn rows_of_columns_are_counted_where_writing_fails() {
        let place = tempfile::tempdir().unwrap();
        let mut files = Files::open(&place.path().join("a.arrow"), Frame::None, &Settings::default(), 0).unwrap();
        files.push_rows(b"four rows", 4, 1);
        files.push_rows(&vec![b'x'; GATHERED_BYTES], 3, 1);
        files.push_rows(b"those that are lost", 100, 1);
        files.failure = Some(io::ErrorKind::StorageFull.into());
        let said = files.finish(2, true).unwrap_err().to_string();
        assert!(said.contains("what there is, 7 whole records without the end that readers need, is in .a."), "{said}");
    }

    /// A file of an earlier run stays until this one's is whole, and is not touched before there is something to write.
    #[test]
    fn lines_grow_under_their_name_beside_what_was_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("eve.json");
        let text = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
        let open = || Files::open(&path, Frame::Lines, &Settings::default(), 0).unwrap();
        fs::write(&path, "earlier\n").unwrap();
        drop(open());
        assert_eq!((names(place.path()), text("eve.json")), (vec!["eve.json".into()], "earlier\n".into()));
        for is_whole in [false, true] {
            let mut files = open();
            files.push(b"a\n", 1);
            assert_eq!(text("eve.json"), if is_whole { "a\nb\n" } else { "earlier\n" });
            files.flush();
            assert_eq!(text("eve.json"), "a\n");
            files.push(b"b\n", 1);
            files.finish(2, true).unwrap();
            files.settle_earlier(is_whole);
            let aside: Vec<String> = names(place.path()).into_iter().filter(|name| name != "eve.json").collect();
            assert_eq!((text("eve.json").as_str(), aside.len()), ("a\nb\n", 1), "{aside:?}");
            assert!(aside[0].ends_with(".000001.json") && text(&aside[0]) == "earlier\n", "{aside:?}");
        }
    }

    #[test]
    fn what_another_run_writes_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("eve.json");
        let open = || Files::open(&path, Frame::Lines, &Settings::default(), 0);
        // Both begin before there is a file.
        let [mut one, mut other, mut longer] = [(); 3].map(|()| open().unwrap());
        one.push(b"a\n", 1);
        one.flush();
        let said = open().err().unwrap().to_string();
        assert!(said.contains("another run writes it"), "{said}");
        other.push(b"lost\n", 1);
        let said = other.finish_and_settle(2, true).unwrap_err().to_string();
        assert!(said.contains("another run writes it") && said.contains("1 whole record in .eve.json"), "{said}");
        longer.push(b"x\n", 1);
        longer.flush();
        one.push(b"b\n", 2);
        one.finish_and_settle(3, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
        longer.push(b"y\n", 3);
        longer.finish_and_settle(4, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\ny\n");
        let mut later = open().unwrap();
        later.push(b"c\n", 4);
        later.finish_and_settle(5, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "c\n");
    }

    /// As `logrotate` does with `copytruncate`.
    #[test]
    fn lines_that_are_cut_off_grow_from_their_beginning() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("eve.json");
        let mut files = Files::open(&path, Frame::Lines, &Settings::default(), 0).unwrap();
        files.push(b"copied elsewhere\n", 1);
        files.flush();
        File::create(&path).unwrap();
        files.push(b"next\n", 2);
        files.finish_and_settle(3, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "next\n");
    }

    #[test]
    fn what_another_process_cut_off_or_appended_to_is_not_published() {
        for (change, bytes) in [("cut off", 4), ("append to", 12)] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("a.ipfix");
            let mut files = Files::open(&path, Frame::Messages, &Settings::default(), 0).unwrap();
            files.push_message(&[0, 10, 0, 4], 1, 1);
            files.flush();
            let hidden = place.path().join(&names(place.path())[0]);
            match change {
                "cut off" => drop(File::create(&hidden).unwrap()),
                _ => fs::write(&hidden, [0; 8]).unwrap(),
            }
            files.push_message(&[0, 10, 0, 4], 1, 1);
            let said = files.finish(2, true).unwrap_err().to_string();
            let words = format!("another process changed it: it has {bytes} bytes, and 8 were written");
            assert!(said.contains(&words), "{change}: {said}");
            assert!(hidden.exists() && !path.exists());
        }
    }

    #[test]
    fn files_of_an_earlier_run_stay() {
        let place = tempfile::tempdir().unwrap();
        let rotate = Rotate { bytes: Some(1 << 20), ns: None };
        for text in ["a", "b"] {
            let mut files = Files::open(&place.path().join("x"), Frame::None, &with(rotate), 0).unwrap();
            files.push(text.as_bytes(), 0);
            files.finish(0, true).unwrap();
        }
        assert_eq!(names(place.path()), ["x.19700101T000000Z.000001", "x.19700101T000000Z.000002"]);
    }
}
