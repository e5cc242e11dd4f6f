//! Contents of the records of a queue: kinds, flags, typed payloads, and names of numbers. A codec for both ends; it knows
//! nothing of the engine.

mod bytes;
mod event;
mod key;
mod kind;
mod names;
mod packet;
mod stream;

pub use event::Event;
pub use key::{Key, VLAN_NONE};
pub use kind::{RecordType, flags};
pub use names::{
    ANOMALIES, END_REASONS, GAP_CAUSES, GAP_SHED, PACKET_REASONS, TCP_STATES, TUNNELS, anomaly_name, end_reason_name,
    gap_cause_name, packet_reasons, tcp_state_name, tunnel_name,
};
pub use packet::{OFFSET_NONE, PacketHeader};
pub use stream::{Close, Conflict, Gap, Open};
pub use tidewire_types::{Direction, DirectionStats, Endpoint};
