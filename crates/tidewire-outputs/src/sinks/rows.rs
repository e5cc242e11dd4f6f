//! `sqlite`, `parquet` and `arrow`: rows with typed columns.

use std::{path::PathBuf, sync::Mutex};

use super::row_writer::RowWriter;
use crate::{
    error::OutputError,
    files::lock,
    record::Record,
    settings::Settings,
    sink::{Account, Call, Failure, Needs, Sink},
    target::{Format, OutputDestination},
};

/// An output of rows.
pub struct Rows(Mutex<Written>);

struct Written {
    writer: Box<dyn RowWriter>,
    /// Rows that were to be written.
    accepted: u64,
    /// Whether it is finished: further rows are lost.
    is_over: bool,
}

impl Rows {
    /// Opens an output of rows.
    pub fn open(
        format: Format,
        place: &OutputDestination,
        settings: &Settings,
        now_ns: u64,
    ) -> Result<Self, OutputError> {
        let _ = (settings, now_ns);
        let table: Result<Box<dyn RowWriter>, OutputError> = match (format, place) {
            #[cfg(feature = "sqlite")]
            (Format::Sqlite, OutputDestination::Path(path)) => {
                super::sqlite::Sqlite::open(path, settings, now_ns).map(|table| Box::new(table) as _)
            }
            #[cfg(feature = "parquet")]
            (Format::Parquet, OutputDestination::Path(path)) => {
                super::parquet::ParquetFolder::open(path, settings).map(|table| Box::new(table) as _)
            }
            #[cfg(feature = "parquet")]
            (Format::Arrow, place) => {
                super::arrow::Arrow::open(place, settings, now_ns).map(|table| Box::new(table) as _)
            }
            (format, _) => Err(OutputError::Usage(format!(
                "this tidewire was built without {}; it is a feature of the build: cargo build --release -p tidewire-cli --features {}",
                format.name(),
                format.feature().unwrap_or_default()
            ))),
        };
        table.map(|writer| Self(Mutex::new(Written { writer, accepted: 0, is_over: false })))
    }
}

impl Sink for Rows {
    fn needs(&self) -> Needs {
        Needs { content: true, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        let Some(row) = record.row() else { return };
        let mut rows = lock(&self.0);
        if !rows.writer.takes(&row) {
            return;
        }
        rows.accepted += 1;
        if rows.is_over {
            return;
        }
        rows.writer.row(&row, call.now_ns);
        rows.note(call);
    }

    fn flush(&self, call: &mut Call<'_>) {
        let mut rows = lock(&self.0);
        if !rows.is_over {
            rows.writer.flush(call.now_ns);
            rows.note(call);
        }
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        let mut rows = lock(&self.0);
        if std::mem::replace(&mut rows.is_over, true) {
            return Ok(());
        }
        rows.writer.finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        let rows = lock(&self.0);
        let [written, readable] = rows.writer.written_rows();
        let has_ended = rows.is_over || rows.writer.has_failed();
        let lost = if has_ended { rows.accepted.saturating_sub(readable) } else { 0 };
        let (removed_files, removed_bytes) = rows.writer.removed();
        Account { accepted: rows.accepted, written, lost, slow: 0, removed_files, removed_bytes }
    }

    fn folder(&self) -> Option<PathBuf> {
        lock(&self.0).writer.folder()
    }
}

impl Written {
    fn note(&self, call: &mut Call<'_>) {
        if self.writer.has_failed() {
            call.failures.push(Failure::Output);
        }
    }
}
