//! Numbers of a few bits each, one behind the other.

/// Bits that a number needs.
pub(super) fn width(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Bytes of `count` numbers of `width` bits.
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers of at most `width` bits (higher bits are left out).
pub(super) fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let mask = u64::MAX >> (u64::BITS - width);
    let (mut gathered, mut bits) = (0_u128, 0);
    for value in values {
        gathered |= u128::from(value & mask) << bits;
        bits += width;
        while bits >= 8 {
            out.push(gathered as u8);
            gathered >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(gathered as u8);
    }
}

/// Reads `count` numbers back. `packed` has [`packed_bytes`] of them.
pub(super) fn unpack(packed: &[u8], count: usize, width: u32, mut each: impl FnMut(u64)) {
    if width == 0 {
        (0..count).for_each(|_| each(0));
        return;
    }
    let mask = u64::MAX >> (u64::BITS - width);
    let (mut gathered, mut bits) = (0_u128, 0);
    let mut bytes = packed.iter();
    for _ in 0..count {
        while bits < width {
            gathered |= u128::from(bytes.next().copied().unwrap_or(0)) << bits;
            bits += 8;
        }
        each(gathered as u64 & mask);
        gathered >>= width;
        bits -= width;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>(), 0..50), width in 0_u32..=64) {
            let values: Vec<u64> = values.iter().map(|value| value.checked_shr(64 - width).unwrap_or(0)).collect();
            let mut out = Vec::new();
            pack(values.iter().copied(), width, &mut out);
            prop_assert_eq!(out.len(), packed_bytes(values.len(), width));
            let mut back = Vec::new();
            unpack(&out, values.len(), width, |value| back.push(value));
            prop_assert_eq!(back, values);
        }
    }
}
