//! From the frame's first byte to the flow: the part of every program that finds what the language speaks of.
//!
//! It sees what [`tidewire_wire::decode`] sees of the usual frames, and is bounded as an eBPF program has to be: at most
//! [`TAGS`] VLAN tags, [`EXTENSIONS`] IPv6 extension headers, [`TUNNELS_MAX`] tunnels, [`LABELS`] MPLS labels, and
//! [`crate::HEADERS_BYTES_MAX`] bytes. Where a bound is reached, the packet goes by what was found until then. It does not
//! judge: lengths that contradict each other do not matter as long as the bytes are there.

pub(crate) mod ip;
mod link;
mod tunnel;

use crate::ir::{Builder, Condition, Label, Slot};
use crate::settings::Settings;

/// VLAN tags walked over.
pub(crate) const TAGS: usize = 4;
/// MPLS labels walked over.
pub(crate) const LABELS: usize = 8;
/// IPv6 extension headers walked over, fragment header and authentication header included.
pub(crate) const EXTENSIONS: usize = 8;
/// Tunnels looked through at most; each makes the program longer by a walk.
pub const TUNNELS_MAX: u8 = 4;

/// What the walk finds, and what it works with. The caller sets the first three.
pub(crate) mod slot {
    use crate::ir::Slot;

    /// 1 where the frame begins with an Ethernet header.
    pub(crate) const LINK: Slot = 0;
    /// Where the next header is.
    pub(crate) const AT: Slot = 1;
    /// Its EtherType, once known.
    pub(crate) const ETHER_TYPE: Slot = 2;
    /// EtherType of the innermost IP packet, or of what stands behind the tags.
    pub(crate) const L3: Slot = 3;
    /// Ids of the two outermost VLAN tags, plus 1; 0 where there is none.
    pub(crate) const VLAN0: Slot = 4;
    pub(crate) const VLAN1: Slot = 5;
    /// 4 where the outermost tag is still in the frame.
    pub(crate) const TAG_BYTES: Slot = 6;
    /// 4, 6, or 0 where no IP header was found.
    pub(crate) const VERSION: Slot = 7;
    /// Where the IP header is.
    pub(crate) const IP_AT: Slot = 8;
    /// IP protocol.
    pub(crate) const PROTO: Slot = 9;
    /// Where the transport header is.
    pub(crate) const L4_AT: Slot = 10;
    /// 0: whole; 1: first fragment; 2: a later one.
    pub(crate) const FRAGMENT: Slot = 11;
    /// Flags and offset as IPv4 has them.
    pub(crate) const FRAGMENT_FIELD: Slot = 12;
    /// IPv6: where the fragment header is, or 0.
    pub(crate) const FRAGMENT_AT: Slot = 13;
    /// 1 where there are ports.
    pub(crate) const PORTS: Slot = 14;
    pub(crate) const SOURCE_PORT: Slot = 15;
    pub(crate) const DESTINATION_PORT: Slot = 16;

    /// 0: passed, 1: by one hash, 2: to a worker, 3: by two hashes, 4: dropped.
    pub(crate) const TARGET: Slot = 17;
    /// The hash, or the worker.
    pub(crate) const FIRST: Slot = 18;
    /// The second hash.
    pub(crate) const SECOND: Slot = 19;
    pub(crate) const CLASS: Slot = 20;
    pub(crate) const MARK: Slot = 21;
    pub(crate) const STATE: Slot = 22;

    /// Scratch: whoever uses one of these says nothing about it afterwards.
    pub(crate) const T0: Slot = 23;
    pub(crate) const T1: Slot = 24;
    pub(crate) const T2: Slot = 25;
    pub(crate) const T3: Slot = 26;
    pub(crate) const T4: Slot = 27;
    pub(crate) const T5: Slot = 28;
    pub(crate) const T6: Slot = 29;

    /// IPv4's addresses.
    pub(crate) const SOURCE4: Slot = 30;
    pub(crate) const DESTINATION4: Slot = 31;

    /// The first that is free.
    pub(crate) const FREE: Slot = 32;
}

/// What of the walk a program needs.
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

/// `slot` is one of these: jump.
pub(crate) fn jump_any(builder: &mut Builder, slot: Slot, values: &[u64], to: Label) {
    for value in values {
        builder.jump(slot, Condition::Equal, *value, to);
    }
}
