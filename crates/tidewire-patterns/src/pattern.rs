/// Most matches that end at one byte of a stream: of more, the longest are reported. Patterns inside each other would make their
/// number of matches for each byte.
pub const MATCHES_AT_MAX: usize = 8;

/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 64 << 10;
/// Bytes of an id, at most: a name of a kind of events, which has 64, holds it behind `match.`.
pub const ID_BYTES_MAX: usize = 56;
/// Severities that a pattern can have, the least first: those of events.
pub const SEVERITIES: [&str; 5] = ["info", "low", "medium", "high", "critical"];

/// A pattern: its name in the output, its bytes, and what its author says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The id where there is one; else the pattern as given.
    pub name: String,
    /// The bytes to find; not empty.
    pub bytes: Vec<u8>,
    /// Its id: 1 to [`ID_BYTES_MAX`] letters, digits, `.`, `-` and `_`.
    pub id: Option<String>,
    /// One of [`SEVERITIES`].
    pub severity: Option<&'static str>,
    /// Whether the case of ASCII letters is ignored in this one.
    pub ignore_case: bool,
}

impl Pattern {
    /// A pattern that stands for its own bytes.
    #[must_use]
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into(), ..Self::default() }
    }
}

/// An occurrence: the index of the pattern, and where it ends in the piece, in bytes. It may begin before the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Bytes of the piece up to the occurrence's end.
    pub end: usize,
    /// Index of the pattern.
    pub pattern: u32,
}
