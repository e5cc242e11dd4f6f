//! The log `tunnel`, and the tunnels that a stream's packets came through.

use std::net::IpAddr;

use tidewire::{Endpoint, FlowKey, StreamPacket, TunnelKind, WireSettings};
use tidewire_wire::{Decoded, Kind, addresses, decode_carriers, ports};

use crate::{
    model::stream_number,
    zeek::{
        cell::{Column, Line, col},
        uid,
    },
};

/// Headers of tunnels around each other that are looked at: the most that an engine follows.
const DEPTH_MAX: usize = 8;

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("tunnel_type", "enum"), ("action", "enum"),
];

/// A tunnel: the conversation of the headers that carry it. Both directions are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tunnel {
    /// Its ends, that of the first packet's sender first; without ports where its protocol has none.
    ends: [Endpoint; 2],
    proto: u8,
    kind: TunnelKind,
}

impl Tunnel {
    /// Whether it is the same one, in whichever direction it was seen first.
    pub(super) fn is(&self, other: &Self) -> bool {
        let ([from, to], kind) = (self.ends, (self.kind, self.proto));
        kind == (other.kind, other.proto) && (other.ends == [from, to] || other.ends == [to, from])
    }

    /// The same for both directions: it distinguishes the tunnel from others.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut own = *self;
        own.ends.sort();
        own
    }

    /// Its name in all logs: of its ends and nothing else, so that workers agree about it.
    pub(super) fn uid(&self) -> uid::Name {
        let own = self.sorted();
        let mut numbers = [0x74, 0x75];
        for number in &mut numbers {
            let mut add = |word: u64| *number = stream_number(word, *number, 5);
            for end in own.ends {
                let address = match end.address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
                    IpAddr::V6(address) => address.to_bits(),
                };
                add((address >> 64) as u64);
                add(address as u64);
                add(end.port.into());
            }
            add(u64::from(own.proto) << 8 | own.kind as u64);
        }
        uid::of_tunnel(numbers)
    }
}

/// The tunnels of a packet from the outside in. None of a datagram whose fragments lay in the tunnel.
pub(super) fn tunnels(packet: &StreamPacket<'_>) -> impl Iterator<Item = Tunnel> {
    let mut found: [Option<Tunnel>; DEPTH_MAX] = [None; DEPTH_MAX];
    let mut count = 0;
    let mut ip_at = None;
    let mut is_complete = false;
    let mut note = |decoded: &Decoded| {
        if is_complete {
            return;
        }
        // The payload of a header is known by the one inside.
        if let Some(Some(before)) = usize::checked_sub(count, 1).and_then(|before| found.get_mut(before)) {
            before.kind = decoded.tunnel.kind;
        }
        let is_inside = decoded.ip_at < packet.network_at && ip_at.is_none_or(|before| before < decoded.ip_at);
        let Some(place) = found.get_mut(count).filter(|_| is_inside && decoded.kind as u8 <= Kind::Fragment as u8)
        else {
            is_complete = true;
            return;
        };
        (ip_at, count) = (Some(decoded.ip_at), count + 1);
        let ((source, destination), (from, to)) = (addresses(packet.bytes, decoded), ports(packet.bytes, decoded));
        let ends = [Endpoint { address: source, port: from }, Endpoint { address: destination, port: to }];
        *place = Some(Tunnel { ends, proto: decoded.proto, kind: TunnelKind::None });
    };
    let mut settings = WireSettings::default().with_tunnel_depth(DEPTH_MAX as u8);
    settings.verify_outer = false;
    let innermost = decode_carriers(packet.link, packet.bytes, packet.wire_bytes, &settings, &mut note);
    note(&innermost);
    found.into_iter().flatten()
}

pub(super) fn push(line: &mut Line<'_>, tunnel: &Tunnel, time_ns: u64) {
    // The peer that has the port of the kind is the responder, also where it sent first: as Zeek's `likely_server_ports`.
    let port = server_port(tunnel.kind);
    let [mut client, mut server] = tunnel.ends;
    if port.is_some_and(|port| client.port == port && server.port != port) {
        std::mem::swap(&mut client, &mut server);
    }
    line.identity_of(time_ns, &tunnel.uid(), &FlowKey::new(client, server, tunnel.proto));
    line.at(col!("tunnel_type")).word(name(tunnel.kind));
    line.at(col!("action")).word("Tunnel::DISCOVER");
}

/// The port that Zeek knows of a kind in UDP.
fn server_port(kind: TunnelKind) -> Option<u16> {
    Some(match kind {
        TunnelKind::Vxlan => 4789,
        TunnelKind::Geneve => 6081,
        TunnelKind::GtpU => 2152,
        TunnelKind::Teredo => 3544,
        TunnelKind::Ayiya => 5072,
        _ => return None,
    })
}

/// Zeek's `Tunnel::Type`; those that it does not follow by a name of the same form.
fn name(kind: TunnelKind) -> &'static str {
    match kind {
        TunnelKind::None => "Tunnel::NONE",
        TunnelKind::Gre | TunnelKind::Erspan => "Tunnel::GRE",
        TunnelKind::IpInIp => "Tunnel::IP",
        TunnelKind::Vxlan => "Tunnel::VXLAN",
        TunnelKind::Geneve => "Tunnel::GENEVE",
        TunnelKind::GtpU => "Tunnel::GTPv1",
        TunnelKind::Teredo => "Tunnel::TEREDO",
        TunnelKind::Ayiya => "Tunnel::AYIYA",
        TunnelKind::VxlanGpe => "Tunnel::VXLAN_GPE",
        TunnelKind::L2tp => "Tunnel::L2TP",
        TunnelKind::Capwap => "Tunnel::CAPWAP",
        TunnelKind::Lisp => "Tunnel::LISP",
        TunnelKind::Mpls => "Tunnel::MPLS",
        TunnelKind::EtherIp => "Tunnel::ETHERIP",
        TunnelKind::Tzsp => "Tunnel::TZSP",
        _ => "Tunnel::UNKNOWN",
    }
}
