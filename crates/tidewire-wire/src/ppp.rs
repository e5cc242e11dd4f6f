//! PPP (RFC 1661), plain and in HDLC-like framing (RFC 1662), PPPoE sessions (RFC 2516) and Cisco's HDLC.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort, PppoeLength, PppoeVersion};
use crate::walk::{Next, Walk, be16};
use crate::{ethernet, ipv6};

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
    let end = at + 6 + usize::from(be16(header, 4));
    let packet_end = ip_end(walk, at + 6).filter(|packet_end| *packet_end <= walk.end);
    match packet_end {
        // PPPoE's length is wrong: the packet's own bounds apply.
        Some(packet_end) if packet_end > end || end > walk.end => {}
        _ if end > walk.end => return Err(PppoeLength),
        _ => walk.end = end,
    }
    Ok(Next::Ppp { at: at + 6 })
}

/// Where the IP packet in a PPPoE frame ends by its own length. If all of it is in the frame, this overrides PPPoE's
/// length, from which some senders omit the PPP header. (Linux drops packets that are incomplete by PPPoE's length;
/// other hosts use the IP length.)
fn ip_end(walk: &Walk<'_>, at: usize) -> Option<usize> {
    let &[p0, p1, first, _, l0, l1] = walk.bytes::<6>(at)?;
    match (u16::from_be_bytes([p0, p1]), first >> 4) {
        (IPV4, 4) => Some(at + 2 + usize::from(u16::from_be_bytes([l0, l1]))),
        (IPV6, 6) => Some(at + 2 + ipv6::HEADER_BYTES + usize::from(be16(walk.bytes::<8>(at)?, 6))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp};
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
        // Other values than that of the packet inside: usable as long as the packet is in the frame.
        for other in [bytes - 1, bytes - 2, bytes - 20, 0, bytes + 1, 255] {
            let found = decoded(LinkType::ETHERNET, &frame([0x11, 0, 0, 1, 0, other]));
            assert_eq!((found.kind, found.payload_bytes), (Kind::Tcp, 1), "{other} bytes");
        }
        let control = ethernet(0x8864, &[0x11, 0, 0, 1, 0, 9, 0xc0, 0x21, 1, 1, 0, 4]);
        assert_eq!(decoded(LinkType::ETHERNET, &control).malformed, Some(Malformation::PppoeLength));
        let segment6 = ipv6(6, &tcp(b"x"));
        let found =
            decoded(LinkType::ETHERNET, &ethernet(0x8864, &join(&[&[0x11, 0, 0, 1, 0, 9, 0, 0x57], &segment6])));
        assert_eq!((found.kind, found.payload_bytes), (Kind::Tcp, 1));
        let mut long = segment.clone();
        long[3] += 1;
        let long = ethernet(0x8864, &join(&[&[0x11, 0, 0, 1, 0, bytes, 0, 0x21], &long]));
        assert_eq!(decoded(LinkType::ETHERNET, &long).malformed, Some(Malformation::Ipv4TotalLong), "than the frame");
    }

    #[test]
    fn keep_alives_are_not_arp() {
        assert_eq!(decoded(LinkType::C_HDLC, &[0x8f, 0, 0x80, 0x35, 0, 0]).kind, Kind::OtherLink);
    }
}
