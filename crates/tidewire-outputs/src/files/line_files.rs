//! A file of lines that workers share.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{Accounts, Files, current};
use crate::{
    error::OutputError,
    settings::Settings,
    sink::{Account, Call},
    write_behind::{RecordWriter, WriteBehind},
};

/// The file.
pub struct LineFiles {
    lines: WriteBehind<LineWriter>,
    begun: AtomicBool,
}

/// Writes lines, each of them a record.
struct LineWriter(Files);

impl RecordWriter for LineWriter {
    fn write(&mut self, records: &[u8], now_ns: u64) {
        self.0.push_lines(records, now_ns);
    }

    fn flush(&mut self, now_ns: u64) {
        self.0.flush_or_complete(now_ns);
    }

    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.0.finish_and_settle(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        self.0.account()
    }

    fn news(&mut self) -> Option<Option<String>> {
        self.0.news()
    }
}

impl LineFiles {
    /// A file with the back pressure of the settings.
    pub fn new(files: Files, settings: &Settings) -> Self {
        Self { lines: WriteBehind::new(LineWriter(files), settings), begun: AtomicBool::new(false) }
    }

    /// Adds whole lines.
    pub fn push(&self, accounts: &Accounts, lines: &[u8], call: &mut Call<'_>) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            accounts.begin();
        }
        let (records, now_ns) = (current::lines(lines), call.now_ns);
        self.lines.push(lines, records, now_ns, |news| accounts.note(Some(news), call));
    }

    /// Writes what was gathered, or completes the file where its time has come.
    pub fn flush(&self, accounts: &Accounts, call: &mut Call<'_>) {
        self.lines.flush(call.now_ns, |news| accounts.note(Some(news), call));
    }

    /// Writes the lines that were gathered.
    pub fn flush_lines(&self, accounts: &Accounts, call: &mut Call<'_>) {
        let Some(mut writer) = self.lines.direct() else { return self.flush(accounts, call) };
        writer.0.flush_lines();
        accounts.note(writer.0.news(), call);
    }

    /// Has the last file completed, without waiting for it.
    pub fn begin_end(&self, now_ns: u64, is_whole: bool) {
        self.lines.begin_end(now_ns, is_whole);
    }

    /// Completes the last file ([`Files::finish_and_settle`]).
    ///
    /// # Errors
    /// As there; lines that a disk did not take in time.
    pub fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.lines.finish(now_ns, is_whole)
    }

    /// The records that were added, and the rest of their account.
    pub fn account(&self) -> Account {
        self.lines.account()
    }

    /// The folder that files are made in, before the first line.
    pub fn folder(&self) -> Option<PathBuf> {
        self.lines.of_writer(|writer| writer.0.folder())
    }

    /// As [`Files::check_free`].
    ///
    /// # Errors
    /// As there.
    pub fn check_free(&self) -> Result<(), OutputError> {
        self.lines.of_writer(|writer| writer.0.check_free())
    }
}
