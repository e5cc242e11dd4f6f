//! The walk from the frame's first byte to the flow: the part of every program that finds what the language refers to.
//!
//! It sees what [`tidewire_wire::decode`] sees of the usual frames, and is bounded as an eBPF program has to be: at most
//! [`TAGS`](bounds::TAGS) VLAN tags, [`EXTENSIONS`](bounds::EXTENSIONS) IPv6 extension headers, [`TUNNELS_MAX`] tunnels, [`LABELS`](bounds::LABELS) MPLS labels, and
//! [`crate::HEADERS_BYTES_MAX`] bytes. Where a bound is reached, the packet goes by what was found until then. It does not
//! judge: lengths that contradict each other do not matter as long as the bytes are there.

mod bounds;
pub(crate) mod ip;
mod link;
pub(crate) mod slot;
mod tunnel;

use crate::ir::{Builder, Condition, Label};
use crate::settings::Settings;

/// Tunnels looked through at most; each makes the program longer by a walk.
pub const TUNNELS_MAX: u8 = 4;

/// Parts of the walk that a program needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// Nothing, or bytes at fixed places.
    #[default]
    Nothing,
    /// Tags, EtherType.
    Link,
    /// IP and what it carries.
    Transport,
}

/// The walk, as deep as it is needed.
pub(crate) fn emit(builder: &mut Builder, settings: &Settings, depth: Depth) {
    let done = builder.label();
    if depth >= Depth::Link {
        let network = builder.label();
        builder.jump(slot::LINK, Condition::Equal, 0, network);
        link::outermost(builder, done);
        builder.place(network);
        // Where there is no Ethernet header, the caller knows the type.
        builder.copy(slot::L3, slot::ETHER_TYPE);
    }
    if depth >= Depth::Transport {
        levels(builder, settings, done);
    }
    builder.place(done);
}

/// The outermost IP packet, and one more for each tunnel.
fn levels(builder: &mut Builder, settings: &Settings, done: Label) {
    let tunnels = settings.wire.tunnel_depth.min(TUNNELS_MAX);
    for level in 0..=tunnels {
        link::over_pppoe(builder, done);
        link::over_mpls(builder, done);
        link::over_ethernet(builder, done);
        ip::emit(builder, done);
        ip::ports(builder, done);
        if level < tunnels {
            tunnel::emit(builder, settings, done);
        }
    }
}
