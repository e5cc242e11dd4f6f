//! Read-only header views: one walk from the link layer to the transport, offsets and never copies; and what all crates
//! hand packets to each other in: [`Batch`], [`Frame`].
//!
//! [`decode`] (or [`decode_into`]) is the only entry point that the engine uses. Nothing here allocates, reads a clock or
//! panics, and the work for a frame is bounded by named limits however its headers are nested.
//!
//! Choices where the protocols leave one:
//!
//! - What a receiving host would drop for contradicting itself is [`Kind::Malformed`], with its reason: an IP length
//!   beyond the frame, a TCP data offset beyond the segment, a UDP length beyond the packet. What was only cut by the
//!   snap length keeps its stated lengths; it is malformed only if the IP header is not whole. A cut transport header
//!   is [`Kind::HeaderCut`], a packet of the flow whose addresses and ports are there.
//! - The flow is that of the innermost IP packet within [`Settings::tunnel_depth`] that could be walked to its end. Where
//!   a tunnel's inside is malformed, cut too short, or no IP (ARP in VXLAN), the packet belongs to the flow that carries
//!   it. Nothing is lost that way, and a UDP port alone never makes a tunnel: its header must be one, and where that says
//!   little (L2TPv3, LISP, AYIYA, MPLS, IPComp), lengths and checksum of the IP packet inside must be right, too.
//! - An IPv4 total length of 0 (segmentation offload, seen on the sender) means the rest of the frame; an IPv6 payload
//!   length of 0 without a jumbo option means that only where the rest is longer than 65,535 bytes.
//! - An IPv6 fragment header that neither follows nor precedes another fragment is walked over (RFC 6946).
//! - What a host drops by its own rules or settings, though no header contradicts itself (options and extension headers,
//!   link addresses), is walked as any other packet, and [`Decoded::doubts`] says so.
//! - Checksums are not looked at by the walk, but for those of what carries a tunnel: [`transport_checksum`] and [`ipv4_header_checksum`] are for who wants them.
#![forbid(unsafe_code)]

mod ah;
mod ayiya;
mod batch;
mod capwap;
pub mod checksum;
mod decoded;
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
mod ieee80211;
mod ieee802154;
mod ipcomp;
mod ipv4;
mod ipv4_options;
mod ipv6;
mod ipv6_options;
mod l2tp;
pub mod legible;
mod link;
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
mod sll;
mod switch_tag;
mod tcp;
mod teredo;
mod token_ring;
mod transport;
mod udp;
mod view;
mod vxlan;
mod vxlan_gpe;
mod walk;

pub use batch::{Batch, ChecksumStatus, Frame, Memory, Parts};
pub use checksum::{Checksum, ipv4_header_checksum, transport_checksum};
pub use decoded::{Brief, Decoded, Fragment, Kind, Tunnel, TunnelKind};
pub use doubts::Doubts;
pub use ieee80211::{SUBFRAMES_MAX, Subframe, decode_subframe, subframes};
pub use link::LinkType;
pub use malformation::Malformation;
pub use other_link::OtherLink;
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
    /// Whether the checksums of what carries a tunnel are verified: see [`Doubts::OUTER_CHECKSUM`].
    pub verify_outer: bool,
    /// UDP destination ports taken as VXLAN (RFC 7348: 4789; Linux's older default: 8472).
    pub vxlan_ports: [u16; 2],
    /// UDP destination port taken as VXLAN-GPE (4790).
    pub vxlan_gpe_port: u16,
    /// UDP destination port taken as GENEVE (RFC 8926: 6081).
    pub geneve_port: u16,
    /// UDP destination port taken as GRE (RFC 8086: 4754).
    pub gre_port: u16,
    /// UDP destination port taken as MPLS (RFC 7510: 6635).
    pub mpls_port: u16,
    /// UDP destination port taken as LISP data (RFC 9300: 4341).
    pub lisp_port: u16,
    /// UDP port taken as GTP-U (3GPP TS 29.281: 2152).
    pub gtpu_port: u16,
    /// UDP port taken as Teredo (RFC 4380: 3544).
    pub teredo_port: u16,
    /// UDP port taken as L2TP (RFC 2661, RFC 3931: 1701).
    pub l2tp_port: u16,
    /// UDP port taken as CAPWAP data (RFC 5415: 5247).
    pub capwap_port: u16,
    /// UDP port taken as AYIYA (5072).
    pub ayiya_port: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tunnel_depth: 8,
            verify_outer: true,
            vxlan_ports: [4789, 8472],
            vxlan_gpe_port: 4790,
            geneve_port: 6081,
            gre_port: 4754,
            mpls_port: 6635,
            lisp_port: 4341,
            gtpu_port: 2152,
            teredo_port: 3544,
            l2tp_port: 1701,
            capwap_port: 5247,
            ayiya_port: 5072,
        }
    }
}

impl Settings {
    /// These settings without a port that makes a datagram a tunnel's.
    #[must_use]
    pub fn without_udp_tunnels(self) -> Self {
        Self {
            tunnel_depth: self.tunnel_depth,
            verify_outer: self.verify_outer,
            vxlan_ports: [0; 2],
            vxlan_gpe_port: 0,
            geneve_port: 0,
            gre_port: 0,
            mpls_port: 0,
            lisp_port: 0,
            gtpu_port: 0,
            teredo_port: 0,
            l2tp_port: 0,
            capwap_port: 0,
            ayiya_port: 0,
        }
    }

    /// Ports that only count as a datagram's destination; 0: none.
    #[inline]
    #[must_use]
    pub fn destination_ports(&self) -> [u16; 7] {
        let [vxlan, vxlan_old] = self.vxlan_ports;
        [vxlan, vxlan_old, self.geneve_port, self.vxlan_gpe_port, self.gre_port, self.mpls_port, self.lisp_port]
    }

    /// Ports that count on either side; 0: none.
    #[inline]
    #[must_use]
    pub fn either_ports(&self) -> [u16; 5] {
        [self.gtpu_port, self.teredo_port, self.l2tp_port, self.capwap_port, self.ayiya_port]
    }

    /// Whether a datagram between these ports may carry a tunnel.
    #[inline]
    #[must_use]
    pub fn udp_tunnel(&self, source: u16, destination: u16) -> bool {
        let to = self.destination_ports().iter().fold(false, |found, port| found | (*port == destination));
        self.either_ports().iter().fold(to, |found, port| found | (*port == destination) | (*port == source))
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
