use std::{fmt, time::Duration};

use tidewire_types::ip_protocol;

use crate::{
    Anomaly, ClientBy, Config, Conflict, Direction, DirectionStats, FlowKey, Gap, Mptcp, TcpState, Timestamp,
    flow::{Flow, bits, closing, half},
    mptcp::subflow::Subflow,
};

/// A stream, as a handler sees it during a call.
pub struct Stream<'a, D> {
    pub(crate) flow: &'a mut Flow,
    pub(crate) data: &'a mut D,
    pub(crate) config: &'a Config,
}

impl<D> fmt::Debug for Stream<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("id", &self.id()).field("key", &self.key()).finish_non_exhaustive()
    }
}

impl<D> Stream<'_, D> {
    /// Number of the stream's first packet in the input, from 1: the same for any number of workers.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.flow.id
    }

    /// Addresses, ports, protocol, VLAN and tunnel.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        let icmp = self.flow.halves[0].base_seq;
        let icmp = if ip_protocol::is_icmp(self.flow.key.proto()) { [(icmp >> 8) as u8, icmp as u8] } else { [0; 2] };
        self.flow.key.describe(self.flow.has(bits::CLIENT_IS_A), icmp)
    }

    /// Whether the client is known (its SYN or the server's SYN-ACK was seen) and not inferred.
    #[must_use]
    pub fn client_known(&self) -> bool {
        self.flow.has(bits::CLIENT_KNOWN)
    }

    /// The connection of Multipath TCP that this one is a subflow of; `None`: it is a connection of TCP alone, as far as
    /// its SYNs show. Where [`Mptcp::is_together`], the bytes of all its subflows are delivered as the stream of the first one;
    /// otherwise the bytes of a subflow may be a part of the connection's.
    #[must_use]
    pub fn mptcp(&self) -> Option<Mptcp> {
        self.flow.slow_state.as_ref().and_then(|slow_state| slow_state.mptcp)
    }

    /// The evidence for which side is the client.
    #[must_use]
    pub fn client_by(&self) -> ClientBy {
        match self.client_known() {
            true => ClientBy::Handshake,
            false => ClientBy::of_bits(self.flow.closing),
        }
    }

    /// Timestamp of the packet that opened the stream: later than [`Self::start`] where time went back. It never changes, and
    /// names the stream together with its [id](Self::id).
    #[must_use]
    pub fn opened(&self) -> Timestamp {
        match self.flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.opened_ns) {
            0 => self.start(),
            opened_ns => Timestamp::from_nanos(opened_ns),
        }
    }

    /// The state that the connection reached.
    #[must_use]
    pub fn state(&self) -> TcpState {
        self.flow.state
    }

    /// Whether a direction ended by itself: its FIN was reached, with every byte before it delivered or reported as missing.
    #[must_use]
    pub fn has_ended(&self, direction: Direction) -> bool {
        match self.flow.connection_stream() {
            Some(connection) => connection.sides[direction as usize].has_ended(),
            None => self.flow.halves[direction as usize].has(half::FIN),
        }
    }

    /// The least timestamp of a packet.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        Timestamp::from_nanos(self.flow.start_ns())
    }

    /// The greatest timestamp of a packet.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        Timestamp::from_nanos(self.flow.end_ns())
    }

    /// The farthest that a packet's timestamp lies before that of an earlier packet of the stream, from a millisecond on;
    /// `None`: time never went back.
    #[must_use]
    pub fn time_back(&self) -> Option<Duration> {
        let slow_state = self.flow.slow_state.as_ref()?;
        (slow_state.time_back_ns > 0).then(|| Duration::from_nanos(slow_state.time_back_ns))
    }

    /// Packets whose timestamps are more than [`CLOCK_STEP`](tidewire_wire::CLOCK_STEP) from those around them:
    /// they do not count in the stream's times.
    #[must_use]
    pub fn time_outliers(&self) -> u32 {
        self.flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.time_outliers)
    }

    /// Figures of one direction.
    #[must_use]
    pub fn stats(&self, direction: Direction) -> DirectionStats {
        let (at, flow) = (direction as usize, &*self.flow);
        let half = &flow.halves[at];
        let mut stats = DirectionStats::default();
        stats.packets = flow.packets(at);
        stats.frames = stats.packets;
        stats.frame_bytes = flow.frame_bytes(at);
        stats.ip_bytes = half.ip_bytes;
        stats.payload_wire_bytes = half.payload_wire_bytes;
        stats.delivered_bytes = flow.delivered[at];
        stats.chunks = u64::from(half.chunks);
        if half.packets() > 0 {
            [stats.start, stats.end] = [flow.first_ns[at], flow.last_ns[at]].map(|ns| Some(Timestamp::from_nanos(ns)));
        }
        stats.tcp_flags = flow.tcp_flags(at);
        if let Some(slow_state) = &flow.slow_state {
            stats.frames += slow_state.more_frames[at];
            stats.retransmitted_bytes = slow_state.retransmitted_bytes[at];
            stats.out_of_order_packets = slow_state.out_of_order_packets[at];
            stats.missing_bytes = slow_state.missing_bytes[at];
            stats.shed_packets = slow_state.shed_packets[at];
            stats.shed_bytes = slow_state.shed_bytes[at];
        }
        let reached = flow.reached_here(direction);
        stats.reassembled_bytes = reached.saturating_sub(stats.missing_bytes);
        if let Some(subflow) = flow.slow_state.as_ref().and_then(|slow_state| slow_state.subflow.as_deref()) {
            return self.stats_of_subflow(stats, subflow, reached, direction);
        }
        stats.cutoff_bytes = stats.reassembled_bytes.saturating_sub(stats.delivered_bytes);
        let elsewhere = flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.elsewhere_bytes(at));
        let placed = stats.reassembled_bytes + stats.retransmitted_bytes + elsewhere;
        stats.ignored_bytes = stats.payload_wire_bytes.saturating_sub(placed);
        stats
    }

    /// Figures of a subflow whose connection's bytes are put together: of the first one, those of the stream are the connection's,
    /// and one that joined delivers nothing.
    #[cold]
    fn stats_of_subflow(
        &self,
        mut stats: DirectionStats,
        subflow: &Subflow,
        reached: u64,
        direction: Direction,
    ) -> DirectionStats {
        let own = reached.saturating_sub(subflow.missing_bytes(direction));
        let waiting =
            self.flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.waiting_bytes[direction as usize]);
        let placed = own + stats.retransmitted_bytes + subflow.stated_missing_bytes(direction) + waiting;
        stats.ignored_bytes = stats.payload_wire_bytes.saturating_sub(placed);
        match self.flow.connection_stream() {
            Some(connection) => {
                let side = &connection.sides[direction as usize];
                stats.reassembled_bytes = side.next() - side.missing_bytes();
                stats.cutoff_bytes = stats.reassembled_bytes.saturating_sub(stats.delivered_bytes);
            }
            None => {
                stats.reassembled_bytes = own;
                stats.missing_bytes = subflow.missing_bytes(direction);
                (stats.delivered_bytes, stats.cutoff_bytes) = (0, 0);
            }
        }
        stats
    }

    /// The gaps reported so far, of both directions, in the order they were found; at most [`Config::list_max`].
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        self.flow.slow_state.as_ref().map_or(&[], |slow_state| &slow_state.gaps)
    }

    /// Bytes that arrived in two versions, of one direction; at most [`Config::list_max`].
    #[must_use]
    pub fn conflicts(&self, direction: Direction) -> &[Conflict] {
        self.flow.slow_state.as_ref().map_or(&[], |slow_state| &slow_state.conflicts[direction as usize])
    }

    /// Anomalies in the order of packets; at most [`Config::list_max`].
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        self.flow.slow_state.as_ref().map_or(&[], |slow_state| &slow_state.anomalies)
    }

    /// Whether the stream was reported by [`Handler::unfinished`](crate::Handler::unfinished).
    #[must_use]
    pub fn was_unfinished(&self) -> bool {
        self.flow.closing & closing::UNFINISHED != 0
    }

    /// The handler's state for this stream.
    pub fn data(&mut self) -> &mut D {
        self.data
    }

    /// The same stream with a part of its state, or other state: for handlers that stand for several others.
    pub fn lend<'b, E>(&'b mut self, part: impl FnOnce(&'b mut D) -> Option<&'b mut E>) -> Option<Stream<'b, E>> {
        Some(Stream { flow: self.flow, data: part(self.data)?, config: self.config })
    }

    /// The stream's priority, 0 the lowest.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.flow.priority
    }

    /// Sets the priority, 0 the lowest. Values above [`Config::priorities`] - 1 are lowered to that.
    pub fn set_priority(&mut self, priority: u8) {
        self.flow.priority = priority.min(self.config.priorities.saturating_sub(1));
    }

    /// How many bytes of a direction are delivered at most; `None`: all.
    #[must_use]
    pub fn cutoff(&self, direction: Direction) -> Option<u64> {
        Some(self.flow.cutoff(direction, &self.config.cutoff)).filter(|bytes| *bytes != u64::MAX)
    }

    /// Delivers at most `bytes` of a direction, `None`: all; statistics continue. If more was delivered already, nothing more is. A
    /// direction that passed its cutoff stays cut: bytes that were skipped cannot be delivered later.
    pub fn set_cutoff(&mut self, direction: Direction, bytes: impl Into<Option<u64>>) {
        let bytes = bytes.into().unwrap_or(u64::MAX);
        let at = direction as usize;
        let half = &self.flow.halves[at];
        let reached = if half.has(half::KNOWN) { self.flow.reached(direction) } else { 0 };
        let now = self.flow.cutoff(direction, &self.config.cutoff);
        self.flow.halves[at].flags |= half::OWN_CUTOFF;
        self.flow.slow_state().cutoff[at] = if reached > now { now } else { bytes.max(reached) };
    }

    /// Stops delivery of this stream; statistics continue.
    pub fn discard(&mut self) {
        self.flow.flags |= bits::DISCARDED;
        self.set_cutoff(Direction::ClientToServer, 0);
        self.set_cutoff(Direction::ServerToClient, 0);
    }

    /// Within `data`: delivers this chunk once more, together with the bytes that follow it. Has an effect only where
    /// chunks are gathered ([`Config::chunk_bytes`]).
    ///
    /// A kept chunk is discarded without another call if nothing follows it directly: at a gap (bytes before and behind
    /// a gap are never in one chunk), at the end of the stream, when memory runs short, and when the chunk would exceed
    /// 16 MiB.
    pub fn keep_chunk(&mut self) {
        self.flow.slow_state().keep = true;
    }
}
