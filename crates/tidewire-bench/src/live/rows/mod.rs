//! The rows of the live benchmark.

mod calls;
mod cutoff;
mod engines;
mod overload;

mod streams;
mod work;

use super::settings::Settings;
use crate::report::Section;

/// Measures a row.
type Row = fn(&Settings) -> Result<Section, String>;

/// All rows by name.
pub const ROWS: &[(&str, Row)] = &[
    ("calls", calls::run),
    ("cutoff", cutoff::run),
    ("flows", cutoff::by_flows),
    ("delivery", streams::by_rate),
    ("streams", streams::by_streams),
    ("engines", engines::run),
    ("overload", overload::run),
    ("work", work::run),
    (TEN_MILLION, streams::ten_million),
];

/// A row of ten minutes, which is measured only if it is named.
pub const TEN_MILLION: &str = "ten-million";
