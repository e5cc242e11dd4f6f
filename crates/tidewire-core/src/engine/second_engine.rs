//! Subflows of other workers: a second engine processes them for their connections.
//!
//! With several workers a connection of Multipath TCP belongs to the worker of its first subflow. That one has the other workers'
//! subflows of its connections in a second engine, which delivers to no handler and counts nowhere; their records are those of the
//! other workers. All workers read the same tokens ([`Registry`](crate::mptcp::registry::Registry)), so they agree on which subflow
//! has joined.

use super::{
    Engine, OTHER_WORKER, Prepared,
    other_subflows::{NullHandler, OTHER_SUBFLOWS_MAX},
};
use crate::{
    Config, DirectionCutoff, DuplicateRule, Frame, Handler, Mode, Share,
    flow::NO_SLOT,
    mptcp::registry::HashedKey,
    tcp::tcp_flag,
    wire::{Decoded, Kind},
};

/// Memory for subflows of other workers, as a part of the engine's own, which it comes on top of.
const OTHERS_PART: u64 = 16;

/// Whether a TCP segment has the flag SYN.
#[inline(always)]
fn has_syn(bytes: &[u8], decoded: &Decoded) -> bool {
    bytes.get(decoded.transport_at as usize + 13).is_some_and(|flags| flags & tcp_flag::SYN != 0)
}

/// An engine for subflows of other workers.
fn second_engine(config: &Config) -> Box<Engine<NullHandler>> {
    let config = config
        .clone()
        .with_memory_bytes(config.memory_bytes / OTHERS_PART)
        .with_fragment_memory_bytes(0)
        .with_midstream_bytes(0)
        .with_history_segments(0)
        .with_flows_max(Some(OTHER_SUBFLOWS_MAX as u32))
        .with_half_open_max(OTHER_SUBFLOWS_MAX as u32)
        .with_cutoff(DirectionCutoff::UNLIMITED)
        .with_chunk_bytes(0)
        .with_overlap_bytes(0)
        .with_flush_timeout(None)
        .with_shed(false)
        .with_duplicates(DuplicateRule::Keep);
    let mut engine = Engine::new(config, Share::ALL, NullHandler);
    engine.shared.multipath.is_second = true;
    Box::new(engine)
}

impl<H: Handler> Engine<H> {
    /// Whether a frame of another worker's flow may concern connections of this one.
    #[inline(always)]
    pub(super) fn concerns_others(&self, bytes: &[u8], decoded: &Decoded) -> bool {
        let is_any = self.other_subflows.is_any() || self.shared.multipath.registry.is_waiting();
        decoded.kind == Kind::Tcp && (has_syn(bytes, decoded) || is_any)
    }

    /// A frame of another worker's flow: it may name a token, or be of a subflow of a connection of this one.
    #[cold]
    pub(super) fn note_other_worker(&mut self, frame: &Frame, bytes: &[u8], one: &Prepared) {
        debug_assert_eq!(one.slot, OTHER_WORKER);
        if self.shared.config.mode == Mode::Track {
            return;
        }
        if has_syn(bytes, &one.decoded) || self.shared.multipath.registry.is_waiting() {
            let flow = HashedKey { key: one.key, hash: one.hash };
            let token = self.shared.multipath.read(bytes, &one.decoded, flow, one.from_a, frame.clock.as_nanos());
            let connection = token.and_then(|token| Some((token, *self.shared.multipath.registry.get(token)?)));
            if let Some((token, connection)) = connection.filter(|(_, one)| self.is_own_flow(one.first.hash)) {
                self.other_subflows.add(one.hash);
                let config = &self.shared.config;
                let engine = self.second_engine.get_or_insert_with(|| second_engine(config));
                engine.shared.multipath.registry.insert(token, connection);
            }
        }
        if !self.other_subflows.has(one.hash) {
            return;
        }
        if let Some(engine) = &mut self.second_engine {
            engine.process_for_other_worker(frame, bytes, one, self.shared.now.input_bytes);
            self.shared.multipath.events.append(&mut engine.shared.multipath.events);
            self.deliver_connection_streams();
        }
    }

    /// Processes a frame of a subflow for the engine of its connection.
    fn process_for_other_worker(&mut self, frame: &Frame, bytes: &[u8], one: &Prepared, input_bytes: u64) {
        self.pass_time(frame.clock.as_nanos());
        (self.shared.now.number, self.shared.now.input_bytes) = (frame.number, input_bytes);
        self.prepared_transport(frame, bytes, &Prepared { slot: NO_SLOT, ..*one });
        if self.shared.accounting.budget.is_over() {
            self.reclaim_memory();
        }
        self.tidy_lists();
    }
}
