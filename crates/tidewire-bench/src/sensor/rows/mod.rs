//! The rows of the sensor's benchmark.

mod defrag;
mod inline;
mod latency;
mod readers;
mod streams;
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
    ("defrag-valid", defrag::valid),
    ("defrag-invalid", defrag::invalid),
    ("reassembly-normal", streams::normal),
    ("reassembly-hostile", streams::hostile),
    ("inline", inline::run),
];
