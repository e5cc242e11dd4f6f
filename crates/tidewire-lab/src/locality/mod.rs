//! `tidewire-lab locality`: what the order of packets does to applications with large tables.

pub mod apps;
pub mod measure;
pub mod traffic;

use std::path::PathBuf;

use tidewire_capture::locality::Key;

use apps::Kinds;
use measure::{Cost, Way, measure};
use traffic::{Trace, Traffic};

/// One measurement from the command line.
#[derive(Clone, Debug)]
pub struct One {
    /// The application.
    pub kind: Kinds,
    /// See [`Kinds::build`].
    pub size: u64,
    /// A capture instead of made traffic.
    pub capture: Option<PathBuf>,
    /// Made traffic.
    pub traffic: Traffic,
    /// `None`: unsorted.
    pub key: Option<Key>,
    /// Packets of a batch.
    pub batch_frames: usize,
}

/// Measures once.
///
/// # Errors
/// The capture cannot be read.
pub fn one(one: &One) -> Result<Cost, String> {
    let trace = match &one.capture {
        Some(path) => Trace::read(path).map_err(|error| error.to_string())?,
        None => one.traffic.make(),
    };
    let way = one.key.map_or(Way::OFF, |key| Way { key: Some(key), batch_frames: one.batch_frames });
    Ok(measure(&mut *one.kind.build(one.size), &trace, way))
}
