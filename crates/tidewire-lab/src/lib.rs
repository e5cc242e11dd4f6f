//! Correctness: adversaries, the kernel as an oracle, random scripts against it, and generated captures.
//!
//! Nothing here is part of the product; the command `tidewire-lab` and the workspace's tests use it. Figures are made by
//! `tidewire-bench`.

pub mod attack;
pub mod differential;
pub mod evasion;
pub mod generate;
pub mod oracle;
pub mod pcapfile;
pub mod sys;

pub use tidewire_gen::{craft, net, random};
