//! The structures of the header. Those of payloads have the layout that they have in shared memory.

use tidewire_queue::{
    Missing,
    records::{Close, DirectionStats, Key, Open, PacketHeader},
};
use tidewire_types::Timestamp;

/// `tidewire_queue_key_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CKey {
    pub client: [u8; 16],
    pub server: [u8; 16],
    pub client_port: u16,
    pub server_port: u16,
    pub protocol: u8,
    pub ip_version: u8,
    pub tunnel_kind: u8,
    pub client_known: u8,
    pub vlan: [u16; 2],
    pub icmp_type: u8,
    pub icmp_code: u8,
    pub reserved: u16,
    pub tunnel_id: u32,
    pub reserved2: u32,
}

/// `tidewire_queue_open_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct COpen {
    pub key: CKey,
    pub start_ns: u64,
    pub ordinal: u64,
    pub next_offset: [u64; 2],
    pub priority: u8,
    pub reserved: [u8; 7],
}

/// `tidewire_queue_figures_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CFigures {
    pub packets: u64,
    pub frames: u64,
    pub frame_bytes: u64,
    pub ip_bytes: u64,
    pub payload_wire_bytes: u64,
    pub reassembled_bytes: u64,
    pub delivered_bytes: u64,
    pub retransmitted_bytes: u64,
    pub out_of_order_packets: u64,
    pub missing_bytes: u64,
    pub ignored_bytes: u64,
    pub cutoff_bytes: u64,
    pub shed_packets: u64,
    pub shed_bytes: u64,
    pub chunks: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub tcp_flags: u64,
}

/// `tidewire_queue_close_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CClose {
    pub ordinal: u64,
    pub anomalies: u64,
    pub state: u8,
    pub reason: u8,
    pub reserved: [u8; 6],
    pub end_offset: [u64; 2],
    pub figures: [CFigures; 2],
}

/// `tidewire_queue_packet_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CPacket {
    pub number: u64,
    pub anomalies: u64,
    pub wire_bytes: u32,
    pub link_type: u32,
    pub network_at: u32,
    pub transport_at: u32,
    pub payload_at: u32,
    pub payload_bytes: u32,
    pub key: CKey,
}

/// `tidewire_queue_missing_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CMissing {
    pub stream: u64,
    pub offset: u64,
    pub bytes: u64,
    pub flags: u32,
    pub reserved: u32,
}

/// `tidewire_queue_event_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CEvent {
    pub sequence: u64,
    pub records: u64,
    pub stream: u64,
    pub offset: u64,
    pub time_ns: u64,
    pub bytes: u64,
    pub data: *const u8,
    pub data_bytes: usize,
    pub repeated_bytes: usize,
    pub open: *const COpen,
    pub close: *const CClose,
    pub packet: *const CPacket,
    pub kind: u32,
    pub flags: u32,
    pub code: u32,
    pub reserved: u32,
    pub missing: *const CMissing,
    pub missing_count: usize,
    pub missing_size: usize,
}

/// `tidewire_queue_progress_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CProgress {
    pub first: u64,
    pub sequence: u64,
    pub published: u64,
    pub read: u64,
    pub missed: u64,
    pub lost: u64,
    pub missed_bytes: u64,
    pub lost_bytes: u64,
    pub others: u64,
    pub epoch: u64,
    pub streams_missed: u64,
}

impl Default for CEvent {
    fn default() -> Self {
        Self {
            sequence: 0,
            records: 0,
            stream: 0,
            offset: 0,
            time_ns: 0,
            bytes: 0,
            data: std::ptr::null(),
            data_bytes: 0,
            repeated_bytes: 0,
            open: std::ptr::null(),
            close: std::ptr::null(),
            packet: std::ptr::null(),
            kind: 0,
            flags: 0,
            code: 0,
            reserved: 0,
            missing: std::ptr::null(),
            missing_count: 0,
            missing_size: size_of::<CMissing>(),
        }
    }
}

impl From<&Key> for CKey {
    fn from(key: &Key) -> Self {
        Self {
            client: key.client.octets(),
            server: key.server.octets(),
            client_port: key.client.port,
            server_port: key.server.port,
            protocol: key.protocol,
            ip_version: if key.client.address.is_ipv4() { 4 } else { 6 },
            tunnel_kind: key.tunnel_kind,
            client_known: u8::from(key.is_client_known),
            vlan: key.vlan,
            icmp_type: key.icmp[0],
            icmp_code: key.icmp[1],
            tunnel_id: key.tunnel_id,
            ..Self::default()
        }
    }
}

impl From<&Open> for COpen {
    fn from(open: &Open) -> Self {
        let Open { start_ns, ordinal, next_offset, priority, .. } = *open;
        Self { key: CKey::from(&open.key), start_ns, ordinal, next_offset, priority, reserved: [0; 7] }
    }
}

impl From<&DirectionStats> for CFigures {
    fn from(figures: &DirectionStats) -> Self {
        Self {
            packets: figures.packets,
            frames: figures.frames,
            frame_bytes: figures.frame_bytes,
            ip_bytes: figures.ip_bytes,
            payload_wire_bytes: figures.payload_wire_bytes,
            reassembled_bytes: figures.reassembled_bytes,
            delivered_bytes: figures.delivered_bytes,
            retransmitted_bytes: figures.retransmitted_bytes,
            out_of_order_packets: figures.out_of_order_packets,
            missing_bytes: figures.missing_bytes,
            ignored_bytes: figures.ignored_bytes,
            cutoff_bytes: figures.cutoff_bytes,
            shed_packets: figures.shed_packets,
            shed_bytes: figures.shed_bytes,
            chunks: figures.chunks,
            start_ns: figures.start.map_or(0, Timestamp::as_nanos),
            end_ns: figures.end.map_or(0, Timestamp::as_nanos),
            tcp_flags: u64::from(figures.tcp_flags),
        }
    }
}

impl From<&Close> for CClose {
    fn from(close: &Close) -> Self {
        let Close { ordinal, anomalies, state, reason, end_offset, figures } = close;
        Self {
            ordinal: *ordinal,
            anomalies: *anomalies,
            state: *state,
            reason: *reason,
            reserved: [0; 6],
            end_offset: *end_offset,
            figures: [CFigures::from(&figures[0]), CFigures::from(&figures[1])],
        }
    }
}

impl From<&PacketHeader> for CPacket {
    fn from(header: &PacketHeader) -> Self {
        Self {
            number: header.number,
            anomalies: header.anomalies,
            wire_bytes: header.wire_bytes,
            link_type: header.link_type,
            network_at: header.network_at,
            transport_at: header.transport_at,
            payload_at: header.payload_at,
            payload_bytes: header.payload_bytes,
            key: CKey::from(&header.key),
        }
    }
}

impl From<&Missing> for CMissing {
    fn from(missing: &Missing) -> Self {
        let Missing { stream, direction, offset, bytes } = *missing;
        Self { stream, offset, bytes, flags: direction as u32, reserved: 0 }
    }
}
