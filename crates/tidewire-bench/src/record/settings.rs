//! Settings of every row of the benchmark of recorders.

use std::path::PathBuf;

use super::recorders::Recorders;
use crate::live::testbed::{Receiving, Testbed};

/// Settings of every row.
pub(super) struct Settings {
    pub quick: bool,
    pub programs: PathBuf,
    pub memory: PathBuf,
    pub disk: PathBuf,
    pub recorders: Recorders,
}

impl Settings {
    pub fn seconds(&self) -> f64 {
        if self.quick { 1.0 } else { 2.0 }
    }

    /// Runs `work` between two namespaces.
    pub fn inside<T: Send>(&self, work: impl FnOnce(&Testbed<'_>) -> Result<T, String> + Send) -> Result<T, String> {
        Testbed::inside(Receiving::Sender, work)
    }
}
