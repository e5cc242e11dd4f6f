//! Networks to send over: cables (veth pairs) in namespaces of their own, gone when nobody needs them.

mod address;
mod build;
mod named;
mod network;

pub use address::has_address;
pub use build::{ALIAS, Cable, Layout, is_ours, missing};
pub use named::Named;
pub use network::Network;
