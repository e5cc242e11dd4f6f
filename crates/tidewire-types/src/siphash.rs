//! SipHash-1-3 over 64-bit words: the keyed hash of everything that an attacker chooses.
//!
//! One round for each word and three at the end (Aumasson and Bernstein, "SipHash: a fast short-input PRF", with the
//! parameters that hash tables use). Words are hashed as their little-endian bytes, so results equal those of other
//! implementations.

/// The four words of state.
#[derive(Clone, Copy)]
struct Sip([u64; 4]);

impl Sip {
    #[inline(always)]
    fn new(key: [u64; 2]) -> Self {
        Self([
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ])
    }

    #[inline(always)]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline(always)]
    fn finish(mut self, words: usize) -> u64 {
        // The last block holds the message's length in bytes, modulo 256, in its highest byte.
        self.word((words as u64).wrapping_mul(8) << 56);
        self.0[2] ^= 0xff;
        self.round();
        self.round();
        self.round();
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }
}

/// SipHash-1-3 of a fixed number of words: compiles without a loop, so that the hashes of several packets, computed
/// one after the other, overlap in the processor.
#[must_use]
#[inline(always)]
pub fn siphash13_words<const N: usize>(key: [u64; 2], words: [u64; N]) -> u64 {
    let mut state = Sip::new(key);
    for word in words {
        state.word(word);
    }
    state.finish(N)
}

/// SipHash-1-3 of words and bytes that come one after the other.
#[derive(Clone, Copy)]
pub struct Hasher {
    state: Sip,
    words: usize,
}

impl Hasher {
    /// Begins a hash under a key.
    #[must_use]
    pub fn new(key: [u64; 2]) -> Self {
        Self { state: Sip::new(key), words: 0 }
    }

    /// Adds a word.
    pub fn word(&mut self, word: u64) {
        self.state.word(word);
        self.words = self.words.wrapping_add(1);
    }

    /// Adds bytes and their length: what belongs to one part cannot be moved to the next.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            self.word(u64::from_le_bytes(*chunk));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    /// The hash of all that was added.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.state.finish(self.words)
    }
}

#[cfg(test)]
#[allow(deprecated)]
mod tests {
    use std::hash::{Hasher as _, SipHasher};

    use super::*;

    /// SipHash-1-3 of any number of words.
    fn siphash13(key: [u64; 2], words: &[u64]) -> u64 {
        let mut state = Sip::new(key);
        for &word in words {
            state.word(word);
        }
        state.finish(words.len())
    }

    /// SipHash with 2 and 4 rounds, to check the rounds against the standard library's (deprecated) implementation.
    fn siphash24(key: [u64; 2], words: &[u64]) -> u64 {
        let mut state = Sip::new(key);
        for &word in words.iter().chain([&((words.len() as u64).wrapping_mul(8) << 56)]) {
            state.0[3] ^= word;
            state.round();
            state.round();
            state.0[0] ^= word;
        }
        state.0[2] ^= 0xff;
        for _ in 0..4 {
            state.round();
        }
        state.0.iter().fold(0, |all, word| all ^ word)
    }

    #[test]
    fn rounds_are_those_of_the_standard_library() {
        for count in 0..6_u64 {
            let words: Vec<u64> = (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let mut oracle = SipHasher::new_with_keys(7, 11);
            words.iter().for_each(|word| oracle.write(&word.to_le_bytes()));
            assert_eq!(siphash24([7, 11], &words), oracle.finish());
        }
    }

    #[test]
    fn default_hasher_of_the_standard_library_is_siphash13_with_key_zero() {
        let words = [1_u64, u64::MAX, 0x0123_4567_89ab_cdef];
        let mut oracle = std::hash::DefaultHasher::new();
        words.iter().for_each(|word| oracle.write(&word.to_le_bytes()));
        assert_eq!(siphash13([0, 0], &words), oracle.finish());
        assert_eq!(siphash13_words([0, 0], words), oracle.finish());
        let mut running = Hasher::new([0, 0]);
        words.into_iter().for_each(|word| running.word(word));
        assert_eq!(running.finish(), oracle.finish());
    }

    #[test]
    fn parts_keys_and_order_count() {
        let of = |key, parts: &[&[u8]]| {
            let mut hasher = Hasher::new(key);
            parts.iter().for_each(|part| hasher.bytes(part));
            hasher.finish()
        };
        let hashes = [
            of([1, 2], &[b"ab", b"c"]),
            of([1, 2], &[b"a", b"bc"]),
            of([1, 2], &[b"c", b"ab"]),
            of([1, 3], &[b"ab", b"c"]),
            of([1, 2], &[b"ab", b"c", b""]),
        ];
        let distinct: std::collections::BTreeSet<_> = hashes.into_iter().collect();
        assert_eq!(distinct.len(), hashes.len());
    }
}
