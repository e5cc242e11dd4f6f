/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 64 << 10;

/// One pattern: what it is called in the output, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As it was given.
    pub name: String,
    /// What is looked for; not empty.
    pub bytes: Vec<u8>,
}

/// An occurrence: the pattern's index, and where it ends in the piece, in bytes. It may begin before the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Bytes of the piece up to the occurrence's end.
    pub end: usize,
    /// Index of the pattern.
    pub pattern: u32,
}
