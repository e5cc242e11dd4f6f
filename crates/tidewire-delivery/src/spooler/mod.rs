//! The spooler: a process that sends what the store has to its destinations, each from a thread of its own.

mod backoff;
mod lane;
mod positions;
mod reporter;
mod run;
mod source;
mod stop;

pub use run::{main, run_within};
