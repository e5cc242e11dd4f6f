//! Traffic made to order, and the networks to send it over.
//!
//! A [`traffic::Traffic`] makes frames, a [`Plan`] says where, how fast and how many, [`run`] sends them: out of the kernel
//! itself by XDP live frames where that works, through a packet socket elsewhere. Every frame carries a [`number`], so that
//! whoever receives them can tell which were lost. What was sent is read off the interfaces' own counters.
//!
//! A size of a frame is its size on the cable, with the FCS of 4 bytes that memory does not hold: the smallest has 64 bytes,
//! of which 60 are in memory. A rate in bits counts preamble and gap too, 20 bytes a frame, so that 10 Gbit/s of 64-byte
//! frames are 14.88 million a second.
#![forbid(unsafe_code)]

pub mod craft;
mod error;
pub mod net;
pub mod number;
pub mod random;
mod rate;
mod send;
mod size;
pub mod traffic;

pub use error::Error;
pub use rate::Rate;
pub use send::{Ended, Plan, Progress, Report, Sender, Sent, Sink, run};
pub use size::{FRAME_BYTES_MAX, Sizes};
