//! Nodes of an expression, its limits and its errors.

use crate::select::{field::Source, value::Test};

/// Most tests of an expression: the bits of `Seen`.
pub const TESTS_MAX: usize = 64;

/// Bytes of an expression, at most.
pub const TEXT_BYTES_MAX: usize = 4096;

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectError {
    /// Where, in characters from 1.
    pub column: usize,
    /// The mistake, and what to do.
    pub message: String,
}

impl std::fmt::Display for SelectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at character {}: {}", self.column, self.message)
    }
}

impl std::error::Error for SelectError {}

/// Tests and how they are joined.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Atom(usize),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// A test of one field.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    /// The name of the field.
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) test: Test,
}

impl Atom {
    /// Whether the field's value is in the streams' bytes, or says how these were put together.
    pub(super) fn is_of_bytes(&self) -> bool {
        const OF_BYTES: [&str; 5] = ["service", "name", "transactions", "gaps", "overlap_conflicts"];
        let first = self.name.split('.').next().unwrap_or_default();
        matches!(self.source, Source::Member(..)) || OF_BYTES.contains(&first)
    }
}

impl Node {
    /// Whether it is fulfilled where these tests are.
    pub(super) fn holds(&self, bits: u64) -> bool {
        match self {
            Self::Atom(place) => bits >> place & 1 == 1,
            Self::Not(node) => !node.holds(bits),
            Self::All(nodes) => nodes.iter().all(|node| node.holds(bits)),
            Self::Any(nodes) => nodes.iter().any(|node| node.holds(bits)),
        }
    }
}
