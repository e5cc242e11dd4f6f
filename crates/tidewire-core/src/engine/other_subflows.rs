//! Subflows of Multipath TCP that are other workers', of connections of an engine.

use std::collections::{BTreeSet, VecDeque};

use crate::Handler;

/// Subflows of other workers that an engine looks at; then the oldest are forgotten.
pub(super) const OTHER_SUBFLOWS_MAX: usize = 4096;

/// A handler without effects.
#[derive(Debug, Default)]
pub(crate) struct NullHandler;

impl Handler for NullHandler {
    type Data = ();
}

/// The subflows, by the hashes of their keys.
#[derive(Debug, Default)]
pub(super) struct OtherSubflows {
    hashes: BTreeSet<u64>,
    /// In the order of their SYNs.
    order: VecDeque<u64>,
}

impl OtherSubflows {
    #[inline(always)]
    pub(super) fn is_any(&self) -> bool {
        !self.order.is_empty()
    }

    pub(super) fn has(&self, hash: u64) -> bool {
        self.hashes.contains(&hash)
    }

    pub(super) fn add(&mut self, hash: u64) {
        if self.hashes.insert(hash) {
            self.order.push_back(hash);
            if self.order.len() > OTHER_SUBFLOWS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.hashes.remove(&oldest);
            }
        }
    }

    /// Memory, bytes: tree nodes of 6 to 11 entries take about twice what their entries do.
    pub(super) fn bytes(&self) -> u64 {
        ((2 * self.hashes.len() + self.order.capacity()) * size_of::<u64>()) as u64
    }
}
