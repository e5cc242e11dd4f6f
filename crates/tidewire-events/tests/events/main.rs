//! The crate from outside: messages, JSON, folding against a naive model, and the fuzz target's driver.
#![forbid(unsafe_code)]

mod common;
mod folding;
mod messages;
mod seeds;
mod varied;
