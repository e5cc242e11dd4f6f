//! The insertion and evasion cases of Ptacek and Newsham (1998), each with the result on a Linux host.
//!
//! A [`Script`] is what an adversary sends. [`play()`] sends it to the running kernel and records what the application
//! received; packets of both sides and that result are a case of `tests/corpus/pn-*`.

mod connection;
mod doubtful;
mod handshake;
mod network;
mod play;
mod script;
mod write;

pub use play::{Answer, play};
pub use script::{Cut, Script, Segment, Step};
pub use write::{Expected, write};

/// Every script.
#[must_use]
pub fn scripts() -> Vec<Script> {
    let mut all = network::scripts();
    all.extend(handshake::scripts());
    all.extend(connection::scripts());
    all.extend(doubtful::scripts());
    all
}
