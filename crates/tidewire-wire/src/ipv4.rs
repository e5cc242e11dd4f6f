//! IPv4 (RFC 791).

use std::net::Ipv4Addr;

use crate::decoded::{Fragment, Kind};
use crate::ipv4_options;
pub(crate) use crate::layout::ipv4::{ADDRESSES, CHECKSUM, HEADER_BYTES};
use crate::malformation::Malformation::{
    self, Ipv4Cut, Ipv4HeaderLength, Ipv4Options, Ipv4Short, Ipv4TotalLong, Ipv4TotalShort, Ipv4Version,
};
use crate::walk::{Next, Walk, be16, be32};

const VERSION_AND_LENGTH: usize = 0;
/// Differentiated services and congestion notification.
const SERVICES: usize = 1;
const TOTAL_LENGTH: usize = 2;
const IDENTIFICATION: usize = 4;
const FLAGS_AND_OFFSET: usize = 6;
const TTL: usize = 8;
const PROTOCOL: usize = 9;

/// The packet must not be fragmented.
const DONT_FRAGMENT: u16 = 0x4000;
/// More fragments follow.
const MORE_FRAGMENTS: u16 = 0x2000;
/// The fragment's offset, in units of 8 bytes.
const OFFSET_MASK: u16 = 0x1fff;

/// An IPv4 header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, Ipv4Short, Ipv4Cut)?;
    if header[VERSION_AND_LENGTH] >> 4 != 4 {
        return Err(Ipv4Version);
    }
    walk.ip_header(4, at, header[TTL]);
    walk.out.proto = header[PROTOCOL];
    let header_bytes = header_bytes(header);
    if header_bytes < HEADER_BYTES {
        return Err(Ipv4HeaderLength);
    }
    // With segmentation offload the card fills in the length, and a capture on the sender shows 0: then the packet is
    // the rest of the frame. (A frame so short that it is padded would count its padding as payload; no host sends
    // one.)
    let total_bytes = match usize::from(be16(header, TOTAL_LENGTH)) {
        0 => walk.end - at,
        stated => stated,
    };
    if total_bytes < header_bytes {
        return Err(Ipv4TotalShort);
    }
    if !walk.bound(at + total_bytes) {
        return Err(Ipv4TotalLong);
    }
    if !walk.fills_datagram(at + total_bytes) {
        return Ok(Next::Done(Kind::OtherLink));
    }
    walk.out.ip_bytes = total_bytes as u32;
    let data_at = at + header_bytes;
    if data_at > walk.frame.len() {
        return Err(Ipv4Cut);
    }
    let place = be16(header, FLAGS_AND_OFFSET);
    let proto = header[PROTOCOL];
    if header_bytes > HEADER_BYTES {
        let options = walk.frame.get(at + HEADER_BYTES..data_at).unwrap_or(&[]);
        walk.out.doubts |= ipv4_options::judge(options).ok_or(Ipv4Options)?;
    }
    if place & (MORE_FRAGMENTS | OFFSET_MASK) == 0 {
        return Ok(Next::Upper { proto, at: data_at });
    }
    walk.transport(proto, data_at, data_at);
    walk.out.fragment = Fragment {
        id: be16(header, IDENTIFICATION).into(),
        offset_bytes: u32::from(place & OFFSET_MASK) * 8,
        more: place & MORE_FRAGMENTS != 0,
        proto,
        data_at: data_at as u32,
        data_bytes: (total_bytes - header_bytes) as u32,
        unfragmentable_bytes: header_bytes as u32,
        next_header_at: 0,
    };
    Ok(Next::Done(Kind::Fragment))
}

/// An IPv4 header inside a frame (RFC 791, 3.1). Its fixed part is captured.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Header<'a> {
    fixed: &'a [u8; HEADER_BYTES],
    options: &'a [u8],
}

impl<'a> Ipv4Header<'a> {
    /// The header at `at`, if one of version 4 is captured there.
    pub(crate) fn at(frame: &'a [u8], at: usize) -> Option<Self> {
        let (fixed, rest) = frame.get(at..)?.split_first_chunk::<HEADER_BYTES>()?;
        if fixed[VERSION_AND_LENGTH] >> 4 != 4 {
            return None;
        }
        let options_bytes = header_bytes(fixed).saturating_sub(HEADER_BYTES).min(rest.len());
        Some(Self { fixed, options: rest.get(..options_bytes).unwrap_or_default() })
    }

    /// Length of the header with its options, in bytes, as stated: 20 to 60, and less in a malformed packet.
    #[inline]
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        header_bytes(self.fixed)
    }

    /// Differentiated services code point (RFC 2474, 3), 0 to 63.
    #[inline]
    #[must_use]
    pub fn dscp(&self) -> u8 {
        self.fixed[SERVICES] >> 2
    }

    /// Explicit congestion notification (RFC 3168, 5), 0 to 3.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> u8 {
        self.fixed[SERVICES] & 3
    }

    /// Total length as stated, in bytes, header included; 0 where segmentation offload fills it in behind the capture.
    #[inline]
    #[must_use]
    pub fn total_bytes(&self) -> u16 {
        be16(self.fixed, TOTAL_LENGTH)
    }

    /// Identification, equal in all fragments of a datagram (RFC 6864, 4).
    #[inline]
    #[must_use]
    pub fn identification(&self) -> u16 {
        be16(self.fixed, IDENTIFICATION)
    }

    /// Whether the packet must not be fragmented.
    #[inline]
    #[must_use]
    pub fn dont_fragment(&self) -> bool {
        be16(self.fixed, FLAGS_AND_OFFSET) & DONT_FRAGMENT != 0
    }

    /// Whether more fragments follow.
    #[inline]
    #[must_use]
    pub fn more_fragments(&self) -> bool {
        be16(self.fixed, FLAGS_AND_OFFSET) & MORE_FRAGMENTS != 0
    }

    /// Offset of the payload in its datagram, in bytes: a multiple of 8, 0 unless the packet is a later fragment.
    #[inline]
    #[must_use]
    pub fn fragment_offset_bytes(&self) -> u32 {
        u32::from(be16(self.fixed, FLAGS_AND_OFFSET) & OFFSET_MASK) * 8
    }

    /// Time to live, in hops.
    #[inline]
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.fixed[TTL]
    }

    /// IP protocol number of the payload, see [`ip_protocol`](crate::ip_protocol).
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.fixed[PROTOCOL]
    }

    /// Header checksum as sent; [`ipv4_header_checksum`](crate::ipv4_header_checksum) verifies it.
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u16 {
        be16(self.fixed, CHECKSUM)
    }

    /// Source address.
    #[inline]
    #[must_use]
    pub fn source(&self) -> Ipv4Addr {
        be32(self.fixed, ADDRESSES).into()
    }

    /// Destination address.
    #[inline]
    #[must_use]
    pub fn destination(&self) -> Ipv4Addr {
        be32(self.fixed, ADDRESSES + 4).into()
    }

    /// The captured bytes of the options.
    #[inline]
    #[must_use]
    pub fn option_bytes(&self) -> &'a [u8] {
        self.options
    }
}

/// The stated length of a header.
#[inline]
fn header_bytes(fixed: &[u8; HEADER_BYTES]) -> usize {
    usize::from(fixed[VERSION_AND_LENGTH] & 0x0f) * 4
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv4_fragment, join, snapped, tcp, udp};
    use crate::{Kind, LinkType, Malformation};

    fn reason(packet: &[u8]) -> Option<Malformation> {
        decoded(LinkType::IPV4, packet).malformed
    }

    #[test]
    fn a_fragment_says_where_it_belongs() {
        let found = decoded(LinkType::RAW, &ipv4_fragment(17, 0x2003, &[9; 16]));
        assert_eq!(found.kind, Kind::Fragment);
        let fragment = found.fragment;
        assert_eq!((fragment.id, fragment.offset_bytes, fragment.more, fragment.proto), (0x1234, 24, true, 17));
        assert_eq!((fragment.data_at, fragment.data_bytes, fragment.unfragmentable_bytes), (20, 16, 20));
        assert_eq!(
            decoded(LinkType::RAW, &ipv4_fragment(17, 0x4000, &udp(53, &[]))).kind,
            Kind::Udp,
            "do not fragment"
        );
    }

    #[test]
    fn a_length_of_zero_is_the_rest_of_the_frame() {
        let mut packet = ipv4(6, &tcp(b"offloaded"));
        packet[2..4].fill(0);
        assert_eq!(decoded(LinkType::RAW, &packet).payload_bytes, 9);
    }

    #[test]
    fn lengths_that_contradict() {
        let packet = ipv4(6, &tcp(b"x"));
        let with = |at: usize, byte| {
            let mut packet = packet.clone();
            packet[at] = byte;
            packet
        };
        assert_eq!(reason(&with(0, 0x65)), Some(Malformation::Ipv4Version));
        assert_eq!(reason(&with(0, 0x44)), Some(Malformation::Ipv4HeaderLength));
        assert_eq!(reason(&with(3, 19)), Some(Malformation::Ipv4TotalShort));
        assert_eq!(reason(&with(3, 42)), Some(Malformation::Ipv4TotalLong));
        assert_eq!(reason(&packet[..19]), Some(Malformation::Ipv4Short));
        assert_eq!(snapped(LinkType::RAW, &packet, 19).malformed, Some(Malformation::Ipv4Cut));
    }

    #[test]
    fn options_are_walked_over_when_sound() {
        let mut packet = ipv4(6, &join(&[&[1, 7, 3, 4], &tcp(b"x")]));
        packet[0] = 0x46;
        let found = decoded(LinkType::RAW, &packet);
        assert_eq!((found.kind, found.transport_at, found.payload_bytes), (Kind::Tcp, 24, 1));
        for length in [0, 1, 4] {
            packet[22] = length;
            assert_eq!(reason(&packet), Some(Malformation::Ipv4Options), "length {length}");
        }
        assert_eq!(snapped(LinkType::RAW, &packet, 22).malformed, Some(Malformation::Ipv4Cut));
    }
}
