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
//! host are diverted from it. The capture survives switching the interface off and on, and renaming. It survives removal and
//! recreation, too, if each receive queue has one worker and the process still has the capabilities; if workers share a queue,
//! its rings end with the interface.
//!
//! Nor can processes share an interface. A queue's sockets share one piece of memory (XDP_SHARED_UMEM), which is a process's
//! own. Queues could belong to several processes, but the program that redirects, and its map of sockets, belong to the
//! attachment: a later process would have to find the map (by its number, which takes CAP_SYS_ADMIN, or pinned in a mounted
//! file system, where it stays behind when processes are killed), the attachment would have to outlive the one who made it,
//! and frames of a queue whose process is gone would go nowhere. Packet sockets' groups have none of these troubles.

mod attachment;
mod engine;
mod errors;
mod features;
mod linearize_buffer;
mod losses;
mod plan;
mod probe;
mod reattach;
mod ring;
mod slot;
mod sockets;
#[cfg(test)]
mod tests;

pub use attachment::XdpAttachment;
pub use engine::{XdpCapture, XdpEngine};
pub(crate) use features::Features;
pub use plan::XskPlan;
pub use probe::{Support, probe};
pub use ring::XskRing;
