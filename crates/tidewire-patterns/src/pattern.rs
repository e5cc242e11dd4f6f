/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 64 << 10;

/// A pattern: its name in the output, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As given.
    pub name: String,
    /// The bytes to find; not empty.
    pub bytes: Vec<u8>,
}

/// An occurrence: the index of the pattern, and where it ends in the piece, in bytes. It may begin before the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Bytes of the piece up to the occurrence's end.
    pub end: usize,
    /// Index of the pattern.
    pub pattern: u32,
}
