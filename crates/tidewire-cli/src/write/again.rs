//! Files are read a second time: the packets that were chosen are copied.

use std::collections::BTreeMap;

use tidewire::{Batch, FrameHandler, Stop};
use tidewire_files::Supplement;

use super::numbers::NumberSet;
use crate::packet_file::{Captured, PacketFile};

/// Copies the packets of a set.
pub struct Copying<'a> {
    pub chosen: &'a NumberSet,
    /// Comments by the packet's number.
    pub comments: &'a BTreeMap<u64, String>,
    pub file: &'a PacketFile,
    /// Ends the reading behind the last packet.
    pub stop: Stop,
    pub copied: u64,
}

impl FrameHandler for Copying<'_> {
    fn supplements(&mut self, supplements: &[Supplement]) {
        self.file.supplement(supplements);
    }

    fn frames(&mut self, batch: &Batch<'_>) {
        for frame in batch.frames.iter().filter(|frame| self.chosen.contains(frame.number)) {
            let captured = Captured {
                interface: frame.interface,
                link: frame.link,
                timestamp_ns: frame.timestamp.as_nanos(),
                wire_bytes: frame.wire_bytes,
                bytes: batch.bytes(frame),
            };
            self.file.push(&captured, self.comments.get(&frame.number).map_or("", String::as_str));
            self.copied += 1;
        }
        if self.copied >= self.chosen.count() || self.file.has_failed() {
            self.stop.stop();
        }
    }
}
