//! Read-only header views: one walk from the link layer to the transport, with offsets instead of copies; and the types
//! in which all crates pass packets to each other: [`Batch`], [`Frame`].
//!
//! [`decode`] (or [`decode_into`]) is the entry point that the engine uses. Nothing here allocates, reads a clock or
//! panics, and named limits bound the work for a frame however its headers are nested.
//!
//! Where protocols leave a choice:
//!
//! - A packet that a receiving host would drop as contradictory is [`Kind::Malformed`], with its reason: an IP length
//!   beyond the frame, a TCP data offset beyond the segment, a UDP length beyond the packet. A packet truncated by the
//!   snap length keeps its stated lengths; it is malformed only if its IP header is incomplete. A truncated transport
//!   header is [`Kind::HeaderCut`], a packet of the flow whose addresses and ports are present.
//! - The flow is that of the innermost IP packet within [`Settings::tunnel_depth`] that could be walked to its end.
//!   Where the inside of a tunnel is truncated too much, or not IP (ARP in VXLAN), the packet belongs to the flow that
//!   carries it, so nothing is lost. The same holds where the inside of a datagram is malformed; in a tunnel that IP
//!   itself names (GRE, IP in IP), the packet is malformed then. A UDP port alone never makes a tunnel: the tunnel header must be valid,
//!   and where it has little redundancy (L2TPv3, LISP, AYIYA, MPLS, IPComp), lengths and checksum of the IP packet
//!   inside must be correct, too.
//! - An IPv4 total length of 0 (segmentation offload, seen on the sender) means the rest of the frame; an IPv6 payload
//!   length of 0 without a jumbo option means that only if the rest is longer than 65,535 bytes.
//! - An IPv6 fragment header that neither follows nor precedes another fragment is skipped (RFC 6946).
//! - Packets that hosts drop by their own rules or settings, although no header is contradictory (options and extension
//!   headers, link addresses), are walked as any other packet, and [`Decoded::doubts`] names the reason.
//! - The walk verifies no checksums but those of headers that carry a tunnel: for others there are
//!   [`transport_checksum`] and [`ipv4_header_checksum`].
#![deny(unsafe_code)]

mod ah;
mod ayiya;
mod batch;
mod capwap;
pub mod checksum;
mod clock;
mod decoded;
mod dispatch;
mod doubts;
mod erspan;
mod etherip;
mod ethernet;
mod fast;
mod fits;
mod frame_relay;
mod geneve;
mod gre;
mod gtpu;
mod header_promises;
mod headers;
mod icmp;
mod ieee80211;
mod ieee802154;
mod ipcomp;
mod ipv4;
mod ipv4_options;
mod ipv6;
mod ipv6_options;
mod l2tp;
mod layout;
pub mod legible;
mod link;
mod link_type;
mod lisp;
mod llc;
mod macsec;
mod malformation;
mod mpls;
mod nflog;
mod nsh;
mod null;
mod other_link;
mod pktap;
mod ppp;
mod radiotap;
mod routing;
mod sctp;
#[cfg(feature = "serde")]
mod serial;
mod settings;
mod slices;
mod sll;
mod switch_tag;
mod tcp;
mod teredo;
mod token_ring;
mod transport;
mod tzsp;
mod udp;
mod view;
mod vxlan;
mod vxlan_gpe;
mod walk;

pub use batch::{Batch, ChecksumStatus, Frame, Memory, PacketLoss, Parts};
pub use checksum::{Checksum, ipv4_header_checksum, transport_checksum};
pub use clock::{CLOCK_STEP, Pace, PacketClock};
pub use decoded::{Brief, Decoded, Fragment, Kind, Tunnel, TunnelKind};
pub use dispatch::{decode_carriers, decode_subframe};
pub use doubts::Doubts;
pub use ethernet::{EthernetHeader, VlanTag, VlanTags};
pub use headers::Headers;
pub use icmp::{IcmpHeader, icmp_counterpart, icmp_request};
pub use ieee80211::{SUBFRAMES_MAX, Subframe, subframes};
pub use ipv4::Ipv4Header;
pub use ipv6::Ipv6Header;
pub use link_type::LinkType;
pub use malformation::Malformation;
pub use other_link::OtherLink;
pub use routing::final_destination;
pub use sctp::SctpHeader;
pub use settings::{Settings, Slicing};
pub use slices::Slices;
pub use tcp::{TcpHeader, TcpOption, TcpOptions};
pub use tidewire_types::{Timestamp, Vlans, ip_protocol, tcp_flag};
pub use udp::UdpHeader;
pub use view::{addresses, icmp_type_and_code, ports};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

/// Walks `frame` from its link layer to the innermost transport header.
///
/// `wire_bytes` is the frame's length on the wire; `frame` may be shorter (truncated). If `frame` is longer, its length
/// counts.
#[must_use]
#[inline]
pub fn decode(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings) -> Decoded {
    let mut decoded = Decoded::EMPTY;
    decode_into(link, frame, wire_bytes, settings, &mut decoded);
    decoded
}

/// As [`decode`], into a reused place: for common frames only what changes is written. [`Decoded::fragment`] is
/// meaningful for fragments only. Returns the fields that are read next.
#[inline(always)]
pub fn decode_into(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings, decoded: &mut Decoded) -> Brief {
    if link == LinkType::ETHERNET
        && let Some(common) = fast::ethernet(frame, wire_bytes, settings)
    {
        return common.write(decoded);
    }
    decode_uncommon(link, frame, wire_bytes, settings, decoded);
    decoded.brief()
}

#[inline(never)]
fn decode_uncommon(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings, decoded: &mut Decoded) {
    if link == LinkType::ETHERNET
        && let Some(common) = fast::tagged(frame, wire_bytes, settings)
    {
        common.write(decoded);
        return;
    }
    dispatch::decode(link, frame, wire_bytes, settings, decoded);
}

/// Splits a fuzzer's input: link type (an index into [`LinkType::SUPPORTED`]), bytes of the frame that were not
/// captured and tunnel depth (5 and 3 bits), then the frame.
#[doc(hidden)]
#[must_use]
pub fn fuzz_input(input: &[u8]) -> Option<(LinkType, &[u8], u32, Settings)> {
    let (&[link, lengths], frame) = input.split_first_chunk()?;
    let link =
        LinkType::SUPPORTED.get(usize::from(link) % (LinkType::SUPPORTED.len() + 1)).copied().unwrap_or(LinkType(147));
    let wire_bytes = u32::try_from(frame.len()).ok()? + u32::from(lengths & 0x1f);
    let settings = Settings { tunnel_depth: if lengths == 0 { 8 } else { lengths >> 5 }, ..Settings::default() };
    Some((link, frame, wire_bytes, settings))
}

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
