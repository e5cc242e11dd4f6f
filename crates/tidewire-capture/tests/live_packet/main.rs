//! Packet sockets over cables between interfaces of the test's own network namespaces. Needs root and `ip`; says so
//! otherwise.
#![forbid(unsafe_code)]

mod craft;
mod delivery;
mod fanout;
mod refusals;
mod rig;
