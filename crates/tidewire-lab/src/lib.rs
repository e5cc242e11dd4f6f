//! Traffic, adversaries, oracles, peers and figures: what shows that Tidewire is right and fast.
//!
//! Nothing here is part of the product; the `tidewire-lab` command and the workspace's tests use it.

pub mod attack;
pub mod bench;
pub mod concurrency;
pub mod count;
pub mod differential;
pub mod evasion;
pub mod generate;
pub mod live;
pub mod locality;
pub mod oracle;
pub mod pcap;
pub mod pcapfile;
pub mod sys;

pub use tidewire_gen::{craft, net, random};
