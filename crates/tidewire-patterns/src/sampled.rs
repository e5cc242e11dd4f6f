//! Finds patterns by samples: every few bytes, four of them are looked up in a table of the patterns' bytes.
//!
//! For each pattern a window is chosen that contains a whole sample at any alignment: with a sample every `stride` bytes, the
//! four-byte grams at `stride` successive offsets of the pattern. One of them coincides with a sample wherever the pattern
//! occurs, so that each occurrence is found once. Most samples cost a multiplication and one look into a bit table. Unlike the
//! steps of an automaton, these do not depend on each other.

mod compare;

use std::{cmp::Reverse, collections::HashMap, sync::OnceLock};

use super::{Hit, Pattern, automaton::Automaton, border::Border};
use compare::{Candidate, Comparer};

/// Bytes of a sample.
pub const GRAM_BYTES: usize = 4;

/// Size of the bit table, as a power of two of bits: 32 KiB, which fits a first-level cache.
const BITS_LOG2: u32 = 18;
const WORDS: usize = 1 << (BITS_LOG2 - 6);

/// Buckets of grams by a part of the same hash.
const BUCKETS_LOG2: u32 = 15;

/// Samples that are tested together, with one branch for all.
const BLOCK_SAMPLES: usize = 16;

/// Distances of samples, widest first.
const STRIDES: [usize; 6] = [8, 6, 4, 3, 2, 1];

/// A gram of a pattern.
#[derive(Clone, Copy, Debug)]
struct Gram {
    /// Its four bytes, folded if case is ignored.
    value: u32,
    /// The pattern's index.
    pattern: u32,
    /// Offset of the gram in the pattern.
    at: u32,
}

/// Patterns of at least [`GRAM_BYTES`].
pub struct Sampled {
    bits: Box<[u64; WORDS]>,
    /// Start of each bucket's grams; one more than there are buckets.
    starts: Vec<u32>,
    grams: Vec<Gram>,
    patterns: Vec<Candidate>,
    stride: usize,
    /// Whether grams are folded, because some pattern ignores case.
    ignore_case: bool,
    /// Bytes to keep between pieces: one less than the longest pattern.
    kept_bytes: usize,
    shared_max: u32,
    /// The same patterns as automata, built once a text nearly matches too often; `None`: they are too many.
    automaton: OnceLock<Option<Box<Automaton>>>,
}

/// A multiplicative hash (Knuth); its upper bits are the best.
#[inline(always)]
fn hash(gram: u32) -> u32 {
    gram.wrapping_mul(0x9e37_79b1)
}

/// Folds letters of both cases, and some other bytes: candidates are compared exactly afterwards.
const FOLD: u32 = 0x2020_2020;

impl Sampled {
    /// Uses samples as far apart as the shortest pattern allows while at most `shared_max` patterns share a gram; else the
    /// closest ones.
    pub(super) fn new(patterns: &[Pattern], ignore_case: bool, shared_max: u32) -> Self {
        let shortest = patterns.iter().map(|pattern| pattern.bytes.len()).min().unwrap_or(GRAM_BYTES);
        let strides = STRIDES.into_iter().filter(|stride| GRAM_BYTES + stride - 1 <= shortest);
        let mut widest_first = strides.map(|stride| Self::by(patterns, ignore_case, stride));
        widest_first
            .find(|sampled| sampled.shared_max <= shared_max)
            .unwrap_or_else(|| Self::by(patterns, ignore_case, 1))
    }

    fn by(patterns: &[Pattern], ignore_all: bool, stride: usize) -> Self {
        let ignore_case = ignore_all || patterns.iter().any(|pattern| pattern.ignore_case);
        let mut grams: Vec<Gram> = Vec::new();
        let mut uses: HashMap<u32, u32> = HashMap::new();
        for (pattern, index) in patterns.iter().zip(0..) {
            let begin = window(&pattern.bytes, stride, ignore_case, &uses);
            for at in begin..begin + stride {
                if let Some(value) = gram(&pattern.bytes, at, ignore_case) {
                    *uses.entry(value).or_default() += 1;
                    grams.push(Gram { value, pattern: index, at: at as u32 });
                }
            }
        }
        let bucket = |gram: &Gram| hash(gram.value) >> (32 - BUCKETS_LOG2);
        grams.sort_by_key(|gram| (bucket(gram), gram.value));
        let mut bits = Box::new([0; WORDS]);
        let mut starts = vec![0; (1 << BUCKETS_LOG2) + 1];
        for gram in &grams {
            let bit = hash(gram.value) >> (32 - BITS_LOG2);
            bits[(bit >> 6) as usize] |= 1 << (bit & 63);
            starts[bucket(gram) as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let longest = patterns.iter().map(|pattern| pattern.bytes.len()).max().unwrap_or(1);
        let candidate = |pattern: &Pattern| Candidate::new(&pattern.bytes, ignore_all || pattern.ignore_case);
        let patterns = patterns.iter().map(candidate).collect();
        let kept_bytes = longest.saturating_sub(1);
        let shared_max = uses.into_values().max().unwrap_or(0);
        let automaton = OnceLock::new();
        Self { bits, starts, grams, patterns, stride, ignore_case, kept_bytes, shared_max, automaton }
    }

    /// The most patterns that share a gram: the worst cost of a sample.
    pub(super) fn shared_max(&self) -> u32 {
        self.shared_max
    }

    /// See [`super::Patterns::find`].
    #[inline]
    pub(super) fn find(&self, border: &mut Border, piece: &[u8], found: &mut impl FnMut(Hit)) {
        let mut comparer = Comparer::default();
        if !border.tail.is_empty() {
            self.find_across(&mut border.tail, piece, &mut comparer, found);
        }
        comparer.begin();
        self.scan(piece, &mut comparer, &mut |end, pattern| found(Hit { end, pattern }));
        self.keep(&mut border.tail, piece);
        border.searched += piece.len() as u64;
        border.compared += comparer.compared;
    }

    /// As above, for a direction whose text nearly matches too often.
    #[inline(never)]
    pub(super) fn find_by_automaton(&self, border: &mut Border, piece: &[u8], found: &mut impl FnMut(Hit)) -> u64 {
        let Some(automaton) = self.automaton.get_or_init(|| self.as_automaton().map(Box::new)) else {
            self.find(border, piece, found);
            return 0;
        };
        // Earlier bytes may begin a match; matches that end in them were found.
        let tail = std::mem::take(&mut border.tail);
        automaton.find(&mut border.states, &tail, &mut |_| ());
        automaton.find(&mut border.states, piece, found)
    }

    fn as_automaton(&self) -> Option<Automaton> {
        let pattern = |candidate: &Candidate| Pattern {
            bytes: candidate.bytes.to_vec(),
            ignore_case: candidate.ignore_case,
            ..Pattern::default()
        };
        Automaton::new(&self.patterns.iter().map(pattern).collect::<Vec<_>>(), false).ok()
    }

    /// Finds occurrences that begin in `tail` and end in `piece`.
    fn find_across(&self, tail: &mut Vec<u8>, piece: &[u8], comparer: &mut Comparer, found: &mut impl FnMut(Hit)) {
        let before = tail.len();
        tail.extend_from_slice(piece.get(..self.kept_bytes).unwrap_or(piece));
        comparer.begin();
        self.scan(tail, comparer, &mut |end, pattern| {
            let begin = end - self.patterns[pattern as usize].bytes.len();
            if begin < before && end > before {
                found(Hit { end: end - before, pattern });
            }
        });
        tail.truncate(before);
    }

    /// Keeps the last bytes of the stream.
    fn keep(&self, tail: &mut Vec<u8>, piece: &[u8]) {
        match piece.len().checked_sub(self.kept_bytes) {
            Some(from) => {
                tail.clear();
                tail.extend_from_slice(&piece[from..]);
            }
            None => {
                let excess = (tail.len() + piece.len()).saturating_sub(self.kept_bytes);
                tail.drain(..excess);
                tail.extend_from_slice(piece);
            }
        }
    }

    fn scan(&self, bytes: &[u8], comparer: &mut Comparer, found: &mut impl FnMut(usize, u32)) {
        if self.ignore_case {
            self.scan_as::<true>(bytes, comparer, found);
        } else {
            self.scan_as::<false>(bytes, comparer, found);
        }
    }

    fn scan_as<const FOLDED: bool>(&self, bytes: &[u8], comparer: &mut Comparer, found: &mut impl FnMut(usize, u32)) {
        match self.stride {
            1 => self.scan_by::<1, FOLDED>(bytes, comparer, found),
            2 => self.scan_by::<2, FOLDED>(bytes, comparer, found),
            3 => self.scan_by::<3, FOLDED>(bytes, comparer, found),
            4 => self.scan_by::<4, FOLDED>(bytes, comparer, found),
            6 => self.scan_by::<6, FOLDED>(bytes, comparer, found),
            _ => self.scan_by::<8, FOLDED>(bytes, comparer, found),
        }
    }

    /// Tests a sample every `STRIDE` bytes.
    #[inline]
    fn scan_by<const STRIDE: usize, const FOLDED: bool>(
        &self,
        bytes: &[u8],
        comparer: &mut Comparer,
        found: &mut impl FnMut(usize, u32),
    ) {
        let mut at = 0;
        while let Some(block) = bytes.get(at..at + (BLOCK_SAMPLES - 1) * STRIDE + GRAM_BYTES) {
            // Bit i: sample i of the block is a candidate.
            let mut interesting = 0;
            for sample in 0..BLOCK_SAMPLES {
                let place = sample * STRIDE;
                let value = u32::from_le_bytes([block[place], block[place + 1], block[place + 2], block[place + 3]]);
                interesting |= (self.bit(if FOLDED { value | FOLD } else { value }) & 1) << sample;
            }
            while interesting != 0 {
                self.examine(bytes, at + interesting.trailing_zeros() as usize * STRIDE, comparer, found);
                interesting &= interesting - 1;
            }
            at += BLOCK_SAMPLES * STRIDE;
        }
        while at + GRAM_BYTES <= bytes.len() {
            self.examine(bytes, at, comparer, found);
            at += STRIDE;
        }
    }

    /// Its lowest bit: whether a pattern may have this gram.
    #[inline(always)]
    fn bit(&self, value: u32) -> u64 {
        let bit = hash(value) >> (32 - BITS_LOG2);
        self.bits[(bit >> 6) as usize & (WORDS - 1)] >> (bit & 63)
    }

    /// Reports every pattern that has the sample at `at`.
    #[inline]
    fn examine(&self, bytes: &[u8], at: usize, comparer: &mut Comparer, found: &mut impl FnMut(usize, u32)) {
        let Some(value) = gram(bytes, at, self.ignore_case) else { return };
        if self.bit(value) & 1 == 0 {
            return;
        }
        let bucket = (hash(value) >> (32 - BUCKETS_LOG2)) as usize;
        let (Some(&start), Some(&end)) = (self.starts.get(bucket), self.starts.get(bucket + 1)) else { return };
        for gram in self.grams.get(start as usize..end as usize).unwrap_or_default() {
            if gram.value != value {
                continue;
            }
            let pattern = &self.patterns[gram.pattern as usize];
            let Some(begin) = at.checked_sub(gram.at as usize) else { continue };
            if comparer.is_equal(pattern, gram.pattern, bytes, begin) {
                found(begin + pattern.bytes.len(), gram.pattern);
            }
        }
    }
}

/// The four bytes at an offset.
#[inline(always)]
fn gram(bytes: &[u8], at: usize, ignore_case: bool) -> Option<u32> {
    let value = u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<GRAM_BYTES>()?);
    Some(if ignore_case { value | FOLD } else { value })
}

/// The offset of a pattern's grams: where the fewest earlier patterns have the same ones, and among these the offset whose
/// bytes are rarest in traffic.
fn window(bytes: &[u8], stride: usize, ignore_case: bool, uses: &HashMap<u32, u32>) -> usize {
    let width = GRAM_BYTES + stride - 1;
    let places = bytes.len().saturating_sub(width);
    let used = |begin: usize| {
        let grams = (begin..begin + stride).filter_map(|at| gram(bytes, at, ignore_case));
        grams.map(|value| uses.get(&value).copied().unwrap_or(0)).max()
    };
    let rarity = |begin: usize| -> u32 { bytes[begin..begin + width].iter().map(|&byte| rarity(byte)).sum() };
    // The first of the best.
    (0..=places).min_by_key(|&begin| (used(begin), Reverse(rarity(begin)))).unwrap_or(0)
}

/// How rare a byte is in traffic, by its kind: an estimate that affects only speed.
fn rarity(byte: u8) -> u32 {
    match byte {
        0 | b' ' | b'e' | b't' | b'a' | b'o' | b'0' => 0,
        b'a'..=b'z' | 0xff => 2,
        b'1'..=b'9' | b'-' | b'/' | b'.' | b':' | b'\r' | b'\n' => 3,
        b'A'..=b'Z' | b'=' | b'"' | b'<' | b'>' | b'_' | b',' | b';' => 4,
        _ => 5,
    }
}
