//! The first header of a frame, by its link type.

use crate::LinkType;
use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::walk::{Next, Walk, be16};
use crate::{frame_relay, ieee80211, ieee802154, nflog, null, pktap, ppp, radiotap, sll, switch_tag, token_ring};

/// BSD's pseudo-header before a SLIP packet, in bytes.
const SLIP_BYTES: usize = 16;
/// FDDI's frame control and two addresses, in bytes.
const FDDI_BYTES: usize = 13;
/// SunATM's flags byte: LLC follows.
const SUNATM_LLC: u8 = 2;

/// Global routing header, EtherType, reserved; in bytes (RFC 4391, 6).
const IPOIB_BYTES: usize = 44;

/// The first header of a frame of this link type.
pub(crate) fn first(walk: &mut Walk<'_>, link: LinkType) -> Result<Next, Malformation> {
    let (inner, inner_at) = match link {
        LinkType::PPI => radiotap::ppi(walk)?,
        LinkType::PKTAP => match pktap::pktap(walk)? {
            Some(inner) => inner,
            None => return Ok(Next::Done(Kind::OtherLink)),
        },
        _ => return at(walk, link, 0),
    };
    match u16::try_from(inner) {
        Ok(number) => at(walk, LinkType(number), inner_at),
        Err(_) => Ok(Next::Done(Kind::OtherLink)),
    }
}

/// The header at `at` of a frame of this link type.
pub(crate) fn at(walk: &mut Walk<'_>, link: LinkType, at: usize) -> Result<Next, Malformation> {
    match link {
        LinkType::ETHERNET => Ok(Next::Ethernet { at }),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Ok(Next::Ip { at }),
        LinkType::IPV4 => Ok(Next::Ipv4 { at }),
        LinkType::IPV6 => Ok(Next::Ipv6 { at }),
        LinkType::NULL | LinkType::LOOP => null::walk(walk, at),
        LinkType::LINUX_SLL => sll::walk(walk, at),
        LinkType::LINUX_SLL2 => sll::walk2(walk, at),
        LinkType::PPP | LinkType::PPP_HDLC => ppp::serial(walk, at),
        LinkType::PPP_WITH_DIR => ppp::serial(walk, at + 1),
        LinkType::PPP_PPPD => Ok(Next::Ppp { at: at + 2 }),
        LinkType::PPP_ETHER => Ok(Next::Pppoe { at }),
        LinkType::C_HDLC => ppp::cisco(walk, at),
        LinkType::C_HDLC_WITH_DIR => ppp::cisco(walk, at + 1),
        LinkType::FRELAY => frame_relay::walk(walk, at),
        LinkType::FRELAY_WITH_DIR => frame_relay::walk(walk, at + 1),
        LinkType::IEEE802_11 => ieee80211::walk(walk, at, false),
        LinkType::IEEE802_11_RADIOTAP => radiotap::walk(walk, at),
        LinkType::IEEE802_11_PRISM => radiotap::prism(walk, at),
        LinkType::IEEE802_11_AVS => radiotap::avs(walk, at),
        LinkType::NFLOG => nflog::walk(walk, at),
        LinkType::SLIP => Ok(Next::Ip { at: at + SLIP_BYTES }),
        LinkType::ATM_RFC1483 => Ok(Next::Llc { at }),
        LinkType::FDDI => Ok(Next::Llc { at: at + FDDI_BYTES }),
        LinkType::SUNATM => match walk.header::<4>(at, LinkShort, LinkCut)? {
            [flags, ..] if flags & 0x0f == SUNATM_LLC => Ok(Next::Llc { at: at + 4 }),
            _ => Ok(Next::Done(Kind::OtherLink)),
        },
        LinkType::ARCNET_LINUX => arcnet(walk, at),
        LinkType::JUNIPER_ETHER => juniper(walk, at),
        LinkType::IEEE802_5 => token_ring::walk(walk, at),
        LinkType::ATM_CLIP => match walk.bytes::<3>(at) {
            Some([0xaa, 0xaa, 0x03]) => Ok(Next::Llc { at }),
            _ => Ok(Next::Ip { at }),
        },
        LinkType::IPNET => pktap::ipnet(walk, at),
        LinkType::IEEE802_15_4_WITHFCS => ieee802154::walk(walk, at, true),
        LinkType::IEEE802_15_4_NOFCS => ieee802154::walk(walk, at, false),
        LinkType::IEEE802_15_4_NONASK_PHY => ieee802154::physical(walk, at),
        LinkType::IEEE802_15_4_TAP => ieee802154::tap(walk, at),
        LinkType::DSA_TAG_BRCM => switch_tag::broadcom(walk, at),
        LinkType::DSA_TAG_BRCM_PREPEND => Ok(switch_tag::broadcom_before(at)),
        LinkType::DSA_TAG_DSA => switch_tag::marvell(walk, at),
        LinkType::DSA_TAG_EDSA => switch_tag::marvell_ether_type(walk, at),
        LinkType::IPOIB => {
            let header = walk.header::<IPOIB_BYTES>(at, LinkShort, LinkCut)?;
            Ok(Next::EtherType { ether_type: be16(header, IPOIB_BYTES - 4), at: at + IPOIB_BYTES })
        }
        _ => Ok(Next::Done(Kind::UnsupportedLink)),
    }
}

/// ARCNET: addresses, offset, protocol; the newer numbers are followed by fragmentation flag and sequence (RFC 1201).
fn arcnet(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    Ok(match walk.header::<5>(at, LinkShort, LinkCut)?[4] {
        240 => Next::Ipv4 { at: at + 5 },
        241 | 213 | 214 => Next::Done(Kind::Arp),
        protocol @ (212 | 196) => match (walk.header::<8>(at, LinkShort, LinkCut)?[5], protocol) {
            (0, 212) => Next::Ipv4 { at: at + 8 },
            (0, _) => Next::Ipv6 { at: at + 8 },
            _ => Next::Done(Kind::OtherLink),
        },
        _ => Next::Done(Kind::OtherLink),
    })
}

/// Juniper: "MGC", flags, and extensions of a stated length when the upper bit is set; then Ethernet.
fn juniper(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let [b'M', b'G', b'C', flags] = *walk.header::<4>(at, LinkShort, LinkCut)? else { return Err(LinkHeaderLength) };
    if flags & 0x80 == 0 {
        return Ok(Next::Ethernet { at: at + 4 });
    }
    let extensions = usize::from(be16(walk.header::<2>(at + 4, LinkShort, LinkCut)?, 0));
    Ok(Next::Ethernet { at: at + 6 + extensions })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, join, tcp};
    use crate::{Kind, LinkType, Malformation};

    #[test]
    fn small_link_types() {
        let segment = ipv4(6, &tcp(b"x"));
        let kind = |link, header: &[u8]| decoded(link, &join(&[header, &segment])).kind;
        assert_eq!(kind(LinkType::SLIP, &[0; 16]), Kind::Tcp);
        assert_eq!(kind(LinkType::ATM_CLIP, &[]), Kind::Tcp);
        assert_eq!(kind(LinkType::ATM_CLIP, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), Kind::Tcp);
        assert_eq!(kind(LinkType::ARCNET_LINUX, &[1, 2, 0, 0, 240]), Kind::Tcp);
        assert_eq!(kind(LinkType::ARCNET_LINUX, &[1, 2, 0, 0, 212, 0, 0, 1]), Kind::Tcp);
        assert_eq!(kind(LinkType::ARCNET_LINUX, &[1, 2, 0, 0, 212, 3, 0, 1]), Kind::OtherLink, "a fragment");
        assert_eq!(kind(LinkType::SUNATM, &[2, 0, 0, 5, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), Kind::Tcp);
        assert_eq!(kind(LinkType::JUNIPER_ETHER, &join(&[b"MGC\x80\0\x02", &[0; 14], &[8, 0]])), Kind::Tcp);
        assert_eq!(kind(LinkType::JUNIPER_ETHER, &join(&[b"MGC\0", &[0; 12], &[8, 0]])), Kind::Tcp);
        assert_eq!(kind(LinkType::PPP_WITH_DIR, &[1, 0x21]), Kind::Tcp);
        assert_eq!(kind(LinkType::PPI, &join(&[&[0, 0, 8, 0, 1, 0, 0, 0], &[0; 12], &[8, 0]])), Kind::Tcp);
        assert_eq!(kind(LinkType::PPI, &[0, 0, 8, 0, 1, 0, 1, 0]), Kind::OtherLink);
    }

    #[test]
    fn raw_packets_are_of_their_version() {
        assert_eq!(decoded(LinkType::RAW, &[0x50; 40]).malformed, Some(Malformation::IpVersion));
        assert_eq!(decoded(LinkType::RAW, &[]).malformed, Some(Malformation::LinkShort));
        assert_eq!(decoded(LinkType::IPV6, &ipv4(6, &tcp(&[0; 40]))).malformed, Some(Malformation::Ipv6Version));
    }
}
