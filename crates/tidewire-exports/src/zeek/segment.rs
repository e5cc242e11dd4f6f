//! The facts of a TCP segment that a connection's history needs.

use tidewire::StreamPacket;

/// Fields of a segment's header, and how many bytes of payload it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    pub(super) payload_bytes: u32,
}

impl Segment {
    /// Reads it from a packet; `None` if its header was not captured.
    pub(super) fn of(packet: &StreamPacket<'_>) -> Option<Self> {
        let header = packet.bytes.get(packet.transport_at as usize..)?;
        let word =
            |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.first_chunk()).copied().map(u32::from_be_bytes);
        let (seq, ack, rest) = (word(4)?, word(8)?, word(12)?);
        let header_bytes = rest >> 28 << 2;
        Some(Self {
            flags: (rest >> 16) as u8,
            seq,
            ack,
            window: rest as u16,
            payload_bytes: sent_bytes(packet, header_bytes).unwrap_or(packet.payload_captured_bytes),
        })
    }
}

/// Payload as the IP header states it: of a snapped packet more than was captured. `None`: it states nothing (an offloaded segment).
fn sent_bytes(packet: &StreamPacket<'_>, header_bytes: u32) -> Option<u32> {
    let before = packet.transport_at.checked_sub(packet.network_at)?.checked_add(header_bytes)?;
    ip_bytes(packet)?.checked_sub(before)
}

/// Bytes from the IP header on as it states them.
pub(super) fn ip_bytes(packet: &StreamPacket<'_>) -> Option<u32> {
    let ip = packet.bytes.get(packet.network_at as usize..)?;
    let half = |at: usize| ip.get(at..at + 2).and_then(|bytes| bytes.first_chunk()).copied().map(u16::from_be_bytes);
    match ip.first()? >> 4 {
        4 => half(2).filter(|&bytes| bytes > 0).map(u32::from),
        6 => half(4).filter(|&bytes| bytes > 0).map(|bytes| u32::from(bytes) + 40),
        _ => None,
    }
}
