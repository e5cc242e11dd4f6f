//! The exported symbols: what pcap.h, pcap/bpf.h and pcap/namedb.h declare, and `pcap_fanout`.
//!
//! Each function finds the owner of a handle and passes the call on. None holds a borrow while a callback of the program runs.
//! The library never prints.

mod caller;
mod forward;
mod handle;
mod open;
mod variables;
