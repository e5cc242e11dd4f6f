//! Networks to send over: cables (veth pairs) in namespaces of their own, gone when nobody needs them.

mod build;
mod link;
mod named;
mod network;

pub use build::{ALIAS, Cable, Layout, missing};
pub use link::{Link, LinkCounts, all};
pub use named::Named;
pub use network::Network;
