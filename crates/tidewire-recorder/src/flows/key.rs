//! Keys of flows.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher as _, Hash, Hasher},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use tidewire::{Endpoint, FlowKey, Vlans};
use tidewire_archive::{Facts, Fragmented, Outer, facts};
use tidewire_wire::{
    Batch, Brief, Decoded, Frame, Kind, Settings as WireSettings, Slices, TunnelKind, decode_into, final_destination,
    ports,
    tcp_flag::{FIN, RST, SYN},
};

/// Words: address of the lower end (high half, low half; IPv4 in the low one), of the higher end, ports << 32 | protocol << 24 |
/// VLAN ids of 12 bits each, and what else distinguishes records (`KIND`).
#[derive(Clone, Copy, Debug, Eq)]
pub(crate) struct Key(pub [u64; 6]);

/// Without a call or a branch: most that are compared are equal.
impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, other.0);
        (a ^ g) | (b ^ h) | (c ^ i) | (d ^ j) | (e ^ k) | (f ^ l) == 0
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

const PORTS: usize = 4;
const KIND: usize = 5;
const VLAN_IDS: u64 = 0xff_ffff;
/// IP version, in the last word.
const VERSION: u64 = 0x0f << 56;
/// A fragment of a datagram whose ports are not known: it belongs to no stream.
const FRAGMENT: u64 = 1 << 60;
/// A frame that is no IP packet, or cannot be walked: it belongs to no stream, and has what an expression sees of it.
const HEADERS: u64 = 1 << 61;
/// A keyed digest of the outer header; 0: there is none.
const OUTER: u64 = (1 << 56) - 1;

impl Key {
    /// Without VLANs and outer headers: the same for all packets of a conversation.
    pub fn conversation(mut self) -> Self {
        self.0[PORTS] |= VLAN_IDS;
        self.0[KIND] &= VERSION | FRAGMENT | HEADERS;
        self
    }

    pub fn is_fragment(&self) -> bool {
        self.0[KIND] & FRAGMENT != 0
    }

    /// Whether its packets are a stream.
    pub fn is_stream(&self) -> bool {
        self.0[KIND] & (FRAGMENT | HEADERS) == 0
    }

    fn version(&self) -> u64 {
        self.0[KIND] >> 56 & 0x0f
    }

    fn address(&self, at: usize) -> IpAddr {
        let (high, low) = (self.0[at], self.0[at + 1]);
        match self.version() {
            6 => IpAddr::V6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))),
            _ => IpAddr::V4(Ipv4Addr::from_bits(low as u32)),
        }
    }

    pub fn proto(&self) -> u8 {
        (self.0[PORTS] >> 24) as u8
    }

    /// The key as users see it; `client_is_lower`: which end is the client.
    pub fn flow(&self, client_is_lower: bool) -> FlowKey {
        let lower = Endpoint { address: self.address(0), port: (self.0[PORTS] >> 48) as u16 };
        let higher = Endpoint { address: self.address(2), port: (self.0[PORTS] >> 32) as u16 };
        let (client, server) = if client_is_lower { (lower, higher) } else { (higher, lower) };
        let mut key = FlowKey::new(client, server, self.proto());
        let vlan = |bits: u64| if bits & 0xfff == 0xfff { 0xffff } else { (bits & 0xfff) as u16 };
        key.vlans = Vlans::from_raw([vlan(self.0[PORTS] >> 12), vlan(self.0[PORTS])]);
        key
    }

    #[inline]
    fn of_ends(ends: [(u64, u64, u16); 2], rest: u64, kind: u64) -> (Self, bool) {
        let [(s0, s1, sport), (d0, d1, dport)] = ends;
        if (s0, s1, sport) <= (d0, d1, dport) {
            (Self([s0, s1, d0, d1, u64::from(sport) << 48 | u64::from(dport) << 32 | rest, kind]), true)
        } else {
            (Self([d0, d1, s0, s1, u64::from(dport) << 48 | u64::from(sport) << 32 | rest, kind]), false)
        }
    }
}

/// A packet's key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    pub key: Key,
    /// Whether the lower end sent it.
    pub from_lower: bool,
    /// Bits of the key, mixed without a secret: its place in a cache, nothing else.
    pub mixed: u64,
}

impl Keyed {
    #[inline]
    pub fn new(key: Key, from_lower: bool) -> Self {
        let [a, b, c, d, ports, rest] = key.0;
        let folded = (a ^ b).rotate_left(32) ^ c ^ d ^ ports.rotate_left(16) ^ rest.rotate_left(7);
        Self { key, from_lower, mixed: folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }
}

/// Fields of a packet that decide about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// TCP flags; 0: no TCP.
    pub flags: u8,
    pub payload_bytes: u32,
}

impl Seen {
    /// Of a frame without a flow.
    pub const NONE: Self = Self { flags: 0, payload_bytes: 0 };

    /// SYN, FIN or RST.
    pub fn is_control(self) -> bool {
        self.flags & (FIN | SYN | RST) != 0
    }
}

/// The outcome of a walk over a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// It belongs to a flow.
    Flow(Keyed, Seen),
    /// No IP packet, or one that cannot be walked: what is known of its headers.
    Headers(Keyed),
    /// The same, and nothing is known.
    Other,
}

/// Walks packets.
#[derive(Debug)]
pub(crate) struct Walk {
    wire: WireSettings,
    decoded: Decoded,
    digest: RandomState,
    /// Frames that were cut before the capture.
    slices: Slices,
}

impl Walk {
    pub fn new(tunnel_depth: u8) -> Self {
        let wire = WireSettings::default().with_tunnel_depth(tunnel_depth);
        let slices = Slices::new(wire.slicing);
        Self { wire, decoded: Decoded::EMPTY, digest: RandomState::new(), slices }
    }

    /// Looks how frames were cut before the capture, before any of the batch is walked.
    #[inline]
    pub fn examine(&mut self, batch: &Batch<'_>) {
        if self.slices.is_open() {
            self.slices.examine(batch, &self.wire);
        }
    }

    /// Owner of a packet.
    #[inline]
    pub fn find(&mut self, frame: &Frame, bytes: &[u8]) -> Found {
        let mut brief = decode_into(frame.link, bytes, frame.wire_bytes, &self.wire, &mut self.decoded);
        if brief.kind as u8 > Kind::Fragment as u8 {
            match self.cut(frame, bytes) {
                Some(cut) => brief = cut,
                None => return self.headers(frame, bytes),
            }
        }
        let decoded = &self.decoded;
        let flags = match brief.kind {
            Kind::Tcp => bytes.get(brief.transport_at as usize + 13).copied().unwrap_or(0),
            _ => 0,
        };
        let seen = Seen { flags, payload_bytes: decoded.payload_bytes };
        let is_plain = decoded.outer_ip_at == decoded.ip_at && brief.kind != Kind::Fragment;
        let keyed = if is_plain { plain(bytes, brief, decoded) } else { self.in_tunnel(frame, bytes) };
        keyed.map_or(Found::Other, |keyed| Found::Flow(keyed, seen))
    }

    /// Walks a frame again that cannot be walked, if it was cut; `None`: it was not, or its packet is a fragment.
    #[cold]
    fn cut(&mut self, frame: &Frame, bytes: &[u8]) -> Option<Brief> {
        self.slices.decode(frame, bytes, &self.wire, &mut self.decoded)?;
        let brief = self.decoded.brief();
        ((brief.kind as u8) < Kind::Fragment as u8).then_some(brief)
    }

    /// Entry of a frame without a flow in a segment's index.
    #[cold]
    fn headers(&self, frame: &Frame, bytes: &[u8]) -> Found {
        let facts = facts(frame, bytes, &self.wire).0;
        facts.map_or(Found::Other, |facts| Found::Headers(Keyed::new(self.key_of(&facts, HEADERS), true)))
    }

    /// The key of a packet in a tunnel, or of a fragment.
    #[cold]
    fn in_tunnel(&self, frame: &Frame, bytes: &[u8]) -> Option<Keyed> {
        let (facts, is_fragment) = facts(frame, bytes, &self.wire);
        let key = self.key_of(&facts?, if is_fragment { FRAGMENT } else { 0 });
        // The facts have the lower end first, whichever end sent the packet.
        let sender = tidewire_wire::addresses(bytes, &self.decoded).0;
        let from = (words(sender), ports(bytes, &self.decoded).0);
        let from_lower =
            is_fragment || ((from.0.0, from.0.1), from.1) == ((key.0[0], key.0[1]), (key.0[PORTS] >> 48) as u16);
        Some(Keyed::new(key, from_lower))
    }

    /// The key of a fragment whose datagram is known.
    pub fn of_fragment<T>(&self, fragment: &Fragmented<T>) -> Keyed {
        Keyed::new(self.key_of(&fragment.facts, 0), fragment.is_from_lower)
    }

    /// The key of a fragment of a datagram that carries a tunnel: it belongs to no stream that headers show.
    pub fn of_carrier(&self, facts: &Facts) -> Keyed {
        Keyed::new(self.key_of(facts, FRAGMENT), true)
    }

    fn key_of(&self, facts: &Facts, kind: u64) -> Key {
        let outer = facts.outer.map_or(0, |outer: Outer| (self.digest.hash_one(outer) & OUTER).max(1));
        let end = |end: Endpoint| {
            let (high, low) = words(end.address);
            (high, low, end.port)
        };
        let version: u64 = if facts.key.client.address.is_ipv4() { 4 } else { 6 };
        let ends = [end(facts.key.client), end(facts.key.server)];
        Key::of_ends(ends, rest(facts.key.proto, facts.key.vlans), version << 56 | outer | kind).0
    }

    /// How packets are decoded.
    pub fn wire(&self) -> &WireSettings {
        &self.wire
    }

    /// The outer header and the tunnel of the packet that was walked last: for the record of a flow.
    pub fn details(&self, frame: &Frame, bytes: &[u8]) -> Details {
        // Of a frame that cannot be walked, its headers may say more than the walk.
        let is_plain = self.decoded.outer_ip_at == self.decoded.ip_at && self.decoded.kind != Kind::Malformed;
        let outer = match is_plain {
            true => None,
            false => facts(frame, bytes, &self.wire).0.and_then(|facts| facts.outer),
        };
        let icmp = tidewire_wire::icmp_type_and_code(bytes, &self.decoded).map_or([0; 2], |(kind, code)| [kind, code]);
        Details { outer, tunnel: self.decoded.tunnel, icmp }
    }
}

/// Fields of a record besides its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Details {
    pub outer: Option<Outer>,
    pub tunnel: tidewire_wire::Tunnel,
    pub icmp: [u8; 2],
}

impl Details {
    pub fn is_in_tunnel(&self) -> bool {
        self.outer.is_some() || self.tunnel.kind != TunnelKind::None
    }
}

fn words(address: IpAddr) -> (u64, u64) {
    match address {
        IpAddr::V4(address) => (0, u64::from(address.to_bits())),
        IpAddr::V6(address) => ((address.to_bits() >> 64) as u64, address.to_bits() as u64),
    }
}

fn rest(proto: u8, vlans: Vlans) -> u64 {
    let [outer, inner] = vlans.raw();
    u64::from(proto) << 24 | u64::from(outer & 0xfff) << 12 | u64::from(inner & 0xfff)
}

/// The key of a packet outside of tunnels.
#[inline(always)]
fn plain(bytes: &[u8], brief: Brief, decoded: &Decoded) -> Option<Keyed> {
    let at = brief.ip_at as usize;
    let (sport, dport) = match brief.kind {
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp => {
            let ports: &[u8; 4] = bytes.get(brief.transport_at as usize..)?.first_chunk()?;
            (u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]]))
        }
        Kind::HeaderCut => ports(bytes, decoded),
        _ => (0, 0),
    };
    let kind = u64::from(brief.ip_version) << 56;
    let ends = if brief.ip_version == 4 {
        let both: &[u8; 8] = bytes.get(at + 12..)?.first_chunk()?;
        let both = u64::from_be_bytes(*both);
        [(0, both >> 32, sport), (0, both & 0xffff_ffff, dport)]
    } else {
        let all: &[u8; 32] = bytes.get(at + 8..)?.first_chunk()?;
        let word =
            |at: usize| all.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |word| u64::from_be_bytes(*word));
        let (to_high, to_low) = match final_destination(bytes, brief) {
            Some(destination) => words((*destination).into()),
            None => (word(16), word(24)),
        };
        [(word(0), word(8), sport), (to_high, to_low, dport)]
    };
    let (key, from_lower) = Key::of_ends(ends, rest(brief.proto, decoded.vlans), kind);
    Some(Keyed::new(key, from_lower))
}
