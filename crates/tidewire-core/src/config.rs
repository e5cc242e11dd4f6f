//! Every setting and bound of the engine: name, unit, default and reason, in one place.

use std::net::IpAddr;

use crate::{DefragPolicy, TcpPolicy, wire};

/// [`Config::flows_max`]: as many flows as their part of the memory holds.
pub const FLOWS_BY_MEMORY: u32 = u32::MAX;

/// How TCP streams are reassembled (S6, N5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// A hole is waited for as long as the receiver may still get it filled; then it is a gap.
    #[default]
    Strict,
    /// A hole is waited for a few packets only, so that loss costs neither memory nor delay.
    Fast,
    /// Nothing is buffered or delivered; statistics stay exact.
    Track,
}

/// What is done about checksums of TCP, UDP, ICMP and IPv4 headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ChecksumMode {
    /// The receiver decides: bytes of TCP with wrong checksums are delivered when they are acknowledged and nothing with a
    /// right one came in their place (or the receiver is not seen). Datagrams are left out where their sender had right
    /// ones before, and they are no larger than a frame.
    #[default]
    Auto,
    /// Verified; packets that fail are not taken into streams.
    Verify,
    /// Not looked at.
    Ignore,
}

/// What is done about the link addresses (MAC) that frames are sent to.
///
/// A capture sees frames for many hosts and does not know their addresses: those of a direction's first packet are what is
/// expected of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LinkAddresses {
    /// Compared: a packet to another address, or in another encapsulation (MPLS, PPPoE, LLC), is an anomaly. Of TCP the
    /// receiver's acknowledgment decides about its bytes. Fragments to different addresses are no datagram.
    #[default]
    Compare,
    /// Not looked at: for captures in which packets of a flow go to several routers.
    Ignore,
}

/// Ids that are part of a flow's key, beside the innermost addresses, ports and protocol (the 5-tuple).
///
/// Default: none. Most ids belong to one direction: each end of a GTP-U tunnel chooses the TEID that it receives with
/// (3GPP TS 29.281 section 5.1), GRE keys are set for each direction, ERSPAN's sessions are often one for each direction
/// of a mirrored port, and VXLAN and GENEVE carry the receiver's network id wherever the sender's side routes (RFC 9135).
/// VLANs are the same: ports mirrored on both sides of a router, private VLANs and asymmetric routing show each direction
/// in a VLAN of its own. With an id in the key, both directions have to have the same, or they are two flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyIds {
    /// Both VLAN ids. Priority tags (id 0) count as no tag.
    pub vlan: bool,
    /// Kind and id of the innermost tunnel.
    pub tunnel: bool,
}

impl std::str::FromStr for KeyIds {
    type Err = String;

    /// `5tuple`, or a list of `vlan` and `tunnel` with commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut ids = Self::default();
        for part in text.split(',').map(str::trim) {
            match part {
                "5tuple" => {}
                "vlan" => ids.vlan = true,
                "tunnel" => ids.tunnel = true,
                other => return Err(format!("'{other}' is no part of a key: 5tuple, vlan, tunnel, or vlan,tunnel")),
            }
        }
        Ok(ids)
    }
}

/// A cutoff for each direction: bytes of the stream that are delivered; `u64::MAX`: all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DirectionCutoff(pub [u64; 2]);

/// Policies by receiver's network: the longest prefix that holds the destination decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPolicies {
    entries: Vec<(IpAddr, u8, TcpPolicy, DefragPolicy)>,
}

impl TargetPolicies {
    /// Adds a network. Bits of `network` beyond `prefix` are ignored.
    pub fn add(&mut self, network: IpAddr, prefix: u8, tcp: TcpPolicy, defrag: DefragPolicy) {
        self.entries.push((network, prefix, tcp, defrag));
        self.entries.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    }

    /// Whether no network has a policy of its own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether any network's TCP policy is one for which `is` holds.
    pub(crate) fn any(&self, is: impl Fn(TcpPolicy) -> bool) -> bool {
        self.entries.iter().any(|entry| is(entry.2))
    }

    /// The policies for a receiver, if one of the networks holds it.
    #[must_use]
    pub fn find(&self, receiver: IpAddr) -> Option<(TcpPolicy, DefragPolicy)> {
        let entry = self.entries.iter().find(|(network, prefix, ..)| contains(*network, *prefix, receiver))?;
        Some((entry.2, entry.3))
    }
}

fn contains(network: IpAddr, prefix: u8, address: IpAddr) -> bool {
    let (bits, a, b) = match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (32, u128::from(a.to_bits()), u128::from(b.to_bits())),
        (IpAddr::V6(a), IpAddr::V6(b)) => (128, a.to_bits(), b.to_bits()),
        _ => return false,
    };
    let prefix = prefix.min(bits);
    prefix == 0 || (a ^ b) >> (bits - prefix) == 0
}

/// Which of several workers an engine is: it takes the flows whose symmetric hash falls to its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// This worker's index, from 0.
    pub index: u32,
    /// How many workers there are, at least 1.
    pub count: u32,
}

impl Share {
    /// The only worker.
    pub const ALL: Self = Self { index: 0, count: 1 };
}

/// The engine's settings. All bounds are for one engine: with several workers each has its own, and
/// [`share_out`](Self::share_out) makes them of one sum for all.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the decoder looks through.
    pub wire: wire::Settings,
    /// Key of the hashes of everything that a sender chooses. Set it from a random source; the same key gives the same run.
    pub hash_key: [u64; 2],
    /// What tells flows apart besides the innermost addresses, ports and protocol. Default: nothing.
    pub key_ids: KeyIds,

    /// Reassembly mode.
    pub mode: Mode,
    /// Overlap policy for TCP where `targets` has none.
    pub tcp_policy: TcpPolicy,
    /// Overlap policy for fragments where `targets` has none. IPv6: hosts follow RFC 5722, see `defrag_policy_v6`.
    pub defrag_policy: DefragPolicy,
    /// The same for IPv6. Default: as `linux`, which follows RFC 5722.
    pub defrag_policy_v6: DefragPolicy,
    /// Policies by receiver.
    pub targets: TargetPolicies,
    /// Checksums.
    pub checksum: ChecksumMode,
    /// Link addresses.
    pub link_addresses: LinkAddresses,
    /// Packets with a lower time to live are not taken into streams. Default 0: all are.
    pub ttl_min: u8,
    /// Whether urgent data is left in the stream (`SO_OOBINLINE`). Default: yes. Otherwise the urgent byte is taken out, as Linux does by default.
    pub urgent_inline: bool,

    /// Bytes of each direction that are delivered; statistics go on beyond. Default: all.
    pub cutoff: DirectionCutoff,
    /// Chunks are gathered up to this size; 0: bytes are delivered as they arrive, without a copy. Default 0. At most 16 MiB.
    pub chunk_bytes: u32,
    /// Bytes of the last chunk that are repeated before the next one. Less than `chunk_bytes`. Default 0.
    pub overlap_bytes: u32,
    /// A chunk that was begun is delivered after this long, by packet time; 0: only when it is full. Default 0.
    pub flush_timeout_ns: u64,

    /// A flow that was silent for longer ends; 0: never. Default 0 for files, so that a conversation stays one.
    pub inactivity_timeout_ns: u64,
    /// A closed or reset connection is remembered for this long, so that late packets find it. Default 120 s (RFC 9293: 2 MSL is 240 s, hosts use 60 s).
    pub closed_timeout_ns: u64,
    /// The end of a closed or reset connection is reported (`close`) after this much silence, before it is forgotten; packets
    /// that come later have the fate `after_close`. Default 0: when it is forgotten, so that they are in its figures.
    pub report_closed_ns: u64,
    /// A connection of which only a SYN was seen ends after this long. Default 120 s: Linux gives up after 127 s of SYN retries.
    pub half_open_timeout_ns: u64,

    /// Flows in the table; entries are taken as needed. Default [`FLOWS_BY_MEMORY`]: as many as their
    /// part of the memory holds, see [`share_out`](Self::share_out).
    pub flows_max: u32,
    /// Half-open connections in their own table. Default 262,144.
    pub half_open_max: u32,
    /// Memory of the first packets of connections joined midway, which become flows when a second packet follows. Beyond it
    /// the oldest are streams of one packet. Default 16 MiB; 0: every one is a flow at once.
    pub midstream_bytes: u64,
    /// Bytes of everything that flows hold beyond their entry of the table: buffered out of order and in chunks, lists, other
    /// bookkeeping; and of fragments. Default 64 MiB.
    pub memory_bytes: u64,
    /// Of these, out-of-order bytes of one direction. Default 4 MiB: more than the largest default receive window of Linux can hold unread in practice.
    pub stream_buffer_bytes: u64,
    /// Of these, what packets of one source address may take, flows aside that have delivered more than they hold.
    /// Default (0): a quarter of what fragments leave of `memory_bytes`.
    pub source_buffer_bytes: u64,
    /// Holes (separate runs of out-of-order bytes) of one direction. Default 512.
    pub stream_holes_max: u32,
    /// Holes in all. Default 1,048,576.
    pub holes_max: u32,
    /// Entries kept in a stream's lists of gaps, conflicts and anomalies, each. Default 256. Counters go on beyond.
    pub list_max: u32,
    /// An acknowledged hole becomes a gap (STRICT) when this many packets with payload came after it *and*
    /// `hole_bytes_strict` are waiting: a capture may show packets in another order than they had. Default 64.
    pub hole_segments_strict: u32,
    /// See `hole_segments_strict`. Default 96 KiB, 64 segments of usual size: short streams are waited for to their
    /// end, long ones cost little.
    pub hole_bytes_strict: u64,
    /// A hole becomes a gap in FAST mode after this many packets with payload, acknowledged or not. Default 16.
    pub hole_segments_fast: u32,
    /// An acknowledged hole becomes a gap after this long; 0: only by the rules above. Default 0 for files.
    pub hole_timeout_ns: u64,

    /// Smallest fragment accepted that is not a datagram's last, in bytes of data (N3). Default 8.
    pub fragment_bytes_min: u32,
    /// Most fragments of a datagram (N3). Default 8192: 65,535 bytes in 8-byte fragments.
    pub fragments_max: u32,
    /// Largest datagram (N3). Default 65,535.
    pub datagram_bytes_max: u32,
    /// How long fragments are waited for (N3). Default 30 s (Linux ipfrag_time).
    pub fragment_timeout_ns: u64,
    /// Of `memory_bytes`, what fragments may take, at most half of it: one half of this for received fragments, one for
    /// fragments of tunnels found in rebuilt datagrams. Default 16 MiB.
    pub fragment_memory_bytes: u64,
    /// Datagrams under way at once. Default 65,536.
    pub datagrams_max: u32,

    /// Priorities, 1 to 8 (S5). Default 1: nothing is distinguished. A stream's priority is 0 (lowest) to `priorities - 1`.
    pub priorities: u8,
    /// Share of the memory below which nothing is shed, in thousandths (S5 base threshold). Default 500.
    pub base_threshold_permille: u32,
    /// In the region below its watermark, packets beyond this many bytes of their stream are shed (S5). Default: none (`u64::MAX`).
    pub overload_cutoff_bytes: u64,
    /// Whether the watermark rule is applied. Default: no, buffers are bounded by eviction alone.
    pub shed: bool,
    /// Delivered segments that are remembered, of all streams together, so that a retransmission with other bytes is
    /// noticed (of a direction the last 128, and none older than this many packets). Rounded up to a power of two; 32 bytes each; 0: none. Default 131,072.
    pub history_segments: u32,
    /// Where the input cannot be read again (a pipe, a compressed file, an interface): the bytes of delivered segments
    /// that are kept for that, none older than this many bytes of the whole input. Default 8 MiB.
    pub history_copy_bytes: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wire: wire::Settings::default(),
            hash_key: [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908],
            key_ids: KeyIds::default(),
            mode: Mode::Strict,
            tcp_policy: TcpPolicy::Linux,
            defrag_policy: DefragPolicy::Linux,
            defrag_policy_v6: DefragPolicy::Linux,
            targets: TargetPolicies::default(),
            checksum: ChecksumMode::Auto,
            link_addresses: LinkAddresses::Compare,
            ttl_min: 0,
            urgent_inline: true,
            cutoff: DirectionCutoff([u64::MAX; 2]),
            chunk_bytes: 0,
            overlap_bytes: 0,
            flush_timeout_ns: 0,
            inactivity_timeout_ns: 0,
            closed_timeout_ns: 120_000_000_000,
            report_closed_ns: 0,
            half_open_timeout_ns: 120_000_000_000,
            flows_max: FLOWS_BY_MEMORY,
            half_open_max: 1 << 18,
            midstream_bytes: 16 << 20,
            memory_bytes: 64 << 20,
            stream_buffer_bytes: 4 << 20,
            source_buffer_bytes: 0,
            stream_holes_max: 512,
            holes_max: 1 << 20,
            list_max: 256,
            hole_segments_strict: 64,
            hole_bytes_strict: 96 << 10,
            hole_segments_fast: 16,
            hole_timeout_ns: 0,
            fragment_bytes_min: 8,
            fragments_max: 8192,
            datagram_bytes_max: 65_535,
            fragment_timeout_ns: 30_000_000_000,
            fragment_memory_bytes: 16 << 20,
            datagrams_max: 1 << 16,
            priorities: 1,
            base_threshold_permille: 500,
            overload_cutoff_bytes: u64::MAX,
            shed: false,
            history_segments: 1 << 17,
            history_copy_bytes: 8 << 20,
        }
    }
}
