use std::net::IpAddr;

use crate::{
    DefragPolicy, Direction, EndReason, Frame,
    engine::{Join, Outlet, Stream},
};

/// Why bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
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

/// Bytes of a direction, in order.
#[derive(Clone, Copy, Debug)]
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
    /// The bytes that were not delivered before.
    #[must_use]
    pub fn fresh(&self) -> &'a [u8] {
        &self.bytes[self.repeated_bytes..]
    }
}

/// A packet of a stream, as captured and in the order of capture (S8).
#[derive(Clone, Copy, Debug)]
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

/// What an application does with streams. Every method has an empty default.
///
/// Within a direction, `data` and `gap` together cover the stream in order, without holes. All calls come from the
/// engine's own thread; what a call borrows is valid until it returns.
pub trait Handler {
    /// The application's own state for each stream.
    type Data: Default;

    /// Whether `packet` is to be called.
    const PACKETS: bool = false;
    /// Whether `datagram` is to be called.
    const DATAGRAMS: bool = false;
    /// Whether the handler stands for several applications, each told of its streams in its own way: see
    /// [`outlets`](Self::outlets).
    const OUTLETS: bool = false;

    /// A stream was opened.
    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        let _ = stream;
    }

    /// Bytes, in order.
    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        let _ = (stream, chunk);
    }

    /// Bytes that will not come.
    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        let _ = (stream, gap);
    }

    /// A packet of the stream, before what it changes: each that its statistics count, once, in the order of capture.
    ///
    /// One exception: a SYN with a new number in an open connection, or behind both FINs with a number that a host may
    /// refuse (anomaly `blind_syn` where it begins nothing), comes when it is clear whose it is. The stream that it opens sees it first; the stream that it attacked sees it later than the packets behind it.
    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        let _ = (stream, packet);
    }

    /// The stream ended; its figures are final. A flow that only ever was a SYN is opened and closed at once, here.
    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        let _ = (stream, reason);
    }

    /// A datagram was rebuilt from fragments, or rejected.
    fn datagram(&mut self, datagram: &Datagram<'_>) {
        let _ = datagram;
    }

    /// With [`OUTLETS`](Self::OUTLETS): how each of the applications wants its streams delivered. Asked once, by the
    /// engine that is made with the handler; what it says stands for the same fields of the engine's settings.
    fn outlets(&self) -> Vec<Outlet> {
        Vec::new()
    }

    /// With [`OUTLETS`](Self::OUTLETS): what there is to say of the stream that `bytes` opens (a whole frame, or a
    /// rebuilt IP packet with link type RAW), given back to [`join`](Self::join) when the stream is told of.
    fn marks(&mut self, frame: &Frame, bytes: &[u8]) -> u64 {
        let _ = (frame, bytes);
        0
    }

    /// With [`OUTLETS`](Self::OUTLETS): adds to `joins` whichever applications a stream with these marks belongs to.
    fn join(&mut self, marks: u64, joins: &mut Vec<Join>) {
        let _ = (marks, joins);
    }

    /// With [`OUTLETS`](Self::OUTLETS): the calls that follow are for `joined`, an index into `outlets`, which was the
    /// stream's join number `place`.
    fn turn_to(&mut self, joined: usize, place: usize) {
        let _ = (joined, place);
    }
}
