//! Headers in front of a payload, written in place.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::MACS;
use crate::craft::{fold, sum};

/// Networks that generated traffic runs over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// IPv6; otherwise IPv4.
    pub ipv6: bool,
    /// A tag (802.1Q) with this number.
    pub vlan: Option<u16>,
}

impl Link {
    /// Bytes in front of the IP packet.
    pub(crate) fn link_bytes(self) -> usize {
        if self.vlan.is_some() { 18 } else { 14 }
    }

    /// Bytes in front of the IP payload.
    pub(crate) fn bytes(self) -> usize {
        self.link_bytes() + if self.ipv6 { 40 } else { 20 }
    }
}

/// Fields of an IP header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ip {
    /// Source and destination; with IPv6 the last 32 bits.
    pub addresses: [u32; 2],
    pub proto: u8,
    pub tos: u8,
    pub id: u32,
    /// For a fragment: its offset, and whether more follow.
    pub piece: Option<(u32, bool)>,
    /// Which end sends it.
    pub end: usize,
}

/// Size of IPv6's fragment header; IPv4 has none.
pub(crate) const FRAGMENT_BYTES: usize = 8;

fn v6(address: u32) -> [u8; 16] {
    let net = Ipv6Addr::new(0xfd77, 0x7764, 0, 0, 0, 0, 0, 0).to_bits();
    (net | u128::from(address)).to_be_bytes()
}

/// Writes the headers in front of `inner_bytes` bytes. Returns where these begin, and the sum of the pseudo header, length
/// included.
pub(crate) fn write(link: Link, ip: &Ip, inner_bytes: usize, frame: &mut [u8]) -> Option<(usize, u64)> {
    let [near, far] = if ip.end == 0 { MACS } else { [MACS[1], MACS[0]] };
    put(frame, 0, &far)?;
    put(frame, 6, &near)?;
    let kind: [u8; 2] = if link.ipv6 { [0x86, 0xdd] } else { [8, 0] };
    match link.vlan {
        Some(vlan) => {
            put(frame, 12, &[0x81, 0])?;
            put(frame, 14, &vlan.to_be_bytes())?;
            put(frame, 16, &kind)?;
        }
        None => put(frame, 12, &kind)?,
    }
    let at = link.link_bytes();
    let pseudo = u64::from(ip.proto) + inner_bytes as u64;
    if link.ipv6 { write_v6(ip, inner_bytes, frame, at, pseudo) } else { write_v4(ip, inner_bytes, frame, at, pseudo) }
}

fn write_v4(ip: &Ip, inner_bytes: usize, frame: &mut [u8], at: usize, pseudo: u64) -> Option<(usize, u64)> {
    let [source, destination] = ip.addresses.map(|address| Ipv4Addr::from_bits(address).octets());
    let field = ip.piece.map_or(0x4000, |(offset, more)| ((offset / 8) & 0x1fff) as u16 | u16::from(more) << 13);
    let header = frame.get_mut(at..at + 20)?;
    put(header, 0, &[0x45, ip.tos])?;
    put(header, 2, &((20 + inner_bytes) as u16).to_be_bytes())?;
    put(header, 4, &(ip.id as u16).to_be_bytes())?;
    put(header, 6, &field.to_be_bytes())?;
    put(header, 8, &[64, ip.proto, 0, 0])?;
    put(header, 12, &source)?;
    put(header, 16, &destination)?;
    let checksum = fold(sum(header, 0)).to_be_bytes();
    put(header, 10, &checksum)?;
    Some((at + 20, sum(&destination, sum(&source, pseudo))))
}

fn write_v6(ip: &Ip, inner_bytes: usize, frame: &mut [u8], at: usize, pseudo: u64) -> Option<(usize, u64)> {
    let [source, destination] = ip.addresses.map(v6);
    let extension = if ip.piece.is_some() { FRAGMENT_BYTES } else { 0 };
    let word = 0x6000_0000 | u32::from(ip.tos) << 20;
    put(frame, at, &word.to_be_bytes())?;
    put(frame, at + 4, &((inner_bytes + extension) as u16).to_be_bytes())?;
    put(frame, at + 6, &[if ip.piece.is_some() { 44 } else { ip.proto }, 64])?;
    put(frame, at + 8, &source)?;
    put(frame, at + 24, &destination)?;
    if let Some((offset, more)) = ip.piece {
        put(frame, at + 40, &[ip.proto, 0])?;
        put(frame, at + 42, &(offset as u16 & 0xfff8 | u16::from(more)).to_be_bytes())?;
        put(frame, at + 44, &ip.id.to_be_bytes())?;
    }
    Some((at + 40 + extension, sum(&destination, sum(&source, pseudo))))
}

/// Writes bytes at an offset, if they fit.
pub(crate) fn put(into: &mut [u8], at: usize, bytes: &[u8]) -> Option<()> {
    into.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(())
}
