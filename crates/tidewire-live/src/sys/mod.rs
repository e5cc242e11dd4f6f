//! System calls: memory shared with the kernel, packet sockets, AF_XDP, eBPF, interfaces.
//!
//! JUSTIFICATION: none of these has a wrapper in the standard library, and their arguments are addresses. What is public
//! here is safe to call; it is public for this project's own programs; exempt from semantic versioning.
#![allow(unsafe_code)]

pub mod arena;
pub mod bpf;
pub mod ethtool;
pub mod mmap_array;
pub mod namespace;
pub mod net;
pub mod netlink;
pub mod packet;
pub mod process;
#[cfg(test)]
pub(crate) mod sandbox_probe;
pub mod shared_counters;
pub mod transmit;
pub mod wait;
pub(crate) mod xsk;
