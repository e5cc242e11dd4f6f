//! Options of a run.

use std::path::PathBuf;

/// How the benchmark is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder for the report and its plots.
    pub output: PathBuf,
    /// Few and short measurements.
    pub quick: bool,
    /// Folder of the release build (`pcap-loop`, `locality-loop`, `libtidewire_pcap.so`).
    pub programs: PathBuf,
    /// The compiled nDPI classifier.
    pub ndpi: PathBuf,
    /// Folder of real captures, where there is one.
    pub captures: Option<PathBuf>,
    /// Only rows whose names contain one of these; none: all.
    pub only: Vec<String>,
}
