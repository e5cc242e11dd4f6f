//! The index of a segment: records of flows, where their packets lie, and what they are found by.

mod builder;
mod encode;
mod placed;
mod record;
mod rows;
mod sidecar;
mod summary;
mod varint;

pub use builder::IndexBuilder;
pub use encode::Sections;
pub use record::{Amount, FlowRecord, Outer};
pub use summary::{InterfaceSummary, PriorityLedger, Summary};

pub(crate) use placed::Mark;
pub(crate) use record::Term;
pub(crate) use rows::{Extent, Row};
pub(crate) use sidecar::{Sidecar, write};
