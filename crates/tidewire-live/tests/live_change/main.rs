//! Changes of a running capture, as a handle of libpcap has them: filters, directions, groups. Needs root and `ip`;
//! says so otherwise.
#![forbid(unsafe_code)]

#[path = "../common/mod.rs"]
mod common;
mod filters;
mod gather;
mod groups;
mod immediate;
mod renewed;
mod rig;
mod steered;
