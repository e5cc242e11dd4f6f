//! A drop-in libpcap: the C ABI of pcap(3PCAP), with fan-out, locality buffering and Tidewire's capture engines behind it.
//!
//! Files, filter compilation and devices that are not Linux network interfaces are left to the system's libpcap. Tidewire
//! captures if a call, the environment or a configuration file requests what the system's libpcap cannot do.
//!
//! A handle made by `pcap_create` keeps one of the system's beside it until activation: settings go to both, so that
//! the system's own rules apply.
//!
//! **Filters** run in the kernel. The worker applies a new filter to packets that arrived before it, and the handle
//! applies it to packets already gathered; if the kernel does not accept a filter, it is applied to every packet.
//!
//! ```text
//!  program ─► abi/        every symbol of the system's libpcap, and pcap_fanout
//!               │ whose handle is it?
//!               ├─ the system's own pointer ──────────────► system.rs: the same function there (dlopen)
//!               └─ Handle: Inactive ─ activate ─┬─ no settings ──► State::System: passed on
//!                          ▲                    └─ State::Live
//!                  resolve.rs: name, environment, file                 live/: Worker ─► batch ─► order ─► callback
//! ```
#![allow(unsafe_code, reason = "a C ABI; each file says why it needs it, each block why it is sound")]

mod abi;
mod control;
mod error;
mod event;
mod fanout;
mod handle;
mod inactive;
mod live;
mod offline;
mod report;
mod resolve;
mod system;
mod thread;
mod types;
