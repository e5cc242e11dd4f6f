//! Pseudo-headers with the origin of a frame: macOS' pktap and Solaris' ipnet.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::walk::{Next, Walk, be32};

/// pktap: length, type of record, link type; in bytes (macOS' net/pktap.h). Little-endian, as every host that writes it is.
const PKTAP_BYTES: usize = 12;
/// pktap: the record is a packet.
const PACKET: u32 = 1;

/// A pktap header: the link type of the frame behind it, and its offset. `None`: the record is not a packet.
pub(crate) fn pktap(walk: &mut Walk<'_>) -> Result<Option<(u32, usize)>, Malformation> {
    let &[l0, l1, l2, l3, t0, t1, t2, t3, d0, d1, d2, d3] = walk.header::<PKTAP_BYTES>(0, LinkShort, LinkCut)?;
    let bytes = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if bytes < PKTAP_BYTES || bytes > walk.end {
        return Err(LinkHeaderLength);
    }
    let is_packet = u32::from_le_bytes([t0, t1, t2, t3]) == PACKET;
    Ok(is_packet.then_some((u32::from_le_bytes([d0, d1, d2, d3]), bytes)))
}

/// ipnet: version, family, hook; length and interfaces; zones (Solaris' inet/ipnet.h); in bytes, network byte order.
const IPNET_BYTES: usize = 24;
/// ipnet: the only version.
const VERSION: u8 = 1;
/// `AF_INET` and `AF_INET6` of Solaris.
const INET: u8 = 2;
const INET6: u8 = 26;

/// An ipnet header; its length field counts the packet.
pub(crate) fn ipnet(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<IPNET_BYTES>(at, LinkShort, LinkCut)?;
    let at = at + IPNET_BYTES;
    let packet_bytes = be32(header, 4) as usize;
    if packet_bytes != 0 && packet_bytes < walk.end - at {
        walk.end = at + packet_bytes;
    }
    Ok(match (header[0], header[1]) {
        (VERSION, INET) => Next::Ipv4 { at },
        (VERSION, INET6) => Next::Ipv6 { at },
        _ => Next::Done(Kind::OtherLink),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp};
    use crate::{Kind, LinkType, Malformation};

    #[test]
    fn a_pktap_header_names_the_link_type() {
        let segment = ipv4(6, &tcp(b"x"));
        let found = |length: u8, record: u8, link: u8, frame: &[u8]| {
            let header = [length, 0, 0, 0, record, 0, 0, 0, link, 0, 0, 0];
            decoded(LinkType::PKTAP, &join(&[&header, &[0; 96], frame]))
        };
        assert_eq!(found(108, 1, 1, &ethernet(0x0800, &segment)).kind, Kind::Tcp);
        assert_eq!(found(108, 1, 12, &segment).kind, Kind::Tcp, "raw IP");
        assert_eq!(found(108, 1, 0, &join(&[&[2, 0, 0, 0], &segment])).kind, Kind::Tcp, "loopback");
        assert_eq!(found(108, 0, 1, &ethernet(0x0800, &segment)).kind, Kind::OtherLink);
        assert_eq!(found(108, 1, 147, &segment).kind, Kind::UnsupportedLink);
        assert_eq!(found(11, 1, 1, &[]).malformed, Some(Malformation::LinkHeaderLength));
        assert_eq!(found(250, 1, 1, &[]).malformed, Some(Malformation::LinkHeaderLength));
    }

    #[test]
    fn an_ipnet_header_states_family_and_length() {
        let (segment, segment6) = (ipv4(6, &tcp(b"x")), ipv6(6, &tcp(b"x")));
        let found = |version: u8, family: u8, length: u8, packet: &[u8]| {
            let header = [version, family, 0, 0, 0, 0, 0, length];
            decoded(LinkType::IPNET, &join(&[&header, &[0; 16], packet])).kind
        };
        assert_eq!(found(1, 2, 41, &segment), Kind::Tcp);
        assert_eq!(found(1, 26, 0, &segment6), Kind::Tcp);
        assert_eq!(found(1, 2, 40, &segment), Kind::Malformed, "a packet beyond the stated length");
        assert_eq!(found(2, 2, 41, &segment), Kind::OtherLink);
        assert_eq!(found(1, 3, 41, &segment), Kind::OtherLink);
    }
}
