//! The ring: one producer, any number of readers, none of which the producer waits for.

mod atomic;
mod producer;
mod reader;
mod words;

#[cfg(test)]
mod tests;

pub use reader::{Corrupt, Next};

pub(crate) use producer::{Limits, Producer};
pub(crate) use reader::{Cursor, Member, Step};
pub(crate) use words::Words;
