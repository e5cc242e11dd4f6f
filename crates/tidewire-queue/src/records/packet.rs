//! The header in front of a packet's bytes in a PACKET record.

use super::{
    bytes::{Fields, Writer},
    key::Key,
};

/// An offset that stands for a layer that the packet does not have.
pub const OFFSET_NONE: u32 = u32::MAX;

/// The fixed header of a PACKET; the captured bytes follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The packet's number in the input, from 1.
    pub number: u64,
    /// Anomalies of the stream since its previous packet in the queue (what that one's effects showed): a bit for each number in [`ANOMALIES`](super::ANOMALIES).
    pub anomalies: u64,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// Link type of the bytes (LINKTYPE_ of pcap).
    pub link_type: u32,
    /// Offset of the network header, or [`OFFSET_NONE`].
    pub network_at: u32,
    /// Offset of the transport header, or [`OFFSET_NONE`].
    pub transport_at: u32,
    /// Offset of the transport's payload, or [`OFFSET_NONE`].
    pub payload_at: u32,
    /// Captured bytes of that payload.
    pub payload_bytes: u32,
    /// Addresses, ports, protocol, VLANs, tunnel; unspecified addresses where the packet has none.
    pub key: Key,
}

impl Default for PacketHeader {
    fn default() -> Self {
        Self {
            number: 0,
            anomalies: 0,
            wire_bytes: 0,
            link_type: 0,
            network_at: OFFSET_NONE,
            transport_at: OFFSET_NONE,
            payload_at: OFFSET_NONE,
            payload_bytes: 0,
            key: Key::default(),
        }
    }
}

impl PacketHeader {
    /// Bytes of the header.
    pub const BYTES: usize = 40 + Key::BYTES;

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Writer(out);
        fields.u64(self.number);
        fields.u64(self.anomalies);
        for field in
            [self.wire_bytes, self.link_type, self.network_at, self.transport_at, self.payload_at, self.payload_bytes]
        {
            fields.u32(field);
        }
        self.key.encode(out);
    }

    /// Reads a header, and returns the packet's bytes behind it; `None`: too short, or no key.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (header, packet) = bytes.split_at_checked(Self::BYTES)?;
        let mut fields = Fields(header);
        let header = Self {
            number: fields.u64()?,
            anomalies: fields.u64()?,
            wire_bytes: fields.u32()?,
            link_type: fields.u32()?,
            network_at: fields.u32()?,
            transport_at: fields.u32()?,
            payload_at: fields.u32()?,
            payload_bytes: fields.u32()?,
            key: Key::decode(fields.0)?,
        };
        Some((header, packet))
    }
}
