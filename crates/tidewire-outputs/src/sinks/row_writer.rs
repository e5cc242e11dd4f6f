//! Writers of rows with typed columns: an encoder with its files.

use std::path::PathBuf;

use tidewire_exports::table::Row;

use crate::error::OutputError;
#[cfg(feature = "parquet")]
use crate::settings::Settings;

/// An encoder of rows with its files, which is written to under a lock.
pub trait RowWriter: Send {
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

    /// The only table that it has a place for, if it is one.
    fn only_table(&self) -> Option<&'static str> {
        None
    }

    /// Rows that were passed to the system, and those of them that readers find should nothing more be written: never fewer than before.
    fn written_rows(&self) -> [u64; 2];

    /// Files that were removed to keep within bounds, and their bytes.
    fn removed(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Whether writing failed; what is added then is dropped.
    fn has_failed(&self) -> bool;
}

/// The facts that files of columns state about themselves.
#[cfg(feature = "parquet")]
pub fn facts(settings: &Settings) -> Vec<(&'static str, String)> {
    let source = &settings.source;
    let input = source.interface.as_ref().map(|name| ("tidewire.interface", name.clone()));
    let input = input.or_else(|| source.file.as_ref().map(|name| ("tidewire.file", name.clone())));
    [("tidewire.version", env!("CARGO_PKG_VERSION").into())].into_iter().chain(input).collect()
}
