//! Opening of a stream by its first packet.

use super::{Engine, client, context::FlowContext};
use crate::{
    Class, ClientBy, Deliver, Fate, TcpState,
    flow::{Flow, bits, half},
    packet::{Keyed, Packet},
    tcp::{Segment, flag},
    wire::{self, Kind},
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
        // (A time ahead of the clock is an outlier.)
        let start_ns = packet.frame.timestamp_ns.min(flow.seen_clock_ns);
        (flow.first_ns, flow.last_ns) = ([start_ns; 2], [start_ns; 2]);
        let (client_sends, by);
        match segment {
            None if !packet.is_cut_segment() => {
                (client_sends, by) = client::of(packet, key, from_a, false);
                for half in &mut flow.halves {
                    half.flags |= half::KNOWN;
                }
            }
            Some(segment) if segment.has(flag::SYN) => {
                (client_sends, by) = (!segment.has(flag::ACK), ClientBy::Handshake);
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
                // Of an answer that comes first, the type of what was asked.
                let asked = if client_sends { kind } else { wire::icmp_request(packet.decoded.proto, kind) };
                flow.halves[0].base_seq = u32::from(asked) << 8 | u32::from(code);
            }
        }
        flow.closing |= by.bits();
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
