//! `sqlite`, `parquet` and `arrow`: rows with typed columns.

use std::{path::PathBuf, sync::Mutex};

use super::row_writer::RowWriter;
use crate::{
    error::OutputError,
    files::lock,
    record::Record,
    settings::Settings,
    sink::{Call, Failure, Needs, Sink},
    target::{Format, OutputDestination},
};

/// An output of rows.
pub struct Rows(Mutex<Box<dyn RowWriter>>);

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
        table.map(|table| Self(Mutex::new(table)))
    }
}

impl Sink for Rows {
    fn needs(&self) -> Needs {
        Needs { content: true, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        let Some(row) = record.row() else { return };
        let mut writer = lock(&self.0);
        writer.row(&row, call.now_ns);
        if writer.has_failed() {
            call.failures.push(Failure::Output);
        }
    }

    fn flush(&self, call: &mut Call<'_>) {
        let mut writer = lock(&self.0);
        writer.flush(call.now_ns);
        if writer.has_failed() {
            call.failures.push(Failure::Output);
        }
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        lock(&self.0).finish(now_ns, is_whole)
    }

    fn folder(&self) -> Option<PathBuf> {
        lock(&self.0).folder()
    }
}
