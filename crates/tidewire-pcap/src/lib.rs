//! A drop-in libpcap: the C ABI of pcap(3PCAP), with fan-out, locality buffering and Tidewire's capture engines behind it.
//!
//! Files, filter compilation and devices that are not Linux network interfaces are left to the system's libpcap. Tidewire
//! captures if a call, the environment or a configuration file requests what the system's libpcap cannot do.
//!
//! # Whose handle, and which capture
//!
//! ```text
//!  program ─► abi/        every symbol of the system's libpcap, and pcap_fanout
//!               │ whose handle is it?
//!               ├─ the system's own pointer ──────────────► system.rs: the same function there (dlopen)
//!               └─ Handle: Inactive ─ activate ─┬─ nothing asked ─► State::System: passed on
//!                          ▲                    └─ State::Live
//!                  resolve.rs: name, environment, file                 live/: Worker ─► batch ─► order ─► callback
//! ```
//!
//! - **Whose handle** (`handle/`). Two words at the beginning of our handles identify them; every other pointer is the system
//!   library's, which keeps files, dead handles and devices that are no interfaces. A handle made by `pcap_create` keeps one of the
//!   system's beside it until activation: settings go to both, so that the system's own rules apply.
//! - **Two ways to be loaded** (`system.rs`). When preloaded, the system's library may already be in the process, and its own calls
//!   of exported functions then reach us: while we call it, they go straight back. When installed in its place, it is found by path.
//! - **Configuration** (`tidewire-pcap-config`). One pure function makes a `Plan` of the name, the environment and the file, or an error
//!   with its place. A plan that asks for nothing leaves the handle to the system's library.
//! - **Control** (`handle/control.rs`). What a capture knows of its handle: what ends a read, and where errors go. A read reports
//!   whether a callback closed the handle; the owner of both then closes it.
//! - **Reading** (`live/read.rs`, `live/batch.rs`). A `Worker` gathers frames in place; the program's callback gets addresses in
//!   the ring. A batch is released after its delivery or, for `pcap_next`, when the next packet is requested. No borrow is held while a
//!   callback runs, because it may set a filter, break the loop or close the handle.
//! - **Order** (`live/order.rs`, `live/locality.rs`, `tidewire-locality/src/`). With locality, a batch is gathered until it is full,
//!   old, or half of the ring, and is delivered in the order of a list of indexes. A filter that is set meanwhile removes
//!   indexes from that list.
//! - **Filters** run in the kernel. The worker applies a new filter to packets that arrived before it, and the handle applies it to packets
//!   already gathered; if the kernel does not accept a filter, it is applied to every packet.
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
