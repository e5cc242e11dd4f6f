//! Packets from interfaces: rings shared with the kernel, programs in it, privileges ([`live`]).
#![deny(unsafe_code)]

mod error;
mod filter;
pub mod live;
pub mod privilege;
mod remedy;
pub mod sys;

pub use error::Error;
pub use tidewire_filter::Instruction as ClassicInstruction;
