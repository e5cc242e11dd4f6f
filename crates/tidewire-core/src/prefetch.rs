//! Prefetch hints to the cache. The rest of this crate forbids unsafe code.
#![allow(unsafe_code)]

/// Prefetches the cache line of `value`'s first byte. Has no other effect.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<i8>();
    prefetch_address(address, 0);
}

/// Prefetches every cache line of `value`.
#[inline(always)]
pub fn prefetch_all<T>(value: &T) {
    prefetch_first(value, size_of::<T>());
}

/// Prefetches the cache lines of `value`'s first bytes.
#[inline(always)]
pub fn prefetch_first<T>(value: &T, bytes: usize) {
    let address = std::ptr::from_ref(value).cast::<i8>();
    let mut at = 0;
    while at < bytes {
        prefetch_address(address, at);
        at += 64;
    }
}

/// Prefetches the lines of the first and the last of so many bytes. An address that is not mapped has no effect.
#[inline(always)]
pub(crate) fn prefetch_bytes<T>(address: *const T, bytes: usize) {
    prefetch_address(address.cast(), 0);
    prefetch_address(address.cast(), bytes - 1);
}

// JUSTIFICATION: there is no safe prefetch in the standard library; tables larger than the cache cost one DRAM
// round trip a packet without it.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
fn prefetch_address(address: *const i8, offset: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: PREFETCHT0 is a hint that never faults, whatever the address; `wrapping_add` makes no in-bounds claim.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(offset)) }
}

#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
fn prefetch_address(_: *const i8, _: usize) {}
