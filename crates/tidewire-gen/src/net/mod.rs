//! Networks to send over: veth pairs in private namespaces, which are removed after use.

mod address;
mod build;
mod named;
mod network;

pub use address::has_address;
pub use build::{ALIAS, Cable, Layout, is_ours, missing};
pub use named::Named;
pub use network::Network;
