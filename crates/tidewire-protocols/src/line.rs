//! Lines out of a stream that is cut anywhere: one reader for all protocols of lines.

use std::borrow::Cow;

use crate::work;

/// Bytes of a line that are looked at together before a search begins: to call it costs more than a short line.
const NEAR_BYTES: usize = 8;

/// Bytes of equal lines that are compared together.
const BLOCK_BYTES: usize = 32;

/// The line whose end has not come.
#[derive(Debug, Default)]
pub(crate) struct Line {
    kept: Vec<u8>,
}

impl Line {
    /// Whether the next byte begins a line.
    pub(crate) fn is_at_start(&self) -> bool {
        self.kept.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.kept.capacity()
    }

    /// Takes bytes up to the end of a line: the line with its end, of which at most `bytes_max` are kept. `None`: it is not complete.
    #[inline]
    pub(crate) fn take<'a>(&mut self, bytes: &mut &'a [u8], end: u8, bytes_max: usize) -> Option<Cow<'a, [u8]>> {
        let at = find(bytes, end);
        let (part, rest) = bytes.split_at(at.map_or(bytes.len(), |at| at + 1));
        *bytes = rest;
        work::pass(part.len());
        if at.is_some() && self.kept.is_empty() {
            return Some(Cow::Borrowed(&part[..part.len().min(bytes_max)]));
        }
        let room = bytes_max.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&part[..part.len().min(room)]);
        at.map(|_| Cow::Owned(std::mem::take(&mut self.kept)))
    }

    /// Takes lines of nothing but their end, as many as there are; how many.
    #[inline]
    pub(crate) fn take_empty(&self, bytes: &mut &[u8]) -> u32 {
        let mut lines = 0;
        if !self.kept.is_empty() || !is_empty_line(bytes) {
            return lines;
        }
        loop {
            let more = take_repeated(bytes, b"\n") + take_repeated(bytes, b"\r\n");
            if more == 0 {
                return lines;
            }
            lines = lines.saturating_add(more);
        }
    }

    /// Takes whole lines up to the first one that is wanted; how many. `is_wanted`: of the bytes from the beginning of a line on, whose
    /// number may be 0. Lines among the last few bytes stay: who wants none of them takes them one by one.
    #[inline]
    pub(crate) fn pass_over(&self, bytes: &mut &[u8], mut is_wanted: impl FnMut(&[u8]) -> bool) -> u32 {
        let all = *bytes;
        if !self.kept.is_empty() || is_wanted(all) {
            return 0;
        }
        let (mut lines, mut begin) = (0, 0);
        'lines: for (index, word) in all.as_chunks().0.iter().enumerate() {
            let mut ends = line_feeds(u64::from_le_bytes(*word));
            while ends != 0 {
                begin = WORD_BYTES * index + ends.trailing_zeros() as usize / 8 + 1;
                ends &= ends - 1;
                lines += 1;
                work::add(1);
                if is_wanted(&all[begin..]) {
                    break 'lines;
                }
            }
        }
        work::pass(begin);
        *bytes = &all[begin..];
        lines
    }
}

/// Takes a line with its end, if it is complete.
#[inline(always)]
pub(crate) fn take_whole<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    take_first(bytes, near_ends(bytes))
}

/// The line feeds among the next few bytes, the top bit of a byte each; 0 if there are too few bytes.
#[inline(always)]
pub(crate) fn near_ends(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| line_feeds(u64::from_le_bytes(*word)))
}

/// The same as [`take_whole`] with the [`near_ends`] of the bytes.
#[inline(always)]
pub(crate) fn take_first<'a>(bytes: &mut &'a [u8], ends: u64) -> Option<&'a [u8]> {
    let line_bytes = match ends {
        0 => end_beyond(bytes)?,
        ends => ends.trailing_zeros() as usize / 8 + 1,
    };
    let (line, rest) = bytes.split_at_checked(line_bytes)?;
    *bytes = rest;
    work::pass(line.len());
    Some(line)
}

/// Takes lines of fewer than so many bytes (2 to 8) with their ends, as many as end among the next few bytes; how many. `ends`: the
/// [`near_ends`] of the bytes.
#[inline(always)]
pub(crate) fn take_short(bytes: &mut &[u8], ends: u64, line_bytes: u32) -> u32 {
    let ends = short_ends(ends, line_bytes);
    if ends == 0 {
        return 0;
    }
    *bytes = bytes.get(behind_last(ends)..).unwrap_or_default();
    work::add(1);
    marked(ends)
}

/// The ends of lines of fewer than so many bytes, before any longer line.
#[inline(always)]
pub(crate) fn short_ends(ends: u64, line_bytes: u32) -> u64 {
    // Where there is none, it is the number of bits.
    let first = ends.trailing_zeros() / 8;
    if first + 1 >= line_bytes {
        return 0;
    }
    // Ends that are so near to the first one are near to each other.
    match u64::MAX.checked_shl(8 * (first + line_bytes)) {
        Some(above) => ends & !above,
        None => ends,
    }
}

/// Bytes up to the last one that is marked, and that one.
#[inline(always)]
pub(crate) fn behind_last(marks: u64) -> usize {
    (u64::BITS / 8 - marks.leading_zeros() / 8) as usize
}

/// How many bytes are marked.
#[inline(always)]
pub(crate) fn marked(marks: u64) -> u32 {
    // Adds up the bits, of which each is in a byte of its own.
    ((marks >> 7).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// Bytes of a line that is longer than a word, or among the last few bytes.
fn end_beyond(bytes: &[u8]) -> Option<usize> {
    let Some((_, rest)) = bytes.split_first_chunk::<WORD_BYTES>() else {
        return bytes.iter().position(|&byte| byte == b'\n').map(|end| end + 1);
    };
    // Most lines that are not short end soon, and a search of its own costs more.
    let end = match near_ends(rest) {
        0 => memchr::memchr(b'\n', rest)?,
        ends => ends.trailing_zeros() as usize / 8,
    };
    Some(WORD_BYTES + end + 1)
}

/// Bytes that are searched together.
const WORD_BYTES: usize = size_of::<u64>();

/// The top bit of each byte that is a line feed.
#[inline(always)]
pub(crate) fn line_feeds(word: u64) -> u64 {
    equal_bytes(word, b'\n')
}

/// The top bit of each byte that is this one, an ASCII character.
#[inline(always)]
pub(crate) fn equal_bytes(word: u64, byte: u8) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let differ = word ^ (0x0101_0101_0101_0101 * byte as u64);
    !(((differ & LOW_BITS) + LOW_BITS) | differ | LOW_BITS)
}

/// Whether a line is empty that begins there.
#[inline]
pub(crate) fn is_empty_line(rest: &[u8]) -> bool {
    matches!(rest, [b'\n', ..] | [b'\r', b'\n', ..])
}

/// Bytes behind the blanks that they begin with, up to the end of the line.
#[inline(always)]
pub(crate) fn past_blanks(rest: &[u8]) -> &[u8] {
    match rest {
        // One of them is the usual number.
        [b' ', b'!'..=0xff, ..] => &rest[1..],
        [0..=b' ', ..] => past_several(rest),
        _ => rest,
    }
}

#[inline(never)]
fn past_several(rest: &[u8]) -> &[u8] {
    let is_blank = |byte: &&u8| byte.is_ascii_whitespace() && **byte != b'\n';
    let blanks = rest.iter().take_while(is_blank).count();
    work::add(blanks);
    &rest[blanks..]
}

/// The first four bytes, as [`word`] has them.
#[inline]
pub(crate) fn first_word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(word)
}

/// Four letters in one number, of either case.
#[inline]
pub(crate) const fn word(letters: &[u8; 4]) -> u32 {
    word_of(u32::from_le_bytes(*letters))
}

/// The same of the letters in a number, the first one in its lowest byte.
#[inline]
pub(crate) const fn word_of(letters: u32) -> u32 {
    /// Turns letters to lower case; other bytes may become equal to ones that differ from them in this bit.
    const LOWER_CASE: u32 = 0x2020_2020;
    letters | LOWER_CASE
}

/// The first four bytes of words, in letters of any case: a look at a line's beginning excludes most of them at once.
pub(crate) struct Beginnings<const N: usize> {
    multiplier: u32,
    slots: [u32; N],
}

impl<const N: usize> Beginnings<N> {
    /// `N` is a power of two, and several times as many as the words.
    pub(crate) const fn of(words: &[&[u8; 4]]) -> Self {
        let mut multiplier = 0x9e37_79b1_u32;
        'next: loop {
            multiplier = multiplier.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f) | 1;
            let (mut slots, mut index) = ([0; N], 0);
            while index < words.len() {
                let word = word(words[index]);
                let slot = Self::slot(word, multiplier);
                if slots[slot] != 0 {
                    continue 'next;
                }
                slots[slot] = word;
                index += 1;
            }
            return Self { multiplier, slots };
        }
    }

    const fn slot(word: u32, multiplier: u32) -> usize {
        (word.wrapping_mul(multiplier) >> (32 - N.trailing_zeros())) as usize % N
    }

    /// Whether a word is one of them.
    #[inline]
    pub(crate) fn has(&self, word: u32) -> bool {
        self.slots[Self::slot(word, self.multiplier)] == word
    }

    /// Whether bytes may begin with one of the words; `true` as well if they are too few to say.
    #[inline]
    pub(crate) fn may_have(&self, bytes: &[u8]) -> bool {
        first_word(bytes).is_none_or(|word| self.has(word))
    }
}

/// The first place of a byte.
#[inline]
pub(crate) fn find(bytes: &[u8], wanted: u8) -> Option<usize> {
    let Some(near) = bytes.first_chunk::<NEAR_BYTES>() else { return bytes.iter().position(|&byte| byte == wanted) };
    // Sets the top bit of each byte that is wanted, and perhaps of bytes behind the first of them.
    const LOW: u64 = 0x0101_0101_0101_0101;
    let differ = u64::from_le_bytes(*near) ^ (LOW * u64::from(wanted));
    match differ.wrapping_sub(LOW) & !differ & LOW << 7 {
        0 => memchr::memchr(wanted, &bytes[NEAR_BYTES..]).map(|at| NEAR_BYTES + at),
        found => Some(found.trailing_zeros() as usize / 8),
    }
}

/// Takes what is a pattern again and again; how many times. The pattern's length divides [`BLOCK_BYTES`].
pub(crate) fn take_repeated<const N: usize>(bytes: &mut &[u8], pattern: &[u8; N]) -> u32 {
    if bytes.first_chunk() != Some(pattern) {
        return 0;
    }
    let block: [u8; BLOCK_BYTES] = std::array::from_fn(|index| pattern[index % N]);
    let blocks = bytes.as_chunks().0.iter().take_while(|part| **part == block).count();
    let rest = &bytes[blocks * BLOCK_BYTES..];
    let singles = rest.as_chunks().0.iter().take_while(|part| **part == *pattern).count();
    *bytes = &rest[singles * N..];
    work::pass(blocks * BLOCK_BYTES + singles * N);
    u32::try_from(blocks * BLOCK_BYTES / N + singles).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"one\r\n\n\r\nlonger than eight\n\r\r\n0123456789abcdefghij\nrest";
        let lines = |pieces: &[&[u8]]| {
            let (mut line, mut found) = (Line::default(), Vec::new());
            for mut piece in pieces.iter().copied() {
                while !piece.is_empty() {
                    found.extend(line.take(&mut piece, b'\n', 18).map(Cow::into_owned));
                }
            }
            (found, line.kept)
        };
        let (found, rest) = lines(&[text]);
        assert_eq!(found.join(&b'|'), b"one\r\n|\n|\r\n|longer than eight\n|\r\r\n|0123456789abcdefgh");
        assert_eq!(rest, b"rest");
        for at in 0..text.len() {
            assert_eq!(lines(&[&text[..at], &text[at..]]), (found.clone(), rest.clone()));
        }
    }

    #[test]
    fn lines_are_passed_over_up_to_one_that_is_wanted() {
        let passed = |text: &[u8], wanted: u8| {
            let mut rest = text;
            let lines = Line::default().pass_over(&mut rest, |rest| rest.first() == Some(&wanted));
            (lines, text.len() - rest.len())
        };
        assert_eq!(passed(b"a\nb\r\n\nlonger than eight\nwanted\nbehind it\n", b'w'), (4, 24));
        assert_eq!(passed(b"wanted\nbehind it\n", b'w'), (0, 0));
        assert_eq!(passed(b"no end of a line", b'w'), (0, 0));
        assert_eq!(passed(b"", b'w'), (0, 0));
        for bytes in 0..=255 {
            let text = [&[bytes; 15][..], b"\n1234567"].concat();
            let expected = if bytes == b'\n' { 16 } else { 1 };
            assert_eq!(passed(&text, b'0' + u8::from(bytes == b'0')).0, expected, "{bytes}");
        }
        let within = Line { kept: b"a".to_vec() };
        assert_eq!(within.pass_over(&mut &b"a\n01234567"[..], |_| false), 0);
    }

    #[test]
    fn beginnings_are_those_of_the_words() {
        static WORDS: Beginnings<32> = Beginnings::of(&[b"host", b"user", b"refe", b"cont"]);
        for (bytes, expected) in [
            ("Host: a", true),
            ("CONTENT", true),
            ("refe", true),
            ("hosu:", false),
            ("a:b\r", false),
            ("hos", true),
            ("", true),
        ] {
            assert_eq!(WORDS.may_have(bytes.as_bytes()), expected, "{bytes}");
        }
    }

    #[test]
    fn empty_lines_are_counted() {
        for (bytes, lines, rest) in [
            (&b"\n\n\r\n\n\r\n\r\r\n"[..], 5, &b"\r\r\n"[..]),
            (b"a\n", 0, b"a\n"),
            (b"\r", 0, b"\r"),
            (b"\r\n\r", 1, b"\r"),
        ] {
            let mut left = bytes;
            assert_eq!((Line::default().take_empty(&mut left), left), (lines, rest));
        }
        for count in 0..200 {
            let bytes = [&b"\r\n".repeat(count)[..], &b"\n".repeat(count), b"a"].concat();
            let mut left = &bytes[..];
            assert_eq!((Line::default().take_empty(&mut left), left), (2 * count as u32, &b"a"[..]));
        }
        let within = Line { kept: b"a".to_vec() };
        assert_eq!(within.take_empty(&mut &b"\n"[..]), 0);
    }

    #[test]
    fn short_lines_are_taken_together() {
        for (bytes, line_bytes, lines, rest) in [
            (&b"a\nb\nc\nd\ne\n"[..], 5, 3, &b"d\ne\n"[..]),
            (b"\n\n\n\n\n\n\n\n", 5, 5, b"\n\n\n"),
            (b"abc\nabc\nabc\n", 5, 2, b"abc\n"),
            (b"abc\nabc\nabc\n", 4, 0, b"abc\nabc\nabc\n"),
            (b"\nRSET\nabc", 5, 1, b"RSET\nabc"),
            (b"a\nRSET\nbc", 5, 1, b"RSET\nbc"),
            (b"RSET\na\nb", 5, 0, b"RSET\na\nb"),
            (b"a\nb\n", 5, 0, b"a\nb\n"),
            (b"abcdefghi", 5, 0, b"abcdefghi"),
        ] {
            let mut left = bytes;
            assert_eq!(
                (take_short(&mut left, near_ends(bytes), line_bytes), left),
                (lines, rest),
                "{}",
                bytes.escape_ascii()
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn lines_are_taken_as_they_are(bytes in proptest::collection::vec(0..12_u8, 0..40)) {
            let mut expected: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let unended = expected.pop_if(|line| !line.ends_with(b"\n")).unwrap_or_default();
            let (mut rest, mut found) = (&bytes[..], Vec::new());
            while let Some(line) = take_whole(&mut rest) {
                found.push(line);
            }
            proptest::prop_assert_eq!((&found, rest), (&expected, unended));
            for line_bytes in 2..=8 {
                let mut rest = &bytes[..];
                let lines = take_short(&mut rest, near_ends(&bytes), line_bytes) as usize;
                let taken = &expected[..lines];
                proptest::prop_assert!(taken.iter().all(|line| line.len() < line_bytes as usize));
                proptest::prop_assert_eq!(taken.concat().len() + rest.len(), bytes.len());
            }
        }
    }
}
