//! Copies between private memory and words that other processes read or write at the same time.
//!
//! JUSTIFICATION: what a reader copies may be overwritten meanwhile; it looks at the copy only after it has found that it was not.
//! A plain copy of such bytes is a data race to the compiler. Relaxed loads and stores of each word are no race, but they are not
//! vectorised, and take longer (the example `queue_speed` measures it). On x86-64 an `asm!` block copies: the compiler takes it for
//! accesses that it cannot look into, and the machine's are atomic byte by byte at least, which suffices here.
//! Elsewhere, and under Miri, which does not run such blocks, words are copied one by one. ThreadSanitizer does not see into them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one round of the block.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const ROUND_BYTES: usize = 64;
/// Bytes that are fetched ahead of the next record at most.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const PREFETCH_BYTES_MAX: usize = 2048;

/// Copies rounds of 64 bytes.
///
/// # Safety
/// `rounds * 64` bytes can be read at `from` and written at `to`, and do not overlap. Other threads may access the shared side by
/// atomic operations, or by this function.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn copy_rounds(from: *const u8, to: *mut u8, rounds: usize) {
    if rounds == 0 {
        return;
    }
    // SAFETY: as the caller promises; SSE2 is part of x86-64, and unaligned addresses are allowed.
    unsafe {
        std::arch::asm!(
            "2:",
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "movups [{to}], {a}",
            "movups [{to} + 16], {b}",
            "movups [{to} + 32], {c}",
            "movups [{to} + 48], {d}",
            "add {from}, 64",
            "add {to}, 64",
            "dec {rounds}",
            "jnz 2b",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            rounds = inout(reg) rounds => _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

/// Asks for the cache lines behind `words` for writing: as many as were just written, which the next record most likely takes. They
/// are in the caches of readers, and to fetch them takes as long as to copy the bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn prefetch_behind(words: &[AtomicU64]) {
    let end = words.as_ptr_range().end.cast::<u8>();
    for line in 0..(words.len() * 8).min(PREFETCH_BYTES_MAX).div_ceil(ROUND_BYTES) {
        let at = end.wrapping_add(line * ROUND_BYTES);
        // SAFETY: a prefetch changes nothing, whatever the address is.
        unsafe { std::arch::asm!("prefetchw [{at}]", at = in(reg) at, options(nostack, preserves_flags)) };
    }
}

/// Writes bytes to words; what is left of the last word becomes 0. There are as many words as that takes.
#[inline]
pub(crate) fn store(words: &[AtomicU64], bytes: &[u8]) {
    assert_eq!(words.len(), bytes.len().div_ceil(8), "words for a payload");
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    prefetch_behind(words);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let (words, bytes) = {
        let rounds = bytes.len() / ROUND_BYTES;
        // SAFETY: whole rounds of both slices, by the assertion; `words` is memory for atomic stores.
        unsafe { copy_rounds(bytes.as_ptr(), words.as_ptr().cast::<u8>().cast_mut(), rounds) };
        (&words[rounds * (ROUND_BYTES / 8)..], &bytes[rounds * ROUND_BYTES..])
    };
    let (whole, rest) = bytes.as_chunks::<8>();
    let (all_but_last, last) = words.split_at(whole.len());
    for (word, bytes) in all_but_last.iter().zip(whole) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    if let [word] = last {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
}

/// Appends `bytes` bytes of words, which are as many as that takes.
#[inline]
pub(crate) fn load(words: &[AtomicU64], bytes: usize, out: &mut Vec<u8>) {
    assert_eq!(words.len(), bytes.div_ceil(8), "words of a payload");
    out.reserve(words.len() * 8);
    let begin = out.len();
    let room = &mut out.spare_capacity_mut()[..words.len() * 8];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let (words, room) = {
        let rounds = bytes / ROUND_BYTES;
        // SAFETY: whole rounds of both slices: `room` has as many bytes as `words`, which has at least `bytes`.
        unsafe { copy_rounds(words.as_ptr().cast(), room.as_mut_ptr().cast(), rounds) };
        (&words[rounds * (ROUND_BYTES / 8)..], &mut room[rounds * ROUND_BYTES..])
    };
    for (word, room) in words.iter().zip(room.as_chunks_mut::<8>().0) {
        room.write_copy_of_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    // SAFETY: all bytes of `words` were written behind `begin`, which are at least so many.
    unsafe { out.set_len(begin + bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_are_copied_both_ways() {
        let all: Vec<u8> = (0..400_u32).map(|at| (at * 7 + 1) as u8).collect();
        // Miri takes a second for each.
        for bytes in (0..300).step_by(if cfg!(miri) { 37 } else { 1 }) {
            for begin in [0, 1, 5] {
                let bytes = &all[begin..begin + bytes];
                let words: Vec<AtomicU64> = (0..bytes.len().div_ceil(8)).map(|_| AtomicU64::new(u64::MAX)).collect();
                store(&words, bytes);
                let mut out = vec![9; begin];
                load(&words, bytes.len(), &mut out);
                assert_eq!((&out[begin..], out.len()), (bytes, begin + bytes.len()));
                // The rest of the last word is 0.
                let mut whole = Vec::new();
                load(&words, words.len() * 8, &mut whole);
                assert!(whole[bytes.len()..].iter().all(|byte| *byte == 0));
            }
        }
    }
}
