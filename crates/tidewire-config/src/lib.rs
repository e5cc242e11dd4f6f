//! Reads configuration in TOML. Values are read with their places, so that a message names line and column; every mistake of a file is noted,
//! and reading continues behind it.
//!
//! The configuration of a sensor is read so, and files with options of the command.
#![forbid(unsafe_code)]

mod document;
mod mistake;
#[cfg(test)]
mod tests;

pub use document::{Document, Entry, Key, Mistakes, Value, items, kind, shown};
pub use mistake::{Mistake, nearest, quoted};
