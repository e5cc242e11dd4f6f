//! Messages that were written to a connection and may not have been read.

use std::collections::VecDeque;

/// Bytes that may be under way: the most that Linux gives a socket for sending and one for receiving (`tcp_wmem`, `tcp_rmem`). What was
/// written before them was read.
const BYTES_MAX: usize = (4 << 20) + (6 << 20);

/// Messages that may be.
const MESSAGES_MAX: usize = 65_536;

/// The last messages of a connection.
#[derive(Debug, Default)]
pub struct UnderWay {
    /// Their bytes and their records of flows.
    messages: VecDeque<(usize, u32)>,
    bytes: usize,
    records: u64,
}

impl UnderWay {
    /// Adds a message.
    pub fn add(&mut self, bytes: usize, records: u32) {
        self.messages.push_back((bytes, records));
        (self.bytes, self.records) = (self.bytes + bytes, self.records + u64::from(records));
        // The oldest of them may be under way in part.
        while let Some(&(bytes, records)) = self.messages.front()
            && (self.bytes - bytes >= BYTES_MAX || self.messages.len() > MESSAGES_MAX)
        {
            self.messages.pop_front();
            (self.bytes, self.records) = (self.bytes - bytes, self.records - u64::from(records));
        }
    }

    /// Removes all of them: how many records they had.
    pub fn empty(&mut self) -> u64 {
        std::mem::take(self).records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_under_way() {
        let mut under_way = UnderWay::default();
        under_way.add(100, 7);
        under_way.add(100, 2);
        assert_eq!((under_way.empty(), under_way.empty()), (9, 0));
        (0..10_000).for_each(|_| under_way.add(1 << 14, 3));
        assert_eq!(under_way.empty(), 3 * (BYTES_MAX >> 14) as u64);
        (0..100_000).for_each(|_| under_way.add(1, 1));
        assert_eq!(under_way.empty(), MESSAGES_MAX as u64);
    }
}
