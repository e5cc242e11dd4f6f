//! A transport packet on its way to its flow.

use crate::{
    Direction, Frame, PacketChecksum, StreamPacket,
    flow::Key,
    path::Path,
    wire::{self, Decoded, Kind, ip_protocol},
};

/// Position of a packet's place within its frame in the packet's number: above every frame number. A stream's id is the
/// number of its first packet, and two packets of one frame may each open a stream. Numbers stay within 53 bits, the
/// integers that JSON readers represent exactly; the bits that are left for the place bound `wire::SUBFRAMES_MAX`.
pub(crate) const PLACE_SHIFT: u32 = 44;
const _: () = assert!(wire::SUBFRAMES_MAX <= 1 << (53 - PLACE_SHIFT));

/// A transport packet: a frame, or a rebuilt datagram with the sums of its fragments.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    pub frame: &'a Frame,
    pub bytes: &'a [u8],
    pub decoded: &'a Decoded,
    /// Frames that it arrived in.
    pub frames: u32,
    /// Their bytes on the wire, link layer included.
    pub frame_bytes: u64,
    /// Their bytes from the network layer up.
    pub ip_bytes: u64,
    /// Whether it was rebuilt from fragments or is part of an aggregate: its frames have their own fates.
    pub is_rebuilt: bool,
    /// Numbers of the frames that its fragments came in.
    pub fragments: &'a [u64],
    pub path: Path,
}

impl<'a> Packet<'a> {
    #[inline(always)]
    pub(crate) fn of(frame: &'a Frame, bytes: &'a [u8], decoded: &'a Decoded, path: Path) -> Self {
        let (frame_bytes, ip_bytes) = (u64::from(frame.wire_bytes), u64::from(decoded.ip_bytes));
        Self { frame, bytes, decoded, frames: 1, frame_bytes, ip_bytes, is_rebuilt: false, fragments: &[], path }
    }

    /// Captured payload of the transport.
    #[inline(always)]
    pub(crate) fn payload(&self) -> &'a [u8] {
        let at = self.decoded.payload_at as usize;
        self.bytes.get(at..at + self.decoded.payload_captured_bytes as usize).unwrap_or_default()
    }

    /// Whether it is a TCP segment whose header was truncated by the snap length.
    pub(crate) fn is_cut_segment(&self) -> bool {
        self.decoded.kind == Kind::HeaderCut && self.decoded.proto == ip_protocol::TCP
    }

    /// The packet as a handler sees it.
    pub(crate) fn shown(&self, direction: Direction, checksum: PacketChecksum) -> StreamPacket<'a> {
        StreamPacket {
            direction,
            number: frame_number(self.frame.number),
            timestamp: self.frame.timestamp,
            bytes: self.bytes,
            wire_bytes: self.frame.wire_bytes,
            link: self.frame.link,
            interface: self.frame.interface,
            fragments: self.fragments,
            network_at: self.decoded.ip_at.min(self.bytes.len() as u32),
            transport_at: self.decoded.transport_at.min(self.bytes.len() as u32),
            payload_at: self.decoded.payload_at.min(self.bytes.len() as u32),
            payload_captured_bytes: self.decoded.payload_captured_bytes,
            checksum,
            decoded: self.decoded,
        }
    }
}

/// The number of the frame that a packet came in.
#[inline(always)]
pub(crate) fn frame_number(number: u64) -> u64 {
    number & ((1 << PLACE_SHIFT) - 1)
}

/// A packet with its key, side and hash, for the look-up of its flow.
#[derive(Clone, Copy)]
pub(crate) struct Keyed<'a> {
    pub packet: &'a Packet<'a>,
    pub key: &'a Key,
    /// Whether the key's lower endpoint sent it.
    pub from_a: bool,
    /// The key's hash, never 0.
    pub hash: u64,
}

/// The packet and flow that the engine is processing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Now {
    /// Slot of the flow.
    pub slot: u32,
    /// Clock of the packet.
    pub clock_ns: u64,
    /// Captured bytes of the whole input before the packet, other workers' included.
    pub input_bytes: u64,
    /// Number of the packet.
    pub number: u64,
    /// The time by which the packet counts in its flow; of packets beside the fast path.
    pub time_ns: u64,
    /// Time of the packet before it in the same direction; likewise.
    pub before_ns: u64,
}
