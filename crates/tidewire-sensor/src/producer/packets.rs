//! A packet queue: decoded packets as records.

use tidewire::{Handler, Outside, OutsidePacket, Stream, StreamPacket};
use tidewire_queue::{
    Owners, Record,
    records::{PacketHeader, RecordType, packet_reasons},
};

use super::{describe, set::QueueSet};
use crate::config::Distribution;

/// Publishes packets in a queue, or each in one queue of a set: by the hash of their flow, or packet by packet in turn.
///
/// A record has the whole packet, and all that is needed to understand it alone. The anomalies in its header are those that the
/// stream has gained since its previous packet: what came before is noted with the packet that showed it. Packets that
/// come when their direction has reached the cutoff are published only if they have no payload. Packets that belong to no stream
/// (ARP, malformed ones) have stream 0, no addresses, and the reason as their code; of a set by flow hash they are in the first
/// queue. Fragments come as the datagram that they become, and not at all if they become none.
#[derive(Debug)]
pub struct PacketQueue {
    set: QueueSet,
    /// The priority of streams that have none of their own.
    priority: u8,
}

/// State of a stream.
#[derive(Debug, Default)]
pub struct PacketState {
    owners: Owners,
    /// Anomalies of the stream that were published.
    anomalies: u32,
    /// Its queue in the set.
    queue: u32,
    /// Payload of each direction, in captured bytes.
    payload_bytes: [u64; 2],
}

impl PacketQueue {
    /// Publishes to `set`.
    #[must_use]
    pub fn new(set: QueueSet) -> Self {
        Self { set, priority: 0 }
    }

    /// The priority of streams that have none of their own (0), where the engine does not know it.
    #[must_use]
    pub fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }
}

impl Handler for PacketQueue {
    type Data = PacketState;
    const PACKETS: bool = true;
    const OUTSIDE: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, PacketState>) {
        if stream.priority() == 0 {
            stream.set_priority(self.priority);
        }
        if self.set.distribution() == Distribution::FlowHash {
            stream.data().queue = self.set.of_flow(&stream.key()) as u32;
        }
    }

    fn packet(&mut self, stream: &mut Stream<'_, PacketState>, packet: StreamPacket<'_>) {
        let cutoff = stream.cutoff(packet.direction);
        let state = stream.data();
        let sent = &mut state.payload_bytes[packet.direction as usize];
        let is_cut = cutoff.is_some_and(|bytes| *sent >= bytes) && packet.payload_captured_bytes != 0;
        *sent += u64::from(packet.payload_captured_bytes);
        if is_cut {
            return;
        }
        let seen = state.anomalies as usize;
        let noted = stream.anomalies().get(seen..).unwrap_or_default();
        let (count, noted) = (noted.len() as u32, describe::anomalies(noted.iter().map(|anomaly| anomaly.kind)));
        stream.data().anomalies += count;
        let header = PacketHeader {
            number: packet.number,
            anomalies: noted,
            wire_bytes: packet.wire_bytes,
            link_type: packet.link.0.into(),
            network_at: packet.network_at,
            transport_at: packet.transport_at,
            payload_at: packet.payload_at,
            payload_bytes: packet.payload_captured_bytes,
            key: describe::key(&stream.key(), stream.client_known()),
        };
        let record = Record::new(RecordType::Packet, stream.id(), packet.timestamp.as_nanos());
        let record = record.with_direction(packet.direction);
        let room = self.set.record_bytes_max() - PacketHeader::BYTES;
        let bytes = &packet.bytes[..packet.bytes.len().min(room)];
        let priority = stream.priority();
        match self.set.distribution() {
            Distribution::FlowHash => {
                let mut queue = self.set.queue(stream.data().queue as usize);
                queue.publish_packet(&mut stream.data().owners, priority, &record, &header, bytes);
            }
            // In a group, too, packets of a stream go to different members: the owner is chosen for each.
            Distribution::RoundRobin => {
                let mut queue = self.set.queue(self.set.next());
                queue.publish_packet(&mut Owners::default(), priority, &record, &header, bytes);
            }
        }
    }
    fn outside(&mut self, packet: OutsidePacket<'_>) {
        let header = PacketHeader {
            number: packet.number,
            wire_bytes: packet.wire_bytes,
            link_type: packet.link.0.into(),
            ..PacketHeader::default()
        };
        let record = Record::new(RecordType::Packet, 0, packet.timestamp.as_nanos()).with_code(match packet.why {
            Outside::Arp => packet_reasons::ARP,
            Outside::OtherLink => packet_reasons::OTHER_LINK,
            Outside::UnsupportedLink => packet_reasons::UNSUPPORTED_LINK,
            _ => packet_reasons::MALFORMED,
        });
        let room = self.set.record_bytes_max() - PacketHeader::BYTES;
        let bytes = &packet.bytes[..packet.bytes.len().min(room)];
        let index = match self.set.distribution() {
            Distribution::FlowHash => 0,
            Distribution::RoundRobin => self.set.next(),
        };
        self.set.queue(index).publish_packet(&mut Owners::default(), self.priority, &record, &header, bytes);
    }
}
