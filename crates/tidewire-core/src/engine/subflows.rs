//! Flows that are subflows of Multipath TCP: their bytes go to their connection instead of to the handler.
//!
//! A flow becomes a [`Subflow`] with the first segment behind its handshake: one that opened a connection if both keys are in it
//! (MP_CAPABLE), one that joined if its token is known. From then on delivery passes its bytes and gaps to
//! [`Connection::contribute`] and [`Connection::contribute_gap`]. The subflow numbers them, and they become events of its connection
//! of Multipath TCP.

use crate::{
    Direction, Gap, Mode,
    connection::Connection,
    flow::{Flow, half},
    mptcp::{
        Signals,
        connection_stream::ConnectionStream,
        registry::{self, HashedKey},
        subflow::{EventKind, Subflow},
        token_and_first,
    },
    packet::Packet,
    tcp::{Segment, tcp_flag},
};

impl Flow {
    /// Whether nothing of a new connection was delivered, and both SYNs were seen.
    fn is_untouched(&self) -> bool {
        let is_begun = |direction: Direction| {
            let half = &self.halves[direction as usize];
            half.has(half::SYN) && !half.has(half::HELD) && half.next == self.bias(direction)
        };
        self.delivered == [0; 2] && Direction::BOTH.into_iter().all(is_begun)
    }
}

impl Connection<'_> {
    /// Whether what is to be delivered of the flow is a part of the bytes of a connection of Multipath TCP.
    #[inline]
    pub(super) fn is_part(&self) -> bool {
        !self.shared.multipath.is_delivering
            && self.flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.subflow.is_some())
    }

    /// Passes bytes that continue a subflow to its connection.
    #[cold]
    pub(super) fn contribute(&mut self, direction: Direction, bytes: &[u8], timestamp_ns: u64) {
        let Some(slow_state) = &mut self.flow.slow_state else { return };
        let Some(subflow) = &mut slow_state.subflow else { return };
        if !subflow.is_first() {
            self.flow.delivered[direction as usize] += bytes.len() as u64;
        }
        subflow.accept(direction, bytes, timestamp_ns, &mut self.shared.multipath.events);
        self.settle_subflow();
    }

    /// Passes bytes that are missing in a subflow to its connection.
    #[cold]
    pub(super) fn contribute_gap(&mut self, gap: Gap) {
        let Some(subflow) = self.flow.slow_state.as_mut().and_then(|slow_state| slow_state.subflow.as_mut()) else {
            return;
        };
        let time_ns = self.shared.now.time_ns;
        subflow.miss(gap.direction, gap.bytes, gap.cause, time_ns, &mut self.shared.multipath.events);
        self.settle_subflow();
    }

    /// Leaves out bytes of both directions of a subflow that wait for a mapping. Returns whether the flow is a subflow.
    pub(super) fn leave_out_unmapped(&mut self) -> bool {
        let Some(subflow) = self.flow.slow_state.as_mut().and_then(|slow_state| slow_state.subflow.as_mut()) else {
            return false;
        };
        for direction in Direction::BOTH {
            subflow.leave_out(direction);
        }
        self.settle_subflow();
        true
    }

    fn settle_subflow(&mut self) {
        self.flow.slow_state().count_multipath();
        self.settle_slow_state();
    }

    /// Reads the options of a segment of Multipath TCP, before its payload is used.
    #[cold]
    pub(super) fn note_signals(&mut self, packet: &Packet<'_>, direction: Direction, segment: &Segment) {
        if segment.has(tcp_flag::SYN | tcp_flag::RST) || self.flow.is_outside(direction, segment) {
            return;
        }
        let is_known = self.flow.slow_state().subflow.is_some();
        if !is_known && !self.may_become_subflow() {
            return;
        }
        let signals = Signals::of(packet.bytes.get(packet.decoded.transport_at as usize..).unwrap_or_default());
        if !is_known && self.begin_subflow(direction, &signals).is_none() {
            return;
        }
        let is_next = segment.length > 0 && segment.seq == self.flow.halves[direction as usize].next_seq();
        let (timestamp_ns, events) = (self.shared.now.time_ns, &mut self.shared.multipath.events);
        let Some(subflow) = &mut self.flow.slow_state().subflow else { return };
        if let Some(number) = signals.acknowledged {
            events.push(subflow.event(direction.opposite(), timestamp_ns, EventKind::Acknowledged(number)));
        }
        if let Some(bytes) = signals.first_mapping_bytes {
            subflow.map_first(direction, bytes);
        }
        if let Some(mapping) = signals.mapping {
            subflow.map(direction, mapping, is_next);
        }
        if let Some(number) = signals.end {
            events.push(subflow.event(direction, timestamp_ns, EventKind::End(number)));
        }
        self.settle_subflow();
    }

    /// Whether the flow may be put together with others: not where the kernel cuts each flow by itself, and its mappings with it.
    fn may_become_subflow(&self) -> bool {
        let is_cut_before = self.flow.halves.iter().any(|half| half.has(half::SHUNTED));
        self.shared.config.mode != Mode::Track && !is_cut_before && self.flow.is_untouched()
    }

    /// Makes the flow, of which nothing was delivered, a subflow of its connection if that is known.
    fn begin_subflow(&mut self, direction: Direction, signals: &Signals) -> Option<()> {
        let mptcp = self.flow.slow_state.as_ref().and_then(|slow_state| slow_state.mptcp)?;
        let connection;
        if mptcp.is_joined {
            connection = *self.shared.multipath.registry.get(mptcp.token?)?;
            let subflow = Subflow::new(connection, None);
            let joined = subflow.event(direction, self.shared.now.time_ns, EventKind::Joined);
            self.shared.multipath.events.push(joined);
            self.flow.slow_state().subflow = Some(Box::new(subflow));
        } else {
            let (client_key, server_key) = signals.keys.filter(|_| direction == Direction::ClientToServer)?;
            if mptcp.server_key != Some(server_key) {
                return None;
            }
            let [(_, client), (token, server)] =
                [client_key, server_key].map(|key| token_and_first(mptcp.version, key));
            let first = HashedKey { key: self.flow.key, hash: self.flow.hash.into() };
            connection = registry::ConnectionId { first, server_key, token, is_of_client: false };
            let slow_state = self.flow.slow_state();
            slow_state.subflow = Some(Box::new(Subflow::new(connection, Some([client, server]))));
            slow_state.connection_stream = Some(Box::new(ConnectionStream::new(server_key, [client, server])));
        }
        self.shared.multipath.is_used = true;
        let cutoffs = Direction::BOTH.map(|direction| self.cutoff(direction));
        for half in &mut self.flow.halves {
            // Delivery looks closer at directions with cutoffs of their own.
            half.flags |= half::OWN_CUTOFF;
        }
        let slow_state = self.flow.slow_state();
        slow_state.cutoff = cutoffs;
        if let Some(mptcp) = &mut slow_state.mptcp {
            (mptcp.token, mptcp.is_together) = (Some(connection.token), true);
            mptcp.subflows = u32::from(!mptcp.is_joined);
        }
        Some(())
    }
}
