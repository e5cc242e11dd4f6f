//! Connections of Multipath TCP: the bytes of their subflows, delivered as the stream of the first one.
//!
//! Subflows contribute events (`subflows.rs`), which [`Engine::deliver_connection_streams`] passes to the first subflow of their connection once
//! the packet is processed.

use super::{Engine, delivery::Delivery};
use crate::{
    Direction, Gap, GapCause, Handler, Mode,
    connection::Connection,
    flow::{Found, bits},
    mptcp::{
        connection_stream::{HoleLimits, Output},
        registry::HashedKey,
        subflow::{Event, EventKind},
    },
    packet::Keyed,
    tcp::Events,
    wire::Kind,
};

impl Connection<'_> {
    /// How long a hole of a connection waits: as long as one of a subflow.
    fn hole_limits(&self, direction: Direction) -> HoleLimits {
        let config = &self.shared.config;
        let is_fast = config.mode == Mode::Fast;
        HoleLimits {
            segments: if is_fast { config.hole_segments_fast } else { config.hole_segments_strict },
            bytes: if is_fast { 0 } else { config.hole_bytes_strict },
            needs_acknowledgment: !is_fast && self.flow.halves[direction.opposite() as usize].packets() > 0,
            timeout_ns: config.hole_timeout_ns,
            buffer_bytes: config.stream_buffer_bytes,
            holes: config.stream_holes_max,
        }
    }

    /// Charges what waits in a direction of the connection.
    fn charge_connection_stream(&mut self, direction: Direction) {
        if let Some(stream) = self.flow.slow_state.as_mut().and_then(|slow_state| slow_state.connection_stream.as_mut())
        {
            let side = stream.side(direction);
            let after = side.bytes();
            let before = std::mem::replace(&mut side.charged_bytes, after);
            self.shared.accounting.recharge(&self.shared.now, self.flow, direction, before, after);
            if after > 0 {
                self.shared.accounting.list_holder(&self.shared.now, self.flow);
            }
        }
        self.settle_slow_state();
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Accepts what a subflow contributed to the connection of this flow, and delivers what continues its stream.
    fn accept_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let Event { direction, timestamp_ns, kind, .. } = event;
        let clock_ns = connection.shared.now.clock_ns;
        let Some(slow_state) = &mut connection.flow.slow_state else { return };
        let Some(stream) = &mut slow_state.connection_stream else { return };
        let mut conflicts = Vec::new();
        match kind {
            EventKind::Joined => {
                (stream.subflows, stream.others) = (stream.subflows + 1, stream.others + 1);
                if let Some(mptcp) = &mut slow_state.mptcp {
                    mptcp.subflows = stream.subflows;
                }
            }
            EventKind::Left => stream.others = stream.others.saturating_sub(1),
            EventKind::Bytes { at, bytes } => {
                let on_conflict = &mut |offset, bytes| conflicts.push((offset, bytes));
                stream.side(direction).accept(at, &bytes, clock_ns, on_conflict);
            }
            EventKind::Missing { at, bytes, cause } => stream.side(direction).miss(at, bytes, cause),
            EventKind::Acknowledged(number) => stream.side(direction).acknowledge(number),
            EventKind::End(number) => stream.side(direction).end_at(number),
        }
        connection.flow.seen_clock_ns = connection.flow.seen_clock_ns.max(clock_ns);
        for (offset, bytes) in conflicts {
            connection.conflict(direction, offset, bytes);
        }
        let limits = connection.hole_limits(direction);
        self.advance_connection_stream(connection, direction, timestamp_ns, Some(&limits), GapCause::NotCaptured);
        if connection.flow.connection_stream().is_some_and(|stream| stream.sides[direction as usize].has_ended()) {
            self.flush(connection, direction);
        }
    }

    /// Delivers what continues a connection's stream. `limits`: `None` where holes are given up, for `cause`.
    fn advance_connection_stream(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        timestamp_ns: u64,
        limits: Option<&HoleLimits>,
        cause: GapCause,
    ) {
        connection.shared.multipath.is_delivering = true;
        let clock_ns = connection.shared.now.clock_ns;
        loop {
            let slow_state = connection.flow.slow_state.as_mut();
            let Some(stream) = slow_state.and_then(|slow_state| slow_state.connection_stream.as_mut()) else { break };
            let side = stream.side(direction);
            let losses = &mut connection.shared.losses;
            let is_lost_by_capture = cause == GapCause::NotCaptured && losses.is_any(None, side.opened_ns(), clock_ns);
            let cause = if is_lost_by_capture { GapCause::LostByCapture } else { cause };
            let offset = side.next();
            match side.advance(limits, cause, clock_ns) {
                None => break,
                Some(Output::Bytes(piece)) => self.deliver(connection, direction, offset, piece.bytes(), timestamp_ns),
                Some(Output::Gap { offset, bytes, cause }) => {
                    self.gap(connection, Gap { direction, offset, bytes, cause });
                }
            }
        }
        connection.shared.multipath.is_delivering = false;
        connection.charge_connection_stream(direction);
    }

    /// Gives up the holes of a connection and what waits for a mapping, because memory is needed.
    pub(super) fn empty_connection_stream(&mut self, connection: &mut Connection<'_>, cause: GapCause) {
        if !connection.leave_out_unmapped() {
            return;
        }
        for direction in Direction::BOTH {
            let timestamp_ns = connection.flow.last_ns[direction as usize];
            self.advance_connection_stream(connection, direction, timestamp_ns, None, cause);
        }
    }

    /// Delivers what is left of a connection, before its first subflow closes.
    fn finish_connection_stream(&mut self, connection: &mut Connection<'_>) {
        self.empty_connection_stream(connection, GapCause::NotCaptured);
        connection.shared.multipath.is_delivering = true;
        for direction in Direction::BOTH {
            self.close(connection, direction);
        }
        connection.shared.multipath.is_delivering = false;
    }
}

impl<H: Handler> Engine<H> {
    /// Reads keys and tokens of a packet of an own flow. (Those of rebuilt packets are read by no worker: not all see them.)
    #[cold]
    pub(super) fn note_tokens(&mut self, keyed: &Keyed<'_>) {
        let Keyed { packet, key, from_a, hash } = *keyed;
        if !packet.is_rebuilt && self.shared.config.mode != Mode::Track {
            let clock_ns = self.shared.now.clock_ns;
            self.shared.multipath.read(packet.bytes, packet.decoded, HashedKey { key: *key, hash }, from_a, clock_ns);
        }
    }

    /// After a packet of a flow with a slow state: reads keys that are waited for, and delivers what it contributed.
    #[inline(always)]
    pub(super) fn settle_multipath(&mut self, keyed: &Keyed<'_>) {
        if self.shared.multipath.registry.is_waiting() && keyed.packet.decoded.kind == Kind::Tcp {
            self.note_tokens(keyed);
        }
        if !self.shared.multipath.events.is_empty() {
            self.deliver_connection_streams();
        }
    }

    /// Delivers what subflows contributed to connections of this engine.
    #[cold]
    pub(super) fn deliver_connection_streams(&mut self) {
        if self.shared.multipath.is_second {
            return;
        }
        let mut events = std::mem::take(&mut self.shared.multipath.events);
        let before = self.shared.now.slot;
        for event in events.drain(..) {
            let Some(slot) = self.first_subflow(&event, before) else { continue };
            let has_left = matches!(event.kind, EventKind::Left);
            let (mut connection, mut delivery) = self.connection(slot);
            delivery.accept_event(&mut connection, event);
            if has_left {
                self.schedule_close_report(slot);
            }
        }
        self.shared.now.slot = before;
        self.shared.multipath.events = events;
    }

    /// The flow whose stream has a connection's bytes; `None`: it has ended, or belongs to another worker. `slot`: the flow that was
    /// processed.
    fn first_subflow(&self, event: &Event, slot: u32) -> Option<u32> {
        let connection = &event.connection;
        let is_it = |slot: &u32| {
            let flow = self.table.flows.get(*slot);
            let stream = flow.connection_stream().filter(|stream| stream.server_key == connection.server_key);
            flow.has(bits::LIVE) && !flow.is_reported() && stream.is_some()
        };
        if event.is_of_first && slot < self.table.flows.used() && is_it(&slot) {
            return Some(slot);
        }
        match self.table.find(connection.first.hash, &connection.first.key) {
            Found::Flow(slot) => Some(slot).filter(is_it),
            _ => None,
        }
    }

    /// Passes the rest of a subflow that ends to its connection; of the first one, the rest of the connection.
    #[cold]
    pub(super) fn conclude_multipath(&mut self, slot: u32) {
        let flow = self.table.flows.get(slot);
        let Some(subflow) = flow.slow_state.as_ref().and_then(|slow_state| slow_state.subflow.as_ref()) else { return };
        let is_first = subflow.is_first();
        if !is_first {
            let left = subflow.event(Direction::ClientToServer, self.shared.now.time_ns, EventKind::Left);
            self.shared.multipath.events.push(left);
        }
        self.deliver_connection_streams();
        if is_first {
            let (mut connection, mut delivery) = self.connection(slot);
            delivery.finish_connection_stream(&mut connection);
        }
    }

    /// Before the input ends: passes what waits in subflows that joined to their connections, whose first subflows end first.
    #[cold]
    pub(super) fn empty_subflows(&mut self) {
        for slot in 0..self.table.flows.used() {
            let flow = self.table.flows.get(slot);
            let is_joined = flow
                .slow_state
                .as_ref()
                .is_some_and(|slow_state| slow_state.connection_stream.is_none() && slow_state.subflow.is_some());
            if is_joined && flow.has(bits::LIVE) && !flow.is_reported() {
                let (mut connection, mut delivery) = self.connection(slot);
                for direction in Direction::BOTH {
                    connection.empty(&mut delivery, direction, GapCause::NotCaptured);
                }
            }
        }
    }

    /// Delivers what subflows contributed at the end of the input: first the bytes, because one subflow may have those that another misses.
    #[cold]
    pub(super) fn deliver_last(&mut self) {
        self.shared.multipath.events.sort_by_key(|event| matches!(event.kind, EventKind::Missing { .. }));
        self.deliver_connection_streams();
    }
}
