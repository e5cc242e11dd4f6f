//! The order of delivery of a batch, and the position in it.
//!
//! With locality, a batch is gathered until it is full, old, or half of the ring, and is delivered in the order of a
//! list of indexes. A filter that is set meanwhile removes indexes from that list.

use tidewire_wire::Frame;

/// The delivered part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// Offset in the rings' memory.
    pub at: u32,
    /// Captured bytes.
    pub captured_bytes: u32,
    /// Bytes on the wire.
    pub wire_bytes: u32,
}

impl From<&Frame> for Packet {
    #[inline]
    fn from(frame: &Frame) -> Self {
        let Frame { timestamp, at, captured_bytes, wire_bytes, .. } = *frame;
        Self { timestamp_ns: timestamp.as_nanos(), at, captured_bytes, wire_bytes }
    }
}

/// Order of arrival, or a list of indexes, which may omit frames.
#[derive(Default)]
pub struct Order {
    /// Indexes of frames; empty unless `is_listed`.
    indexes: Vec<u32>,
    /// Number of indexes, or frames, that were delivered.
    at: usize,
    /// Whether `indexes` is used; else the order of arrival.
    is_listed: bool,
    /// Frames that were delivered before some were removed.
    before: usize,
}

impl Order {
    /// The next packet.
    #[inline]
    pub fn next(&mut self, packets: &[Packet]) -> Option<Packet> {
        let index = if self.is_listed { *self.indexes.get(self.at)? as usize } else { self.at };
        let packet = *packets.get(index)?;
        self.at += 1;
        Some(packet)
    }

    /// The packet three after the next, to prefetch it; only if the order is not that of memory.
    #[inline]
    pub fn following(&self, packets: &[Packet]) -> Option<Packet> {
        if !self.is_listed {
            return None;
        }
        packets.get(*self.indexes.get(self.at + 3)? as usize).copied()
    }

    /// Whether all packets were delivered.
    #[inline]
    pub fn is_done(&self, packets: &[Packet]) -> bool {
        self.at >= if self.is_listed { self.indexes.len() } else { packets.len() }
    }

    /// Number of packets delivered.
    pub fn taken(&self) -> usize {
        self.before + self.at
    }

    /// Number of packets from beginning to end.
    pub fn count(&self, packets: &[Packet]) -> usize {
        self.before + if self.is_listed { self.indexes.len() } else { packets.len() }
    }

    /// Restarts in order of arrival.
    pub fn restart(&mut self) {
        self.indexes.clear();
        self.at = 0;
        self.before = 0;
        self.is_listed = false;
    }

    /// Restarts in another order: `fill` lists indexes.
    pub fn list(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        self.restart();
        self.is_listed = true;
        fill(&mut self.indexes);
    }

    /// Removes packets that were not delivered and that `keep` rejects; returns their number.
    pub fn retain(&mut self, packets: &[Packet], mut keep: impl FnMut(&Packet) -> bool) -> usize {
        if !self.is_listed {
            let from = u32::try_from(self.at).unwrap_or(u32::MAX);
            let to = u32::try_from(packets.len()).unwrap_or(u32::MAX);
            self.before += self.at;
            let before = self.before;
            self.list(|indexes| indexes.extend(from..to));
            self.before = before;
        }
        self.indexes.drain(..self.at);
        self.before += self.at;
        self.at = 0;
        let before = self.indexes.len();
        self.indexes.retain(|index| packets.get(*index as usize).is_some_and(&mut keep));
        before - self.indexes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(count: u32) -> Vec<Packet> {
        (0..count).map(|at| Packet { timestamp_ns: 0, at, captured_bytes: 1, wire_bytes: 1 }).collect()
    }

    fn rest(order: &mut Order, packets: &[Packet]) -> Vec<u32> {
        let taken = std::iter::from_fn(|| order.next(packets).map(|packet| packet.at)).collect();
        assert!(order.is_done(packets));
        taken
    }

    #[test]
    fn batches_are_delivered_as_gathered_or_listed() {
        let (packets, mut order) = (packets(4), Order::default());
        assert_eq!(rest(&mut order, &packets), [0, 1, 2, 3]);
        order.list(|indexes| indexes.extend([2, 0, 3, 1]));
        assert!(!order.is_done(&packets));
        assert_eq!(order.next(&packets).map(|packet| packet.at), Some(2));
        assert_eq!(order.retain(&packets, |packet| packet.at != 3), 1);
        assert_eq!(rest(&mut order, &packets), [0, 1]);
        assert_eq!(order.count(&packets), 3);
        order.restart();
        assert_eq!(order.next(&packets).map(|packet| packet.at), Some(0));
        order.retain(&packets, |packet| packet.at != 2);
        assert_eq!(rest(&mut order, &packets), [1, 3]);
    }
}
