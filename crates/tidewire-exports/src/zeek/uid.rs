//! `uid`: the name of a connection in all logs.

use crate::model::stream_number;

/// Digits of Zeek's names.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `C` and 17 digits of base 62: 96 bits, as Zeek's names have.
pub(super) fn of(stream: u64, start_ns: u64) -> String {
    let (high, low) = (stream_number(stream, start_ns, 1), stream_number(stream, start_ns, 2));
    let mut bits = u128::from(high & 0xffff_ffff) << 64 | u128::from(low);
    let mut name = String::with_capacity(18);
    name.push('C');
    for _ in 0..17 {
        name.push(char::from(DIGITS[(bits % 62) as usize]));
        bits /= 62;
    }
    name
}
