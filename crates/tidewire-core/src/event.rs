//! What a handler is told: bytes, gaps, packets, datagrams.

use std::net::IpAddr;

use crate::{DefragPolicy, Direction};

/// Why bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum GapCause {
    /// Never captured: lost before us (or acknowledged and never seen).
    NotCaptured,
    /// The frame was captured, but cut by the snap length.
    Snapped,
    /// Beyond the stream's cutoff.
    Cutoff,
    /// Given up because a memory bound was reached.
    Memory,
    /// Shed by the watermark rule.
    Shed,
    /// An urgent byte, taken out of the stream by setting.
    Urgent,
    /// The frame was captured, and left out because its checksum is wrong: see [`crate::ChecksumMode`].
    BadChecksum,
}

impl GapCause {
    /// Whether the bytes were in a packet that was seen: its headers count them.
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
        }
    }
}

/// Bytes of a direction that will never be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The direction.
    pub direction: Direction,
    /// Offset of the first missing byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Why.
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
    /// The bytes, without a hole. The first `repeated_bytes` of them were delivered before: overlap, or a chunk that was
    /// kept. Neither reaches across a gap.
    pub bytes: &'a [u8],
    /// See `bytes`.
    pub repeated_bytes: usize,
    /// Timestamp of the packet that completed the chunk, nanoseconds.
    pub timestamp_ns: u64,
    /// For datagram protocols: this chunk is one datagram's payload, whole.
    pub is_datagram: bool,
}

impl<'a> Chunk<'a> {
    /// A chunk of a stream at `offset`, no byte of it repeated, at time 0: to call a handler in its own tests.
    #[must_use]
    pub const fn new(direction: Direction, offset: u64, bytes: &'a [u8]) -> Self {
        Self { direction, offset, bytes, repeated_bytes: 0, timestamp_ns: 0, is_datagram: false }
    }

    /// The bytes that were not delivered before.
    #[must_use]
    pub fn fresh(&self) -> &'a [u8] {
        &self.bytes[self.repeated_bytes..]
    }
}

/// A packet of a stream, as captured and in the order of capture (S8).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StreamPacket<'a> {
    /// The direction.
    pub direction: Direction,
    /// The packet's number in the input, from 1.
    pub number: u64,
    /// When it was captured, nanoseconds.
    pub timestamp_ns: u64,
    /// The frame as captured; for a rebuilt datagram the rebuilt IP packet.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub wire_bytes: u32,
    /// Where the transport's payload lies in `bytes`.
    pub payload_at: u32,
    /// Captured payload.
    pub payload_captured_bytes: u32,
}

/// A datagram that arrived in fragments.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// Number of the fragment that ended it (rebuilt or rejected), from 1.
    pub packet: u64,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// IP identification.
    pub ip_id: u32,
    /// The protocol carried.
    pub proto: u8,
    /// Fragments that belong to it so far.
    pub fragments: u32,
    /// The rebuilt IP payload; empty when rejected.
    pub payload: &'a [u8],
    /// The policy that decided overlaps.
    pub policy: DefragPolicy,
    /// How many fragments overlapped earlier ones.
    pub overlaps: u32,
    /// Why it was not rebuilt: `None` when it was.
    pub rejected: Option<crate::defrag::Rejection>,
}
