//! A drop-in libpcap: the C ABI of pcap(3PCAP), with fan-out, locality buffering and Tidewire's capture engines behind it.
//!
//! Files, filter compilation and devices that are not Linux network interfaces are left to the system's libpcap. Tidewire
//! captures if a call, the environment or a configuration file requests what the system's libpcap cannot do.
#![allow(unsafe_code, reason = "a C ABI; each file says why it needs it, each block why it is sound")]

mod abi;
mod error;
mod event;
mod fanout;
mod handle;
mod live;
mod offline;
mod report;
mod resolve;
mod system;
mod thread;
