use crate::{GapCause, packet::Packet};

/// A segment's place and bytes: what the short way and the long way both need.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    /// Captured bytes; fewer than `Segment::length` where the packet was snapped.
    pub bytes: &'a [u8],
    pub timestamp_ns: u64,
    /// See `Frame::origin`, at the payload's first byte; 0 where it cannot be read again.
    pub origin: u64,
    /// Why bytes that the segment states are not among `bytes`.
    pub cause: GapCause,
    /// Its checksum is wrong, and the receiver's acknowledgment decides.
    pub is_unconfirmed: bool,
    /// … and it is larger than a frame: merged on receipt, or not yet split.
    pub is_merged: bool,
    /// How its packet came, or its IP header, makes it doubtful that a host takes it.
    pub is_refused: bool,
    /// Its packet's fate may wait for that: it is not settled elsewhere.
    pub has_fate: bool,
}

impl<'a> Payload<'a> {
    /// A packet's payload. `cause`: why what is not there is missing.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet<'a>, cause: GapCause) -> Self {
        let frame = packet.frame;
        let origin = if frame.origin == 0 { 0 } else { frame.origin + u64::from(packet.decoded.payload_at) };
        Self {
            bytes: packet.payload(),
            timestamp_ns: frame.timestamp_ns,
            origin,
            cause,
            is_unconfirmed: false,
            is_merged: false,
            is_refused: false,
            has_fate: !packet.is_rebuilt,
        }
    }
}
