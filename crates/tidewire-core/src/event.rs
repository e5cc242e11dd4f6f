//! Events that a handler receives: bytes, gaps, packets, datagrams.

use std::net::IpAddr;

use tidewire_wire::{Decoded, Headers, LinkType, Malformation, header_views};

use crate::{DefragPolicy, Direction, FlowKey, Timestamp};

/// Why bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum GapCause {
    /// Not captured: lost before the capture (also bytes that were acknowledged and never seen).
    NotCaptured,
    /// The frame was captured, but truncated by the snap length.
    Snapped,
    /// Beyond the stream's cutoff.
    Cutoff,
    /// Discarded because a memory bound was reached.
    Memory,
    /// Shed by the watermark rule.
    Shed,
    /// An urgent byte, removed from the stream ([`Config::urgent_inline`](crate::Config::urgent_inline)).
    Urgent,
    /// The frame was captured, but left out because of its wrong checksum: see [`ChecksumMode`](crate::ChecksumMode).
    BadChecksum,
    /// Lost by the capture: as [`NotCaptured`](Self::NotCaptured), where the capture says itself that it lost packets at that time
    /// ([`PacketLoss`](crate::PacketLoss)).
    LostByCapture,
}

impl GapCause {
    /// Every cause.
    pub const ALL: &'static [Self] = &[
        Self::NotCaptured,
        Self::Snapped,
        Self::Cutoff,
        Self::Memory,
        Self::Shed,
        Self::Urgent,
        Self::BadChecksum,
        Self::LostByCapture,
    ];

    /// Whether no packet with the missing bytes was captured.
    #[must_use]
    pub fn is_unseen(self) -> bool {
        matches!(self, Self::NotCaptured | Self::LostByCapture)
    }

    /// Whether the missing bytes were in a captured packet, whose headers count them.
    #[must_use]
    pub fn is_of_packets(self) -> bool {
        matches!(self, Self::Snapped | Self::Shed | Self::Urgent | Self::BadChecksum)
    }

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotCaptured => "not_captured",
            Self::Snapped => "snapped",
            Self::Cutoff => "cutoff",
            Self::Memory => "memory",
            Self::Shed => "shed",
            Self::Urgent => "urgent",
            Self::BadChecksum => "bad_checksum",
            Self::LostByCapture => "lost_by_capture",
        }
    }
}

/// Bytes of a direction that will never be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Gap {
    /// The direction.
    pub direction: Direction,
    /// Offset of the first missing byte.
    pub offset: u64,
    /// Number of missing bytes.
    pub bytes: u64,
    /// Why they are missing.
    pub cause: GapCause,
}

impl Gap {
    /// A gap of `bytes` at `offset`.
    #[must_use]
    pub const fn new(direction: Direction, offset: u64, bytes: u64, cause: GapCause) -> Self {
        Self { direction, offset, bytes, cause }
    }
}

/// Bytes of a direction, in order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Chunk<'a> {
    /// The direction.
    pub direction: Direction,
    /// Offset of `bytes[0]` in the direction's stream.
    pub offset: u64,
    /// The bytes, contiguous. The first `repeated_bytes` of them were delivered before: overlap, or a chunk that was
    /// kept. Neither reaches across a gap.
    pub bytes: &'a [u8],
    /// Number of bytes at the beginning of `bytes` that were delivered before.
    pub repeated_bytes: usize,
    /// Timestamp of the packet that completed the chunk; of an outlier
    /// ([`Stream::time_outliers`](crate::Stream::time_outliers)) that of the packet before it.
    pub timestamp: Timestamp,
    /// Whether this is the whole payload of one datagram (UDP and other protocols without a byte stream).
    pub is_datagram: bool,
}

impl<'a> Chunk<'a> {
    /// A chunk at `offset`, without repeated bytes, at time 0: for tests of handlers.
    #[must_use]
    pub const fn new(direction: Direction, offset: u64, bytes: &'a [u8]) -> Self {
        Self { direction, offset, bytes, repeated_bytes: 0, timestamp: Timestamp::UNIX_EPOCH, is_datagram: false }
    }

    /// The bytes that were not delivered before.
    #[must_use]
    pub fn fresh(&self) -> &'a [u8] {
        &self.bytes[self.repeated_bytes..]
    }
}

/// The result of verifying a packet's checksums: that of its transport and, of IPv4, that of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PacketChecksum {
    /// They were not verified: [`ChecksumMode::Ignore`](crate::ChecksumMode::Ignore), or the header is truncated.
    #[default]
    Unverified,
    /// Right or absent, or they cannot be computed.
    Right,
    /// Wrong, and the packet has its effects all the same: an artefact of the capture, or its receiver's acknowledgment is
    /// to decide.
    Doubted,
    /// Wrong, and the packet is left out: it is counted and has no other effects.
    LeftOut,
}

impl PacketChecksum {
    /// Whether it is wrong.
    #[must_use]
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Doubted | Self::LeftOut)
    }
}

/// A packet of a stream, as captured and in capture order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StreamPacket<'a> {
    /// The direction.
    pub direction: Direction,
    /// The packet's number in the input, from 1.
    pub number: u64,
    /// When it was captured.
    pub timestamp: Timestamp,
    /// The captured frame; for a rebuilt datagram the rebuilt IP packet.
    pub bytes: &'a [u8],
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// The link type of `bytes`; a rebuilt datagram is [`LinkType::RAW`].
    pub link: LinkType,
    /// Index of its interface, in the order of their first appearance in the whole input.
    pub interface: u16,
    /// For a rebuilt datagram the numbers of the frames that its fragments came in, in order of arrival; otherwise empty.
    pub fragments: &'a [u64],
    /// Offset in `bytes` of the IP header that the stream belongs to: in a tunnel the innermost.
    pub network_at: u32,
    /// Offset in `bytes` of the transport header.
    pub transport_at: u32,
    /// Offset of the transport payload in `bytes`.
    pub payload_at: u32,
    /// Bytes of transport payload that were captured.
    pub payload_captured_bytes: u32,
    /// The result of verifying its checksums.
    pub checksum: PacketChecksum,
    /// The result of the walk over `bytes`.
    pub(crate) decoded: &'a Decoded,
}

/// Headers of the packet, as views of [`bytes`](Self::bytes): `packet.ipv4()?.ttl()`, `packet.tcp()?.window()`. Nothing is copied. A
/// getter returns `None` for a header that is absent, or whose fixed part was not captured.
impl<'a> StreamPacket<'a> {
    /// All headers at once.
    #[must_use]
    pub const fn headers(&self) -> Headers<'a> {
        Headers::new(self.link, self.bytes, self.decoded)
    }

    header_views!('a);
}

/// A fragmented datagram: rebuilt, or rejected.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// Number of the fragment that completed it or made it rejected, from 1.
    pub packet: u64,
    /// When the packet that showed it was captured.
    pub timestamp: Timestamp,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// IP identification.
    pub ip_id: u32,
    /// IP protocol number of the payload.
    pub proto: u8,
    /// Number of fragments so far.
    pub fragments: u32,
    /// The rebuilt IP payload; empty when rejected.
    pub payload: &'a [u8],
    /// The policy that resolved overlaps.
    pub policy: DefragPolicy,
    /// Number of fragments that overlapped earlier ones.
    pub overlaps: u32,
    /// Why it was rejected; `None`: it was rebuilt.
    pub rejected: Option<crate::Rejection>,
    /// Numbers of the frames that its fragments came in, in order of arrival.
    pub numbers: &'a [u64],
}

/// A conversation that was begun and not completed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Unfinished {
    /// The stream's id.
    pub id: u64,
    /// Addresses, ports, protocol, VLAN and tunnel.
    pub key: FlowKey,
    /// Timestamp of its first packet.
    pub start: Timestamp,
    /// Union of the TCP flags that each side sent.
    pub tcp_flags: [u8; 2],
    /// Packets that each side sent.
    pub packets: [u64; 2],
    /// Payload bytes that each side sent.
    pub payload_bytes: [u64; 2],
}

/// Why a packet belongs to no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outside {
    /// An ARP packet.
    Arp,
    /// Another protocol of the link layer.
    OtherLink,
    /// A link type that is not decoded.
    UnsupportedLink,
    /// Headers that contradict themselves or are incomplete; the reason, where there is one.
    Malformed(Option<Malformation>),
}

/// A packet that belongs to no stream.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutsidePacket<'a> {
    /// Why.
    pub why: Outside,
    /// The packet's number in the input, from 1.
    pub number: u64,
    /// When it was captured.
    pub timestamp: Timestamp,
    /// The captured frame.
    pub bytes: &'a [u8],
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// The link type of `bytes`.
    pub link: LinkType,
    /// The result of the walk over `bytes`.
    pub(crate) decoded: &'a Decoded,
}

/// Headers of the packet, as views of [`bytes`](Self::bytes): see [`StreamPacket`].
impl<'a> OutsidePacket<'a> {
    /// All headers at once.
    #[must_use]
    pub const fn headers(&self) -> Headers<'a> {
        Headers::new(self.link, self.bytes, self.decoded)
    }

    header_views!('a);
}
