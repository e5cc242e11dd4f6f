//! Many byte patterns at once over streams that arrive in pieces.
#![forbid(unsafe_code)]

mod automaton;
mod parse;
mod pattern;
mod sampled;
#[cfg(test)]
mod tests;

pub use parse::{Syntax, parse, parse_file};
pub use pattern::{Hit, PATTERN_BYTES_MAX, Pattern};

use automaton::Automaton;
use sampled::Sampled;

/// Patterns up to this length are looked for by samples; the bytes of a direction that are kept at a border are as
/// many. Beyond it, looking at them again for each small segment would cost more than the automaton does.
const SAMPLED_BYTES_MAX: usize = 1024;

/// Patterns known by the same four bytes up to which samples are used: somebody might send nothing else.
const SHARED_MAX: u32 = 16;

/// A set of patterns, ready to be looked for.
pub enum Patterns {
    /// By samples of four bytes.
    Sampled(Sampled),
    /// By an Aho-Corasick automaton: patterns of less than four bytes, very long ones, or ones too much alike.
    Automaton(Box<Automaton>),
}

/// What is kept of one direction from one piece to the next.
#[derive(Debug, Default)]
pub struct Border {
    /// Samples: the last bytes, one less than the longest pattern has.
    tail: Vec<u8>,
    /// Automaton: the state, where one was reached.
    state: Option<aho_corasick::automaton::StateID>,
}

impl Border {
    /// Forgets what came before: bytes are missing.
    pub fn reset(&mut self) {
        self.tail.clear();
        self.state = None;
    }
}

impl Patterns {
    /// Prepares patterns, none of them empty.
    pub fn new(patterns: &[Pattern], ignore_case: bool) -> Result<Self, String> {
        let lengths = || patterns.iter().map(|pattern| pattern.bytes.len());
        let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
        if shortest >= sampled::GRAM_BYTES && longest <= SAMPLED_BYTES_MAX {
            let sampled = Sampled::new(patterns, ignore_case, SHARED_MAX);
            if sampled.shared_max() <= SHARED_MAX {
                return Ok(Self::Sampled(sampled));
            }
        }
        Ok(Self::Automaton(Box::new(Automaton::new(patterns, ignore_case)?)))
    }

    /// Finds every occurrence that ends in `piece`, which follows what `border` knows of. Not in any order.
    #[inline]
    pub fn find(&self, border: &mut Border, piece: &[u8], found: &mut impl FnMut(Hit)) {
        match self {
            Self::Sampled(sampled) => sampled.find(&mut border.tail, piece, found),
            Self::Automaton(automaton) => automaton.find(&mut border.state, piece, found),
        }
    }
}
