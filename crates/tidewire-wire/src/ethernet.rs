//! Ethernet (IEEE 802.3) and what its type field names, VLAN tags included.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk, be16};

/// Destination, source and type or length, in bytes.
pub(crate) const HEADER_BYTES: usize = 14;
/// Offset of the type or length.
const TYPE: usize = 12;

/// IPv4 (RFC 894).
pub(crate) const IPV4: u16 = 0x0800;
/// ARP (RFC 826).
const ARP: u16 = 0x0806;
/// Reverse ARP (RFC 903).
const RARP: u16 = 0x8035;
/// IPv6 (RFC 2464).
pub(crate) const IPV6: u16 = 0x86dd;
/// Customer VLAN tag (IEEE 802.1Q).
const VLAN: u16 = 0x8100;
/// Service VLAN tag (IEEE 802.1ad).
const SERVICE_VLAN: u16 = 0x88a8;
/// Stacked tags of before 802.1ad.
const OLD_QINQ: [u16; 3] = [0x9100, 0x9200, 0x9300];

/// From here on the field is a type; up to 1500 it is a length (IEEE 802.3 clause 3.2.6).
const TYPE_MIN: u16 = 0x600;

/// An Ethernet header.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    Ok(Next::EtherType { ether_type: be16(header, TYPE), at: at + HEADER_BYTES })
}

/// What an EtherType names.
pub(crate) fn ether_type(walk: &mut Walk<'_>, ether_type: u16, at: usize) -> Result<Next, Malformation> {
    match ether_type {
        IPV4 => Ok(Next::Ipv4 { at }),
        IPV6 => Ok(Next::Ipv6 { at }),
        ARP | RARP => Ok(Next::Done(Kind::Arp)),
        VLAN | SERVICE_VLAN => vlan(walk, at),
        _ if OLD_QINQ.contains(&ether_type) => vlan(walk, at),
        _ if ether_type < TYPE_MIN => Ok(Next::Done(Kind::OtherLink)),
        _ => Ok(Next::Done(Kind::OtherLink)),
    }
}

/// A VLAN tag: 3 bits of priority, 1 of drop eligibility, 12 of id; then the next type.
fn vlan(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let tag = walk.header::<4>(at, LinkShort, LinkCut)?;
    let id = be16(tag, 0) & 0x0fff;
    if let Some(free) = walk.out.vlan.iter_mut().find(|slot| **slot == 0xffff) {
        *free = id;
    }
    Ok(Next::EtherType { ether_type: be16(tag, 2), at: at + 4 })
}
