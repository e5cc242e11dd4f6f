//! The options of segments other than SYNs: keys (MP_CAPABLE) and data sequence signals (DSS), RFC 8684 sections 3.1 and 3.3.

use std::iter;

/// Kind of the option.
pub(crate) const KIND: u8 = 30;

/// The options of Multipath TCP in a TCP header, each without kind and length.
pub(super) fn bodies(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let header_bytes = header.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
    let mut options = header.get(20..header_bytes.min(header.len())).unwrap_or_default();
    iter::from_fn(move || {
        loop {
            match *options {
                [1, ref rest @ ..] => options = rest,
                [0, ..] | [] | [_] => return None,
                [kind, length, ..] => {
                    let body = options.get(2..usize::from(length))?;
                    options = &options[usize::from(length)..];
                    if kind == KIND {
                        return Some(body);
                    }
                }
            }
        }
    })
}

/// A data sequence number as an option states it: all of it, or its lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataSequence {
    Whole(u64),
    Lower(u32),
}

impl DataSequence {
    /// The number nearest to `near` that this one may stand for.
    pub(crate) fn near(self, near: u64) -> u64 {
        match self {
            Self::Whole(number) => number,
            Self::Lower(lower) => near.wrapping_add(i64::from(lower.wrapping_sub(near as u32) as i32) as u64),
        }
    }

    /// The number `bytes` behind it.
    pub(crate) fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Whole(number) => Self::Whole(number.wrapping_add(bytes)),
            Self::Lower(lower) => Self::Lower(lower.wrapping_add(bytes as u32)),
        }
    }
}

/// Which bytes of a subflow are which of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub data: DataSequence,
    /// Sequence number within the subflow, 1 for its first byte.
    pub subflow: u32,
    /// Bytes; `None`: all from there on, because the connection fell back to TCP (section 3.7).
    pub bytes: Option<u16>,
}

/// The contents of a segment's options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals {
    /// The sender's key and the receiver's.
    pub keys: Option<(u64, u64)>,
    /// Bytes of the connection's first mapping, which its keys replace: they come with its first bytes.
    pub first_mapping_bytes: Option<u16>,
    /// The sender has received all bytes before it.
    pub acknowledged: Option<DataSequence>,
    pub mapping: Option<Mapping>,
    /// The number of the byte that would follow the last one.
    pub end: Option<DataSequence>,
}

impl Signals {
    /// Reads the options of a TCP header.
    pub(crate) fn of(header: &[u8]) -> Self {
        let mut all = Self::default();
        for body in bodies(header) {
            all.read(body);
        }
        all
    }

    fn read(&mut self, body: &[u8]) {
        const CAPABLE: u8 = 0;
        const DSS: u8 = 2;
        match body {
            [first, _, keys @ ..] if first >> 4 == CAPABLE => {
                if let Some((sender, rest)) = number(keys)
                    && let Some((receiver, rest)) = number(rest)
                {
                    self.keys = Some((sender, receiver));
                    self.first_mapping_bytes = rest.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
                }
            }
            [first, flags, rest @ ..] if first >> 4 == DSS => _ = self.read_dss(*flags, rest),
            _ => {}
        }
    }

    /// Reads a data sequence signal; `None`: it is malformed, and what was read before counts.
    fn read_dss(&mut self, flags: u8, body: &[u8]) -> Option<()> {
        const ACK: u8 = 1;
        const ACK_WHOLE: u8 = 2;
        const MAPPING: u8 = 4;
        const MAPPING_WHOLE: u8 = 8;
        const FIN: u8 = 16;
        let mut body = body;
        if flags & ACK != 0 {
            let (acknowledged, rest) = sequence(body, flags & ACK_WHOLE != 0)?;
            (self.acknowledged, body) = (Some(acknowledged), rest);
        }
        if flags & MAPPING == 0 {
            return Some(());
        }
        let (data, rest) = sequence(body, flags & MAPPING_WHOLE != 0)?;
        let &[a, b, c, d, high, low, ..] = rest else { return None };
        let (subflow, stated) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([high, low]));
        let is_last = flags & FIN != 0;
        // The end of the data occupies a number, which the length counts (section 3.3.3).
        let bytes = if is_last { stated.checked_sub(1)? } else { stated };
        if is_last {
            self.end = Some(data.plus(u64::from(bytes)));
        }
        if bytes > 0 || !is_last {
            self.mapping = Some(Mapping { data, subflow, bytes: (bytes > 0).then_some(bytes) });
        }
        Some(())
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*first), rest))
}

fn sequence(bytes: &[u8], is_whole: bool) -> Option<(DataSequence, &[u8])> {
    if is_whole {
        return number(bytes).map(|(number, rest)| (DataSequence::Whole(number), rest));
    }
    let (first, rest) = bytes.split_first_chunk()?;
    Some((DataSequence::Lower(u32::from_be_bytes(*first)), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(options: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 20];
        header.extend(options);
        header.resize(header.len().next_multiple_of(4), 0);
        header[12] = (header.len() as u8 / 4) << 4;
        header
    }

    #[test]
    fn signals_are_read_in_all_their_forms() {
        let of = |options: &[u8]| Signals::of(&header(options));
        // As Linux sends it: data acknowledged in four bytes, the mapping in eight, NOPs before and behind.
        let linux = of(&[1, 1, 30, 22, 0x20, 0x0d, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 1, 2, 1, 1]);
        let mapping = Mapping { data: DataSequence::Whole(0x1_0000_0009), subflow: 1, bytes: Some(0x102) };
        let acknowledged = Some(DataSequence::Lower(7));
        assert_eq!(linux, Signals { acknowledged, mapping: Some(mapping), ..Signals::default() });
        // Four bytes and a checksum, as in version 0; the end of the data behind ten bytes; the end alone.
        let mapping = Mapping { data: DataSequence::Lower(9), subflow: 5, bytes: Some(10) };
        let end = Some(DataSequence::Lower(19));
        let last = of(&[30, 16, 0x20, 0x14, 0, 0, 0, 9, 0, 0, 0, 5, 0, 11, 0xab, 0xcd]);
        assert_eq!(last, Signals { mapping: Some(mapping), end, ..Signals::default() });
        let end = of(&[30, 14, 0x20, 0x14, 0, 0, 0, 9, 0, 0, 0, 0, 0, 1]);
        assert_eq!(end, Signals { end: Some(DataSequence::Lower(9)), ..Signals::default() });
        // An infinite mapping.
        let mapping = Mapping { data: DataSequence::Lower(9), subflow: 5, bytes: None };
        let infinite = of(&[30, 14, 0x20, 0x04, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0]);
        assert_eq!(infinite, Signals { mapping: Some(mapping), ..Signals::default() });
        let keys = [[0x0a; 8], [0x0b; 8]].concat();
        let with_keys = |rest: &[u8]| of(&[&[30, 20 + rest.len() as u8, 1, 0x81][..], &keys, rest].concat());
        let known = Some((0x0a0a_0a0a_0a0a_0a0a, 0x0b0b_0b0b_0b0b_0b0b));
        assert_eq!(with_keys(&[]), Signals { keys: known, ..Signals::default() });
        assert_eq!(with_keys(&[0, 5]), Signals { keys: known, first_mapping_bytes: Some(5), ..Signals::default() });
        for body in [&[30, 12, 1, 0x81, 1, 2, 3, 4, 5, 6, 7, 8][..], &[30, 8, 0x20, 0x04, 0, 0, 0, 9], &[30, 1], &[30]]
        {
            assert_eq!(of(body), Signals::default(), "{body:?}");
        }
    }

    #[test]
    fn a_lower_half_stands_for_the_nearest_number() {
        for (near, lower, number) in [
            (0x1_0000_0005, 5, 0x1_0000_0005),
            (0x1_ffff_fff0, 3, 0x2_0000_0003),
            (0x2_0000_0003, 0xffff_fff0, 0x1_ffff_fff0),
            (u64::MAX, 1, 1),
        ] {
            assert_eq!(DataSequence::Lower(lower).near(near), number);
            assert_eq!(DataSequence::Whole(9).near(near), 9);
        }
        assert_eq!(DataSequence::Lower(u32::MAX).plus(2), DataSequence::Lower(1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_options(header in proptest::collection::vec(any::<u8>(), 0..70)) {
            Signals::of(&header);
        }
    }
}
