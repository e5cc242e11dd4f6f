use crate::decoded::Kind;
use crate::ethernet;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk, be16};

/// A link type as pcap files number it (the LINKTYPE_ registry of tcpdump.org), in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a 4-byte address family in the capturing host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// Raw IP, version from the first nibble: the number that BSD/OS, and captures named after it, use.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP, version from the first nibble: OpenBSD's number.
    pub const RAW_OPENBSD: Self = Self(14);
    /// Raw IP, version from the first nibble.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

/// The first header of a frame of this link type.
pub(crate) fn first(walk: &mut Walk<'_>, link: LinkType) -> Result<Next, Malformation> {
    match link {
        LinkType::ETHERNET => Ok(Next::Ethernet { at: 0 }),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Ok(Next::Ip { at: 0 }),
        LinkType::IPV4 => Ok(Next::Ipv4 { at: 0 }),
        LinkType::IPV6 => Ok(Next::Ipv6 { at: 0 }),
        LinkType::NULL | LinkType::LOOP => null(walk),
        LinkType::LINUX_SLL => {
            let header = walk.header::<16>(0, LinkShort, LinkCut)?;
            Ok(Next::EtherType { ether_type: be16(header, 14), at: 16 })
        }
        LinkType::LINUX_SLL2 => {
            let header = walk.header::<20>(0, LinkShort, LinkCut)?;
            Ok(Next::EtherType { ether_type: be16(header, 0), at: 20 })
        }
        _ => Ok(Next::Done(Kind::UnsupportedLink)),
    }
}

/// Address family in either byte order: a file says which machine wrote it, not which machine captured it.
fn null(walk: &mut Walk<'_>) -> Result<Next, Malformation> {
    let family = walk.header::<4>(0, LinkShort, LinkCut)?;
    let family = match u32::from_be_bytes(*family) {
        big if big <= 0xffff => big,
        big => big.swap_bytes(),
    };
    Ok(match family {
        2 => Next::EtherType { ether_type: ethernet::IPV4, at: 4 },
        // Linux; Windows; NetBSD, OpenBSD; FreeBSD; macOS.
        10 | 23 | 24 | 28 | 30 => Next::EtherType { ether_type: ethernet::IPV6, at: 4 },
        _ => Next::Done(Kind::OtherLink),
    })
}
