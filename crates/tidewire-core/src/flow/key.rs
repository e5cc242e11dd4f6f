use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire_wire::{Decoded, Kind, Tunnel, TunnelKind};

use crate::{Endpoint, FlowKey, hash};

/// A flow's key: the same for both directions. `a` is the lower endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    a: [u64; 2],
    b: [u64; 2],
    /// Port of `a` << 48, port of `b` << 32, and below: protocol << 24, VLAN ids of 12 bits each.
    ports_proto_vlan: u64,
    /// Version << 56, tunnel kind << 32, tunnel id.
    tunnel: u64,
}

impl Key {
    pub(crate) const NONE: Self = Self { a: [0; 2], b: [0; 2], ports_proto_vlan: 0, tunnel: 0 };

    /// The key of a decoded packet, and whether its sender is `a`.
    #[inline(always)]
    pub(crate) fn of(frame: &[u8], decoded: &Decoded, with_vlan: bool, with_tunnel: bool) -> Option<(Self, bool)> {
        let ip = decoded.ip_at as usize;
        let ports = ports(frame, decoded);
        let mut low = u64::from(decoded.proto) << 24;
        if with_vlan {
            low |= u64::from(decoded.vlan[0] & 0xfff) << 12 | u64::from(decoded.vlan[1] & 0xfff);
        } else {
            low |= 0xff_ffff;
        }
        let mut tunnel = u64::from(decoded.ip_version) << 56;
        if with_tunnel && decoded.tunnel.kind != TunnelKind::None {
            tunnel |= (decoded.tunnel.kind as u64) << 32 | u64::from(decoded.tunnel.id);
        }
        let (sport, dport) = (u64::from(ports >> 16), u64::from(ports & 0xffff));
        if decoded.ip_version == 4 {
            let both: &[u8; 8] = frame.get(ip + 12..)?.first_chunk()?;
            let both = u64::from_be_bytes(*both);
            let (source, destination) = (both >> 32, both & 0xffff_ffff);
            let from_a = source << 16 | sport <= destination << 16 | dport;
            let (a, b) = if from_a { (source, destination) } else { (destination, source) };
            let (aport, bport) = if from_a { (sport, dport) } else { (dport, sport) };
            let ports_proto_vlan = aport << 48 | bport << 32 | low;
            return Some((Self { a: [0, a], b: [0, b], ports_proto_vlan, tunnel }, from_a));
        }
        let all: &[u8; 32] = frame.get(ip + 8..)?.first_chunk()?;
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&all[at..at + 8]);
            u64::from_be_bytes(bytes)
        };
        let (source, destination) = ([word(0), word(8)], [word(16), word(24)]);
        let from_a = (source[0], source[1], sport) <= (destination[0], destination[1], dport);
        let key = if from_a {
            Self { a: source, b: destination, ports_proto_vlan: sport << 48 | dport << 32 | low, tunnel }
        } else {
            Self { a: destination, b: source, ports_proto_vlan: dport << 48 | sport << 32 | low, tunnel }
        };
        Some((key, from_a))
    }

    /// The keyed hash: the same for both directions.
    #[inline(always)]
    pub(crate) fn hash(&self, key: [u64; 2]) -> u64 {
        const PLAIN_V4: u64 = 4 << 56;
        if self.tunnel == PLAIN_V4 {
            hash::siphash13_words(key, [self.a[1] << 32 | self.b[1], self.ports_proto_vlan])
        } else {
            let words = [self.a[0], self.a[1], self.b[0], self.b[1], self.ports_proto_vlan, self.tunnel];
            hash::siphash13_words(key, words)
        }
    }

    /// A hash of the address of `a` or `b` alone.
    pub(crate) fn address_hash(&self, of_a: bool, key: [u64; 2]) -> u64 {
        hash::siphash13_words(key, if of_a { self.a } else { self.b })
    }

    fn is_v6(&self) -> bool {
        self.tunnel >> 56 == 6
    }

    fn address(&self, of_a: bool) -> IpAddr {
        let words = if of_a { self.a } else { self.b };
        if self.is_v6() {
            IpAddr::V6(Ipv6Addr::from_bits(u128::from(words[0]) << 64 | u128::from(words[1])))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(words[1] as u32))
        }
    }

    /// Port of `a` or `b`.
    pub(crate) fn port(&self, of_a: bool) -> u16 {
        (self.ports_proto_vlan >> if of_a { 48 } else { 32 }) as u16
    }

    /// The address of `a` or `b`, as an endpoint.
    pub(crate) fn endpoint(&self, of_a: bool) -> Endpoint {
        let port = if has_ports(self.proto()) { self.port(of_a) } else { 0 };
        Endpoint { address: self.address(of_a), port }
    }

    pub(crate) fn proto(&self) -> u8 {
        (self.ports_proto_vlan >> 24) as u8
    }

    /// As the outside sees it. Keys that leave out VLAN or tunnel ids show none.
    pub(crate) fn describe(&self, client_is_a: bool, icmp: [u8; 2]) -> FlowKey {
        let vid = |bits: u64| if bits & 0xfff == 0xfff { 0xffff } else { (bits & 0xfff) as u16 };
        FlowKey {
            client: self.endpoint(client_is_a),
            server: self.endpoint(!client_is_a),
            proto: self.proto(),
            vlan: [vid(self.ports_proto_vlan >> 12), vid(self.ports_proto_vlan)],
            tunnel: Tunnel { kind: tunnel_kind((self.tunnel >> 32) as u8), id: self.tunnel as u32 },
            icmp,
        }
    }
}

fn tunnel_kind(number: u8) -> TunnelKind {
    use TunnelKind::{Erspan, Geneve, Gre, GtpU, IpInIp, None, Teredo, Vxlan};
    [None, Gre, IpInIp, Vxlan, Geneve, GtpU, Erspan, Teredo]
        .into_iter()
        .find(|kind| *kind as u8 == number)
        .unwrap_or(None)
}

fn has_ports(proto: u8) -> bool {
    matches!(proto, 6 | 17 | 132 | 136)
}

/// Source port << 16 | destination port, or what stands for them: for ICMP the type that both directions share.
#[inline(always)]
fn ports(frame: &[u8], decoded: &Decoded) -> u32 {
    let at = decoded.transport_at as usize;
    match decoded.kind {
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp => {
            frame.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
        }
        Kind::Icmp | Kind::Icmp6 => {
            let kind = frame.get(at).copied().unwrap_or(0);
            u32::from(if decoded.kind == Kind::Icmp { icmp_pair(kind) } else { icmp6_pair(kind) }) * 0x1_0001
        }
        _ => 0,
    }
}

/// Request and reply types share the request's number (RFC 792, RFC 950, RFC 1256).
fn icmp_pair(kind: u8) -> u8 {
    match kind {
        0 => 8,
        9 => 10,
        14 => 13,
        16 => 15,
        18 => 17,
        other => other,
    }
}

/// The same for ICMPv6 (RFC 4443, RFC 4861, RFC 2710, RFC 4620).
fn icmp6_pair(kind: u8) -> u8 {
    match kind {
        129 => 128,
        131 => 130,
        134 => 133,
        136 => 135,
        140 => 139,
        other => other,
    }
}
