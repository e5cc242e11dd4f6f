//! Packet sockets over cables between interfaces of the test's own network namespaces. Needs root and `ip`; says so
//! otherwise.
#![forbid(unsafe_code)]

mod beginning;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod craft;
mod delivery;
mod directions;
mod fanout;
mod machine;
mod refusals;
mod rig;
