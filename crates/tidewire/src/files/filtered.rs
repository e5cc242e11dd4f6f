use std::time::Duration;

use tidewire_files::{Block, Source, encode::Interface};

use crate::{Error, filter::Filter};

#[cfg(all(test, feature = "filter"))]
mod tests;

/// A source with a filter. Removes frames that do not match from the block; no byte is copied.
#[derive(Debug)]
pub(crate) struct Filtered<S> {
    source: S,
    filter: Filter,
    dropped_packets: u64,
    dropped_bytes: u64,
    /// The error that ended the source, reported once the frames before it are delivered.
    failure: Option<Error>,
    ended: bool,
}

impl<S: Source> Filtered<S> {
    /// Filters `source`.
    pub(crate) fn new(source: S, filter: Filter) -> Self {
        Self { source, filter, dropped_packets: 0, dropped_bytes: 0, failure: None, ended: false }
    }

    /// Frames that did not match so far. Frames keep the numbers that they have in the whole input.
    pub(crate) fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Captured bytes of the frames that did not match so far.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    /// Drops from `block` what does not match, and everything from a frame on that the filter cannot judge.
    fn select(&mut self, block: &mut Block) {
        let Self { filter, dropped_packets, dropped_bytes, failure, .. } = self;
        block.retain(|frame, captured| {
            if failure.is_some() {
                return false;
            }
            match filter.matches(frame.link, captured, frame.wire_bytes) {
                Ok(true) => return true,
                Ok(false) => {
                    *dropped_packets += 1;
                    *dropped_bytes += u64::from(frame.captured_bytes);
                }
                Err(error) => *failure = Some(error.into()),
            }
            false
        });
        self.ended = self.failure.is_some();
    }

    /// As the source's own. An expression that has no meaning for a link type is an error, after the frames before;
    /// nothing comes after it.
    pub(crate) fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        if !self.ended && self.source.fill(block)? {
            self.select(block);
            // After a failure the frames before it, if there are any.
            if !self.ended || !block.batch().frames.is_empty() {
                return Ok(true);
            }
        }
        block.clear();
        self.failure.take().map_or(Ok(false), Err)
    }

    pub(crate) fn wait(&mut self, most: Duration) -> bool {
        self.ended || self.source.wait(most)
    }

    pub(crate) fn described(&mut self) -> Vec<(u16, Interface)> {
        self.source.described()
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    pub(crate) fn bytes_total(&self) -> Option<u64> {
        self.source.bytes_total()
    }
}
