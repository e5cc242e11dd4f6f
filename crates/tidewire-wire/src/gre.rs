//! GRE: version 0 (RFC 2784, RFC 2890, RFC 1701), and PPTP's version 1 (RFC 2637).

use crate::decoded::{Kind, Tunnel, TunnelKind};
use crate::transport::GRE;
use crate::walk::{Carried, Next, Walk, be16, be32};
use crate::{erspan, ethernet};

/// Flags and protocol type, in bytes.
const HEADER_BYTES: usize = 4;
/// Checksum and offset are present.
const CHECKSUM: u16 = 0x8000;
/// Offset and source routes are present (RFC 1701).
const ROUTING: u16 = 0x4000;
/// A key is present.
const KEY: u16 = 0x2000;
/// A sequence number is present.
const SEQUENCE: u16 = 0x1000;
/// Version 1: an acknowledgment number is present.
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION_MASK: u16 = 0x0007;

/// Source route entries walked (RFC 1701); nobody sends any.
const ROUTES_MAX: usize = 16;

/// Version 1's only protocol type: PPP.
const PPP: u16 = 0x880b;
/// MikroTik's Ethernet over IP, which borrows version 1's header.
const EOIP: u16 = 0x6400;
/// ERSPAN types I and II.
const ERSPAN: u16 = 0x88be;
/// ERSPAN type III.
const ERSPAN3: u16 = 0x22eb;
/// WCCP redirects (draft-wilson-wrec-wccp-v2-01, 4.2): version 2 puts 4 bytes before the IPv4 packet.
const WCCP: u16 = 0x883e;

/// A GRE header; whatever cannot be walked leaves a flow of GRE packets.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Next {
    walk.transport(GRE, at, at);
    let carried = if walk.may_enter_tunnel() { carried(walk, at) } else { None };
    walk.through(Kind::OtherIp, carried)
}

fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    let (flags, protocol) = (be16(header, 0), be16(header, 2));
    match flags & VERSION_MASK {
        0 => version0(walk, flags, protocol, at + HEADER_BYTES),
        1 if protocol == EOIP && flags == KEY | 1 => eoip(walk, at + HEADER_BYTES),
        1 if protocol == PPP => version1(walk, flags, at + HEADER_BYTES),
        _ => None,
    }
}

/// The optional fields from `at` on, and what follows them.
fn version0(walk: &Walk<'_>, flags: u16, protocol: u16, mut at: usize) -> Option<Carried> {
    if flags & (CHECKSUM | ROUTING) != 0 {
        at += 4;
    }
    let mut id = 0;
    if flags & KEY != 0 {
        id = be32(walk.bytes::<4>(at)?, 0);
        at += 4;
    }
    if flags & SEQUENCE != 0 {
        at += 4;
    }
    if flags & ROUTING != 0 {
        at = after_routes(walk, at)?;
    }
    let tunnel = Tunnel { kind: TunnelKind::Gre, id };
    let next = match protocol {
        ERSPAN if flags & SEQUENCE == 0 => return Some(erspan::type1(walk, at)),
        ERSPAN => return erspan::type2(walk, at),
        ERSPAN3 => return erspan::type3(walk, at),
        WCCP => match walk.bytes::<1>(at)?[0] >> 4 {
            4 => Next::Ipv4 { at },
            _ => Next::Ipv4 { at: at + 4 },
        },
        ethernet::BRIDGED_ETHERNET => Next::Ethernet { at },
        _ => Next::EtherType { ether_type: protocol, at },
    };
    Some(Carried { tunnel, next, end: walk.end })
}

/// Source route entries: address family, offset, length; an entry of length 0 is the last (RFC 1701).
fn after_routes(walk: &Walk<'_>, mut at: usize) -> Option<usize> {
    for _ in 0..ROUTES_MAX {
        let entry = walk.bytes::<4>(at)?;
        at += 4 + usize::from(entry[3]);
        if entry[3] == 0 {
            return Some(at);
        }
    }
    None
}

/// Payload length and call id stand in the place of the key; without a sequence number there is no payload (RFC 2637, 4.1).
fn version1(walk: &Walk<'_>, flags: u16, at: usize) -> Option<Carried> {
    if flags & (CHECKSUM | ROUTING | KEY | SEQUENCE) != KEY | SEQUENCE {
        return None;
    }
    let key = walk.bytes::<4>(at)?;
    let ppp_at = at + if flags & ACKNOWLEDGMENT != 0 { 12 } else { 8 };
    Some(Carried {
        tunnel: Tunnel { kind: TunnelKind::Gre, id: be16(key, 2).into() },
        next: Next::Ppp { at: ppp_at },
        end: ppp_at + usize::from(be16(key, 0)),
    })
}

/// Payload length, tunnel id (little-endian), then an Ethernet frame.
fn eoip(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let &[l0, l1, i0, i1] = walk.bytes::<4>(at)?;
    Some(Carried {
        tunnel: Tunnel { kind: TunnelKind::Gre, id: u16::from_le_bytes([i0, i1]).into() },
        next: Next::Ethernet { at: at + 4 },
        end: at + 4 + usize::from(u16::from_be_bytes([l0, l1])),
    })
}
