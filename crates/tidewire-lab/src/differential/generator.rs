//! Random choices that all parts of a script need, and segments of an ordinary connection.

use super::script::{Opt, Segment};
use crate::random::Random;

/// A generator of scripts.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) random: Random,
    /// Whether to vary IP and link layers as well.
    pub network: bool,
}

/// Which end of the connections the host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It listens.
    Server,
    /// It connects.
    Client,
}

/// The state that the two ends have agreed on so far.
#[derive(Clone, Debug, Default)]
pub struct Agreed {
    /// The client's timestamp value of the next segment, if timestamps are in use.
    pub stamp: Option<u32>,
    /// Bytes of the client's ordinary stream so far.
    pub next: i64,
    /// Bytes of that stream in all.
    pub end: i64,
}

impl Generator {
    /// The scripts of a seed.
    #[must_use]
    pub fn new(seed: u64, network: bool) -> Self {
        Self { random: Random::new(seed), network }
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// A segment of the ordinary stream.
    pub(super) fn plain(&mut self, agreed: &Agreed, flags: u8, length: u16) -> Segment {
        let mut segment = Segment::new(agreed.next, flags, length);
        segment.options = self.stamped(agreed);
        segment
    }

    /// Options of a segment that is not a SYN.
    pub(super) fn stamped(&mut self, agreed: &Agreed) -> Vec<Opt> {
        match agreed.stamp {
            Some(value) => vec![Opt::Nop, Opt::Nop, Opt::Stamp(value, None)],
            None => Vec::new(),
        }
    }

    pub(super) fn syn_options(&mut self, stamp: Option<u32>) -> Vec<Opt> {
        let mut options = Vec::new();
        if self.once_in(2) {
            options.push(Opt::Mss(self.pick(&[1460, 536, 88, 1, 9000])));
        }
        if self.once_in(2) {
            options.push(Opt::SackOk);
        }
        if self.once_in(2) {
            options.push(Opt::Scale(self.pick(&[0, 2, 7, 14, 15])));
        }
        options.extend(stamp.map(|value| Opt::Stamp(value, Some(0))));
        options
    }
}
