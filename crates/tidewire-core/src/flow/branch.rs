use super::{Gathering, List};
use crate::Gap;

/// What is the flow's for a single handler, and each application's own where there are several.
#[derive(Debug)]
pub(crate) struct Branch {
    pub outlet: u32,
    pub priority: u8,
    /// Of the bits of `Flow::flags`: `DISCARDED`.
    pub discarded: u8,
    pub keep: bool,
    /// Of `Half::flags`, the bits that are an application's own.
    pub flags: [u16; 2],
    pub chunks: [u32; 2],
    pub delivered: [u64; 2],
    pub cutoff: [u64; 2],
    pub gaps: List<Gap>,
    pub gathering: [Option<Box<Gathering>>; 2],
}
