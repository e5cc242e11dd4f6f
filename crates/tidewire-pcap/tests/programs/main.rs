//! Real programs, as distributed, over the drop-in library: they print what they print over the system's libpcap, alone and
//! as several instances that share the packets, from interfaces and from files. Where a program is not installed, or
//! privileges lack, each test says so and passes.
#![forbid(unsafe_code)]

mod active;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod list;
mod read;
mod run;
mod shared;
mod trace;
