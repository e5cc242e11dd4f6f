use std::{collections::VecDeque, time::Duration};

use tidewire_files::{Block, CaptureLoss, Source, Supplement, encode::Interface};
use tidewire_wire::LinkType;

use crate::{
    Error,
    filter::{Filter, Fragments},
};

#[cfg(all(test, feature = "filter"))]
mod tests;

/// A source with a filter. Removes frames that do not match, and are no later fragments of a datagram that does, from the block; no
/// byte is copied.
#[derive(Debug)]
pub(crate) struct Filtered<S> {
    source: S,
    filter: Filter,
    fragments: Fragments,
    dropped_packets: u64,
    dropped_bytes: u64,
    /// Link types for which the expression has no meaning: none of their frames matches.
    refused: Vec<LinkType>,
    /// Each is reported once, when the frames before are delivered.
    failures: VecDeque<Error>,
}

/// Link types without meaning that are reported.
const REFUSED_MAX: usize = 16;

impl<S: Source> Filtered<S> {
    /// Filters `source`.
    pub(crate) fn new(source: S, filter: Filter) -> Self {
        let (refused, failures) = (Vec::new(), VecDeque::new());
        Self {
            source,
            filter,
            fragments: Fragments::default(),
            dropped_packets: 0,
            dropped_bytes: 0,
            refused,
            failures,
        }
    }

    /// Frames that did not match so far. Frames keep the numbers that they have in the whole input.
    pub(crate) fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Captured bytes of the frames that did not match so far.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    /// Drops from `block` what does not match.
    fn select(&mut self, block: &mut Block) {
        let Self { filter, fragments, dropped_packets, dropped_bytes, refused, failures, .. } = self;
        block.retain(|frame, captured| {
            match filter.matches(frame.link, captured, frame.wire_bytes) {
                Ok(by_itself) => {
                    if fragments.accepts(frame.link, captured, frame.wire_bytes, frame.timestamp.as_nanos(), by_itself)
                    {
                        return true;
                    }
                }
                Err(error) => {
                    if refused.len() < REFUSED_MAX && !refused.contains(&frame.link) {
                        refused.push(frame.link);
                        failures.push_back(error.into());
                    }
                }
            }
            *dropped_packets += 1;
            *dropped_bytes += u64::from(frame.captured_bytes);
            false
        });
    }

    /// As the source's own. That an expression has no meaning for a link type is an error, once, after the frames that were read
    /// with it; frames of other link types come after it.
    pub(crate) fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        if let Some(failure) = self.failures.pop_front() {
            block.clear();
            return Err(failure);
        }
        let is_more = self.source.fill(block)?;
        if is_more {
            self.select(block);
        }
        Ok(is_more)
    }

    pub(crate) fn wait(&mut self, most: Duration) -> bool {
        !self.failures.is_empty() || self.source.wait(most)
    }

    pub(crate) fn described(&mut self) -> Vec<(u16, Interface)> {
        self.source.described()
    }

    pub(crate) fn keep_comments(&mut self) {
        self.source.keep_comments();
    }

    pub(crate) fn comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.source.comments()
    }

    pub(crate) fn supplements(&mut self) -> Vec<Supplement> {
        self.source.supplements()
    }

    pub(crate) fn losses(&self) -> Vec<CaptureLoss> {
        self.source.losses()
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    pub(crate) fn bytes_total(&self) -> Option<u64> {
        self.source.bytes_total()
    }
}
