//! AF_XDP: frames that an XDP program redirected, before the kernel has made packets of them.
//!
//! A socket belongs to one receive queue of one interface. All sockets on a queue share its memory and its fill ring; each
//! worker has one on every queue where a steering program chooses the worker, else each queue belongs to one worker.
//!
//! A buffer has 2,048 bytes where the MTU leaves room for the kernel's 256, else 4,096; a frame that needs several is put
//! together beside them, up to a quarter of the ring's memory. Frames are stamped by the program where they arrive, if the
//! driver has room for it; else they have the time at which they were collected.
//!
//! What AF_XDP does not do. Outgoing frames are not seen. A tag that the card takes out of frames is not seen either, nor by
//! the filter, natively or generically (tried on a veth; `ethtool -K … rxvlan off` keeps the card from it). Frames for the
//! host are taken away from it. An interface that is removed ends its rings: new ones need the capabilities that were given
//! up. Switched off and on, or renamed, it goes on.

mod engine;
mod features;
mod plan;
mod probe;
mod refusal;
mod ring;
mod side;
mod slot;
#[cfg(test)]
mod tests;

pub use engine::{XdpAttachment, XdpCapture, XdpEngine};
pub use plan::XskPlan;
pub use probe::{Support, probe};
pub use ring::XskRing;
