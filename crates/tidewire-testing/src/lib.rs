//! What tests share: waits that end and say what they waited for, signals without a program, which programs a test may
//! count on, and filter expressions with packets that they ask for. A dependency of tests only.
//!
//! A test waits by this crate and not by [`std::process::Child::wait`] and its like, which may wait for ever: a rule of the
//! house (`tests/house/` of the lab) holds it.
#![forbid(unsafe_code)]

mod ends;
pub mod filters;
mod lines;
mod privileges;
mod programs;

pub use ends::{Ends, InTime, PATIENCE, join_in_time, signal, wait_until};
pub use lines::Lines;
pub use privileges::privileged;
pub use programs::{find, missing, missing_pseudo_terminals, missing_terminal, skip};
pub use rustix::process::Signal;
