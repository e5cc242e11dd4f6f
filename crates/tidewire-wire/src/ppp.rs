//! PPP (RFC 1661), plain and in HDLC-like framing (RFC 1662), PPPoE sessions (RFC 2516) and Cisco's HDLC.

use crate::decoded::Kind;
use crate::ethernet;
use crate::malformation::Malformation::{self, LinkCut, LinkShort, PppoeLength, PppoeVersion};
use crate::walk::{Next, Walk, be16};

/// HDLC address and control bytes (RFC 1662, 3.1).
const ALL_STATIONS: [u8; 2] = [0xff, 0x03];
/// IPv4 (RFC 1332).
const IPV4: u16 = 0x0021;
/// IPv6 (RFC 5072).
const IPV6: u16 = 0x0057;
/// MPLS unicast and multicast (RFC 3032, 4.3).
const MPLS: [u16; 2] = [0x0281, 0x0283];

/// Cisco HDLC's address byte: unicast, multicast.
const CISCO_ADDRESSES: [u8; 2] = [0x0f, 0x8f];
/// Cisco HDLC's keep-alives (SLARP) use the number of RARP.
const SLARP: u16 = 0x8035;

/// A PPP frame, whether or not it begins with address and control bytes.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let at = if walk.bytes::<2>(at) == Some(&ALL_STATIONS) { at + 2 } else { at };
    let [first] = *walk.header::<1>(at, LinkShort, LinkCut)?;
    // Protocol field compression (RFC 1661, 6.5): an odd first byte is also the last.
    let (protocol, at) = if first & 1 == 1 {
        (u16::from(first), at + 1)
    } else {
        (be16(walk.header::<2>(at, LinkShort, LinkCut)?, 0), at + 2)
    };
    Ok(match protocol {
        IPV4 => Next::Ipv4 { at },
        IPV6 => Next::Ipv6 { at },
        _ if MPLS.contains(&protocol) => Next::Mpls { at },
        _ => Next::Done(Kind::OtherLink),
    })
}

/// A serial line's frame: PPP, or Cisco's HDLC where the address says so.
pub(crate) fn serial(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    match walk.bytes::<2>(at) {
        Some([address, 0]) if CISCO_ADDRESSES.contains(address) => cisco(walk, at),
        _ => self::walk(walk, at),
    }
}

/// Cisco HDLC: address, control, EtherType.
pub(crate) fn cisco(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let ether_type = be16(walk.header::<4>(at, LinkShort, LinkCut)?, 2);
    match ether_type {
        SLARP => Ok(Next::Done(Kind::OtherLink)),
        // ISO protocols: a padding byte and an NLPID follow, but never IP.
        _ if ether_type < ethernet::IPV4 => Ok(Next::Done(Kind::OtherLink)),
        _ => Ok(Next::EtherType { ether_type, at: at + 4 }),
    }
}

/// A PPPoE session frame: version and type, code, session, length; then PPP without address and control.
pub(crate) fn pppoe(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<6>(at, LinkShort, LinkCut)?;
    if header[0] != 0x11 {
        return Err(PppoeVersion);
    }
    if header[1] != 0 {
        return Ok(Next::Done(Kind::OtherLink));
    }
    // The length bounds what follows (RFC 2516, 4). Linux drops a frame that is shorter, and cuts one that is longer, so an
    // IP packet that reaches beyond this length is dropped there (`pppoe_rcv`).
    if !walk.bound(at + 6 + usize::from(be16(header, 4))) {
        return Err(PppoeLength);
    }
    Ok(Next::Ppp { at: at + 6 })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, snapped, tcp};
    use crate::{Kind, LinkType, Malformation};

    #[test]
    fn address_and_protocol_may_be_compressed() {
        let segment = ipv4(6, &tcp(b"x"));
        for header in [&[0xff, 3, 0, 0x21][..], &[0xff, 3, 0x21], &[0, 0x21], &[0x21]] {
            assert_eq!(decoded(LinkType::PPP, &join(&[header, &segment])).kind, Kind::Tcp, "{header:?}");
        }
        assert_eq!(decoded(LinkType::PPP, &[0xc0, 0x21, 1]).kind, Kind::OtherLink, "link control");
        assert_eq!(decoded(LinkType::PPP, &[0xff, 3]).malformed, Some(Malformation::LinkShort));
    }

    #[test]
    fn a_pppoe_session_states_version_and_length() {
        let segment = ipv4(6, &tcp(b"x"));
        let frame = |header: [u8; 6]| ethernet(0x8864, &join(&[&header, &[0, 0x21], &segment]));
        let bytes = segment.len() as u8 + 2;
        assert_eq!(decoded(LinkType::ETHERNET, &frame([0x11, 0, 0, 1, 0, bytes])).kind, Kind::Tcp);
        assert_eq!(decoded(LinkType::ETHERNET, &frame([0x11, 9, 0, 1, 0, bytes])).kind, Kind::OtherLink);
        let reason = |header| decoded(LinkType::ETHERNET, &frame(header)).malformed;
        assert_eq!(reason([0x21, 0, 0, 1, 0, bytes]), Some(Malformation::PppoeVersion));
        for shorter in [bytes - 1, bytes - 2, bytes - 20] {
            assert_eq!(reason([0x11, 0, 0, 1, 0, shorter]), Some(Malformation::Ipv4TotalLong), "{shorter} bytes");
        }
        for longer in [bytes + 1, 255] {
            assert_eq!(reason([0x11, 0, 0, 1, 0, longer]), Some(Malformation::PppoeLength), "{longer} bytes");
        }
        assert_eq!(reason([0x11, 0, 0, 1, 0, 0]), Some(Malformation::LinkShort));
        let control = ethernet(0x8864, &[0x11, 0, 0, 1, 0, 9, 0xc0, 0x21, 1, 1, 0, 4]);
        assert_eq!(decoded(LinkType::ETHERNET, &control).malformed, Some(Malformation::PppoeLength));
    }

    #[test]
    fn the_pppoe_length_bounds_the_packet() {
        let packet = |bytes: usize, segment: &[u8], proto: u8| {
            let header = [0x11, 0, 0, 1, 0, bytes as u8, 0, proto];
            decoded(LinkType::ETHERNET, &ethernet(0x8864, &join(&[&header, segment, &[0; 9]])))
        };
        let (segment, segment6) = (ipv4(6, &tcp(b"x")), ipv6(6, &tcp(b"x")));
        let found = packet(segment.len() + 2, &segment, 0x21);
        assert_eq!((found.kind, found.payload_bytes), (Kind::Tcp, 1), "padding follows");
        assert_eq!(packet(segment.len() + 1, &segment, 0x21).malformed, Some(Malformation::Ipv4TotalLong));
        assert_eq!(packet(segment6.len() + 1, &segment6, 0x57).malformed, Some(Malformation::Ipv6PayloadLong));
    }

    #[test]
    fn a_snapped_pppoe_frame_is_no_shorter_than_it_says() {
        let segment = ipv4(6, &tcp(&[7; 100]));
        let header = [0x11, 0, 0, 1, 0, segment.len() as u8 + 2, 0, 0x21];
        let found = snapped(LinkType::ETHERNET, &ethernet(0x8864, &join(&[&header, &segment])), 80);
        assert_eq!((found.kind, found.payload_bytes, found.payload_captured_bytes), (Kind::Tcp, 100, 18));
    }

    #[test]
    fn keep_alives_are_not_arp() {
        assert_eq!(decoded(LinkType::C_HDLC, &[0x8f, 0, 0x80, 0x35, 0, 0]).kind, Kind::OtherLink);
    }
}
