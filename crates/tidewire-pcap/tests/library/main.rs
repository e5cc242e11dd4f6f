//! The drop-in library as C programs (`tests/c`) meet it: what it exports, what its calls promise for interfaces and files, and
//! what it does in a set-user-ID program.
#![forbid(unsafe_code)]

#[path = "../common/mod.rs"]
mod common;
mod contract;
mod gather;
mod offline;
mod setuid;
mod symbols;
