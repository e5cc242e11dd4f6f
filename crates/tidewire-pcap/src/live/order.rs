//! In which order a batch is delivered, and how far that went.

use tidewire_capture::Frame;

/// As the frames were gathered, or another order; some may be left out.
#[derive(Default)]
pub struct Order {
    /// Indexes of frames; empty where [`Order::is_gathered`].
    indexes: Vec<u32>,
    /// How many of the indexes, or of the frames, were taken.
    at: usize,
    /// Frames as they were gathered: no indexes are needed.
    is_listed: bool,
    /// Frames that were taken before some were left out.
    before: usize,
}

impl Order {
    /// The next frame.
    #[inline]
    pub fn next(&mut self, frames: &[Frame]) -> Option<Frame> {
        let index = if self.is_listed { *self.indexes.get(self.at)? as usize } else { self.at };
        let frame = *frames.get(index)?;
        self.at += 1;
        Some(frame)
    }

    /// The frame after the next one, which may be looked for in memory beforehand. Only where frames are not in the order of
    /// memory.
    #[inline]
    pub fn following(&self, frames: &[Frame]) -> Option<Frame> {
        if !self.is_listed {
            return None;
        }
        frames.get(*self.indexes.get(self.at + 3)? as usize).copied()
    }

    /// Whether there is nothing more.
    #[inline]
    pub fn is_done(&self, frames: &[Frame]) -> bool {
        self.at >= if self.is_listed { self.indexes.len() } else { frames.len() }
    }

    /// How many frames were taken.
    pub fn taken(&self) -> usize {
        self.before + self.at
    }

    /// How many frames it delivers from beginning to end.
    pub fn count(&self, frames: &[Frame]) -> usize {
        self.before + if self.is_listed { self.indexes.len() } else { frames.len() }
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

    /// Leaves out frames that were not delivered yet and that `keep` does not want; how many.
    pub fn retain(&mut self, frames: &[Frame], mut keep: impl FnMut(&Frame) -> bool) -> usize {
        if !self.is_listed {
            let from = u32::try_from(self.at).unwrap_or(u32::MAX);
            let to = u32::try_from(frames.len()).unwrap_or(u32::MAX);
            self.before += self.at;
            let before = self.before;
            self.list(|indexes| indexes.extend(from..to));
            self.before = before;
        }
        self.indexes.drain(..self.at);
        self.before += self.at;
        self.at = 0;
        let before = self.indexes.len();
        self.indexes.retain(|index| frames.get(*index as usize).is_some_and(&mut keep));
        before - self.indexes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewire_capture::LinkType;

    fn frames(count: u32) -> Vec<Frame> {
        let frame = |at| Frame {
            at,
            captured_bytes: 1,
            wire_bytes: 1,
            link: LinkType::ETHERNET,
            interface: 0,
            timestamp_ns: 0,
            clock_ns: 0,
            number: 0,
            origin: 0,
        };
        (0..count).map(frame).collect()
    }

    fn rest(order: &mut Order, frames: &[Frame]) -> Vec<u32> {
        let taken = std::iter::from_fn(|| order.next(frames).map(|frame| frame.at)).collect();
        assert!(order.is_done(frames));
        taken
    }

    #[test]
    fn batches_are_delivered_as_gathered_or_listed() {
        let (frames, mut order) = (frames(4), Order::default());
        assert_eq!(rest(&mut order, &frames), [0, 1, 2, 3]);
        order.list(|indexes| indexes.extend([2, 0, 3, 1]));
        assert!(!order.is_done(&frames));
        assert_eq!(order.next(&frames).map(|frame| frame.at), Some(2));
        assert_eq!(order.retain(&frames, |frame| frame.at != 3), 1);
        assert_eq!(rest(&mut order, &frames), [0, 1]);
        assert_eq!(order.count(&frames), 3);
        order.restart();
        assert_eq!(order.next(&frames).map(|frame| frame.at), Some(0));
        order.retain(&frames, |frame| frame.at != 2);
        assert_eq!(rest(&mut order, &frames), [1, 3]);
    }
}
