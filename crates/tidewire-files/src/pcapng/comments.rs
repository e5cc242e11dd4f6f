use crate::{
    limits::OPTIONS_MAX,
    record_cursor::{u16_at, u32_at},
};

const OPTION_COMMENT: u16 = 1;
/// Bytes of a packet's comments at most; those behind are left out.
const COMMENT_BYTES_MAX: usize = 16 << 10;

/// The comments among the options of a packet's block, as options in little-endian, without their end. `body`: of a block with
/// `fixed_bytes` before its packet, whose captured length is the word at `length_at`.
pub(super) fn comments(body: &[u8], fixed_bytes: usize, length_at: usize, big_endian: bool) -> Vec<u8> {
    let mut found = Vec::new();
    let captured = u32_at(body, length_at, big_endian).unwrap_or_default() as usize;
    let mut options = body.get(fixed_bytes + captured.next_multiple_of(4)..).unwrap_or_default();
    for _ in 0..OPTIONS_MAX {
        let (Some(code), Some(length)) = (u16_at(options, 0, big_endian), u16_at(options, 2, big_endian)) else {
            break;
        };
        let padded = usize::from(length).next_multiple_of(4);
        let Some(value) = options.get(4..4 + usize::from(length)).filter(|_| code != 0) else { break };
        if code == OPTION_COMMENT && found.len() + 4 + padded <= COMMENT_BYTES_MAX {
            found.extend_from_slice(&code.to_le_bytes());
            found.extend_from_slice(&length.to_le_bytes());
            found.extend_from_slice(value);
            found.resize(found.len() + padded - value.len(), 0);
        }
        options = options.get(4 + padded..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of an enhanced packet block with options.
    fn body(options: &[(u16, &[u8])], big_endian: bool) -> Vec<u8> {
        let word = |number: u32| if big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
        let half = |number: u16| if big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
        let mut body: Vec<u8> = [0, 0, 0, 5, 5].into_iter().flat_map(word).collect();
        body.extend([7, 7, 7, 7, 7, 0, 0, 0]);
        for (code, value) in options {
            body.extend(half(*code));
            body.extend(half(value.len() as u16));
            body.extend_from_slice(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body
    }

    #[test]
    fn comments_are_found_in_either_byte_order_and_bounded() {
        let options: [(u16, &[u8]); 4] = [(2, &[0, 0, 0, 1]), (1, b"one"), (1, "zw\u{f6}".as_bytes()), (0, &[])];
        let expected = [&[1, 0, 3, 0][..], b"one\0", &[1, 0, 4, 0], "zw\u{f6}".as_bytes()].concat();
        for big_endian in [false, true] {
            let whole = body(&options, big_endian);
            assert_eq!(comments(&whole, 20, 12, big_endian), expected);
            for length in 0..whole.len() {
                assert!(expected.starts_with(&comments(&whole[..length], 20, 12, big_endian)), "{length}");
            }
            assert!(comments(&body(&[], big_endian), 20, 12, big_endian).is_empty());
        }
        let long = vec![b'x'; 60_000];
        let found = comments(&body(&[(1, &long), (1, b"short")], false), 20, 12, false);
        assert_eq!(found, [&[1, 0, 5, 0][..], b"short\0\0\0"].concat());
    }
}
