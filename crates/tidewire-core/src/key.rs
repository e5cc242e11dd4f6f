//! The key of a flow, the same for both directions.
//!
//! Both addresses and ports in one order, protocol and IP version; the same for both directions. Two VLAN ids, tunnel
//! kind and tunnel id are kept as the first packet had them, and are compared and hashed only if `Config::key_ids` says
//! so. The hash is SipHash-1-3 with a key that is random for each run. Its upper half selects the worker, its lower
//! half the bucket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire_types::{ip_protocol::has_ports, siphash::siphash13_words};
use tidewire_wire::{Brief, Decoded, Kind, Tunnel, TunnelKind, final_destination, icmp_request, icmp_type_and_code};

use crate::{Endpoint, FlowKey, KeyIds, Vlans};

/// A flow's key, with endpoint `a` the lower one, and the ids of the flow's first packet, which are compared only under
/// [`KeyMask`]: the rest of the key is the same for both directions, ids need not be.
///
/// Words: address of `a` (high half, low half; IPv4 in the low one), address of `b`, then port of `a` << 48, port of
/// `b` << 32, protocol << 24, VLAN ids of 12 bits each; and version << 56, tunnel kind << 32, tunnel id.
///
/// The last word has more, which is never part of the key: the sender of the packet with these ids (`FROM_B`), and a
/// digest of ids (`DIGEST`): of its own ids in a packet's key, of those of the other direction's first packet in a
/// flow's key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key([u64; 6]);

/// The words of a key in a packet's order: source in place of `a`, destination in place of `b`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectedKey([u64; 6]);

/// How a packet's VLAN and tunnel ids relate to those of a flow with the same addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// They are those of its direction.
    Own,
    /// The flow has no packet of this direction; whether the ids are those of the other one.
    Free { are_equal: bool },
    /// The flow has packets of this direction, with other ids.
    Other,
}

/// Which bits of a key's last two words distinguish flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyMask {
    ports: u64,
    tunnel: u64,
}

impl KeyMask {
    pub(crate) fn of(key: KeyIds) -> Self {
        let ports = if key.vlan { u64::MAX } else { !VLAN_IDS };
        Self { ports, tunnel: if key.tunnel { VERSION | TUNNEL_IDS } else { VERSION } }
    }
}

impl PartialEq for DirectedKey {
    /// Most comparisons are of equal keys: all words at once, with one branch.
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5]) == 0
    }
}

const A: usize = 0;
const B: usize = 2;
const PORTS: usize = 4;
const TUNNEL: usize = 5;
/// Bits of the word `PORTS`.
const VLAN_IDS: u64 = 0xff_ffff;
/// Bits of the word `TUNNEL`.
const VERSION: u64 = 0x0f << 56;
const TUNNEL_IDS: u64 = 0xff_ffff_ffff;
/// A keyed digest of VLAN ids, tunnel kind and tunnel id; 0: no ids.
const DIGEST: u64 = 0xffff << 40;
/// The ids are those of a packet that `b` sent.
const FROM_B: u64 = 1 << 60;
/// `DIGEST` is set.
const BOTH_KNOWN: u64 = 1 << 61;
/// Packets with other ids arrived: noted once.
const CHANGED: u64 = 1 << 62;

impl DirectedKey {
    pub(crate) const NONE: Self = Self([0; 6]);

    /// The words of a decoded packet.
    #[inline(always)]
    pub(crate) fn of(frame: &[u8], brief: Brief, decoded: &Decoded) -> Option<Self> {
        let ip = brief.ip_at as usize;
        let [outer_id, inner_id] = decoded.vlans.raw();
        let mut low = u64::from(ports(frame, brief)) << 32 | u64::from(brief.proto) << 24;
        low |= u64::from(outer_id & 0xfff) << 12 | u64::from(inner_id & 0xfff);
        let mut tunnel = u64::from(brief.ip_version) << 56;
        if decoded.tunnel.kind != TunnelKind::None {
            tunnel |= (decoded.tunnel.kind as u64) << 32 | u64::from(decoded.tunnel.id);
        }
        if brief.ip_version == 4 {
            let both: &[u8; 8] = frame.get(ip + 12..)?.first_chunk()?;
            let both = u64::from_be_bytes(*both);
            return Some(Self([0, both >> 32, 0, both & 0xffff_ffff, low, tunnel]));
        }
        let all: &[u8; 32] = frame.get(ip + 8..)?.first_chunk()?;
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&all[at..at + 8]);
            u64::from_be_bytes(bytes)
        };
        let words = Self([word(0), word(8), word(16), word(24), low, tunnel]);
        if brief.is_routed {
            return Some(words.to_final_destination(frame, brief));
        }
        Some(words)
    }

    /// The same to the host that a routing header names.
    #[cold]
    fn to_final_destination(self, frame: &[u8], brief: Brief) -> Self {
        let Some(destination) = final_destination(frame, brief) else { return self };
        let destination = u128::from_be_bytes(*destination);
        let [a0, a1, _, _, low, tunnel] = self.0;
        Self([a0, a1, (destination >> 64) as u64, destination as u64, low, tunnel])
    }

    /// The key, and whether the sender is its `a`. `hash_key`: the key of digests.
    #[inline(always)]
    pub(crate) fn key(&self, hash_key: [u64; 2]) -> (Key, bool) {
        let [a0, a1, b0, b1, low, ids] = self.0;
        let tunnel = ids | BOTH_KNOWN | self.digest(hash_key);
        let (sport, dport) = (low >> 48, low >> 32 & 0xffff);
        if (a0, a1, sport) <= (b0, b1, dport) {
            return (Key([a0, a1, b0, b1, low, tunnel]), true);
        }
        (Key([b0, b1, a0, a1, dport << 48 | sport << 32 | low & 0xffff_ffff, tunnel | FROM_B]), false)
    }

    /// The digest of the ids, in its place. Keyed, so that a sender cannot choose ids with the same digest as others.
    #[inline(always)]
    fn digest(&self, hash_key: [u64; 2]) -> u64 {
        let (vlan, tunnel) = (self.0[PORTS] & VLAN_IDS, self.0[TUNNEL] & TUNNEL_IDS);
        if vlan == VLAN_IDS && tunnel == 0 {
            return 0;
        }
        // 0 means no digest.
        (siphash13_words(hash_key, [vlan, tunnel]) << 40 & DIGEST).max(1 << 40)
    }

    /// A few bits that differ between most flows. Neither keyed nor strong: only for a cache that may miss.
    #[inline(always)]
    pub(crate) fn mixed(&self) -> u64 {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [_, a, _, b, low, _] = self.0;
        (a.rotate_left(32) ^ b ^ low.rotate_left(16)).wrapping_mul(SPREAD)
    }
}

impl Key {
    pub(crate) const NONE: Self = Self([0; 6]);

    /// The key of a decoded packet, and whether its sender is `a`.
    pub(crate) fn of(frame: &[u8], decoded: &Decoded, hash_key: [u64; 2]) -> Option<(Self, bool)> {
        DirectedKey::of(frame, decoded.brief(), decoded).map(|words| words.key(hash_key))
    }

    /// The key of a flow that this packet's key opens: the other direction's ids are unknown.
    pub(crate) fn opened(self) -> Self {
        let [a0, a1, b0, b1, low, tunnel] = self.0;
        Self([a0, a1, b0, b1, low, tunnel & !(DIGEST | BOTH_KNOWN | CHANGED)])
    }

    /// Whether a packet's ids are those of its direction's first packet. `self` is a flow's key, `packet` the same key
    /// as the packet has it.
    #[inline(always)]
    pub(crate) fn has_ids_of(&self, packet: &Self) -> bool {
        let differ = self.0[TUNNEL] ^ packet.0[TUNNEL];
        // Directions alternate, so no branch. All ones for the direction of the flow's first packet.
        let first = (differ >> FROM_B.trailing_zeros() & 1).wrapping_sub(1);
        let tunnel = differ & (TUNNEL_IDS & first | (DIGEST | BOTH_KNOWN) & !first);
        let vlan = (self.0[PORTS] ^ packet.0[PORTS]) & VLAN_IDS & first;
        tunnel | vlan == 0
    }

    /// How a packet's ids relate to those of a flow, whose key `self` is.
    pub(crate) fn ids_of(&self, packet: &Self) -> Ids {
        if self.has_ids_of(packet) {
            return Ids::Own;
        }
        let differ = self.0[TUNNEL] ^ packet.0[TUNNEL];
        if differ & FROM_B == 0 || self.0[TUNNEL] & BOTH_KNOWN != 0 {
            return Ids::Other;
        }
        let vlan = (self.0[PORTS] ^ packet.0[PORTS]) & VLAN_IDS;
        Ids::Free { are_equal: differ & TUNNEL_IDS | vlan == 0 }
    }

    /// Notes ids that [`Self::has_ids_of`] does not know. Returns whether they differ from those of their direction's
    /// first packet, the first time.
    #[cold]
    pub(crate) fn note_ids_of(&mut self, packet: &Self) -> bool {
        if (self.0[TUNNEL] ^ packet.0[TUNNEL]) & FROM_B != 0 && self.0[TUNNEL] & BOTH_KNOWN == 0 {
            self.0[TUNNEL] |= packet.0[TUNNEL] & (DIGEST | BOTH_KNOWN);
            return false;
        }
        let is_first = self.0[TUNNEL] & CHANGED == 0;
        self.0[TUNNEL] |= CHANGED;
        is_first
    }

    /// Whether a packet with other ids than its direction's first was noted.
    pub(crate) fn has_other_ids(&self) -> bool {
        self.0[TUNNEL] & CHANGED != 0
    }

    /// Whether both keys are of one flow: all words at once, with one branch, as most comparisons are of equal keys.
    #[inline(always)]
    pub(crate) fn is_same(&self, other: &Self, mask: KeyMask) -> bool {
        let (a, b) = (&self.0, &other.0);
        let addresses = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]);
        addresses | ((a[PORTS] ^ b[PORTS]) & mask.ports) | ((a[TUNNEL] ^ b[TUNNEL]) & mask.tunnel) == 0
    }

    /// The keyed hash: the same for both directions.
    #[inline(always)]
    pub(crate) fn hash(&self, key: [u64; 2], mask: KeyMask) -> u64 {
        const PLAIN_V4: u64 = 4 << 56;
        let (ports, tunnel) = (self.0[PORTS] & mask.ports, self.0[TUNNEL] & mask.tunnel);
        if tunnel == PLAIN_V4 {
            siphash13_words(key, [self.0[A + 1] << 32 | self.0[B + 1], ports])
        } else {
            siphash13_words(key, [self.0[A], self.0[A + 1], self.0[B], self.0[B + 1], ports, tunnel])
        }
    }

    /// A hash of the address of `a` or `b` alone, to be used by its upper bits: two addresses have the same upper n
    /// bits with a probability of about 2^-n, for senders who do not know the odd numbers `key` (Dietzfelbinger et al.,
    /// "A reliable randomized algorithm for the closest-pair problem").
    pub(crate) fn address_hash(&self, of_a: bool, key: [u64; 2]) -> u64 {
        let [high, low] = self.address_words(of_a);
        high.wrapping_mul(key[0]).wrapping_add(low.wrapping_mul(key[1]))
    }

    /// The same hash of the network of `a` or `b`: its /24, or /64 of IPv6.
    pub(crate) fn network_hash(&self, of_a: bool, key: [u64; 2]) -> u64 {
        let [high, low] = self.address_words(of_a);
        if self.is_v6() { high.wrapping_mul(key[0]) } else { (low >> 8).wrapping_mul(key[1]) }
    }

    fn address_words(&self, of_a: bool) -> [u64; 2] {
        let at = if of_a { A } else { B };
        [self.0[at], self.0[at + 1]]
    }

    fn is_v6(&self) -> bool {
        self.0[TUNNEL] & VERSION == 6 << 56
    }

    fn address(&self, of_a: bool) -> IpAddr {
        let words = self.address_words(of_a);
        if self.is_v6() {
            IpAddr::V6(Ipv6Addr::from_bits(u128::from(words[0]) << 64 | u128::from(words[1])))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(words[1] as u32))
        }
    }

    /// Port of `a` or `b`.
    pub(crate) fn port(&self, of_a: bool) -> u16 {
        (self.0[PORTS] >> if of_a { 48 } else { 32 }) as u16
    }

    /// The address of `a` or `b`, as an endpoint.
    pub(crate) fn endpoint(&self, of_a: bool) -> Endpoint {
        let port = if has_ports(self.proto()) { self.port(of_a) } else { 0 };
        Endpoint { address: self.address(of_a), port }
    }

    pub(crate) fn proto(&self) -> u8 {
        (self.0[PORTS] >> 24) as u8
    }

    /// The public form. VLAN and tunnel ids are those of the flow's first packet.
    pub(crate) fn describe(&self, client_is_a: bool, icmp: [u8; 2]) -> FlowKey {
        let vid = |bits: u64| if bits & 0xfff == 0xfff { 0xffff } else { (bits & 0xfff) as u16 };
        FlowKey {
            client: self.endpoint(client_is_a),
            server: self.endpoint(!client_is_a),
            proto: self.proto(),
            vlans: Vlans::from_raw([vid(self.0[PORTS] >> 12), vid(self.0[PORTS])]),
            tunnel: Tunnel { kind: tunnel_kind((self.0[TUNNEL] >> 32) as u8), id: self.0[TUNNEL] as u32 },
            icmp,
        }
    }
}

impl FlowKey {
    /// The key of a packet by itself, with its sender as the client: one packet does not show which side opened the flow
    /// ([`reversed`](Self::reversed) is the other reading). `None`: no IP, malformed, or a fragment, whose flow only the datagram
    /// shows. `bytes`: the frame that was decoded.
    #[must_use]
    pub fn of_packet(bytes: &[u8], decoded: &Decoded) -> Option<Self> {
        if decoded.kind as u8 > Kind::OtherIp as u8 {
            return None;
        }
        let (key, from_a) = Key::of(bytes, decoded, [0; 2])?;
        let icmp = icmp_type_and_code(bytes, decoded).map_or([0; 2], |(kind, code)| [kind, code]);
        Some(Self { vlans: decoded.vlans, ..key.describe(from_a, icmp) })
    }

    /// The same flow with client and server exchanged.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { client: self.server, server: self.client, ..self }
    }
}

fn tunnel_kind(number: u8) -> TunnelKind {
    TunnelKind::ALL.get(usize::from(number)).copied().unwrap_or(TunnelKind::None)
}

/// Source port << 16 | destination port; for ICMP the type that both directions share.
#[inline(always)]
fn ports(frame: &[u8], brief: Brief) -> u32 {
    let at = brief.transport_at as usize;
    match brief.kind {
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp => {
            frame.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
        }
        Kind::Icmp | Kind::Icmp6 => {
            let kind = frame.get(at).copied().unwrap_or(0);
            u32::from(icmp_request(if brief.kind == Kind::Icmp { 1 } else { 58 }, kind)) * 0x1_0001
        }
        Kind::HeaderCut => ports_of_cut(frame, brief),
        _ => 0,
    }
}

/// The ports of a truncated header: zeros for missing bytes.
#[cold]
fn ports_of_cut(frame: &[u8], brief: Brief) -> u32 {
    let kind = if has_ports(brief.proto) {
        Kind::Udp
    } else if brief.ip_version == 4 {
        Kind::Icmp
    } else {
        Kind::Icmp6
    };
    ports(frame, Brief { kind, ..brief })
}
