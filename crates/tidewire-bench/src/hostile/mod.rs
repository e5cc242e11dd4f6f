//! Content that a stranger makes dear: what a packet of it costs against a packet of its benign twin, in instructions.
//!
//! Each kind is a function of `traffic` and a line of `rows::ROWS`. Captures of three sizes separate the cost of a packet from that of
//! the start of the program, and what grows with the length of the input from what does not.

mod measure;
mod place;
mod rows;
mod traffic;

pub use measure::{Options, run};
