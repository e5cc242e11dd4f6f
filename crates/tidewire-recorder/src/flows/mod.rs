//! The lean flow table: who a packet belongs to, without reassembly.

mod cache;
mod key;
mod lane;
mod table;

pub(crate) use key::{Found, Key, Keyed, Seen, Walk};
pub(crate) use table::Flows;
