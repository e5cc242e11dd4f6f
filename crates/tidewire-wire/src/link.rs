use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::walk::{Next, Walk, be16};
use crate::{frame_relay, ieee80211, ieee802154, nflog, null, pktap, ppp, radiotap, sll, switch_tag, token_ring};

/// A link type as pcap files number it (the LINKTYPE_ registry of tcpdump.org), in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// Declares the link types that are walked, with a list of them all.
macro_rules! link_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        impl LinkType {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// Every link type that [`crate::decode`] knows; frames of others are [`Kind::UnsupportedLink`].
            pub const SUPPORTED: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

link_types! {
    /// BSD loopback: a 4-byte address family in the capturing host's byte order.
    NULL = 0,
    /// Ethernet.
    ETHERNET = 1,
    /// Token ring (IEEE 802.5).
    IEEE802_5 = 6,
    /// SLIP, with the 16 bytes that BSD puts before a packet. Compressed headers are not undone.
    SLIP = 8,
    /// PPP, with or without its address and control bytes.
    PPP = 9,
    /// FDDI (RFC 1390).
    FDDI = 10,
    /// Raw IP, version from the first nibble (the number most systems use internally).
    RAW_BSD = 12,
    /// Raw IP, version from the first nibble: OpenBSD's number.
    RAW_OPENBSD = 14,
    /// PPP in HDLC-like framing, or Cisco HDLC.
    PPP_HDLC = 50,
    /// PPPoE from its own header on.
    PPP_ETHER = 51,
    /// LLC over ATM (RFC 2684).
    ATM_RFC1483 = 100,
    /// Raw IP, version from the first nibble.
    RAW = 101,
    /// Cisco HDLC.
    C_HDLC = 104,
    /// 802.11 without a pseudo-header.
    IEEE802_11 = 105,
    /// Classical IP over ATM as Linux captures it (RFC 2225): LLC, or bare IPv4.
    ATM_CLIP = 106,
    /// Frame relay.
    FRELAY = 107,
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    LOOP = 108,
    /// Linux "cooked" capture, version 1.
    LINUX_SLL = 113,
    /// 802.11 after a prism header.
    IEEE802_11_PRISM = 119,
    /// SunATM: 4 bytes of direction and channel, then LLC.
    SUNATM = 123,
    /// 802.11 after a radiotap header.
    IEEE802_11_RADIOTAP = 127,
    /// ARCNET as Linux captures it (RFC 1051, RFC 1201); fragments of RFC 1201 are not put together.
    ARCNET_LINUX = 129,
    /// 802.11 after an AVS header.
    IEEE802_11_AVS = 163,
    /// PPP from Linux's pppd: the address byte says the direction.
    PPP_PPPD = 166,
    /// Ethernet after a Juniper header.
    JUNIPER_ETHER = 178,
    /// Per-packet information, then a frame of the link type it names.
    PPI = 192,
    /// 802.15.4 with its check sequence.
    IEEE802_15_4_WITHFCS = 195,
    /// PPP after a byte of direction.
    PPP_WITH_DIR = 204,
    /// Cisco HDLC after a byte of direction.
    C_HDLC_WITH_DIR = 205,
    /// Frame relay after a byte of direction.
    FRELAY_WITH_DIR = 206,
    /// 802.15.4 after the header of its physical layer.
    IEEE802_15_4_NONASK_PHY = 215,
    /// Solaris' ipnet: a pseudo-header, then IP.
    IPNET = 226,
    /// Raw IPv4.
    IPV4 = 228,
    /// Raw IPv6.
    IPV6 = 229,
    /// 802.15.4 without its check sequence.
    IEEE802_15_4_NOFCS = 230,
    /// Linux netfilter log.
    NFLOG = 239,
    /// IP over InfiniBand: global routing header, then an EtherType.
    IPOIB = 242,
    /// macOS' pktap: a pseudo-header, then a frame of the link type it names.
    PKTAP = 258,
    /// Linux "cooked" capture, version 2.
    LINUX_SLL2 = 276,
    /// Ethernet with the tag of a Broadcom switch before the type.
    DSA_TAG_BRCM = 281,
    /// Ethernet behind the tag of a Broadcom switch.
    DSA_TAG_BRCM_PREPEND = 282,
    /// 802.15.4 after a TAP header.
    IEEE802_15_4_TAP = 283,
    /// Ethernet with the tag of a Marvell switch before the type.
    DSA_TAG_DSA = 284,
    /// The same with an EtherType before the tag.
    DSA_TAG_EDSA = 285,
}

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
fn at(walk: &mut Walk<'_>, link: LinkType, at: usize) -> Result<Next, Malformation> {
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
