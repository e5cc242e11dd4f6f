//! `uid`: the name of a connection in all logs.

use crate::model::{Exchange, stream_number};

/// Digits of Zeek's names.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name of a connection.
pub(super) fn of(stream: u64, start_ns: u64) -> String {
    named('C', [1, 2].map(|which| stream_number(stream, start_ns, which)))
}

/// The name of a transaction's file in all logs, by who sent it.
pub(super) fn of_body(exchange: &Exchange<'_>, is_origin: bool) -> String {
    let number = 2 * u64::from(exchange.number) + u64::from(is_origin);
    named('F', [3, 4].map(|which| stream_number(exchange.stream, exchange.stream_start_ns, which + 2 * number)))
}

/// A letter and 17 digits of base 62: 96 bits, as Zeek's names have.
fn named(letter: char, [high, low]: [u64; 2]) -> String {
    /// Ten digits are a number of 64 bits, of which divisions are ten times as fast as of 128.
    const TEN_DIGITS: u128 = 62_u128.pow(10);
    let bits = u128::from(high & 0xffff_ffff) << 64 | u128::from(low);
    let mut name = String::with_capacity(18);
    name.push(letter);
    for (mut part, digits) in [((bits % TEN_DIGITS) as u64, 10), ((bits / TEN_DIGITS) as u64, 7)] {
        for _ in 0..digits {
            name.push(char::from(DIGITS[(part % 62) as usize]));
            part /= 62;
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
            let mut expected = String::from("C");
            for _ in 0..17 {
                expected.push(char::from(DIGITS[(bits % 62) as usize]));
                bits /= 62;
            }
            assert_eq!(named('C', numbers), expected);
        }
    }
}
