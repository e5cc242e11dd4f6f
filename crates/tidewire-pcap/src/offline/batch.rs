//! Packets read from a file, and the order of their delivery.

use std::ffi::c_int;

use libc::timeval;
use tidewire_locality::{Sorter, prefetch};
use tidewire_wire::{Frame, LinkType, Timestamp};

use crate::types::PacketHeader;

/// The reason why reading ended after a batch.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// End of file.
    End,
    /// An error: the return value of the read, and its message.
    Failed(c_int, String),
}

/// A batch; its memory is reused for the next.
#[derive(Default)]
pub struct Batch {
    memory: Vec<u8>,
    frames: Vec<Frame>,
    /// Timestamps, in the handle's precision.
    stamps: Vec<timeval>,
    /// Indexes of frames in order of delivery; empty: the order of the file.
    order: Vec<u32>,
    /// Why reading ended after it.
    pub ending: Option<Ending>,
    /// CPU time of sorting, nanoseconds.
    pub sorting_ns: u64,
}

impl Batch {
    /// Clears the batch, keeps its memory.
    pub fn clear(&mut self) {
        self.memory.clear();
        self.frames.clear();
        self.stamps.clear();
        self.order.clear();
        self.ending = None;
        self.sorting_ns = 0;
    }

    /// Adds a packet.
    pub fn push(&mut self, header: &PacketHeader, bytes: &[u8], link: LinkType) {
        let frame = Frame::new(link, Timestamp::from_nanos(0))
            .with_number(0)
            .with_place(self.memory.len() as u32, bytes.len() as u32)
            .with_wire_bytes(header.len);
        self.frames.push(frame);
        self.stamps.push(header.ts);
        self.memory.extend_from_slice(bytes);
    }

    /// Whether it has this many packets or bytes.
    pub fn is_full(&self, frames: usize, bytes: usize) -> bool {
        self.frames.len() >= frames || self.memory.len() >= bytes
    }

    /// Sorts the packets.
    pub fn sort(&mut self, sorter: &mut Sorter) {
        sorter.order(&tidewire_wire::Batch::new(&self.memory, &self.frames), &mut self.order);
    }

    /// Whether it was sorted.
    pub fn is_sorted(&self) -> bool {
        !self.order.is_empty()
    }

    /// The packet at position `at` in the order of delivery.
    #[inline]
    pub fn packet(&self, at: usize) -> Option<(PacketHeader, &[u8])> {
        let index = if self.order.is_empty() { at } else { *self.order.get(at)? as usize };
        let (frame, stamp) = (self.frames.get(index)?, self.stamps.get(index)?);
        let from = frame.at as usize;
        let bytes = self.memory.get(from..from + frame.captured_bytes as usize)?;
        Some((PacketHeader { ts: *stamp, caplen: frame.captured_bytes, len: frame.wire_bytes }, bytes))
    }

    /// Prefetches the headers of the packet at position `at`, unless it is next in memory.
    #[inline]
    pub fn prefetch(&self, at: usize) {
        if let Some(frame) = self.order.get(at).and_then(|index| self.frames.get(*index as usize)) {
            prefetch(&self.memory, frame.at as usize);
            prefetch(&self.memory, frame.at as usize + 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewire_locality::Key;

    #[test]
    fn packets_are_delivered_as_read_or_sorted() {
        let mut batch = Batch::default();
        for port in [80_u16, 25] {
            let mut packet = vec![0; 60];
            packet[12..15].copy_from_slice(&[8, 0, 0x45]);
            packet[23] = 17;
            packet[36..38].copy_from_slice(&port.to_be_bytes());
            let ts = timeval { tv_sec: port.into(), tv_usec: 1 };
            batch.push(&PacketHeader { ts, caplen: 60, len: 61 }, &packet, LinkType::ETHERNET);
        }
        let seconds = |batch: &Batch| [0, 1, 2].map(|at| batch.packet(at).map(|(header, _)| header.ts.tv_sec));
        assert_eq!((seconds(&batch), batch.is_sorted()), ([Some(80), Some(25), None], false));
        batch.sort(&mut Sorter::new(Key::Port));
        assert_eq!((seconds(&batch), batch.is_sorted()), ([Some(25), Some(80), None], true));
        let (header, bytes) = batch.packet(0).unwrap();
        assert_eq!((header.caplen, header.len, bytes.len(), bytes[37]), (60, 61, 60, 25));
        assert!(batch.is_full(2, 1 << 20) && batch.is_full(3, 120) && !batch.is_full(3, 121));
        batch.clear();
        assert!(batch.packet(0).is_none());
    }
}
