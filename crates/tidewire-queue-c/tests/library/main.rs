//! The library as C programs use it, beside the Rust reader and a reader in Python that was written from docs/queues.md.

#[path = "../common/mod.rs"]
mod common;
mod events;
mod files;
mod live;
mod programs;
mod symbols;
