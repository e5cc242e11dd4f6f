//! `sqlite`, `parquet` and `arrow`: rows with typed columns.

use std::path::PathBuf;

use tidewire_exports::table::{Packed, Row};

use super::row_writer::RowWriter;
use crate::{
    error::OutputError,
    record::Record,
    settings::Settings,
    sink::{Account, Call, Failure, Needs, Sink},
    target::{Format, OutputDestination},
    write_behind::{RecordWriter, WriteBehind},
};

/// An output of rows.
pub struct Rows {
    rows: WriteBehind<RowFiles>,
    /// The only table that it has a place for; `None`: it has one for each.
    table: Option<&'static str>,
}

struct RowFiles {
    writer: Box<dyn RowWriter>,
    /// Rows that were to be written.
    accepted: u64,
    /// Whether it is finished: further rows are lost.
    is_over: bool,
    is_said: bool,
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
        let writer = table?;
        let table = writer.only_table();
        let files = RowFiles { writer, accepted: 0, is_over: false, is_said: false };
        Ok(Self { rows: WriteBehind::new(files, settings), table })
    }
}

impl Sink for Rows {
    fn needs(&self) -> Needs {
        Needs { content: true, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        let Some(row) = record.row() else { return };
        if self.table.is_some_and(|table| table != row.table().name) {
            return;
        }
        if let Some(mut files) = self.rows.direct() {
            files.row(&row, call.now_ns);
            call.failures.extend(files.news().map(|_| Failure::Output));
            return;
        }
        let mut packed = std::mem::take(call.scratch);
        row.pack(&mut packed);
        self.rows.push(&packed, 1, call.now_ns, |_| call.failures.push(Failure::Output));
        packed.clear();
        *call.scratch = packed;
    }

    fn flush(&self, call: &mut Call<'_>) {
        self.rows.flush(call.now_ns, |_| call.failures.push(Failure::Output));
    }

    fn begin_end(&self, now_ns: u64, is_whole: bool) {
        self.rows.begin_end(now_ns, is_whole);
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.rows.finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        self.rows.account()
    }

    fn folder(&self) -> Option<PathBuf> {
        self.rows.of_writer(|files| files.writer.folder())
    }
}

impl RowFiles {
    fn row(&mut self, row: &Row<'_>, now_ns: u64) {
        self.accepted += 1;
        if !self.is_over {
            self.writer.row(row, now_ns);
        }
    }
}

impl RecordWriter for RowFiles {
    fn write(&mut self, records: &[u8], now_ns: u64) {
        Packed::all(records).for_each(|row| self.row(&Row::Packed(row), now_ns));
    }

    fn flush(&mut self, now_ns: u64) {
        if !self.is_over {
            self.writer.flush(now_ns);
        }
    }

    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        self.writer.finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        let [passed, written] = self.writer.written_rows();
        let has_ended = self.is_over || self.writer.has_failed();
        let [lost, unfinished] = match has_ended {
            true => [self.accepted.saturating_sub(written), 0],
            false => [0, passed.saturating_sub(written)],
        };
        let (removed_files, removed_bytes) = self.writer.removed();
        let (accepted, slow, shed) = (self.accepted, 0, 0);
        Account { accepted, written, unfinished, lost, slow, shed, removed_files, removed_bytes }
    }

    fn news(&mut self) -> Option<Option<String>> {
        let has_failed = self.writer.has_failed() && !self.is_over;
        (has_failed && !std::mem::replace(&mut self.is_said, true)).then_some(None)
    }
}
