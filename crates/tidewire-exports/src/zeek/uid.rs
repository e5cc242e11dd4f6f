//! `uid`: the name of a connection in all logs.

use crate::model::stream_number;

/// Digits of Zeek's names.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name of a connection.
pub(super) fn of(stream: u64, start_ns: u64) -> String {
    named('C', [1, 2].map(|which| stream_number(stream, start_ns, which)))
}

/// The name of a file of a connection, by its number there.
pub(super) fn of_file(stream: u64, start_ns: u64, number: u64) -> String {
    named('F', [3, 4].map(|which| stream_number(stream, start_ns, which + 2 * number)))
}

/// A letter and 17 digits of base 62: 96 bits, as Zeek's names have.
fn named(letter: char, [high, low]: [u64; 2]) -> String {
    let mut bits = u128::from(high & 0xffff_ffff) << 64 | u128::from(low);
    let mut name = String::with_capacity(18);
    name.push(letter);
    for _ in 0..17 {
        name.push(char::from(DIGITS[(bits % 62) as usize]));
        bits /= 62;
    }
    name
}
