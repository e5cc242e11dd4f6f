//! Columns: what varies from event to event of a fold, each value beside its predecessor's.

mod bits;
mod blobs;
mod ints;

pub(crate) use blobs::{BlobColumn, BlobReader};
pub(crate) use ints::{IntColumn, IntReader};

/// Values of a block: so many wait uncompressed, and so many are unpacked at a time.
pub(crate) const BLOCK_VALUES: usize = 1024;
