//! Ethernet (IEEE 802.3): tags, and dispatch by its type field.

use crate::decoded::{Decoded, Kind};
use crate::macsec;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk, be16};
use crate::{Doubts, LinkType};

/// Destination, source and type or length, in bytes.
pub(crate) const HEADER_BYTES: usize = 14;
/// Offset of the type or length.
const TYPE: usize = 12;
/// The lowest EtherType (IEEE 802.3, 3.2.6). Below it Linux's pseudo-headers have its own numbers (`if_ether.h`).
pub(crate) const ETHER_TYPE_MIN: u16 = 0x600;

/// IPv4 (RFC 894).
pub(crate) const IPV4: u16 = 0x0800;
/// IPv6 (RFC 2464).
pub(crate) const IPV6: u16 = 0x86dd;
/// ARP (RFC 826).
pub(crate) const ARP: u16 = 0x0806;
/// Reverse ARP (RFC 903).
pub(crate) const RARP: u16 = 0x8035;
/// Customer VLAN tag (IEEE 802.1Q).
pub(crate) const VLAN: u16 = 0x8100;
/// Service VLAN tag (IEEE 802.1ad).
pub(crate) const SERVICE_VLAN: u16 = 0x88a8;
/// Stacked tags as vendors numbered them before 802.1ad.
const OLD_QINQ: [u16; 3] = [0x9100, 0x9200, 0x9300];
/// MPLS (RFC 5332): unicast or downstream-assigned, and the other.
const MPLS: [u16; 2] = [0x8847, 0x8848];
/// PPPoE session stage (RFC 2516); discovery (0x8863) never carries IP.
const PPPOE_SESSION: u16 = 0x8864;
/// A PPP frame (as GRE version 1 carries it, RFC 2637).
const PPP: u16 = 0x880b;
/// Transparent Ethernet bridging (RFC 1701, section "Current List of Protocol Types").
pub(crate) const BRIDGED_ETHERNET: u16 = 0x6558;
/// Provider backbone bridging, I-TAG (IEEE 802.1ah): 4 bytes, then a customer's Ethernet header.
const BACKBONE: u16 = 0x88e7;
/// VN-Tag (Cisco, before IEEE 802.1BR): 4 bytes, then the next type.
const VN_TAG: u16 = 0x8926;
/// E-TAG (IEEE 802.1BR): 6 bytes, then the next type.
const E_TAG: u16 = 0x893f;
/// FabricPath (Cisco): an outer Ethernet header, tag and TTL (2 bytes), then the inner one.
const FABRIC_PATH: u16 = 0x8903;

/// Cisco metadata: version and length, which are 1, a security group's option and value; then the next type.
const CISCO_METADATA: u16 = 0x8909;
/// Network service header (RFC 8300).
const NSH: u16 = 0x894f;
/// MACsec (IEEE 802.1AE).
const MACSEC: u16 = 0x88e5;
/// Redundancy tags: HSR's (IEC 62439-3) and FRER's (IEEE 802.1CB), 4 bytes, then the next type.
const REDUNDANCY: [u16; 2] = [0x892f, 0xf1c1];
/// Broadcom's older switch tag: 4 bytes, then the next type.
const BROADCOM: u16 = 0x8874;

/// Greatest value that is a length (IEEE 802.3 clause 3.2.6).
const LENGTH_MAX: u16 = 1500;

/// An Ethernet header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    walk.ethernet_header(at);
    Ok(type_or_length(walk, be16(header, TYPE), at + HEADER_BYTES))
}

/// Whether a frame to a group address carries a packet for one host. Hosts drop TCP in such frames (Linux: `tcp_v4_rcv`
/// requires `PACKET_HOST`), and should drop all other packets (RFC 1122, 3.3.6).
pub(crate) fn is_for_host_in_group(frame: &[u8], decoded: &Decoded) -> bool {
    let destination_at = match decoded.ip_version {
        _ if !is_to_group(frame) || decoded.outer_ip_at != decoded.ip_at => return false,
        4 => decoded.ip_at as usize + 16,
        6 => decoded.ip_at as usize + 24,
        _ => return false,
    };
    let Some(destination) = frame.get(destination_at..destination_at + 4) else { return false };
    // The last byte may be that of a network's broadcast address, whose prefix is not known.
    let is_host = match decoded.ip_version {
        4 => destination[0] < 224 && destination[3] != 255,
        _ => destination[0] != 0xff,
    };
    is_host || decoded.kind == Kind::Tcp
}

/// Whether an Ethernet frame is sent to a group address (or to all).
#[inline(always)]
pub(crate) fn is_to_group(frame: &[u8]) -> bool {
    frame.first().is_some_and(|first| first & 1 != 0)
}

/// Walks what follows the type or length field. Bytes beyond a length are padding.
pub(crate) fn type_or_length(walk: &mut Walk<'_>, value: u16, at: usize) -> Next {
    if value > LENGTH_MAX {
        return Next::EtherType { ether_type: value, at };
    }
    let end = at + usize::from(value);
    if !walk.bound(end) {
        // A length beyond the frame bounds nothing.
        walk.is_cut = false;
    }
    // RFC 1042 allows IP in it, and current hosts ignore it.
    walk.out.doubts |= Doubts::LINK | Doubts::LLC;
    Next::Llc { at }
}

/// Walks what an EtherType names.
pub(crate) fn ether_type(walk: &mut Walk<'_>, ether_type: u16, at: usize) -> Result<Next, Malformation> {
    Ok(match ether_type {
        IPV4 => Next::Ipv4 { at },
        IPV6 => Next::Ipv6 { at },
        ARP | RARP => Next::Done(Kind::Arp),
        _ if is_vlan(ether_type) => vlan(walk, at)?,
        PPPOE_SESSION => {
            walk.out.doubts |= Doubts::PPPOE;
            Next::Pppoe { at }
        }
        PPP => Next::Ppp { at },
        BRIDGED_ETHERNET => Next::Ethernet { at },
        BACKBONE => Next::Ethernet { at: at + 4 },
        FABRIC_PATH => Next::Ethernet { at: at + 2 },
        VN_TAG => tag::<6>(walk, at)?,
        E_TAG => tag::<8>(walk, at)?,
        NSH => Next::Nsh { at },
        MACSEC => macsec::walk(walk, at)?,
        CISCO_METADATA if walk.bytes::<2>(at).is_some_and(|fixed| fixed != &[1, 1]) => Next::Done(Kind::OtherLink),
        CISCO_METADATA => tag::<8>(walk, at)?,
        BROADCOM => tag::<6>(walk, at)?,
        _ if REDUNDANCY.contains(&ether_type) => tag::<6>(walk, at)?,
        _ if MPLS.contains(&ether_type) => {
            walk.out.doubts |= Doubts::MPLS;
            Next::Mpls { at }
        }
        _ => Next::Done(Kind::OtherLink),
    })
}

/// Whether a type names a VLAN tag.
#[inline]
fn is_vlan(ether_type: u16) -> bool {
    matches!(ether_type, VLAN | SERVICE_VLAN) || OLD_QINQ.contains(&ether_type)
}

/// A VLAN tag: 3 bits of priority, 1 of drop eligibility, 12 of id; then the next type. Id 0 names no VLAN: the tag
/// only carries the priority (IEEE 802.1Q, table 9-2).
fn vlan(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let tag = walk.header::<4>(at, LinkShort, LinkCut)?;
    note_vlan(walk, be16(tag, 0));
    Ok(type_or_length(walk, be16(tag, 2), at + 4))
}

/// Notes the id of a VLAN tag, if it has one and there is room; `control`: priority, drop eligibility and id.
pub(crate) fn note_vlan(walk: &mut Walk<'_>, control: u16) {
    walk.out.vlans.push(control & 0x0fff);
}

/// Skips a tag that does not concern flows: `N` bytes that end with the next type.
fn tag<const N: usize>(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let tag = walk.header::<N>(at, LinkShort, LinkCut)?;
    Ok(type_or_length(walk, be16(tag, N - 2), at + N))
}

/// Whether an Ethernet header at `at` would carry something that is walked: for payloads of unstated kind.
pub(crate) fn is_likely(walk: &Walk<'_>, at: usize) -> bool {
    walk.bytes::<HEADER_BYTES>(at)
        .is_some_and(|header| matches!(be16(header, TYPE), IPV4 | IPV6 | ARP | VLAN | SERVICE_VLAN | PPPOE_SESSION))
}

/// The Ethernet header that a frame begins with (IEEE 802.3, 3.1.1), all of it captured.
#[derive(Clone, Copy, Debug)]
pub struct EthernetHeader<'a> {
    fixed: &'a [u8; HEADER_BYTES],
    rest: &'a [u8],
}

impl<'a> EthernetHeader<'a> {
    /// The header of a frame of this link type; `None` for link types other than Ethernet, and if not all of it was captured.
    #[must_use]
    pub fn new(link: LinkType, frame: &'a [u8]) -> Option<Self> {
        if link != LinkType::ETHERNET {
            return None;
        }
        let (fixed, rest) = frame.split_first_chunk()?;
        Some(Self { fixed, rest })
    }

    /// Destination address.
    #[inline]
    #[must_use]
    pub fn destination(&self) -> [u8; 6] {
        self.address(0)
    }

    /// Source address.
    #[inline]
    #[must_use]
    pub fn source(&self) -> [u8; 6] {
        self.address(6)
    }

    /// Type or length as it stands in the header (IEEE 802.3, 3.2.6): of a tagged frame that of its first tag.
    #[inline]
    #[must_use]
    pub fn type_or_length(&self) -> u16 {
        be16(self.fixed, TYPE)
    }

    /// The VLAN tags directly behind the header, outermost first; the walk of a tag needs its 4 bytes captured.
    #[inline]
    #[must_use]
    pub fn tags(&self) -> VlanTags<'a> {
        VlanTags { ether_type: self.type_or_length(), rest: self.rest }
    }

    /// The type behind all VLAN tags; `None` if the frame states a length there (LLC follows), or the tags are truncated.
    #[must_use]
    pub fn ether_type(&self) -> Option<u16> {
        let ether_type = self.behind_tags().ether_type;
        (ether_type > LENGTH_MAX && !is_vlan(ether_type)).then_some(ether_type)
    }

    /// The captured bytes behind the header and all VLAN tags, padding included.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.behind_tags().rest
    }

    fn behind_tags(&self) -> VlanTags<'a> {
        let mut tags = self.tags();
        while tags.next().is_some() {}
        tags
    }

    #[inline]
    fn address(&self, at: usize) -> [u8; 6] {
        std::array::from_fn(|index| self.fixed[at + index])
    }
}

/// A VLAN tag (IEEE 802.1Q, 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VlanTag {
    /// The type that names the tag: 0x8100, 0x88a8 (IEEE 802.1ad), 0x9100 to 0x9300 (vendors).
    pub ether_type: u16,
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// VLAN id, 0 to 4095; 0: the tag only has a priority.
    pub id: u16,
}

/// Iterator over the VLAN tags of an Ethernet frame.
#[derive(Clone, Copy, Debug)]
pub struct VlanTags<'a> {
    /// Type of the next tag, or of the payload.
    ether_type: u16,
    rest: &'a [u8],
}

impl Iterator for VlanTags<'_> {
    type Item = VlanTag;

    fn next(&mut self) -> Option<VlanTag> {
        if !is_vlan(self.ether_type) {
            return None;
        }
        let (tag, rest) = self.rest.split_first_chunk::<4>()?;
        let (control, ether_type) = (be16(tag, 0), self.ether_type);
        (self.ether_type, self.rest) = (be16(tag, 2), rest);
        let (priority, drop_eligible) = ((control >> 13) as u8, control & 0x1000 != 0);
        Some(VlanTag { ether_type, priority, drop_eligible, id: control & 0x0fff })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, snap, snapped, tcp, udp};
    use crate::{Doubts, Kind, LinkType, Malformation, Vlans};

    #[test]
    fn tags_are_noted_from_the_outside_in() {
        let segment = ipv4(6, &tcp(b"x"));
        let tagged = |tags: &[u8]| decoded(LinkType::ETHERNET, &ethernet(0x88a8, &join(&[tags, &segment])));
        assert_eq!(tagged(&[0xe0, 5, 8, 0]).vlans, Vlans::new([5]), "priority is not part of the id");
        assert_eq!(tagged(&[0, 5, 0x91, 0, 0x0f, 0xff, 8, 0]).vlans, Vlans::new([5, 0xfff]));
        assert_eq!(tagged(&[0xe0, 0, 8, 0]).vlans, Vlans::NONE, "a priority tag names no VLAN");
        assert_eq!(tagged(&[0xe0, 0, 0x81, 0, 0, 6, 8, 0]).vlans, Vlans::new([6]));
        let third = tagged(&[0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7, 8, 0]);
        assert_eq!((third.vlans, third.kind), (Vlans::new([5, 6]), Kind::Tcp), "a third is walked, not noted");
    }

    #[test]
    fn a_packet_for_a_host_in_a_frame_to_a_group_is_doubted() {
        let in_group = |group: u8, ether_type, packet: &[u8]| {
            let mut frame = ethernet(ether_type, packet);
            frame[0] = group;
            decoded(LinkType::ETHERNET, &frame).doubts.has(Doubts::LINK)
        };
        let to = |address: [u8; 4], proto, bytes: &[u8]| {
            let mut packet = ipv4(proto, bytes);
            packet[16..20].copy_from_slice(&address);
            packet
        };
        let datagram = udp(53, b"x");
        assert!(in_group(0xff, 0x0800, &to([10, 0, 0, 1], 17, &datagram)));
        assert!(!in_group(0, 0x0800, &to([10, 0, 0, 1], 17, &datagram)), "a frame to a host");
        assert!(!in_group(0xff, 0x0800, &to([10, 0, 0, 255], 17, &datagram)), "to a network");
        assert!(!in_group(1, 0x0800, &to([224, 0, 0, 251], 17, &datagram)), "to a group");
        assert!(in_group(1, 0x0800, &to([224, 0, 0, 251], 6, &tcp(b"x"))), "TCP has no groups");
        assert!(in_group(0x33, 0x86dd, &ipv6(17, &datagram)));
    }

    #[test]
    fn ip_in_llc_is_doubted() {
        let packet = ipv4(6, &tcp(b"x"));
        let frame = |length: u16| ethernet(length, &snap(0x0800, &packet));
        let found = decoded(LinkType::ETHERNET, &frame(packet.len() as u16 + 8));
        assert_eq!((found.kind, found.doubts), (Kind::Tcp, Doubts::LINK | Doubts::LLC));
        assert_eq!(decoded(LinkType::ETHERNET, &ethernet(0x0800, &packet)).doubts, Doubts::NONE);
    }

    #[test]
    fn other_tags_are_stepped_over() {
        let segment = ipv4(6, &tcp(b"x"));
        let kind = |ether_type, tag: &[u8]| {
            decoded(LinkType::ETHERNET, &ethernet(ether_type, &join(&[tag, &[8, 0], &segment]))).kind
        };
        assert_eq!(kind(0x8909, &[1, 1, 0, 1, 0, 16]), Kind::Tcp, "Cisco metadata");
        assert_eq!(kind(0x8909, &[2, 1, 0, 1, 0, 16]), Kind::OtherLink, "of another version");
        for ether_type in [0x892f, 0xf1c1, 0x8874, 0x8926] {
            assert_eq!(kind(ether_type, &[0, 1, 2, 3]), Kind::Tcp, "{ether_type:#x}");
        }
        assert_eq!(kind(0x8909, &[1]), Kind::OtherLink);
    }

    #[test]
    fn snapped_and_short_are_different_faults() {
        let frame = ethernet(0x8100, &[0, 5, 8, 0]);
        assert_eq!(snapped(LinkType::ETHERNET, &frame, 13).malformed, Some(Malformation::LinkCut));
        assert_eq!(snapped(LinkType::ETHERNET, &frame, 17).malformed, Some(Malformation::LinkCut));
        assert_eq!(decoded(LinkType::ETHERNET, &frame[..13]).malformed, Some(Malformation::LinkShort));
        assert_eq!(decoded(LinkType::ETHERNET, &frame[..17]).malformed, Some(Malformation::LinkShort));
    }

    #[test]
    fn what_is_not_ip_is_counted_by_kind() {
        assert_eq!(decoded(LinkType::ETHERNET, &ethernet(0x8035, &[0; 46])).kind, Kind::Arp);
        for ether_type in [0x88cc, 0x8863, 0x86ff, 1501, 0x5ff] {
            assert_eq!(decoded(LinkType::ETHERNET, &ethernet(ether_type, &[0; 46])).kind, Kind::OtherLink);
        }
    }
}
