//! Searches for many byte patterns at once in streams that arrive in pieces.
#![forbid(unsafe_code)]

mod automaton;
mod border;
mod error;
mod parse;
mod pattern;
mod sampled;
#[cfg(test)]
mod tests;

pub use border::Border;
pub use error::PatternError;
pub use parse::{Syntax, parse, parse_file};
pub use pattern::{Hit, ID_BYTES_MAX, MATCHES_AT_MAX, PATTERN_BYTES_MAX, Pattern, SEVERITIES};

use automaton::Automaton;
use sampled::Sampled;

/// Longest pattern that is searched by samples; that many bytes of a direction are kept between pieces. For longer ones,
/// repeating them for each small segment would cost more than the automaton.
const SAMPLED_BYTES_MAX: usize = 1024;

/// Most patterns with the same four bytes for samples: an attacker might send nothing else.
const SHARED_MAX: u32 = 16;

/// A set of patterns, ready to search.
pub enum Patterns {
    /// By samples of four bytes.
    Sampled(Sampled),
    /// By an Aho-Corasick automaton: patterns of less than four bytes, very long ones, or many similar ones.
    Automaton(Box<Automaton>),
}

impl Patterns {
    /// Prepares a set of patterns, none of them empty. `ignore_case` is for all of them; else each says so itself.
    ///
    /// # Errors
    /// The set is too large for an automaton.
    pub fn new(patterns: &[Pattern], ignore_case: bool) -> Result<Self, PatternError> {
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

    /// Finds every occurrence that ends in `piece`, which follows the bytes of `border`. The order is unspecified. Returns how many
    /// were left out: where more than [`MATCHES_AT_MAX`] end at one byte, only the longest may be found.
    #[inline]
    pub fn find(&self, border: &mut Border, piece: &[u8], found: &mut impl FnMut(Hit)) -> u64 {
        match self {
            Self::Sampled(sampled) if border.is_costly() => sampled.find_by_automaton(border, piece, found),
            Self::Sampled(sampled) => {
                sampled.find(border, piece, found);
                0
            }
            Self::Automaton(automaton) => automaton.find(&mut border.states, piece, found),
        }
    }
}
