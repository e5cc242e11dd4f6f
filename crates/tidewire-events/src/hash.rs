//! SipHash-1-3 with a key (Aumasson, Bernstein: "SipHash: a fast short-input PRF"): analyzers pass on what attackers choose.

/// A running hash over 64-bit words.
#[derive(Clone, Copy)]
pub(crate) struct Hasher {
    v: [u64; 4],
    words: u64,
}

impl Hasher {
    pub(crate) fn new(key: [u64; 2]) -> Self {
        let v = [
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ];
        Self { v, words: 0 }
    }

    fn round(&mut self) {
        let [a, b, c, d] = &mut self.v;
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
    }

    pub(crate) fn word(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
        self.words = self.words.wrapping_add(1);
    }

    /// Bytes with their length, so that parts cannot be moved from one to the next.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            self.word(u64::from_le_bytes(*chunk));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    pub(crate) fn finish(mut self) -> u64 {
        self.word(self.words << 56);
        self.v[2] ^= 0xff;
        for _ in 0..3 {
            self.round();
        }
        self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
