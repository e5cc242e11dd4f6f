//! The sum of RFC 1071 over long parts, with the widest vectors that the processor has. The rest of this crate forbids
//! unsafe code.
#![allow(unsafe_code)]

/// Bytes summed in one round: four 16-byte vectors, which keeps the adders busy.
pub(super) const ROUND_BYTES: usize = 64;

/// The sum as 32-bit words, not yet folded.
// JUSTIFICATION: checksums are a fifth of the work over large packets, and code for every x86-64 sums half as many
// bytes a cycle. That a processor has AVX2 is known only when the program runs, and there is no safe call for that.
#[cfg(target_arch = "x86_64")]
pub(super) fn sum_rounds(rounds: &[[u8; ROUND_BYTES]]) -> u64 {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
        return unsafe { sum_avx2(rounds) };
    }
    sum_lanes(rounds)
}

/// The sum as 32-bit words, not yet folded.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn sum_rounds(rounds: &[[u8; ROUND_BYTES]]) -> u64 {
    sum_lanes(rounds)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(rounds: &[[u8; ROUND_BYTES]]) -> u64 {
    sum_lanes(rounds)
}

/// Sixteen lanes of 64 bits, which the compiler turns into vectors. Below 16 GiB they cannot overflow, so carries are
/// handled once at the end.
#[inline(always)]
fn sum_lanes(rounds: &[[u8; ROUND_BYTES]]) -> u64 {
    let mut lanes = [0u64; ROUND_BYTES / 4];
    for round in rounds {
        let (words, _) = round.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_vectors_sum_as_narrow_ones() {
        for rounds in [0, 1, 2, 3, 22, 1024] {
            let bytes: Vec<[u8; ROUND_BYTES]> =
                (0..rounds).map(|round| std::array::from_fn(|at| (round * 31 + at * 7) as u8)).collect();
            assert_eq!(sum_rounds(&bytes), sum_lanes(&bytes));
            let full = vec![[0xff; ROUND_BYTES]; rounds];
            assert_eq!(sum_rounds(&full), u64::from(u32::MAX) * 16 * rounds as u64);
        }
    }
}
