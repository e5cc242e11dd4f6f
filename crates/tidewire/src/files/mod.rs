//! Runs over files, and over anything else that gives bytes or frames.

mod builder;
mod filtered;
mod history;
mod input_loop;
mod packets;
mod run;
mod streams;

pub use builder::Files;
pub use packets::Packets;
pub use streams::Streams;
#[cfg(feature = "protocols")]
pub(crate) use {input_loop::InputLoop, run::SingleRun};
