//! Hints to the cache.
//!
//! JUSTIFICATION: there is no safe prefetch in the standard library; headers in a ring that another core filled cost a
//! cache miss each without it.
#![allow(unsafe_code)]

/// Asks for the cache line of `bytes` that holds the byte at `at`, where there is one. Has no other effect.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub fn prefetch(bytes: &[u8], at: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    if let Some(byte) = bytes.get(at) {
        // SAFETY: PREFETCHT0 is a hint that never faults, and the address is that of a borrowed byte.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) }
    }
}

/// Asks for the cache line of `bytes` that holds the byte at `at`, where there is one. Has no other effect.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub fn prefetch(_: &[u8], _: usize) {}
