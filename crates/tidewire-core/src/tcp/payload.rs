use crate::{GapCause, packet::Packet};

/// A segment's place and bytes, for the fast and the slow path.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    /// Captured bytes; fewer than `Segment::length` if the packet was truncated.
    pub bytes: &'a [u8],
    pub timestamp_ns: u64,
    /// Its packet's interface.
    pub interface: u16,
    /// See `Frame::origin`, at the payload's first byte; 0 where it cannot be read again.
    pub origin: u64,
    /// Why bytes that the segment states are missing from `bytes`.
    pub cause: GapCause,
    /// Its checksum is wrong, and the receiver's acknowledgment decides.
    pub is_unconfirmed: bool,
    /// ... and it is larger than a frame: merged on receipt, or not split yet.
    pub is_merged: bool,
    /// Its packet's path or IP header makes it doubtful that a host accepts it.
    pub is_refused: bool,
    /// Its packet's fate may wait for that decision: it is not settled elsewhere.
    pub has_fate: bool,
}

impl<'a> Payload<'a> {
    /// A packet's payload. `cause`: why bytes that were not captured are missing.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet<'a>, cause: GapCause) -> Self {
        let frame = packet.frame;
        let origin = if frame.origin == 0 { 0 } else { frame.origin + u64::from(packet.decoded.payload_at) };
        Self {
            bytes: packet.payload(),
            timestamp_ns: frame.timestamp.as_nanos(),
            interface: frame.interface,
            origin,
            cause,
            is_unconfirmed: false,
            is_merged: false,
            is_refused: false,
            has_fate: !packet.is_rebuilt,
        }
    }
}
