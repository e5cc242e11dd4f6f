//! Which stream the fragments of a datagram belong to: only the first one has the ports. The recorder and the indexing of captures that
//! are there ask the same table.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
};

use tidewire::FlowKey;
use tidewire_types::ip_protocol::{UDP, has_ports};
use tidewire_wire::{Frame, Kind, Settings as WireSettings, addresses, decode};

use super::facts::{Facts, facts, with_vlan};

/// Datagrams that are remembered at most: about 200 bytes each. Beyond, the oldest one is forgotten.
pub const FRAGMENTED_DATAGRAMS_MAX: usize = 4096;
/// Fragments of a datagram that wait for its first one, at most: a datagram of 64 KiB over Ethernet has 45.
const WAITING_MAX: usize = 64;
/// A datagram is forgotten after this time: its sender may use the identification again (RFC 791: 15 s; RFC 8200: 60 s).
const DATAGRAM_NS: u64 = 60_000_000_000;

/// IP protocols whose content is another packet, or a header that ports are behind.
const CARRIERS: [u8; 8] = [4, 41, 47, 51, 94, 98, 137, 143];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Datagram {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
    proto: u8,
}

/// State of a datagram.
#[derive(Clone, Debug)]
struct Known<T> {
    /// The ends of its stream, the lower one first, and whether the lower one sent it.
    stream: Option<(FlowKey, bool)>,
    /// The same of one that carries a tunnel: its stream is that of the packet inside, and expressions see these.
    carrier: Option<FlowKey>,
    begun_ns: u64,
    /// Bytes of its fragments, and of all of it, once the last one is known.
    bytes: u64,
    bytes_max: u64,
    waiting: Vec<T>,
}

/// Facts of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragmented<T> {
    /// Its headers as if it had the ports of its datagram.
    pub facts: Facts,
    /// Whether the lower end sent it.
    pub is_from_lower: bool,
    /// Fragments of the same stream that came before and [waited](Fragments::wait).
    pub earlier: Vec<T>,
}

/// Fragmented datagrams that are pending: a bounded table. A caller's `T` names a fragment.
#[derive(Clone, Debug)]
pub struct Fragments<T> {
    known: HashMap<Datagram, Known<T>>,
    /// In the order of their begin.
    order: VecDeque<(Datagram, u64)>,
    /// That of the fragment that was added last, if its stream is not known yet.
    last: Option<Datagram>,
    /// The headers of the fragment that was added last, if its datagram carries a tunnel.
    carrier: Option<Facts>,
}

impl<T> Default for Fragments<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), order: VecDeque::new(), last: None, carrier: None }
    }
}

impl<T> Fragments<T> {
    /// Adds a fragment, and returns what is known of it. `None`: its stream is not known, or it is no fragment.
    pub fn add(&mut self, frame: &Frame, bytes: &[u8], settings: &WireSettings) -> Option<Fragmented<T>> {
        (self.last, self.carrier) = (None, None);
        let (facts, is_fragment) = facts(frame, bytes, settings);
        let facts = facts.filter(|_| is_fragment)?;
        let decoded = decode(frame.link, bytes, frame.wire_bytes, settings);
        let fragment = decoded.fragment;
        if decoded.kind != Kind::Fragment || CARRIERS.contains(&fragment.proto) {
            return None;
        }
        let (source, destination) = addresses(bytes, &decoded);
        let datagram = Datagram { source, destination, id: fragment.id, proto: fragment.proto };
        let data = bytes.get(fragment.data_at as usize..).filter(|_| fragment.offset_bytes == 0);
        let source_port = data.and_then(|data| data.first_chunk()).map(|port| u16::from_be_bytes(*port));
        let own = stream_of(&facts, source, source_port, settings);
        self.begin(datagram, frame.timestamp.as_nanos());
        let known = self.known.get_mut(&datagram)?;
        if known.bytes >= known.bytes_max && fragment.offset_bytes == 0 {
            // The next datagram with this identification, or a copy.
            (known.stream, known.carrier, known.bytes, known.bytes_max) = (None, None, 0, u64::MAX);
        }
        known.bytes += u64::from(fragment.data_bytes);
        if !fragment.more {
            known.bytes_max = u64::from(fragment.offset_bytes) + u64::from(fragment.data_bytes);
        }
        // Of two first fragments the one that came first, as reassembly has it.
        known.stream = known.stream.or(own);
        if own.is_none() && fragment.offset_bytes == 0 {
            known.carrier = known.carrier.or(Some(facts.key));
        }
        let Some((key, is_from_lower)) = known.stream else {
            self.last = Some(datagram);
            self.carrier = known.carrier.map(|key| Facts { key: with_vlan(key, facts.key.vlans), ..facts });
            return None;
        };
        let earlier = std::mem::take(&mut known.waiting);
        let facts = Facts { key: with_vlan(key, facts.key.vlans), ..facts };
        Some(Fragmented { facts, is_from_lower, earlier })
    }

    /// The headers of the fragment that was added last, with the ports of its datagram, if that is known to carry a tunnel.
    pub fn carrier(&self) -> Option<Facts> {
        self.carrier
    }

    /// Has the fragment that was added last, and whose stream is not known, returned with the first one of its datagram.
    pub fn wait(&mut self, name: T) {
        let known = self.last.take().and_then(|datagram| self.known.get_mut(&datagram));
        if let Some(known) = known.filter(|known| known.waiting.len() < WAITING_MAX) {
            known.waiting.push(name);
        }
    }

    /// Makes room for a datagram, if it is not known.
    fn begin(&mut self, datagram: Datagram, now_ns: u64) {
        if let Some(known) = self.known.get(&datagram)
            && now_ns.abs_diff(known.begun_ns) > DATAGRAM_NS
        {
            self.known.remove(&datagram);
        }
        if self.known.contains_key(&datagram) {
            return;
        }
        // Those that were begun again are in the order twice.
        while self.order.len() >= FRAGMENTED_DATAGRAMS_MAX {
            let Some((oldest, begun_ns)) = self.order.pop_front() else { break };
            if self.known.get(&oldest).is_some_and(|known| known.begun_ns == begun_ns) {
                self.known.remove(&oldest);
            }
        }
        self.order.push_back((datagram, now_ns));
        let known =
            Known { stream: None, carrier: None, begun_ns: now_ns, bytes: 0, bytes_max: u64::MAX, waiting: Vec::new() };
        self.known.insert(datagram, known);
    }
}

/// The ends of the stream that a fragment shows by itself, and whether the lower one sent it: a first fragment with ports, or one of a
/// protocol without.
fn stream_of(
    facts: &Facts,
    source: IpAddr,
    source_port: Option<u16>,
    settings: &WireSettings,
) -> Option<(FlowKey, bool)> {
    let key = facts.key;
    if !has_ports(key.proto) {
        return Some((key, key.client.address == source));
    }
    let ports = [key.client.port, key.server.port];
    if ports == [0; 2] || key.proto == UDP && ports.iter().any(|port| carries(settings, *port)) {
        return None;
    }
    Some((key, (key.client.address, Some(key.client.port)) == (source, source_port)))
}

/// Whether a UDP port is one of a tunnel: its stream is that of the packet inside.
fn carries(settings: &WireSettings, port: u16) -> bool {
    let all = [
        settings.vxlan_ports[0],
        settings.vxlan_ports[1],
        settings.vxlan_gpe_port,
        settings.geneve_port,
        settings.gre_port,
        settings.mpls_port,
        settings.lisp_port,
        settings.tzsp_port,
        settings.gtpu_port,
        settings.teredo_port,
        settings.l2tp_port,
        settings.capwap_port,
        settings.ayiya_port,
    ];
    settings.tunnel_depth > 0 && port != 0 && all.contains(&port)
}
