//! Compares patterns with where their grams were found.
//!
//! Text that repeats itself nearly matches a pattern that repeats itself at every sample. Its comparisons fail at the same byte of
//! the text, or at the same byte of the pattern, again and again: these two are looked at first.

/// A pattern that is compared with where its gram was found.
pub(super) struct Candidate {
    /// Folded if case is ignored.
    pub bytes: Box<[u8]>,
    pub ignore_case: bool,
}

impl Candidate {
    pub(super) fn new(bytes: &[u8], ignore_case: bool) -> Self {
        let bytes = if ignore_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
        Self { bytes: bytes.into(), ignore_case }
    }

    /// Whether the text that has this at `begin` differs at this offset, which may be beyond both.
    #[inline]
    fn differs(&self, offset: usize, text: &[u8], begin: usize) -> bool {
        match (self.bytes.get(offset), text.get(begin.wrapping_add(offset))) {
            (Some(pattern), Some(byte)) if self.ignore_case => *pattern != byte.to_ascii_lowercase(),
            (Some(pattern), Some(byte)) => pattern != byte,
            _ => false,
        }
    }

    /// The offset of the first byte that differs from `text`, which has the pattern's length.
    fn difference(&self, text: &[u8]) -> Option<usize> {
        let (pattern_words, pattern_rest) = self.bytes.as_chunks::<8>();
        let (text_words, text_rest) = text.as_chunks::<8>();
        for (index, (pattern, text)) in pattern_words.iter().zip(text_words).enumerate() {
            if let Some(at) = self.difference_in_word(pattern, text) {
                return Some(index * 8 + at);
            }
        }
        if pattern_rest.is_empty() {
            return None;
        }
        // The last eight bytes, of which some are equal.
        if let (Some(pattern), Some(text)) = (self.bytes.last_chunk::<8>(), text.last_chunk::<8>()) {
            return self.difference_in_word(pattern, text).map(|at| self.bytes.len() - 8 + at);
        }
        pattern_rest
            .iter()
            .zip(text_rest)
            .position(|(pattern, text)| *pattern != if self.ignore_case { text.to_ascii_lowercase() } else { *text })
    }

    #[inline]
    fn difference_in_word(&self, pattern: &[u8; 8], text: &[u8; 8]) -> Option<usize> {
        let (pattern, text) = (u64::from_le_bytes(*pattern), u64::from_le_bytes(*text));
        let differing = pattern ^ if self.ignore_case { folded(text) } else { text };
        (differing != 0).then(|| differing.trailing_zeros() as usize / 8)
    }
}

/// Eight bytes with capital ASCII letters as small ones.
#[inline]
fn folded(word: u64) -> u64 {
    const fn each(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    let low_bits = word & each(0x7f);
    // The highest bit of each byte: it is at least 'A', it is more than 'Z'.
    let (from_a, beyond_z) = (low_bits + each(0x80 - b'A'), low_bits + each(0x7f - b'Z'));
    let capital = from_a & !beyond_z & !word & each(0x80);
    word | capital >> 2
}

/// Cost of a comparison that fails at once, in bytes compared: some 40 instructions with all around it.
const CANDIDATE_BYTES: u64 = 16;

/// Patterns whose last difference is remembered.
const REMEMBERED: usize = 16;

/// Compares, remembers where comparisons failed, and counts what they cost.
#[derive(Default)]
pub(super) struct Comparer {
    /// Bytes compared.
    pub compared: u64,
    /// Offset in the text of the last difference.
    text_at: usize,
    /// Offsets in patterns of their last differences, by a part of the pattern's index.
    pattern_at: [u32; REMEMBERED],
}

impl Comparer {
    /// Forgets the text: another one is scanned.
    pub(super) fn begin(&mut self) {
        self.text_at = 0;
    }

    /// Whether the text has the pattern at `begin`.
    #[inline]
    pub(super) fn is_equal(&mut self, pattern: &Candidate, index: u32, text: &[u8], begin: usize) -> bool {
        self.compared += CANDIDATE_BYTES;
        let by_pattern = self.pattern_at[index as usize % REMEMBERED] as usize;
        let by_text = self.text_at.wrapping_sub(begin);
        if pattern.differs(by_pattern, text, begin) || pattern.differs(by_text, text, begin) {
            return false;
        }
        self.compare(pattern, index, text, begin)
    }

    /// The same without a look at what is remembered.
    #[inline(never)]
    fn compare(&mut self, pattern: &Candidate, index: u32, text: &[u8], begin: usize) -> bool {
        let Some(there) = text.get(begin..begin + pattern.bytes.len()) else { return false };
        let Some(at) = pattern.difference(there) else {
            self.compared += there.len() as u64;
            return true;
        };
        self.compared += at as u64;
        (self.text_at, self.pattern_at[index as usize % REMEMBERED]) = (begin + at, at as u32);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_words_is_folding_bytes() {
        for byte in 0..=255_u8 {
            for at in 0..8 {
                let mut bytes = [0xff, b'A', b'Z', b'[', b'@', b'z', 0, 0x80];
                bytes[at] = byte;
                let expected = u64::from_le_bytes(bytes.map(|byte| byte.to_ascii_lowercase()));
                assert_eq!(folded(u64::from_le_bytes(bytes)), expected);
            }
        }
    }
}
