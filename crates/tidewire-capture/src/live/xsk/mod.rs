//! AF_XDP: frames that an XDP program redirected, before the kernel has made packets of them.
//!
//! A socket belongs to one receive queue of one interface. All sockets on a queue share its memory and its fill ring; each
//! worker has one on every queue where a steering program chooses the worker, else each queue belongs to one worker.
//!
//! What AF_XDP does not do: outgoing frames are not seen. A tag that the card takes out of frames (`ethtool -K … rxvlan off`

mod engine;
mod features;
mod plan;
mod probe;
mod ring;
mod side;
#[cfg(test)]
mod tests;

pub use engine::{XdpAttachment, XdpCapture, XdpEngine};
pub use plan::XskPlan;
pub use probe::{Support, probe};
pub use ring::XskRing;
