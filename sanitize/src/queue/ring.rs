//! The ring over loom's atomics.

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    /// Words of a slot that the models look at: sequence, position, size, owners. Each one more is twice as many orders.
    const LOOKED_AT: [usize; 4] = [0, 1, 2, 6];

    pub(super) fn store_words<const N: usize>(slot: &[AtomicU64], words: [u64; N]) {
        for at in LOOKED_AT {
            slot[at].store(words[at], Ordering::Relaxed);
        }
    }

    pub(super) fn load_words<const N: usize>(slot: &[AtomicU64]) -> [u64; N] {
        let mut words = [0; N];
        for at in LOOKED_AT {
            words[at] = slot[at].load(Ordering::Relaxed);
        }
        words
    }

    pub(super) fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
        for (word, bytes) in words.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    pub(super) fn load_bytes(words: &[AtomicU64], bytes: usize, out: &mut Vec<u8>) {
        let begin = out.len();
        for word in words {
            out.extend(word.load(Ordering::Relaxed).to_ne_bytes());
        }
        out.truncate(begin + bytes);
    }
}
#[path = "../../../crates/tidewire-queue/src/ring/producer.rs"]
mod producer;
#[path = "../../../crates/tidewire-queue/src/ring/reader.rs"]
mod reader;
#[path = "../../../crates/tidewire-queue/src/ring/words.rs"]
mod words;

pub(crate) use producer::{Limits, Producer};
pub(crate) use reader::{Cursor, Member, Next, Step};
pub(crate) use words::Words;
