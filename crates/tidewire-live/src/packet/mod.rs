//! Packet sockets: TPACKET_V3 rings (packet(7)), alone or in fan-out groups.
//!
//! [`Plan`] follows from the settings: the number and size of a worker's rings on an interface, and the steering programs.
//! [`Plan::open`] opens all rings of an interface, so that no worker sees a frame before every filter and every member of the
//! group is in place.
//!
//! A block of frames goes to user space when it is full, or of an age ([`LiveSettings::block_timeout`](super::LiveSettings::block_timeout)): the kernel's own rule makes a busy link fill
//! blocks and a quiet one deliver in time, whatever the rate is.

mod checksum;
mod cross_process_group;
mod error_hints;
mod filters;
mod group;
mod groups;
mod hw_timestamps;
mod plan;
mod ring;
mod ring_geometry;
mod slot;
mod sock_diag;
mod socket_filter;
mod socket_setup;
mod stale_frames;
mod steering;
mod vlan_filter;

pub(crate) use error_hints::join_conflict;
pub use filters::{Filters, SocketFilter};
pub use groups::groups_in_use;
pub use plan::{Group, Plan, SteeredOut};
pub use ring::PacketRing;
pub use slot::Slot;
pub(crate) use steering::flow_steering;
