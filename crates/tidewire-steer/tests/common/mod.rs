//! Helpers that the tests of steering share, here and in the lab: random programs, random packets, a machine for eBPF.
#![allow(dead_code)]

pub mod machine;
pub mod packets;
pub mod programs;

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True once in `of`.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// How many packets each program sees: `TIDEWIRE_STEER_PACKETS`, else this.
pub fn packets(normally: usize) -> usize {
    std::env::var("TIDEWIRE_STEER_PACKETS").ok().and_then(|count| count.parse().ok()).unwrap_or(normally)
}
