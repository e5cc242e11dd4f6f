//! Opening of a stream by its first packet.

use super::{Engine, client};
use crate::{
    Class, ClientBy, Fate, Handler, TcpState,
    flow::{bits, half},
    packet::Keyed,
    tcp::{Segment, tcp_flag},
    wire::{self, Kind},
};

impl<H: Handler> Engine<H> {
    pub(super) fn new_flow(&mut self, keyed: &Keyed<'_>, segment: Option<&Segment>) -> Result<u32, Fate> {
        let class = self.classify(keyed.packet);
        if !self.make_room() {
            return Err(Fate::NoRoom);
        }
        let slot = self.table.add(keyed.hash as u32, *keyed.key);
        self.begin_flow(slot, keyed, segment, class);
        Ok(slot)
    }

    /// Initialises a new flow from its first packet, and reports it.
    pub(crate) fn begin_flow(&mut self, slot: u32, keyed: &Keyed<'_>, segment: Option<&Segment>, class: Class) {
        let Keyed { packet, key, from_a, .. } = *keyed;
        let (mut connection, mut delivery) = self.connection(slot);
        let flow = &mut *connection.flow;
        flow.id = packet.frame.number;
        flow.seen_clock_ns = connection.shared.now.clock_ns;
        // Both times: the packet is not counted yet, and the handler may ask for them when the stream is opened.
        // (A time ahead of the clock is an outlier.)
        let start_ns = packet.frame.timestamp.as_nanos().min(flow.seen_clock_ns);
        (flow.first_ns, flow.last_ns) = ([start_ns; 2], [start_ns; 2]);
        let (client_sends, by);
        match segment {
            None if !packet.is_cut_segment() => {
                (client_sends, by) = client::of(packet, key, from_a, false);
                for half in &mut flow.halves {
                    half.flags |= half::KNOWN;
                }
            }
            Some(segment) if segment.has(tcp_flag::SYN) => {
                (client_sends, by) = (!segment.has(tcp_flag::ACK), ClientBy::Handshake);
                flow.state = TcpState::SynSent;
            }
            _ => {
                flow.state = TcpState::Midstream;
                flow.flags |= bits::MIDSTREAM;
                (client_sends, by) = client::of(packet, key, from_a, true);
            }
        }
        if matches!(packet.decoded.kind, Kind::Icmp | Kind::Icmp6) {
            let at = packet.decoded.transport_at as usize;
            if let Some(&[kind, code]) = packet.bytes.get(at..at + 2).and_then(|bytes| bytes.first_chunk()) {
                // Of an answer that comes first, the type of its request.
                let request = if client_sends { kind } else { wire::icmp_request(packet.decoded.proto, kind) };
                flow.halves[0].base_seq = u32::from(request) << 8 | u32::from(code);
            }
        }
        flow.closing |= by.bits();
        if client_sends == from_a {
            flow.flags |= bits::CLIENT_IS_A;
        }
        delivery.apply(&mut connection, class);
        delivery.open(&mut connection);
    }
}
