//! Shared by tests: waits with a time limit and a message, signals, availability of programs, and filter expressions with
//! packets that match them. A dependency of tests only.
//!
//! Tests wait by this crate and not by [`std::process::Child::wait`] and the like, which may wait forever; the house test
//! (`tests/house/` of the lab) checks this.
#![forbid(unsafe_code)]

mod archives;
mod disks;
mod ends;
pub mod filters;
mod lines;
mod privileges;
mod programs;
pub mod schemas;
mod units;

pub use archives::sums_of_segments;
pub use disks::StallingDisk;
pub use ends::{Ends, InTime, PATIENCE, join_in_time, let_pass, signal, wait_until};
pub use lines::Lines;
pub use privileges::privileged;
pub use programs::{find, missing, missing_pseudo_terminals, missing_terminal, skip};
pub use rustix::process::Signal;
pub use units::{as_unit, check_unit};
