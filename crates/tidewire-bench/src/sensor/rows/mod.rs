//! The rows of the sensor's benchmark.

mod capture;
mod defrag;
mod inline;
mod latency;
mod parallel;
mod readers;
mod streams;
mod together;
mod transport;

use super::settings::Settings;
use crate::report::Section;

/// Measures a row.
pub(super) type Row = fn(&Settings) -> Result<Section, String>;

/// All rows, by the names that select them.
pub(super) const ROWS: &[(&str, Row)] = &[
    ("queue", transport::run),
    ("latency", latency::run),
    ("readers", readers::run),
    ("capture", capture::run),
    ("together", together::run),
    ("defrag-valid", defrag::valid),
    ("defrag-invalid", defrag::invalid),
    ("reassembly-normal", streams::normal),
    ("reassembly-hostile", streams::hostile),
    ("inline", inline::run),
    ("parallel", parallel::by_rate),
    ("analyzers", parallel::by_number),
];
