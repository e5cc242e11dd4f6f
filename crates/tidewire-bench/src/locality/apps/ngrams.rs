use tidewire_core::Frame;
use tidewire_lab::random::Random;

use super::application::{Application, Groups, decoded, is_transport, payload};
use crate::locality::traffic;

/// Length of an n-gram, bytes.
const GRAM_BYTES: usize = 5;
/// Words of each service that the filter is trained with.
const TRAINED_WORDS: u64 = 20_000;

/// A Bloom filter for each service of its usual 5-grams; counts the unusual 5-grams of packets.
pub struct Ngrams {
    groups: Groups,
    /// One after the other, each a power of two of bits.
    bits: Vec<u64>,
    filter_bits: u64,
    unusual: u64,
}

impl Ngrams {
    /// Filters of this many KiB, rounded up to a power of two.
    #[must_use]
    pub fn new(kib: u64) -> Self {
        let filter_bits = (kib.max(1) * 8192).next_power_of_two();
        let bits = vec![0; Groups::COUNT * (filter_bits / 64) as usize];
        let mut this = Self { groups: Groups::new(), bits, filter_bits, unusual: 0 };
        let mut text = Vec::new();
        for service in 0..Groups::COUNT as u64 {
            let mut random = Random::new(service);
            text.clear();
            for _ in 0..TRAINED_WORDS {
                traffic::push_word(service, traffic::any_word(&mut random), &mut text);
                text.push(b' ');
            }
            for gram in text.windows(GRAM_BYTES) {
                let (word, bit) = this.place(service as usize, gram);
                this.bits[word] |= bit;
            }
        }
        this
    }

    #[inline(always)]
    fn place(&self, group: usize, gram: &[u8]) -> (usize, u64) {
        let value = gram.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        let bit = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 & (self.filter_bits - 1);
        (group * (self.filter_bits / 64) as usize + (bit / 64) as usize, 1 << (bit % 64))
    }
}

impl Application for Ngrams {
    #[inline(never)]
    fn packet(&mut self, frame: &Frame, bytes: &[u8]) {
        let decoded = decoded(frame, bytes);
        if !is_transport(&decoded) {
            return;
        }
        let group = self.groups.of(bytes, &decoded);
        let mut unusual = 0;
        for gram in payload(bytes, &decoded).windows(GRAM_BYTES) {
            let (word, bit) = self.place(group, gram);
            unusual += u64::from(self.bits[word] & bit == 0);
        }
        self.unusual += unusual;
    }

    fn found(&self) -> u64 {
        self.unusual
    }

    fn table_bytes(&self) -> u64 {
        self.bits.len() as u64 * 8
    }
}
