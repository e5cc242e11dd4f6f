//! The exported symbols: what pcap.h, pcap/bpf.h and pcap/namedb.h declare, and `pcap_fanout`.
//!
//! Each function finds out whose a handle is and passes the call on; none of them holds anything while a program's callback
//! runs. Nothing is ever printed.

mod caller;
mod forward;
mod handle;
mod open;
pub mod types;
mod variables;
