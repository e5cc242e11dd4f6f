//! The state of lowering a program.

use crate::ir::Builder;
use crate::settings::Settings;

/// Values of [`TARGET`](crate::walk::slot::TARGET).
pub(crate) mod target {
    pub(crate) const PASS: u64 = 0;
    pub(crate) const HASH: u64 = 1;
    pub(crate) const WORKER: u64 = 2;
    pub(crate) const BOTH: u64 = 3;
    pub(crate) const DROP: u64 = 4;
}

pub(super) struct Lowering<'a> {
    pub builder: Builder,
    pub settings: &'a Settings,
    /// Steps `sample` seen so far.
    pub samples: usize,
    pub error: Option<(&'static str, String, &'static str)>,
}
