//! Records, borrowed from their owners.

use std::{net::IpAddr, time::Duration};

use tidewire::{
    Anomaly, ClientBy, Conflict, DefragPolicy, Direction, DirectionStats, EndReason, FlowKey, Gap, Mptcp, Rejection,
    Stream, TcpState, Timestamp,
};
use tidewire_protocols::{App, Transaction};

/// Where packets came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin<'a> {
    /// The interface's name.
    pub interface: Option<&'a str>,
    /// The capture file's name.
    pub file: Option<&'a str>,
}

impl<'a> Origin<'a> {
    /// An interface or a file, as far as there is one.
    #[must_use]
    pub fn new(interface: Option<&'a str>, file: Option<&'a str>) -> Self {
        Self { interface, file }
    }
}

/// A stream that ended, or a part of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowRecord<'a> {
    /// The stream's id.
    pub id: u64,
    /// Addresses, ports, protocol, VLAN and tunnel.
    pub key: FlowKey,
    /// Whether the client is known and not inferred.
    pub client_known: bool,
    /// The evidence of which side it is.
    pub client_by: ClientBy,
    /// The state that the connection reached.
    pub state: TcpState,
    /// Why the stream ended.
    pub end: EndReason,
    /// Whether the stream continues: the counters are those since the previous record (flowEndReason 2 of IPFIX, active timeout).
    pub is_interim: bool,
    /// The least time of a packet.
    pub start: Timestamp,
    /// The greatest time of a packet.
    pub last: Timestamp,
    /// Time of the packet that opened it: the names of streams are made of it.
    pub opened: Timestamp,
    /// The farthest that time went back in it; `None`: it did not.
    pub time_back: Option<Duration>,
    /// Packets whose times are outliers.
    pub time_outliers: u32,
    /// Figures of both directions, in the order of their indices.
    pub stats: [DirectionStats; 2],
    /// Gaps, in the order they were found.
    pub gaps: &'a [Gap],
    /// Bytes that arrived in two versions, by direction.
    pub conflicts: [&'a [Conflict]; 2],
    /// Anomalies, in the order of packets.
    pub anomalies: &'a [Anomaly],
    /// Packets that a recorder did not write because of a cutoff, by direction; `None`: none, or it is not known.
    pub cut_off: Option<[CutOff; 2]>,
    /// The protocol, if one was recognised.
    pub app: Option<&'a App>,
    /// `app` as JSON, of records that no longer have its fields.
    pub app_json: Option<&'a [u8]>,
    /// Its priority; 0 is the lowest.
    pub priority: u8,
    /// The connection of Multipath TCP, of a subflow.
    pub mptcp: Option<Mptcp>,
    /// SHA-256 of the bytes that were delivered, by direction, if they were computed.
    pub digests: Option<&'a [[u8; 32]; 2]>,
    /// Where its packets came from.
    pub origin: Origin<'a>,
}

/// Packets of a direction that a recorder cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutOff {
    /// Packets that were not written.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

impl CutOff {
    /// So many packets, and their bytes on the wire.
    #[must_use]
    pub fn new(packets: u64, bytes: u64) -> Self {
        Self { packets, bytes }
    }
}

impl<'a> FlowRecord<'a> {
    /// A record of a stream without times, figures and lists.
    #[must_use]
    pub fn new(id: u64, key: FlowKey, state: TcpState, end: EndReason) -> Self {
        Self {
            id,
            key,
            client_known: false,
            client_by: ClientBy::FirstPacket,
            state,
            end,
            is_interim: false,
            start: Timestamp::UNIX_EPOCH,
            last: Timestamp::UNIX_EPOCH,
            opened: Timestamp::UNIX_EPOCH,
            time_back: None,
            time_outliers: 0,
            stats: Default::default(),
            gaps: &[],
            conflicts: [&[], &[]],
            anomalies: &[],
            cut_off: None,
            app: None,
            app_json: None,
            priority: 0,
            mptcp: None,
            digests: None,
            origin: Origin::default(),
        }
    }

    /// The record of a stream that ends.
    #[must_use]
    pub fn of<D>(stream: &'a Stream<'_, D>, end: EndReason, app: Option<&'a App>, origin: Origin<'a>) -> Self {
        Self {
            client_known: stream.client_known(),
            client_by: stream.client_by(),
            start: stream.start(),
            last: stream.end(),
            stats: Direction::BOTH.map(|direction| stream.stats(direction)),
            gaps: stream.gaps(),
            conflicts: Direction::BOTH.map(|direction| stream.conflicts(direction)),
            anomalies: stream.anomalies(),
            time_back: stream.time_back(),
            time_outliers: stream.time_outliers(),
            opened: stream.opened(),
            app,
            priority: stream.priority(),
            mptcp: stream.mptcp(),
            origin,
            ..Self::new(stream.id(), stream.key(), stream.state(), end)
        }
    }

    /// The record behind others of its stream, whose figures together were `before`: sums of all are those of the stream.
    /// It begins where the one before ended. Flags are those of the whole stream.
    #[must_use]
    pub fn since(&self, before: &[DirectionStats; 2]) -> Self {
        let mut rest = self.clone();
        rest.start = before.iter().filter_map(|stats| stats.end).max().map_or(self.start, |end| end.max(self.start));
        for (stats, before) in rest.stats.iter_mut().zip(before) {
            let counters = [
                (&mut stats.packets, before.packets),
                (&mut stats.frames, before.frames),
                (&mut stats.frame_bytes, before.frame_bytes),
                (&mut stats.ip_bytes, before.ip_bytes),
                (&mut stats.payload_wire_bytes, before.payload_wire_bytes),
                (&mut stats.reassembled_bytes, before.reassembled_bytes),
                (&mut stats.delivered_bytes, before.delivered_bytes),
                (&mut stats.retransmitted_bytes, before.retransmitted_bytes),
                (&mut stats.out_of_order_packets, before.out_of_order_packets),
                (&mut stats.missing_bytes, before.missing_bytes),
                (&mut stats.ignored_bytes, before.ignored_bytes),
                (&mut stats.cutoff_bytes, before.cutoff_bytes),
                (&mut stats.shed_packets, before.shed_packets),
                (&mut stats.shed_bytes, before.shed_bytes),
                (&mut stats.chunks, before.chunks),
            ];
            counters.into_iter().for_each(|(counter, before)| *counter = counter.saturating_sub(before));
            stats.start = before.end.max(stats.start);
        }
        rest
    }

    /// From the first packet to the last.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.last.saturating_duration_since(self.start)
    }
}

/// A transaction with its stream.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// The stream's id.
    pub stream: u64,
    /// Addresses, ports, protocol, VLAN and tunnel of the stream.
    pub key: FlowKey,
    /// Time of the stream's first packet.
    pub stream_start: Timestamp,
    /// Which transaction of its stream it is, from 0.
    pub number: u32,
    /// The request and its response.
    pub transaction: &'a Transaction,
    /// Where its packets came from.
    pub origin: Origin<'a>,
}

impl<'a> Exchange<'a> {
    /// A transaction of a stream whose id, key and first packet's time these are: its `number`th, from 0.
    #[must_use]
    pub fn new(
        (stream, key, stream_start): (u64, FlowKey, Timestamp),
        number: u32,
        transaction: &'a Transaction,
        origin: Origin<'a>,
    ) -> Self {
        Self { stream, key, stream_start, number, transaction, origin }
    }
}

/// A pattern that was found in a stream.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MatchRecord<'a> {
    /// The stream's id.
    pub stream: u64,
    /// Addresses, ports, protocol, VLAN and tunnel of the stream.
    pub key: FlowKey,
    /// Time of the stream's first packet.
    pub stream_start: Timestamp,
    /// Time of the packet that completed it.
    pub time: Timestamp,
    /// Who sent it.
    pub direction: Direction,
    /// Offset of its first byte in the direction.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// The pattern's name.
    pub pattern: &'a str,
    /// Which pattern it is, from 0.
    pub pattern_index: u64,
    /// How bad it is, by name, where the pattern says it.
    pub severity: Option<&'a str>,
    /// Where its packets came from.
    pub origin: Origin<'a>,
}

impl<'a> MatchRecord<'a> {
    /// The pattern of this name and index, whose `bytes` begin at `offset` of a direction of a stream; without times, severity and origin.
    #[must_use]
    pub fn new(
        (stream, key): (u64, FlowKey),
        direction: Direction,
        (offset, bytes): (u64, u64),
        (pattern, pattern_index): (&'a str, u64),
    ) -> Self {
        Self {
            stream,
            key,
            stream_start: Timestamp::UNIX_EPOCH,
            time: Timestamp::UNIX_EPOCH,
            direction,
            offset,
            length: bytes,
            pattern,
            pattern_index,
            severity: None,
            origin: Origin::default(),
        }
    }
}

/// Similar events, folded.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EventRecord<'a> {
    /// Whose it is, where it was collected from several.
    pub sensor: Option<&'a str>,
    /// The number of the fold.
    pub fold: u64,
    /// Who reported it.
    pub analyzer: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// How bad it is, by name.
    pub severity: &'a str,
    /// How many events.
    pub count: u64,
    /// Time of the first event.
    pub first: Timestamp,
    /// Time of the last event.
    pub last: Timestamp,
    /// Whether nothing else can be read.
    pub is_encrypted: bool,
    /// The protocol, if all have the same.
    pub proto: Option<&'a str>,
    /// The client's address and port, as far as all have the same.
    pub client: (Option<IpAddr>, Option<u16>),
    /// The server's.
    pub server: (Option<IpAddr>, Option<u16>),
    /// The Community ID of the flow, if all have the same.
    pub community_id: Option<&'a str>,
    /// The stream, if all have the same.
    pub stream: Option<u64>,
    /// The first event as JSON.
    pub event: Option<&'a str>,
    /// Members in which the others differ, as JSON.
    pub varied: Option<&'a str>,
    /// The fields of the first event, as JSON.
    pub fields: Option<&'a str>,
    /// Of a scan the last event, which has the totals, as JSON.
    pub totals: Option<&'a str>,
}

/// A datagram that arrived in fragments.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DatagramRecord {
    /// Number of the fragment that completed or ended it.
    pub packet: u64,
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The identification of IP.
    pub ip_id: u32,
    /// The protocol that it carries.
    pub proto: u8,
    /// How many fragments came.
    pub fragments: u32,
    /// Bytes of the rebuilt IP payload.
    pub bytes: u64,
    /// SHA-256 of these.
    pub sha256: [u8; 32],
    /// The overlap policy that was applied.
    pub policy: DefragPolicy,
    /// How many fragments overlapped earlier ones.
    pub overlaps: u32,
    /// Why it was not rebuilt.
    pub rejected: Option<Rejection>,
}

impl DatagramRecord {
    /// A datagram between two hosts, with its identification and protocol, of which nothing else is known.
    #[must_use]
    pub fn new(packet: u64, source: IpAddr, destination: IpAddr, ip_id: u32, proto: u8) -> Self {
        let (fragments, bytes, sha256, policy) = (0, 0, [0; 32], DefragPolicy::Linux);
        Self {
            packet,
            source,
            destination,
            ip_id,
            proto,
            fragments,
            bytes,
            sha256,
            policy,
            overlaps: 0,
            rejected: None,
        }
    }
}

/// A file that a direction of a stream was written to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FileRecord<'a> {
    /// The file's name; `None`: nothing was delivered.
    pub name: Option<&'a str>,
    /// The stream's id.
    pub stream: u64,
    /// Addresses, ports, protocol, VLAN and tunnel of the stream.
    pub key: FlowKey,
    /// Whose bytes they are.
    pub direction: Direction,
    /// Time of the stream's first packet.
    pub start: Timestamp,
    /// Time of the stream's last packet.
    pub last: Timestamp,
    /// Why the stream ended.
    pub end: EndReason,
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of the file, if it was computed.
    pub sha256: Option<[u8; 32]>,
    /// Gaps of the direction.
    pub gaps: &'a [Gap],
}

impl<'a> FileRecord<'a> {
    /// A direction of a stream that began and ended at these times, of which nothing was written.
    #[must_use]
    pub fn new(
        (stream, key): (u64, FlowKey),
        direction: Direction,
        (start, last): (Timestamp, Timestamp),
        end: EndReason,
    ) -> Self {
        Self { name: None, stream, key, direction, start, last, end, bytes: 0, sha256: None, gaps: &[] }
    }
}

/// A number that names a stream among those of many runs: it is derived from the stream's id and its first packet's time, so that
/// records of one stream agree without a table. Not for secrets: it mixes, and is not keyed.
pub(crate) fn stream_number(id: u64, start_ns: u64, which: u64) -> u64 {
    let mut value = id ^ start_ns.rotate_left(32) ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        value = (value ^ value >> 30).wrapping_mul(factor).wrapping_add(start_ns);
        value ^= value >> 27;
    }
    value ^ value >> 31
}

/// A type of media without its parameters.
pub(crate) fn media_type(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}
