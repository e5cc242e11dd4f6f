//! Patterns that cannot be searched for.

use aho_corasick::BuildError;

use crate::{ID_BYTES_MAX, PATTERN_BYTES_MAX, SEVERITIES};

/// The meaning of bars, and how to write them as text.
const BARS: &str = "|0d 0a| stands for bytes in hexadecimal; for a bar itself write |7c|, or text: before the pattern";
/// The meaning of attributes.
const ATTRIBUTES: &str = "expected |id=NAME severity=LEVEL nocase| before the pattern, each of them at most once";

/// The author's: a pattern, or a set of them, with a mistake. Texts are those of the pattern.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It has no bytes.
    #[error("empty pattern '{name}'")]
    Empty {
        /// The pattern.
        name: String,
    },
    /// It has more than [`PATTERN_BYTES_MAX`] bytes.
    #[error("pattern must be at most {PATTERN_BYTES_MAX} bytes, got {bytes}")]
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
    /// It is to be hexadecimal, and has other characters or half a byte.
    #[error("invalid pattern '{name}': expected pairs of hexadecimal digits")]
    Digits {
        /// The pattern.
        name: String,
    },
    /// A bar has no second one.
    #[error("invalid pattern '{name}': unpaired '|': {BARS}")]
    Bar {
        /// The pattern.
        name: String,
    },
    /// Two bars have something else than hexadecimal digits between them.
    #[error("invalid pattern '{name}': '{section}' is not hexadecimal: {BARS}")]
    Section {
        /// The pattern.
        name: String,
        /// The text between the bars.
        section: String,
    },
    /// Attributes without a bar behind them.
    #[error("the attributes do not end: {ATTRIBUTES}")]
    Unended,
    /// An id that is too long, empty, or has other characters.
    #[error("invalid id '{}': expected 1 to {ID_BYTES_MAX} letters, digits, '.', '-' and '_'", id.escape_debug())]
    Id {
        /// The id.
        id: String,
    },
    /// An unknown severity.
    #[error("unknown severity '{}': expected one of {}", level.escape_debug(), SEVERITIES.join(", "))]
    Severity {
        /// The severity.
        level: String,
    },
    /// An unknown attribute.
    #[error("unknown attribute '{}': {ATTRIBUTES}", word.escape_debug())]
    Attribute {
        /// The attribute.
        word: String,
    },
    /// An attribute that is there already.
    #[error("'{}' is there twice: {ATTRIBUTES}", word.escape_debug())]
    Twice {
        /// The attribute.
        word: String,
    },
    /// A line of a file of patterns.
    #[error("line {number}: {mistake}")]
    Line {
        /// Its number, from 1.
        number: usize,
        /// The mistake in it.
        mistake: Box<PatternError>,
    },
    /// The set is too large for an automaton.
    #[error("too many patterns: {0}")]
    TooMany(BuildError),
}
