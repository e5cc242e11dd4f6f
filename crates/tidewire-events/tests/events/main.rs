//! The crate from outside: messages and JSON.
#![forbid(unsafe_code)]

mod common;
mod messages;
