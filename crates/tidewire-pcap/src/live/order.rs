//! In which order a batch is delivered, and how far that went.

use tidewire_wire::Frame;

/// What is delivered of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Nanoseconds since the epoch.
    pub timestamp_ns: u64,
    /// Where it lies in the rings' memory.
    pub at: u32,
    /// Bytes there.
    pub captured_bytes: u32,
    /// Bytes on the wire.
    pub wire_bytes: u32,
}

impl From<&Frame> for Packet {
    #[inline]
    fn from(frame: &Frame) -> Self {
        let Frame { timestamp_ns, at, captured_bytes, wire_bytes, .. } = *frame;
        Self { timestamp_ns, at, captured_bytes, wire_bytes }
    }
}

/// As the frames were gathered, or another order; some may be left out.
#[derive(Default)]
pub struct Order {
    /// Indexes of frames; empty unless `is_listed`.
    indexes: Vec<u32>,
    /// How many of the indexes, or of the frames, were taken.
    at: usize,
    /// Frames as they were gathered: no indexes are needed.
    is_listed: bool,
    /// Frames that were taken before some were left out.
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

    /// The packet after the next ones, which may be looked for in memory beforehand. Only where packets are not in the order of
    /// memory.
    #[inline]
    pub fn following(&self, packets: &[Packet]) -> Option<Packet> {
        if !self.is_listed {
            return None;
        }
        packets.get(*self.indexes.get(self.at + 3)? as usize).copied()
    }

    /// Whether there is nothing more.
    #[inline]
    pub fn is_done(&self, packets: &[Packet]) -> bool {
        self.at >= if self.is_listed { self.indexes.len() } else { packets.len() }
    }

    /// How many packets were taken.
    pub fn taken(&self) -> usize {
        self.before + self.at
    }

    /// How many packets it delivers from beginning to end.
    pub fn count(&self, packets: &[Packet]) -> usize {
        self.before + if self.is_listed { self.indexes.len() } else { packets.len() }
    }

    /// As gathered, from the beginning.
    pub fn restart(&mut self) {
        self.indexes.clear();
        self.at = 0;
        self.before = 0;
        self.is_listed = false;
    }

    /// Another order, from its beginning: `fill` lists indexes.
    pub fn list(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        self.restart();
        self.is_listed = true;
        fill(&mut self.indexes);
    }

    /// Leaves out packets that were not delivered yet and that `keep` does not want; how many.
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
