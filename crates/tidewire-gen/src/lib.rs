//! A traffic generator, and networks to send over.
//!
//! A [`traffic::Traffic`] generates frames, a [`Plan`] sets interfaces, rate and number, [`run`] sends them: from the kernel
//! by XDP live frames where that works, through a packet socket elsewhere. Every frame carries a [`number`], so that
//! a receiver can identify lost frames. The interfaces' counters show what was sent.
//!
//! Frame sizes are those on the wire, including the FCS of 4 bytes that is not in memory: the smallest has 64 bytes,
//! of which 60 are in memory. A rate in bits counts preamble and gap too, 20 bytes a frame, so that 10 Gbit/s of 64-byte
//! frames are 14.88 million a second.
//!
//! Flows are a few bytes each; frames are made from templates, in the kernel (a program that redirects frames of
//! `BPF_PROG_TEST_RUN` to the interface) or in user space, and numbered so that a receiver can say which are missing.
#![forbid(unsafe_code)]

pub mod craft;
mod error;
pub mod net;
pub mod number;
pub mod random;
mod rate;
mod send;
mod setting;
mod size;
pub mod traffic;

pub use error::Error;
pub use rate::Rate;
pub use send::{Plan, Progress, Report, RunEnd, Sender, Sent, Sink, run};
pub use setting::SettingError;
pub use size::{FRAME_BYTES_MAX, Sizes};
