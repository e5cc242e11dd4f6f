//! Runs over files, and over anything else that gives bytes or frames.

mod builder;
mod filtered;
mod history;
mod reading;
mod run;
mod streams;

pub use builder::Files;
pub use streams::Streams;
