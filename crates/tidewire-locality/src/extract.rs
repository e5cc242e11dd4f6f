//! A packet's key: straight out of the headers of plain frames, by the walk for all others.

use tidewire_wire::{
    Decoded, Kind, LinkType, Settings, decode,
    ip_protocol::{ETHER_IP, GRE, IN_IPV4, IN_IPV6, IPCOMP, L2TP, MPLS, UDP, has_ports},
};

use super::{Key, fragments::Piece, service_port};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;

/// Protocols that carry packets.
const TUNNELS: [u8; 7] = [IN_IPV4, IN_IPV6, GRE, ETHER_IP, IPCOMP, L2TP, MPLS];

/// IPv4: more fragments, or an offset.
const IS_FRAGMENT: u16 = 0x3fff;
const OFFSET: u16 = 0x1fff;

/// The key of packets that have none: the greatest there is, so that they come last.
pub(super) fn no_key(key: Key) -> u32 {
    if key == Key::Flow { u32::MAX } else { 0xffff }
}

/// Result for a frame.
pub(super) enum Found {
    /// A packet with this key, or with none.
    Packet(Option<u32>),
    /// A fragment; `index` is still to be filled in.
    Fragment(Piece),
    /// A fragment of a tunnel's packet.
    TunnelFragment,
}

/// An IP packet as far as a key is concerned.
#[derive(Clone, Copy)]
struct Packet {
    ip_at: usize,
    version: u8,
    proto: u8,
    ports: Option<(u16, u16)>,
}

/// Finds the key of frames.
#[derive(Clone, Debug)]
pub(super) struct Extract {
    pub(super) key: Key,
    pub(super) walk: Settings,
}

impl Extract {
    /// The key of a frame.
    #[inline(always)]
    pub(super) fn find(&self, link: LinkType, frame: &[u8], wire_bytes: u32) -> Found {
        if link == LinkType::ETHERNET
            && let Some(packet) = self.ethernet(frame)
        {
            return Found::Packet(self.key_of(frame, packet));
        }
        self.walked(link, frame, wire_bytes)
    }

    /// Ethernet with up to two VLAN tags, IPv4 or IPv6 without extension headers, a transport with ports, no tunnel.
    #[inline(always)]
    fn ethernet(&self, frame: &[u8]) -> Option<Packet> {
        let mut at = 14;
        let mut ether_type = be16(frame, 12)?;
        for _ in 0..2 {
            if ether_type != VLAN && ether_type != SERVICE_VLAN {
                break;
            }
            ether_type = be16(frame, at + 2)?;
            at += 4;
        }
        let version = match ether_type {
            IPV4 => 4,
            IPV6 => 6,
            _ => return None,
        };
        let packet = plain(frame, at, version)?;
        let is_tunnel = |(source, destination)| self.walk.udp_tunnel(source, destination);
        let may_be_tunnel = packet.proto == UDP && self.walk.tunnel_depth > 0;
        if may_be_tunnel && packet.ports.is_some_and(is_tunnel) { None } else { Some(packet) }
    }

    /// Any frame.
    #[inline(never)]
    fn walked(&self, link: LinkType, frame: &[u8], wire_bytes: u32) -> Found {
        let decoded = decode(link, frame, wire_bytes, &self.walk);
        let ip_at = decoded.ip_at as usize;
        let packet = Packet { ip_at, version: decoded.ip_version, proto: decoded.proto, ports: None };
        match decoded.kind {
            Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp => {
                let ports = ports_at(frame, decoded.transport_at as usize);
                Found::Packet(self.key_of(frame, Packet { ports, ..packet }))
            }
            Kind::HeaderCut if has_ports(decoded.proto) => {
                let ports = ports_at(frame, decoded.transport_at as usize);
                Found::Packet(self.key_of(frame, Packet { ports, ..packet }))
            }
            Kind::HeaderCut | Kind::Icmp | Kind::Icmp6 | Kind::Esp | Kind::Ah | Kind::OtherIp => {
                Found::Packet(self.key_of(frame, packet))
            }
            Kind::Fragment => self.fragment(frame, packet, &decoded),
            Kind::Malformed if decoded.ip_version != 0 => self.malformed(frame, packet, &decoded),
            _ => Found::Packet(None),
        }
    }

    /// A packet that contradicts itself or was cut belongs to the flow that its headers name, where they are there: the application that judges
    /// such packets wants them in order.
    fn malformed(&self, frame: &[u8], packet: Packet, decoded: &Decoded) -> Found {
        let Packet { ip_at, version, proto, .. } = packet;
        if decoded.transport_at > decoded.ip_at && has_ports(proto) {
            let ports = ports_at(frame, decoded.transport_at as usize);
            return Found::Packet(self.key_of(frame, Packet { ports, ..packet }));
        }
        let place = if version == 4 { be16(frame, ip_at + 6).unwrap_or(0) } else { 0 };
        if place & IS_FRAGMENT == 0 {
            return Found::Packet(plain(frame, ip_at, version).and_then(|packet| self.key_of(frame, packet)));
        }
        let id = be16(frame, ip_at + 4).unwrap_or(0);
        let header_bytes = usize::from(frame.get(ip_at).map_or(0, |first| first & 0x0f)) * 4;
        let data_at = (place & OFFSET == 0).then_some(ip_at + header_bytes);
        self.piece(frame, packet, id.into(), data_at)
    }

    fn fragment(&self, frame: &[u8], packet: Packet, decoded: &Decoded) -> Found {
        let fragment = &decoded.fragment;
        let data_at = (fragment.offset_bytes == 0).then_some(fragment.data_at as usize);
        self.piece(frame, Packet { proto: fragment.proto, ..packet }, fragment.id, data_at)
    }

    /// A fragment whose data begins at `data_at`, where that is the beginning of its datagram.
    fn piece(&self, frame: &[u8], packet: Packet, id: u32, data_at: Option<usize>) -> Found {
        let data_at = data_at.filter(|_| has_ports(packet.proto));
        let ports = data_at.and_then(|at| ports_at(frame, at));
        let packet = Packet { ports, ..packet };
        let Some((source, destination)) = addresses(frame, packet) else { return Found::Packet(None) };
        let tag = spread(spread(source) ^ destination ^ (u64::from(id) << 8 | u64::from(packet.proto)).rotate_left(16));
        let key = ports.and_then(|_| self.key_of(frame, packet));
        let piece = Piece { tag, index: 0, key };
        let in_udp = packet.proto == UDP && ports.is_some_and(|(a, b)| self.walk.udp_tunnel(a, b));
        if self.walk.tunnel_depth > 0 && (in_udp || TUNNELS.contains(&packet.proto)) {
            Found::TunnelFragment
        } else {
            Found::Fragment(piece)
        }
    }

    #[inline(always)]
    fn key_of(&self, frame: &[u8], packet: Packet) -> Option<u32> {
        match self.key {
            Key::Port => packet.ports.map(|(_, destination)| destination.into()),
            Key::Service => packet.ports.map(|(source, destination)| service_port(source, destination).into()),
            Key::Flow => flow(frame, packet),
        }
    }
}

/// The service's port, then 16 bits of a hash that both directions share. Flows that share both are mixed: they lose
/// locality, not their order, so the hash need not be keyed.
#[inline(always)]
fn flow(frame: &[u8], packet: Packet) -> Option<u32> {
    let (source, destination) = addresses(frame, packet)?;
    let (from, to) = packet.ports.unwrap_or((0, 0));
    let service = packet.ports.map_or(0xffff, |(from, to)| u32::from(service_port(from, to)));
    let ends = spread(source ^ u64::from(from)).wrapping_add(spread(destination ^ u64::from(to)));
    let hash = spread(ends ^ u64::from(packet.proto));
    Some(service << 16 | (hash >> 48) as u32)
}

/// Source and destination, 64 bits each: an IPv4 address in the upper half, IPv6 addresses folded.
#[inline(always)]
fn addresses(frame: &[u8], packet: Packet) -> Option<(u64, u64)> {
    if packet.version == 4 {
        let both: &[u8; 8] = frame.get(packet.ip_at + 12..)?.first_chunk()?;
        let both = u64::from_be_bytes(*both);
        return Some((both & !0xffff_ffff, both << 32));
    }
    let word = |at: usize| Some(u64::from_be_bytes(*frame.get(packet.ip_at + at..)?.first_chunk()?));
    Some((spread(word(8)?) ^ word(16)?, spread(word(24)?) ^ word(32)?))
}

#[inline(always)]
fn spread(word: u64) -> u64 {
    let word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word ^ word >> 29
}

/// An IP packet at `at` that is no fragment, without extension headers, and carries a transport with ports.
#[inline(always)]
fn plain(frame: &[u8], at: usize, version: u8) -> Option<Packet> {
    let (proto, transport_at) = if version == 4 {
        let header: &[u8; 20] = frame.get(at..)?.first_chunk()?;
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        let place = u16::from_be_bytes([header[6], header[7]]);
        if header[0] >> 4 != 4 || header_bytes < 20 || place & IS_FRAGMENT != 0 {
            return None;
        }
        (header[9], at + header_bytes)
    } else {
        let header: &[u8; 40] = frame.get(at..)?.first_chunk()?;
        if header[0] >> 4 != 6 {
            return None;
        }
        (header[6], at + 40)
    };
    if !has_ports(proto) {
        return None;
    }
    let ports = Some(ports_at(frame, transport_at)?);
    Some(Packet { ip_at: at, version, proto, ports })
}

#[inline(always)]
fn ports_at(frame: &[u8], at: usize) -> Option<(u16, u16)> {
    let &[s0, s1, d0, d1] = frame.get(at..)?.first_chunk()?;
    Some((u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])))
}

#[inline(always)]
fn be16(frame: &[u8], at: usize) -> Option<u16> {
    frame.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}
