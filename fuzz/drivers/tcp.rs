//! Any operations on an out-of-order queue: whatever the policy, what it gives was put in, in order and once, and what
//! it counts is so. Used by the fuzz target and by the test that replays the seeds.

use super::sent::Sent;
use tidewire_core::{
    TcpPolicy,
    internals::{Incoming, Queue},
};

/// One byte for the policy, then six for each operation: kind, start (two), length (two), value.
pub fn run(input: &[u8]) {
    let Some((&policy, rest)) = input.split_first() else { return };
    let policy = TcpPolicy::ALL[policy as usize % TcpPolicy::ALL.len()];
    let mut driver = Driver { policy, queue: Queue::default(), sent: Sent::default(), expected: 0 };
    for operation in rest.chunks_exact(6).take(512) {
        driver.step(operation);
    }
    let charged = driver.queue.charged_bytes();
    assert_eq!(driver.queue.clear(), charged);
    assert!(driver.queue.is_empty() && driver.queue.charged_bytes() == 0);
}

struct Driver {
    policy: TcpPolicy,
    queue: Queue,
    /// Everything that was put in; `unconfirmed` segments too.
    sent: Sent,
    expected: u64,
}

impl Driver {
    fn step(&mut self, operation: &[u8]) {
        let word = |at: usize| u64::from(u16::from_le_bytes([operation[at], operation[at + 1]]));
        let (kind, value) = (operation[0], operation[5]);
        let start = word(1) & 0x7fff;
        match kind % 8 {
            0..=4 => self.insert(kind, start, word(3) % 1500, value),
            5 => self.take(start, word(3)),
            6 => {
                if let Some(first) = self.queue.first_start() {
                    assert!(first >= self.expected);
                    self.expected = first;
                    self.take(u64::MAX, u64::MAX);
                }
            }
            _ => {
                let is_empty = self.queue.is_empty();
                assert_eq!(self.queue.drop_last(), !is_empty);
                // What was dropped is not known here; what is left must still be among what was put in.
            }
        }
        assert!(self.queue.holes() <= self.queue.pieces());
        assert_eq!(self.queue.is_empty(), self.queue.pieces() == 0);
    }

    fn insert(&mut self, kind: u8, start: u64, length: u64, value: u8) {
        let unconfirmed = kind & 0x40 != 0;
        let bytes: Vec<u8> = (0..length).map(|at| value.wrapping_add((at / 7) as u8)).collect();
        // Some are only counted, some snapped.
        let captured = if kind & 0x80 == 0 { &bytes[..] } else { &bytes[..bytes.len() / 2] };
        let incoming = Incoming { start, bytes: captured, length, unconfirmed, is_wrong: false };
        let mut conflicts = Vec::new();
        let done =
            self.queue.insert(self.policy, self.expected, &incoming, &mut |at, count| conflicts.push((at, count)));
        assert_eq!(done.fresh_bytes + done.repeated_bytes, length);
        for (at, count) in conflicts {
            assert!(count > 0 && at >= self.expected.max(start) && at + count <= start + length);
        }
        self.sent.add(start, captured);
    }

    fn take(&mut self, limit: u64, unconfirmed_limit: u64) {
        while let Some(piece) = self.queue.take(self.expected, limit, unconfirmed_limit) {
            assert_eq!(piece.start, self.expected);
            assert!(piece.length > 0 && piece.length >= piece.bytes().len() as u64);
            self.expected += piece.length;
            assert!(self.expected <= limit && (!piece.unconfirmed || self.expected <= unconfirmed_limit));
            assert!(self.sent.has_all(piece.start, piece.bytes()), "a byte that was not sent");
        }
    }
}
