//! `--to arrow:FILE`: Arrow IPC, a file, or a stream where it is a pipe or standard output.

use std::path::PathBuf;

use tidewire_exports::{
    columns::{Batch, Ipc, IpcForm},
    table::{Row, Table},
};

use super::row_writer::{self, RowWriter};
use crate::{
    error::OutputError,
    files::{Files, Frame, open_files},
    rotate::Rotate,
    settings::Settings,
    sink::Account,
    target::OutputDestination,
};

/// The share of the memory for rows that are gathered: encoded they take as much again, and once more on their way to the file.
const BATCH_SHARE: u64 = 4;

/// Rows of one table.
pub struct Arrow {
    table: &'static Table,
    form: IpcForm,
    batch: Batch,
    encoder: Option<Ipc>,
    files: Files,
    rotate: Rotate,
    opened_ns: u64,
    bytes: u64,
    failure: Option<OutputError>,
}

impl Arrow {
    /// Opens the file.
    pub fn open(place: &OutputDestination, settings: &Settings, now_ns: u64) -> Result<Self, OutputError> {
        let files = open_files(place, Frame::None, settings, now_ns)?.completed_by_caller();
        let table = &settings.tables[0];
        let form = if files.are_files() { IpcForm::File } else { IpcForm::Stream };
        let batch = Batch::new(table, &row_writer::facts(settings)).within(settings.rows_bytes / BATCH_SHARE);
        let rotate = settings.rotate;
        Ok(Self { table, form, batch, encoder: None, files, rotate, opened_ns: 0, bytes: 0, failure: None })
    }

    fn attempt(&mut self, now_ns: u64, encode: impl FnOnce(&mut Ipc, &mut Batch) -> Result<(), String>) {
        if self.failure.is_some() {
            return;
        }
        let encoder = match self.encoder.take() {
            Some(encoder) => Ok(encoder),
            None => {
                (self.opened_ns, self.bytes) = (now_ns, 0);
                Ipc::new(self.form, &self.batch).map_err(|error| error.to_string())
            }
        };
        let waiting = self.batch.rows();
        let encoded = encoder.and_then(|mut encoder| encode(&mut encoder, &mut self.batch).map(|()| encoder));
        match encoded {
            Err(error) => self.failure = Some(OutputError::Write(format!("Arrow: {error}"))),
            Ok(mut encoder) => {
                let bytes = encoder.bytes();
                self.bytes += bytes.len() as u64;
                self.files.push_rows(bytes, waiting.saturating_sub(self.batch.rows()) as u64, now_ns);
                bytes.clear();
                self.encoder = Some(encoder);
            }
        }
    }

    fn write(&mut self, now_ns: u64) {
        self.attempt(now_ns, |encoder, batch| encoder.push(batch).map_err(|error| error.to_string()));
    }

    fn complete(&mut self, now_ns: u64) {
        self.write(now_ns);
        self.attempt(now_ns, |encoder, _| encoder.finish().map_err(|error| error.to_string()));
        self.encoder = None;
        self.files.complete(now_ns);
    }

    fn is_due(&self, now_ns: u64) -> bool {
        self.form == IpcForm::File
            && self.encoder.is_some()
            && (self.rotate.bytes.is_some_and(|most| self.bytes + self.batch.bytes() >= most)
                || self.rotate.ns.is_some_and(|ns| now_ns.saturating_sub(self.opened_ns) >= ns))
    }
}

impl RowWriter for Arrow {
    fn row(&mut self, row: &Row<'_>, now_ns: u64) {
        if self.encoder.is_none() {
            self.attempt(now_ns, |_, _| Ok(()));
        }
        if self.is_due(now_ns) {
            self.complete(now_ns);
            self.attempt(now_ns, |_, _| Ok(()));
        }
        row.cells(&mut |cell| self.batch.cell(cell));
        self.batch.end_row();
        if self.batch.is_full() {
            self.write(now_ns);
        }
    }

    fn flush(&mut self, now_ns: u64) {
        if self.is_due(now_ns) {
            self.complete(now_ns);
        } else if self.form == IpcForm::Stream {
            // A reader of a stream sees records when they are complete.
            self.write(now_ns);
        }
        self.files.flush();
    }

    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.files.set_whole(is_whole);
        // A file of no rows has columns all the same.
        self.complete(now_ns);
        let finished = self.files.finish(now_ns, is_whole);
        self.failure.take().map_or(finished, Err)
    }

    fn folder(&self) -> Option<PathBuf> {
        self.files.folder()
    }

    fn only_table(&self) -> Option<&'static str> {
        Some(self.table.name)
    }

    fn written_rows(&self) -> [u64; 2] {
        // A file without its end is not readable.
        let Account { written, unfinished, .. } = self.files.account();
        [written + unfinished, written]
    }

    fn removed(&self) -> (u64, u64) {
        let account = self.files.account();
        (account.removed_files, account.removed_bytes)
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some() || self.files.has_failed()
    }
}
