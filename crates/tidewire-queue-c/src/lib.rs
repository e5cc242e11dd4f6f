//! The C library that reads the queues of a Tidewire sensor. `include/tidewire/queue.h` documents every function.
//!
//! Nothing that a caller passes or a publisher writes makes it panic, and no panic leaves it (`error::guard`); what a pointer must
//! be is said in the header, and null is an error.
#![allow(unsafe_code, reason = "a C ABI: pointers of the caller")]

mod error;
mod exports;
mod handle;
mod names;
mod types;

#[cfg(test)]
mod tests;
