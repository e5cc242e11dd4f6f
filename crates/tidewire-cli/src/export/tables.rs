//! Outputs of rows with typed columns, which gather them under a lock.

use std::path::PathBuf;

use tidewire_exports::table::Row;

use crate::error::CliError;

/// An output of rows.
pub trait Tables: Send {
    /// Adds a row.
    fn row(&mut self, row: &Row<'_>, now_ns: u64);

    /// Writes what may be written, and completes files whose time has come.
    fn flush(&mut self, now_ns: u64);

    /// Completes everything. `is_whole`: whether it is all that the run was to find; what is not replaces nothing.
    ///
    /// # Errors
    /// What could not be written.
    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), CliError>;

    /// The folder that files are made in.
    fn folder(&self) -> Option<PathBuf>;

    /// Whether writing failed; what is added then is dropped.
    fn has_failed(&self) -> bool;
}
