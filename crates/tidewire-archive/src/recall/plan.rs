//! The plan for reading a capture: parts of it, and in them the packets of streams.

use std::ops::Range;

use super::trace::Trace;
use crate::index::Row;

/// A part of a capture; it begins and ends with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub range: Range<u64>,
    /// The number of its first packet in the capture, from 0.
    pub first: u64,
}

/// The plan for reading a capture.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Parts; `None`: all of it.
    pub parts: Option<Vec<Part>>,
    /// Descriptions that the index knows.
    pub descriptions: Vec<(u64, u32)>,
    /// The packets of streams; `None`: all of the parts.
    pub chosen: Option<Chosen>,
}

/// Which packets of a capture are of the streams that are looked for.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// By their places, which its index knows.
    Placed(Own),
    /// By their headers: it has no index yet.
    Traced(Box<Trace>),
}

/// The packets of streams in a capture, by their offsets. Queried with each packet from the beginning of a piece on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    extents: Vec<OwnExtent>,
    next: usize,
    active: Vec<Active>,
}

#[derive(Clone, Debug)]
struct OwnExtent {
    range: Range<u64>,
    /// Packets of others before each packet but the first.
    gaps: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Active {
    extent: usize,
    next_gap: usize,
    /// Packets of others before the next one.
    skip: u32,
}

impl Own {
    pub fn add(&mut self, row: &Row, gaps: Vec<u32>) {
        let mut gaps = gaps.into_iter();
        for extent in &row.extents {
            let count = usize::try_from(extent.packets.saturating_sub(1)).unwrap_or(usize::MAX);
            self.extents
                .push(OwnExtent { range: extent.offset..extent.end(), gaps: gaps.by_ref().take(count).collect() });
        }
    }

    pub fn sort(&mut self) {
        self.extents.sort_by_key(|extent| extent.range.start);
    }

    /// Whether the packet at this offset is of the streams. Packets that no extent holds may be left out; of an extent, all packets
    /// from its beginning on have to be queried.
    pub fn has(&mut self, offset: u64) -> bool {
        while let Some(extent) = self.extents.get(self.next).filter(|extent| extent.range.start <= offset) {
            // Otherwise its first packet was not queried: the index is of another file.
            if extent.range.start == offset {
                self.active.push(Active { extent: self.next, next_gap: 0, skip: 0 });
            }
            self.next += 1;
        }
        let mut is_own = false;
        self.active.retain_mut(|active| {
            let Some(extent) = self.extents.get(active.extent).filter(|extent| offset < extent.range.end) else {
                return false;
            };
            if active.skip > 0 {
                active.skip -= 1;
                return true;
            }
            is_own = true;
            match extent.gaps.get(active.next_gap) {
                Some(&gap) => {
                    active.skip = gap;
                    active.next_gap += 1;
                    true
                }
                None => false,
            }
        });
        is_own
    }
}
