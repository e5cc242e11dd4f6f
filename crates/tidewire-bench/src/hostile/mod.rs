//! Expensive content: the cost of its packets against that of packets of a benign twin, in instructions.
//!
//! Each kind is a function of `traffic` and a line of `rows::ROWS`. Captures of two sizes, and the start of each command, separate the
//! cost of a packet from that of the start, and what grows with the length of the input from what does not. `cost` holds the figures of a command,
//! `measure` makes and runs what they come from, `table` compares and prints them.

mod cost;
mod measure;
mod place;
mod rows;
mod table;
mod traffic;

pub use measure::{Options, run};
