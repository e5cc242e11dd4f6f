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
    pub(crate) fn take_empty(&self, bytes: &mut &[u8]) -> u32 {
        let mut lines = 0;
        if !self.kept.is_empty() {
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
}

/// The first place of a byte.
#[inline]
fn find(bytes: &[u8], wanted: u8) -> Option<usize> {
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
    if !bytes.starts_with(pattern) {
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
}
