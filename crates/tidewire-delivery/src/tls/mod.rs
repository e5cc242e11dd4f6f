//! Connections.

mod config;
mod link;
mod words;

pub use config::{client, server};
pub use link::{Link, LinkError, linger};
