//! Logical link control (IEEE 802.2) with SNAP (RFC 1042), and the NLPIDs that replace it elsewhere.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk, be16};

/// Service access point of SNAP.
const SAP_SNAP: u8 = 0xaa;
/// Service access point of IPv4 (RFC 948).
const SAP_IP: u8 = 0x06;
/// Service access point of ISO network layers; an NLPID follows.
const SAP_ISO: u8 = 0xfe;
/// Unnumbered information.
const UNNUMBERED_INFORMATION: u8 = 0x03;

/// Organisation codes whose protocol id is an EtherType: RFC 1042, and bridge tunnelling (IEEE 802.1H).
const ETHER_TYPE_ORGANISATIONS: [[u8; 3]; 2] = [[0, 0, 0], [0, 0, 0xf8]];

/// NLPID of IPv4 (ISO/IEC TR 9577).
const NLPID_IPV4: u8 = 0xcc;
/// NLPID of IPv6.
const NLPID_IPV6: u8 = 0x8e;
/// NLPID of SNAP.
const NLPID_SNAP: u8 = 0x80;

/// An LLC header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    if at + 3 > walk.end {
        return Ok(Next::Done(Kind::OtherLink));
    }
    match *walk.header::<3>(at, LinkShort, LinkCut)? {
        [SAP_SNAP, SAP_SNAP, UNNUMBERED_INFORMATION] => snap(walk, at + 3),
        [SAP_IP, SAP_IP, UNNUMBERED_INFORMATION] => Ok(Next::Ipv4 { at: at + 3 }),
        [SAP_ISO, SAP_ISO, UNNUMBERED_INFORMATION] => nlpid(walk, at + 3),
        _ => Ok(Next::Done(Kind::OtherLink)),
    }
}

/// A SNAP header: organisation, then protocol id.
fn snap(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<5>(at, LinkShort, LinkCut)?;
    let [o0, o1, o2, ..] = *header;
    if !ETHER_TYPE_ORGANISATIONS.contains(&[o0, o1, o2]) {
        return Ok(Next::Done(Kind::OtherLink));
    }
    Ok(Next::EtherType { ether_type: be16(header, 3), at: at + 5 })
}

/// A network layer protocol id (RFC 2427, 3), with the padding byte that may stand before it.
pub(crate) fn nlpid(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let [first] = *walk.header::<1>(at, LinkShort, LinkCut)?;
    let at = if first == 0 { at + 1 } else { at };
    let [nlpid] = *walk.header::<1>(at, LinkShort, LinkCut)?;
    match nlpid {
        NLPID_IPV4 => Ok(Next::Ipv4 { at: at + 1 }),
        NLPID_IPV6 => Ok(Next::Ipv6 { at: at + 1 }),
        NLPID_SNAP => snap(walk, at + 1),
        _ => Ok(Next::Done(Kind::OtherLink)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, snap, tcp};
    use crate::{Kind, LinkType, Malformation};

    fn kind(payload: &[u8]) -> Kind {
        decoded(LinkType::ETHERNET, &ethernet(payload.len() as u16, payload)).kind
    }

    #[test]
    fn ip_stands_behind_snap_and_its_own_access_points() {
        let segment = ipv4(6, &tcp(b"x"));
        assert_eq!(kind(&snap(0x0800, &segment)), Kind::Tcp);
        assert_eq!(kind(&join(&[&[6, 6, 3], &segment])), Kind::Tcp);
        assert_eq!(kind(&join(&[&[0xfe, 0xfe, 3, 0xcc], &segment])), Kind::Tcp);
        assert_eq!(kind(&[0x42, 0x42, 3, 0, 0]), Kind::OtherLink, "spanning tree");
        assert_eq!(kind(&[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]), Kind::OtherLink, "another organisation");
        assert_eq!(kind(&[0xaa]), Kind::OtherLink);
    }

    #[test]
    fn the_length_bounds_what_follows() {
        let frame = ethernet(8 + 40, &snap(0x0800, &ipv4(6, &tcp(b"x"))));
        assert_eq!(decoded(LinkType::ETHERNET, &frame).malformed, Some(Malformation::Ipv4TotalLong));
    }
}
