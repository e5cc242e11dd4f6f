//! Expensive content: the cost of its packets against that of packets of a benign twin, in instructions.
//!
//! Each kind is a function of `traffic` and a line of `rows::ROWS`. Captures of three sizes separate the cost of a packet from that of the
//! start, and what grows with the length of the input from what does not. `captures` makes them, `copies` runs a command over them,
//! `cost` holds the figures of a command, `measure` decides what is run, `table` compares and prints.

mod captures;
mod copies;
mod cost;
mod measure;
mod place;
mod rows;
mod table;
mod traffic;

pub use measure::{Options, run};
