//! `uid`: the name of a connection in all logs.

use crate::model::{Exchange, stream_number};

/// Digits of Zeek's names.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name of a connection.
pub(super) fn of(stream: u64, start_ns: u64) -> Name {
    named(b'C', [1, 2].map(|which| stream_number(stream, start_ns, which)))
}

/// The name of the conversation that carries a tunnel, by two numbers of its own.
pub(super) fn of_tunnel(numbers: [u64; 2]) -> Name {
    named(b'C', numbers)
}

/// The name of a transaction's file in all logs, by who sent it.
pub(super) fn of_body(exchange: &Exchange<'_>, is_origin: bool) -> Name {
    let number = 2 * u64::from(exchange.number) + u64::from(is_origin);
    named(
        b'F',
        [3, 4].map(|which| stream_number(exchange.stream, exchange.stream_start.as_nanos(), which + 2 * number)),
    )
}

/// A letter and 17 digits of base 62: 96 bits, as Zeek's names have.
pub(super) type Name = [u8; 18];

fn named(letter: u8, [high, low]: [u64; 2]) -> Name {
    /// Ten digits are a number of 64 bits, of which divisions are ten times as fast as of 128.
    const TEN_DIGITS: u128 = 62_u128.pow(10);
    let bits = u128::from(high & 0xffff_ffff) << 64 | u128::from(low);
    let rest = bits / TEN_DIGITS;
    let mut name = [letter; 18];
    let (first, last) = name[1..].split_at_mut(10);
    for (part, digits) in [((bits - rest * TEN_DIGITS) as u64, first), (rest as u64, last)] {
        // Two digits for each division.
        let mut part = part;
        for two in digits.chunks_mut(2) {
            let value = (part % (62 * 62)) as usize;
            part /= 62 * 62;
            two[0] = DIGITS[value % 62];
            if let Some(second) = two.get_mut(1) {
                *second = DIGITS[value / 62];
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_all_digits_of_its_bits() {
        for numbers in [[0, 0], [u64::MAX, u64::MAX], [1, 0], [0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321]] {
            let mut bits = u128::from(numbers[0] & 0xffff_ffff) << 64 | u128::from(numbers[1]);
            let mut expected = vec![b'C'];
            for _ in 0..17 {
                expected.push(DIGITS[(bits % 62) as usize]);
                bits /= 62;
            }
            assert_eq!(named(b'C', numbers)[..], expected);
        }
    }
}
