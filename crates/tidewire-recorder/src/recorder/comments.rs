//! Comments of packets that come from capture files.

use std::collections::BTreeMap;

use tidewire_archive::block::{Packet, enhanced_packet_with};

/// Bytes of comments of packets that wait for a trigger, at most; beyond, those of the oldest are forgotten.
const BYTES_MAX: usize = 16 << 20;
/// Overhead of a comment beside its bytes.
const ENTRY_BYTES: usize = 64;
/// Option: flags of the packet.
const FLAGS: u16 = 2;
/// Options of pcapng: how many packets were lost before, and the end.
const DROP_COUNT: u16 = 4;
const END: [u8; 4] = [0; 4];

/// Comments of packets that were not written yet, by their frames' numbers; encoded as options of pcapng.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    by_number: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
}

impl Comments {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    pub fn add(&mut self, number: u64, options: &[u8]) {
        self.bytes += options.len() + ENTRY_BYTES;
        if let Some(before) = self.by_number.insert(number, options.to_vec()) {
            self.bytes -= before.len() + ENTRY_BYTES;
        }
        while self.bytes > BYTES_MAX {
            let Some((_, oldest)) = self.by_number.pop_first() else { break };
            self.bytes -= oldest.len() + ENTRY_BYTES;
        }
    }

    /// Bytes of a packet's.
    #[inline]
    pub fn bytes_of(&self, number: u64) -> usize {
        if self.is_empty() { 0 } else { self.by_number.get(&number).map_or(0, Vec::len) }
    }

    /// Takes a packet's.
    #[inline]
    pub fn take(&mut self, number: u64) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let found = self.by_number.remove(&number);
        self.bytes -= found.as_ref().map_or(0, |options| options.len() + ENTRY_BYTES);
        found
    }

    /// Forgets all of them: their packets were decided about.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Appends a packet with its comments, and returns its block's length.
#[cold]
pub(super) fn with_comments(out: &mut Vec<u8>, packet: &Packet<'_>, mut options: Vec<u8>) -> u32 {
    if packet.flags() != 0 {
        options.extend_from_slice(&FLAGS.to_le_bytes());
        options.extend_from_slice(&4_u16.to_le_bytes());
        options.extend_from_slice(&packet.flags().to_le_bytes());
    }
    if packet.dropped != 0 {
        options.extend_from_slice(&DROP_COUNT.to_le_bytes());
        options.extend_from_slice(&8_u16.to_le_bytes());
        options.extend_from_slice(&packet.dropped.to_le_bytes());
    }
    options.extend_from_slice(&END);
    let before = out.len();
    enhanced_packet_with(out, packet, &options);
    (out.len() - before) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_the_oldest_packets_are_forgotten_first() {
        let mut comments = Comments::default();
        assert_eq!((comments.bytes_of(1), comments.take(1)), (0, None));
        let long = vec![7; 16 << 10];
        for number in 1..=2000 {
            comments.add(number, &long);
        }
        assert!(comments.bytes <= BYTES_MAX && comments.bytes > BYTES_MAX - (17 << 10));
        assert_eq!((comments.bytes_of(1), comments.bytes_of(2000)), (0, long.len()));
        comments.add(2000, &[1, 0, 0, 0]);
        assert_eq!(comments.take(2000), Some(vec![1, 0, 0, 0]));
        let kept: Vec<u64> = comments.by_number.keys().copied().collect();
        kept.into_iter().for_each(|number| drop(comments.take(number)));
        assert_eq!(comments.bytes, 0);
    }
}
