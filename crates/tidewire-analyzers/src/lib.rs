//! Analyzers within the capture: what the engine flags, byte patterns and scans become events.
//!
//! They are handlers of the engine, beside the queues. Nothing here waits: an event is accepted by [`Emit`] at once or refused,
//! and refusals are counted. Time is the packets'.
//!
//! ```text
//! Analyzers ─ worker() ─► Inline, one for each worker: a Handler
//!     │                     ├ anomaly    what the engine flags, malformed packets, rejected fragments
//!     │                     ├ match      patterns in streams
//!     └ tables of scans ◄───┴ scan       connections that were begun and not completed
//! ```
#![forbid(unsafe_code)]

mod analyzers;
mod anomaly;
mod describe;
mod emit;
mod error;
mod inline;
mod matching;
mod scan;
mod settings;

pub use analyzers::Analyzers;
pub use emit::{Counts, Emit};
pub use error::AnalyzersError;
pub use inline::{Inline, InlineState};
pub use matching::patterns_of;
pub use scan::SCAN_KINDS;
pub use settings::{ANALYZERS, AnomalySettings, MatchSettings, Problem, ScanSettings, Settings};
