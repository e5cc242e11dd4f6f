//! The C library of analyzers: it reads the queues of a Tidewire sensor, and emits events. `include/tidewire/queue.h` and
//! `include/tidewire/event.h` document every function.
//!
//! Nothing that a caller passes or a publisher writes makes it panic, and no panic leaves it (`error::guard`); what a pointer must
//! be is said in the header, and null is an error.
#![allow(unsafe_code, reason = "a C ABI: pointers of the caller")]

mod error;
mod event_exports;
mod events;
mod exports;
mod handle;
mod names;
mod program;
mod types;

#[cfg(test)]
mod tests;
