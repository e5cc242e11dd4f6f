//! The capture part of the sensor with analyzers: what they see is what was captured.
#![forbid(unsafe_code)]

mod files;
mod inline;
mod ledger;
mod packets;
mod priorities;
mod rig;
