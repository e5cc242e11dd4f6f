//! Records that wait until it is known whether each stream has its own.

use std::sync::Mutex;

use crate::locking::lock;

/// Encoded records of streams, by their numbers.
#[derive(Default)]
pub struct Held(Mutex<Vec<(u64, Vec<u8>)>>);

impl Held {
    /// Holds records of a stream.
    pub fn push(&self, stream: u64, encode: impl FnOnce(&mut Vec<u8>)) {
        let mut records = Vec::new();
        encode(&mut records);
        lock(&self.0).push((stream, records));
    }

    /// Appends them in the order of their streams, which no worker decides, or drops them.
    pub fn release(&self, are_few: bool, out: &mut Vec<u8>) {
        let mut held = std::mem::take(&mut *lock(&self.0));
        if are_few {
            held.sort_by_key(|(stream, _)| *stream);
            held.iter().for_each(|(_, records)| out.extend_from_slice(records));
        }
    }
}
