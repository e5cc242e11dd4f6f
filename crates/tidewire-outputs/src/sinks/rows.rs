//! `sqlite`, `parquet` and `arrow`: rows with typed columns.

use std::{path::PathBuf, sync::Mutex};

use tidewire_exports::table::Row;

use super::{Call, Failure, Needs, Sink};
use crate::{
    error::OutputError,
    files::lock,
    record::Record,
    settings::Settings,
    target::{Format, Place},
};

/// An encoder of rows with its files, which is written to under a lock.
pub trait Table: Send {
    /// Adds a row.
    fn row(&mut self, row: &Row<'_>, now_ns: u64);

    /// Writes what may be written, and completes files whose time has come.
    fn flush(&mut self, now_ns: u64);

    /// Completes everything. `is_whole`: whether the run saw all of its input; otherwise no file of an earlier run is replaced.
    ///
    /// # Errors
    /// What could not be written.
    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError>;

    /// The folder that files are made in.
    fn folder(&self) -> Option<PathBuf>;

    /// Whether writing failed; what is added then is dropped.
    fn has_failed(&self) -> bool;
}

/// An output of rows.
pub struct Rows(Mutex<Box<dyn Table>>);

impl Rows {
    /// Opens an output of rows.
    pub fn open(format: Format, place: &Place, settings: &Settings, now_ns: u64) -> Result<Self, OutputError> {
        let _ = (settings, now_ns);
        let table: Result<Box<dyn Table>, OutputError> = match (format, place) {
            #[cfg(feature = "sqlite")]
            (Format::Sqlite, Place::Path(path)) => {
                super::sqlite::Sqlite::open(path, settings, now_ns).map(|table| Box::new(table) as _)
            }
            #[cfg(feature = "parquet")]
            (Format::Parquet, Place::Path(path)) => {
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
        let mut table = lock(&self.0);
        table.row(&row, call.now_ns);
        if table.has_failed() {
            call.failures.push(Failure::Output);
        }
    }

    fn flush(&self, call: &mut Call<'_>) {
        let mut table = lock(&self.0);
        table.flush(call.now_ns);
        if table.has_failed() {
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

/// The facts that files of columns state about themselves.
#[cfg(feature = "parquet")]
pub fn facts(settings: &Settings) -> Vec<(&'static str, String)> {
    let source = &settings.source;
    let input = source.interface.as_ref().map(|name| ("tidewire.interface", name.clone()));
    let input = input.or_else(|| source.file.as_ref().map(|name| ("tidewire.file", name.clone())));
    [("tidewire.version", env!("CARGO_PKG_VERSION").into())].into_iter().chain(input).collect()
}
