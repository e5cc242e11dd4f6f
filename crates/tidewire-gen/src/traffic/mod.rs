//! Generators of frames.

mod flows;
mod fragments;
mod headers;
mod made;
mod pattern;
mod replay;
mod rewrite;
mod source;
mod tcp;

pub use flows::{Class, FlowKind, Flows, Order};
pub use fragments::{FragmentOrder, FragmentSettings, Fragments};
pub use headers::Link;
pub(crate) use made::MACS;
pub use made::Made;
pub(crate) use pattern::PATTERN;
pub use replay::{Replay, ReplayError, ReplaySettings};
pub use source::Traffic;
pub use tcp::{CONCURRENT_MAX, Connections, TcpSettings};
