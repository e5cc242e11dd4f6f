//! IPv6 (RFC 8200) with its extension headers.

use std::net::Ipv6Addr;

use crate::Doubts;
use crate::ah;
use crate::decoded::{Fragment, Kind};
use crate::ip_protocol::{
    AH, DESTINATION_OPTIONS, FRAGMENT, HIP, HOP_BY_HOP, MOBILITY, NO_NEXT_HEADER, ROUTING, SHIM6,
};
use crate::ipv6_options::{self, OptionsHeader};
pub(crate) use crate::layout::ipv6::{ADDRESSES, EXTENSIONS_MAX, HEADER_BYTES, HOME_ADDRESS_HEADER_BYTES, NEXT_HEADER};
use crate::malformation::Malformation::{
    self, Ipv6Cut, Ipv6ExtensionCut, Ipv6ExtensionDepth, Ipv6ExtensionLong, Ipv6ExtensionShort, Ipv6HopByHopPlace,
    Ipv6Jumbo, Ipv6PayloadLong, Ipv6Short, Ipv6Version,
};
use crate::walk::{Next, Walk, be16, be32};

const PAYLOAD_LENGTH: usize = 4;
const HOP_LIMIT: usize = 7;

/// The jumbo payload option (RFC 2675, 2).
const JUMBO_OPTION: u8 = 0xc2;
/// Greatest length in the payload length field (RFC 2675, 2).
const PAYLOAD_LENGTH_MAX: usize = 0xffff;

/// An IPv6 header and its extension headers.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, Ipv6Short, Ipv6Cut)?;
    if header[0] >> 4 != 6 {
        return Err(Ipv6Version);
    }
    walk.ip_header(6, at, header[HOP_LIMIT]);
    walk.out.proto = header[NEXT_HEADER];
    let payload_bytes = payload_bytes(walk, at, usize::from(be16(header, PAYLOAD_LENGTH)), header[NEXT_HEADER])?;
    let end = at + HEADER_BYTES + payload_bytes;
    if !walk.bound(end) {
        return Err(Ipv6PayloadLong);
    }
    if !walk.fills_datagram(end) {
        return Ok(Next::Done(Kind::OtherLink));
    }
    walk.out.ip_bytes = (HEADER_BYTES + payload_bytes) as u32;
    extensions(walk, at, header[NEXT_HEADER])
}

/// Bytes behind the fixed header: the field, or the value of the jumbo payload option if the field is 0.
fn payload_bytes(walk: &Walk<'_>, at: usize, stated: usize, next_header: u8) -> Result<usize, Malformation> {
    let rest_bytes = walk.end - at - HEADER_BYTES;
    let jumbo = if next_header == HOP_BY_HOP { jumbo_payload(walk, at + HEADER_BYTES) } else { None };
    match (stated, jumbo) {
        // Segmentation offload of more than 64 KiB ("BIG TCP" without the option): no such frame is ever on a wire.
        (0, None) if rest_bytes > PAYLOAD_LENGTH_MAX => Ok(rest_bytes),
        (_, None) => Ok(stated),
        (0, Some(bytes)) if bytes > PAYLOAD_LENGTH_MAX => Ok(bytes),
        (_, Some(_)) => Err(Ipv6Jumbo),
    }
}

/// The jumbo payload option's value, if the hop-by-hop header at `at` has one.
fn jumbo_payload(walk: &Walk<'_>, at: usize) -> Option<usize> {
    let fixed = walk.bytes::<2>(at)?;
    let end = (at + (usize::from(fixed[1]) + 1) * 8).min(walk.end);
    let mut option_at = at + 2;
    while option_at < end {
        let kind = *walk.frame.get(option_at)?;
        if kind == 0 {
            option_at += 1;
            continue;
        }
        let length = usize::from(*walk.frame.get(option_at + 1)?);
        if kind == JUMBO_OPTION && length == 4 && option_at + 6 <= end {
            return usize::try_from(be32(walk.bytes::<6>(option_at)?, 2)).ok();
        }
        option_at += 2 + length;
    }
    None
}

/// The extension headers of the packet at `ip_at`, up to the upper-layer header or the fragment header.
fn extensions(walk: &mut Walk<'_>, ip_at: usize, first: u8) -> Result<Next, Malformation> {
    let mut next_header = first;
    let mut named_at = ip_at + NEXT_HEADER;
    let mut at = ip_at + HEADER_BYTES;
    let captured = walk.frame.get(..walk.end).unwrap_or(walk.frame);
    for count in 0..EXTENSIONS_MAX {
        let after = match next_header {
            HOP_BY_HOP if count > 0 => return Err(Ipv6HopByHopPlace),
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => match whole_header(captured, at) {
                Some(header) => {
                    judge(walk, ip_at, next_header, header);
                    // All of it is there: nothing else is to be checked.
                    (next_header, named_at, at) = (header[0], at, at + header.len());
                    continue;
                }
                None => at + extension_bytes(walk, at)?,
            },
            MOBILITY | HIP | SHIM6 => {
                let bytes = extension_bytes(walk, at)?;
                // These are complete messages if nothing follows them (RFC 6275, 6.1.1; RFC 7401, 5.1; RFC 5533, 5.3).
                if walk.frame.get(at) == Some(&NO_NEXT_HEADER) {
                    return Ok(Next::Upper { proto: next_header, at });
                }
                // Hosts accept no such header with anything behind it.
                walk.out.doubts |= Doubts::HEADER;
                at + bytes
            }
            FRAGMENT => {
                let header = walk.header::<8>(at, Ipv6ExtensionShort, Ipv6ExtensionCut)?;
                // A fragment header behind another, or in a jumbogram (Linux: `ipv6_frag_rcv`).
                if walk.out.doubts.has(Doubts::ATOMIC) || is_jumbo(walk, ip_at) {
                    walk.out.doubts |= Doubts::HEADER;
                }
                if be16(header, 2) & 0xfff9 != 0 {
                    return Ok(fragment(walk, ip_at, named_at, at, header));
                }
                // "Atomic" fragment: a whole packet, never combined with others (RFC 6946, 4).
                walk.out.doubts |= Doubts::ATOMIC;
                at + 8
            }
            AH => match ah::after(walk, at)? {
                Some(after) => after,
                None => return Ok(Next::Done(Kind::Ah)),
            },
            _ => return Ok(Next::Upper { proto: next_header, at }),
        };
        if after > walk.end {
            return Err(Ipv6ExtensionLong);
        }
        let Some(&named) = walk.frame.get(at) else { return Err(Ipv6ExtensionCut) };
        if after > walk.frame.len() {
            return Err(Ipv6ExtensionCut);
        }
        next_header = named;
        named_at = at;
        at = after;
    }
    Err(Ipv6ExtensionDepth)
}

/// An extension header of the common form, if all of it was captured and lies within the packet.
#[inline(always)]
fn whole_header(captured: &[u8], at: usize) -> Option<&[u8]> {
    let rest = captured.get(at..)?;
    rest.get(..(usize::from(*rest.get(1)?) + 1) * 8)
}

/// Notes whether a host drops a packet for an extension header.
#[inline(always)]
fn judge(walk: &mut Walk<'_>, ip_at: usize, kind: u8, header: &[u8]) {
    if kind == ROUTING || walk.settings.judge_options && !ipv6_options::is_padding(header) {
        judge_uncommon(walk, ip_at, kind, header);
    }
}

/// The same of a routing header, or of one with more options than padding.
#[inline(never)]
fn judge_uncommon(walk: &mut Walk<'_>, ip_at: usize, kind: u8, header: &[u8]) {
    let doubts = match kind {
        ROUTING => {
            let is_to_group = walk.frame.get(ip_at + ADDRESSES + 16) == Some(&0xff);
            ipv6_options::judge_routing(header, is_to_group)
        }
        HOP_BY_HOP => ipv6_options::judge(header, OptionsHeader::HopByHop),
        _ => {
            // Nothing more is to be found in a short header of options.
            let is_judged = walk.out.is_routed && walk.out.doubts.has(Doubts::HEADER);
            if is_judged && header.len() < HOME_ADDRESS_HEADER_BYTES {
                return;
            }
            ipv6_options::judge(header, OptionsHeader::Destination)
        }
    };
    if kind == ROUTING || doubts != Doubts::NONE {
        walk.out.doubts |= doubts;
        // (A home address is always a doubt.)
        walk.out.is_routed |= kind != HOP_BY_HOP;
    }
}

/// Whether the packet's length is that of a jumbo payload option.
fn is_jumbo(walk: &Walk<'_>, ip_at: usize) -> bool {
    walk.bytes::<HEADER_BYTES>(ip_at).is_some_and(|header| be16(header, PAYLOAD_LENGTH) == 0)
}

/// The length of an extension header of the common form: next header, length in units of 8 bytes beyond the first.
fn extension_bytes(walk: &Walk<'_>, at: usize) -> Result<usize, Malformation> {
    if at + 8 > walk.end {
        return Err(Ipv6ExtensionShort);
    }
    let fixed = walk.header::<2>(at, Ipv6ExtensionShort, Ipv6ExtensionCut)?;
    Ok((usize::from(fixed[1]) + 1) * 8)
}

/// A fragment header that is not atomic: the flow is known when the datagram is complete.
fn fragment(walk: &mut Walk<'_>, ip_at: usize, named_at: usize, at: usize, header: &[u8; 8]) -> Next {
    let data_at = at + 8;
    walk.transport(header[0], data_at, data_at);
    walk.out.fragment = Fragment {
        id: be32(header, 4),
        offset_bytes: u32::from(be16(header, 2) & 0xfff8),
        more: header[3] & 1 != 0,
        proto: header[0],
        data_at: data_at as u32,
        data_bytes: walk.end.saturating_sub(data_at) as u32,
        unfragmentable_bytes: (at - ip_at) as u32,
        next_header_at: named_at as u32,
    };
    Next::Done(Kind::Fragment)
}

/// The fixed IPv6 header inside a frame (RFC 8200, 3), all of it captured.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6Header<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> Ipv6Header<'a> {
    /// The header at `at`, if one of version 6 is captured there.
    pub(crate) fn at(frame: &'a [u8], at: usize) -> Option<Self> {
        let fixed = frame.get(at..)?.first_chunk::<HEADER_BYTES>()?;
        (fixed[0] >> 4 == 6).then_some(Self(fixed))
    }

    /// Differentiated services code point (RFC 2474, 3), 0 to 63.
    #[inline]
    #[must_use]
    pub fn dscp(&self) -> u8 {
        (be16(self.0, 0) >> 6 & 0x3f) as u8
    }

    /// Explicit congestion notification (RFC 3168, 5), 0 to 3.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> u8 {
        (be16(self.0, 0) >> 4 & 3) as u8
    }

    /// Flow label (RFC 6437, 2), 20 bits.
    #[inline]
    #[must_use]
    pub fn flow_label(&self) -> u32 {
        be32(self.0, 0) & 0x000f_ffff
    }

    /// Payload length as stated, in bytes, extension headers included; 0 in a jumbogram (RFC 2675, 3).
    #[inline]
    #[must_use]
    pub fn payload_bytes(&self) -> u16 {
        be16(self.0, PAYLOAD_LENGTH)
    }

    /// Number of the header that follows: of an extension header, or of the payload's protocol.
    #[inline]
    #[must_use]
    pub fn next_header(&self) -> u8 {
        self.0[NEXT_HEADER]
    }

    /// Hop limit.
    #[inline]
    #[must_use]
    pub fn hop_limit(&self) -> u8 {
        self.0[HOP_LIMIT]
    }

    /// Source address of the fixed header.
    #[inline]
    #[must_use]
    pub fn source(&self) -> Ipv6Addr {
        self.address(ADDRESSES)
    }

    /// Destination address of the fixed header; a routing header may name another: [`addresses`](crate::addresses).
    #[inline]
    #[must_use]
    pub fn destination(&self) -> Ipv6Addr {
        self.address(ADDRESSES + 16)
    }

    #[inline]
    fn address(&self, at: usize) -> Ipv6Addr {
        let words = [be32(self.0, at), be32(self.0, at + 4), be32(self.0, at + 8), be32(self.0, at + 12)];
        Ipv6Addr::from_bits(words.into_iter().fold(0, |bits, word| bits << 32 | u128::from(word)))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, examples, ipv6, join, snapped, tcp, udp};
    use crate::{Kind, LinkType, Malformation};

    fn reason(packet: &[u8]) -> Option<Malformation> {
        decoded(LinkType::IPV6, packet).malformed
    }

    /// Destination or hop-by-hop options that only pad.
    fn options(next: u8) -> [u8; 8] {
        [next, 0, 1, 4, 0, 0, 0, 0]
    }

    #[test]
    fn a_fragment_says_where_it_belongs() {
        let packet = ipv6(60, &join(&[&options(44), &[17, 0, 0, 0x19, 1, 2, 3, 4], &[9; 16]]));
        let found = decoded(LinkType::RAW, &packet);
        assert_eq!(found.kind, Kind::Fragment);
        let fragment = found.fragment;
        assert_eq!((fragment.id, fragment.offset_bytes, fragment.more, fragment.proto), (0x0102_0304, 24, true, 17));
        assert_eq!((fragment.data_at, fragment.data_bytes), (56, 16));
        assert_eq!((fragment.unfragmentable_bytes, fragment.next_header_at), (48, 40));
        let direct = decoded(LinkType::RAW, &ipv6(44, &join(&[&[17, 0, 0, 0x18, 1, 2, 3, 4], &[9; 16]])));
        assert_eq!((direct.fragment.next_header_at, direct.fragment.more), (6, false));
    }

    #[test]
    fn an_atomic_fragment_is_a_packet() {
        let found = decoded(LinkType::RAW, &ipv6(44, &join(&[&[6, 0, 0, 6, 1, 2, 3, 4], &tcp(b"x")])));
        assert_eq!((found.kind, found.transport_at), (Kind::Tcp, 48), "reserved bits do not matter");
    }

    #[test]
    fn a_jumbo_payload_is_as_long_as_its_option_says() {
        let (_, link, mut packet) = examples().into_iter().find(|example| example.0 == "ipv6-jumbo").unwrap();
        let found = decoded(link, &packet);
        assert_eq!((found.kind, found.payload_bytes, found.ip_bytes), (Kind::Udp, 0x1_0009 - 16, 40 + 0x1_0009));
        (packet[4], packet[5]) = (0, 100);
        assert_eq!(reason(&packet), Some(Malformation::Ipv6Jumbo));
        let small = ipv6(0, &join(&[&[17, 0, 0xc2, 4, 0, 0, 0, 20], &udp(53, &[])]));
        assert_eq!(reason(&small), Some(Malformation::Ipv6Jumbo));
    }

    #[test]
    fn a_length_of_zero_is_nothing_unless_no_wire_could_carry_it() {
        let mut packet = ipv6(6, &tcp(b"x"));
        packet[5] = 0;
        assert_eq!(reason(&packet), Some(Malformation::TcpShort));
        packet.resize(70_000, 0);
        assert_eq!(decoded(LinkType::RAW, &packet).payload_bytes, 70_000 - 60);
    }

    #[test]
    fn headers_that_contradict() {
        let segment = tcp(b"x");
        assert_eq!(
            reason(&ipv6(60, &join(&[&options(0), &options(6), &segment]))),
            Some(Malformation::Ipv6HopByHopPlace)
        );
        assert_eq!(reason(&ipv6(60, &[6, 1, 0, 0, 0, 0, 0, 0])), Some(Malformation::Ipv6ExtensionLong));
        assert_eq!(reason(&ipv6(60, &[6, 0, 0])), Some(Malformation::Ipv6ExtensionShort));
        let mut packet = ipv6(6, &segment);
        packet[5] += 1;
        assert_eq!(reason(&packet), Some(Malformation::Ipv6PayloadLong));
        let packet = ipv6(60, &join(&[&options(6), &segment]));
        assert_eq!(snapped(LinkType::RAW, &packet, 47).malformed, Some(Malformation::Ipv6ExtensionCut));
        assert_eq!(snapped(LinkType::RAW, &packet, 39).malformed, Some(Malformation::Ipv6Cut));
        assert_eq!(snapped(LinkType::RAW, &packet, 68).kind, Kind::Tcp);
    }

    #[test]
    fn as_many_headers_as_fit_an_ethernet_frame_and_no_more_than_the_limit() {
        let chain = |count: usize| {
            let mut headers = options(60).repeat(count);
            headers[(count - 1) * 8] = 6;
            ipv6(60, &join(&[&headers, &tcp(b"x")]))
        };
        assert_eq!(decoded(LinkType::RAW, &chain(182)).kind, Kind::Tcp);
        assert_eq!(reason(&chain(192)), Some(Malformation::Ipv6ExtensionDepth));
    }
}
