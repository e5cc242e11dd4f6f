//! Read-only header views: one walk from the link layer to the transport, offsets and never copies.
//!
//! [`decode`] (or [`decode_into`]) is the only entry point that the engine uses. Nothing here allocates, reads a clock or
//! panics, and the work for a frame is bounded by named limits however its headers are nested.
//!
//! Choices where the protocols leave one:
//!
//! - What a receiving host would drop for contradicting itself is [`Kind::Malformed`], with its reason: an IP length
//!   beyond the frame, a TCP data offset beyond the segment, a UDP length beyond the packet. What was only cut by the
//!   snap length keeps its stated lengths; it is malformed only if the headers that a flow needs are missing.
//! - The flow is that of the innermost IP packet within [`Settings::tunnel_depth`] that could be walked to its end. Where
//!   a tunnel's inside is malformed, cut too short, or no IP (ARP in VXLAN), the packet belongs to the flow that carries
//!   it. Nothing is lost that way, and a UDP port alone never makes a tunnel.
//! - An IPv4 total length of 0 (segmentation offload, seen on the sender) means the rest of the frame; an IPv6 payload
//!   length of 0 without a jumbo option means that only where the rest is longer than 65,535 bytes.
//! - An IPv6 fragment header that neither follows nor precedes another fragment is walked over (RFC 6946).
//! - Checksums are not looked at by the walk: [`transport_checksum`] and [`ipv4_header_checksum`] are for who wants them.
#![forbid(unsafe_code)]

mod ah;
pub mod checksum;
mod decoded;
mod erspan;
mod ethernet;
mod fast;
mod frame_relay;
mod geneve;
mod gre;
mod gtpu;
mod ieee80211;
mod ipv4;
mod ipv6;
mod link;
mod llc;
mod malformation;
mod mpls;
mod nflog;
mod null;
mod ppp;
mod radiotap;
mod sll;
mod tcp;
mod teredo;
mod transport;
mod udp;
mod view;
mod vxlan;
mod walk;

pub use checksum::{Checksum, ipv4_header_checksum, transport_checksum};
pub use decoded::{Brief, Decoded, Fragment, Kind, Tunnel, TunnelKind};
pub use link::LinkType;
pub use malformation::Malformation;
pub use tcp::{TcpHeader, TcpOption, TcpOptions, flag};
pub use view::{addresses, icmp_type_and_code, ports};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

/// What the walk looks through, and how deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many encapsulations (GRE, IP in IP, VXLAN, ...) are looked through; 0: the flow is the outermost IP header's.
    pub tunnel_depth: u8,
    /// UDP destination ports taken as VXLAN (RFC 7348: 4789; Linux's older default: 8472).
    pub vxlan_ports: [u16; 2],
    /// UDP destination port taken as GENEVE (RFC 8926: 6081).
    pub geneve_port: u16,
    /// UDP port taken as GTP-U (3GPP TS 29.281: 2152).
    pub gtpu_port: u16,
    /// UDP port taken as Teredo (RFC 4380: 3544).
    pub teredo_port: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self { tunnel_depth: 8, vxlan_ports: [4789, 8472], geneve_port: 6081, gtpu_port: 2152, teredo_port: 3544 }
    }
}

impl Settings {
    /// Whether a datagram between these ports may carry a tunnel.
    #[inline]
    #[must_use]
    pub fn udp_tunnel(&self, source: u16, destination: u16) -> bool {
        self.vxlan_ports.contains(&destination)
            || destination == self.geneve_port
            || source == self.gtpu_port
            || destination == self.gtpu_port
            || source == self.teredo_port
            || destination == self.teredo_port
    }
}

/// Walks `frame` from its link layer to the innermost transport header.
///
/// `wire_bytes` is the frame's length on the wire; `frame` may be shorter (snapped). Where `frame` is longer, its length
/// counts.
#[must_use]
#[inline]
pub fn decode(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings) -> Decoded {
    let mut decoded = Decoded::EMPTY;
    decode_into(link, frame, wire_bytes, settings, &mut decoded);
    decoded
}

/// As [`decode`], into a place that is used again and again: for the common frames only what changes is written.
/// [`Decoded::fragment`] means something for fragments alone. What is looked at next is returned besides.
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
    walk::decode(link, frame, wire_bytes, settings, decoded);
}

/// How a fuzzer's input is read: link type (an index into [`LinkType::SUPPORTED`]), bytes of the frame that were not
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
