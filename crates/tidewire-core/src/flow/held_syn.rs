use super::{HalfOpen, Key};
use crate::{
    Class, Direction, Mptcp, PacketChecksum, StreamPacket, Timestamp,
    path::Path,
    wire::{Decoded, LinkType, tcp_flag},
};

/// A SYN that arrived in an open connection and is held until the other side's answer shows whether it opens a new one.
#[derive(Clone, Debug)]
pub(crate) struct HeldSyn {
    /// The key, as the SYN has it.
    pub key: Key,
    pub class: Class,
    pub number: u64,
    pub timestamp_ns: u64,
    pub isn: u32,
    pub scale: u8,
    /// Timestamp value (RFC 7323), where the option is present.
    pub timestamp: Option<u32>,
    /// See `HalfOpen::large_frames`.
    pub large_frames: bool,
    /// Whether its checksum was verified and correct.
    pub good_checksum: bool,
    pub mptcp: Option<Mptcp>,
    /// Whether it carried a signature: see `Segment::signed`.
    pub signed: bool,
    pub from_client: bool,
    /// Its path.
    pub path: Path,
    pub packets: u32,
    pub payload_bytes: u64,
    pub ip_bytes: u64,
    pub frame_bytes: u64,
    /// Its packets, for a handler that wants packets.
    pub kept: Vec<KeptPacket>,
}

impl HeldSyn {
    /// The half-open connection that it becomes when it is a stream by itself.
    pub(crate) fn half_open(&self, client_is_a: bool) -> HalfOpen {
        HalfOpen {
            key: self.key,
            class: self.class,
            isn: self.isn,
            id: self.number,
            first_ns: self.timestamp_ns,
            last_ns: self.timestamp_ns,
            ip_bytes: self.ip_bytes,
            frame_bytes: self.frame_bytes,
            packets: self.packets,
            path: self.path,
            payload_bytes: self.payload_bytes,
            client_is_a,
            scale: self.scale,
            timestamp: self.timestamp,
            large_frames: self.large_frames,
            good_checksum: self.good_checksum,
            mptcp: self.mptcp,
            signed: self.signed,
            tcp_flags: tcp_flag::SYN,
            ..HalfOpen::default()
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        if self.from_client { Direction::ClientToServer } else { Direction::ServerToClient }
    }

    pub(crate) fn charge(&self) -> u64 {
        let list = (self.kept.capacity() * size_of::<KeptPacket>() + size_of::<Self>() + 32) as u64;
        list + self.kept.iter().map(|kept| kept.charge() - size_of::<KeptPacket>() as u64).sum::<u64>()
    }
}

/// A packet that is reported once it is clear which connection it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct KeptPacket {
    bytes: Box<[u8]>,
    number: u64,
    timestamp: Timestamp,
    wire_bytes: u32,
    link: LinkType,
    interface: u16,
    fragments: Box<[u64]>,
    network_at: u32,
    transport_at: u32,
    payload_at: u32,
    payload_captured_bytes: u32,
    checksum: PacketChecksum,
    decoded: Decoded,
}

impl KeptPacket {
    /// Bytes charged for it, including allocator overhead.
    pub(crate) fn charge(&self) -> u64 {
        (self.bytes.len() + size_of_val(&*self.fragments) + size_of::<Self>() + 16) as u64
    }

    pub(crate) fn of(shown: StreamPacket<'_>) -> Self {
        Self {
            bytes: shown.bytes.into(),
            number: shown.number,
            timestamp: shown.timestamp,
            wire_bytes: shown.wire_bytes,
            link: shown.link,
            interface: shown.interface,
            fragments: shown.fragments.into(),
            network_at: shown.network_at,
            transport_at: shown.transport_at,
            payload_at: shown.payload_at,
            payload_captured_bytes: shown.payload_captured_bytes,
            checksum: shown.checksum,
            decoded: *shown.decoded,
        }
    }

    pub(crate) fn shown(&self, direction: Direction) -> StreamPacket<'_> {
        StreamPacket {
            direction,
            number: self.number,
            timestamp: self.timestamp,
            bytes: &self.bytes,
            wire_bytes: self.wire_bytes,
            link: self.link,
            interface: self.interface,
            fragments: &self.fragments,
            network_at: self.network_at,
            transport_at: self.transport_at,
            payload_at: self.payload_at,
            payload_captured_bytes: self.payload_captured_bytes,
            checksum: self.checksum,
            decoded: &self.decoded,
        }
    }
}
