//! Opening of a stream by its first packet.

use super::{Engine, context::FlowContext};
use crate::{
    Class, Deliver, Fate, TcpState,
    flow::{Flow, bits, half},
    packet::{Keyed, Packet},
    tcp::{Segment, flag},
    wire::Kind,
};

impl<H: Deliver> Engine<H> {
    pub(crate) fn classify(&mut self, packet: &Packet<'_>) -> Class {
        let mut class = match &mut self.classifier {
            Some(classifier) => classifier.classify(packet.frame, packet.bytes),
            None => Class::NONE,
        };
        if H::SUBSCRIBERS {
            class.marks = self.context.handler.marks(packet.frame, packet.bytes);
        }
        class
    }

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
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        flow.id = packet.frame.number;
        flow.seen_clock_ns = self.context.now.clock_ns;
        // Both times: the packet is not counted yet, and the handler may ask for them when the stream is opened.
        (flow.first_ns, flow.last_ns) = ([packet.frame.timestamp_ns; 2], [packet.frame.timestamp_ns; 2]);
        let mut client_sends = true;
        match segment {
            None if !packet.is_cut_segment() => {
                for half in &mut flow.halves {
                    half.flags |= half::KNOWN;
                }
            }
            Some(segment) if segment.has(flag::SYN) => {
                client_sends = !segment.has(flag::ACK);
                flow.state = TcpState::SynSent;
            }
            _ => {
                flow.state = TcpState::Midstream;
                flow.flags |= bits::MIDSTREAM;
                // The side with a well-known port is taken for the server.
                let (source, destination) = (key.port(from_a), key.port(!from_a));
                client_sends = !(source < 1024 && destination >= 1024);
            }
        }
        if matches!(packet.decoded.kind, Kind::Icmp | Kind::Icmp6) {
            let at = packet.decoded.transport_at as usize;
            if let Some(&[kind, code]) = packet.bytes.get(at..at + 2).and_then(|bytes| bytes.first_chunk()) {
                flow.halves[0].base_seq = u32::from(kind) << 8 | u32::from(code);
            }
        }
        if client_sends == from_a {
            flow.flags |= bits::CLIENT_IS_A;
        }
        self.context.apply(flow, class);
        self.context.now.slot = slot;
        self.context.open(flow, data);
    }
}

impl<H: Deliver> FlowContext<H> {
    /// Applies the class of a new stream.
    pub(crate) fn apply(&mut self, flow: &mut Flow, class: Class) {
        if H::SUBSCRIBERS {
            self.subscribers.marks = class.marks;
            return;
        }
        if let Some(priority) = class.priority {
            flow.priority = priority.min(self.config.priorities.saturating_sub(1));
        }
        if let Some(cutoff) = class.cutoff {
            flow.slow_state().cutoff = cutoff.0;
            for half in &mut flow.halves {
                half.flags |= half::OWN_CUTOFF;
            }
        }
    }
}
