//! Directions whose packets are counted and dropped before the engine: when the engine asks for it, and how these
//! counts enter the figures.

use tidewire_types::ip_protocol;

use super::{Engine, delivery::Delivery};
use crate::{
    Counted, Direction, FlowKey, GapCause, Handler, KeyIds, Timestamp, Vlans,
    connection::Connection,
    flow::{Flow, bits, half},
    tcp::{Segment, tcp_flag},
    wire::TunnelKind,
};

/// Silence after which a flow's entries may be retired when room is short, in nanoseconds of packet time.
const SILENT_NS: u64 = 2_000_000_000;

/// Protocols whose flows a shunt can distinguish by ports.
const PROTOCOLS: [u8; 3] = [6, 17, 132];

/// The flow's key, if a shunt can know it: without ids that do not distinguish flows.
fn known(flow: &Flow, ids: KeyIds) -> Option<FlowKey> {
    let mut key = flow.key.describe(flow.has(bits::CLIENT_IS_A), [0; 2]);
    if !ids.vlan {
        key.vlans = Vlans::NONE;
    }
    (key.tunnel.kind == TunnelKind::None && PROTOCOLS.contains(&key.proto)).then_some(key)
}

impl Flow {
    /// Advances the next expected byte by what was counted. Sequence numbers wrap: the payload bytes show roughly
    /// where.
    #[inline]
    fn move_next(&mut self, direction: Direction, counted: &Counted) {
        // A FIN occupies a sequence number, but is not a byte: the stream does not continue beyond it.
        let last = self.fin_of(direction).map_or(u64::MAX, |fin| fin.max(0) as u64);
        let half = &mut self.halves[direction as usize];
        let about = half.next + counted.payload_bytes;
        if self.key.proto() != ip_protocol::TCP {
            half.next = about;
            return;
        }
        let Some(end) = counted.end.filter(|_| half.has(half::KNOWN)) else { return };
        let distance = i64::from(end.wrapping_sub(half.seq_of(about)) as i32);
        half.next = half.next.max(about.saturating_add_signed(distance).min(last));
    }
}

impl<H: Handler> Engine<H> {
    /// Publishes to the shunt how much memory is in use: of the engine's buffers, or of what precedes the engine,
    /// `permille` (thousandths); the larger counts.
    pub fn publish_level(&mut self, permille: u32) {
        let level = permille.max(self.shared.accounting.budget.level_permille());
        if let Some(shunt) = &mut self.outputs.shunt
            && level != self.outputs.level_permille
        {
            shunt.level(level);
            self.outputs.level_permille = level;
        }
    }
}

impl Connection<'_> {
    /// Adds packets that were counted before the engine.
    fn count_shunted(&mut self, direction: Direction, counted: &Counted) {
        let at = direction as usize;
        self.shared.ledger.shunted_packets += counted.packets;
        self.shared.ledger.shunted_bytes += counted.wire_bytes;
        self.flow.count_many(at, counted.wire_bytes, counted.ip_bytes);
        let half = &mut self.flow.halves[at];
        let is_first = half.packets() == 0;
        half.payload_wire_bytes += counted.payload_bytes;
        half.tcp_flags |= counted.tcp_flags;
        self.flow.add_packets(at, counted.packets);
        let last_ns = counted.last.map_or(0, Timestamp::as_nanos);
        if is_first {
            (self.flow.first_ns[at], self.flow.last_ns[at]) = (last_ns, last_ns);
        }
        self.flow.last_ns[at] = self.flow.last_ns[at].max(last_ns);
        self.flow.seen_clock_ns = self.flow.seen_clock_ns.max(last_ns);
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Publishes the priority of a new stream, and records what the shunt does unasked.
    #[cold]
    pub(crate) fn begin_shunted(&mut self, connection: &mut Connection<'_>) {
        let Some(shunt) = &mut self.outputs.shunt else { return };
        let cuts = shunt.cuts_by_itself();
        if !cuts && connection.flow.priority == 0 {
            return;
        }
        let Some(key) = known(connection.flow, connection.shared.config.key_ids) else { return };
        for direction in Direction::BOTH {
            if connection.flow.priority != 0 {
                shunt.prioritize(&key, direction, connection.flow.priority);
            }
            if cuts {
                connection.flow.halves[direction as usize].flags |= half::SHUNTED;
            }
        }
    }

    /// Asks the shunt to keep packets of directions beyond their cutoff from the engine. Not for a handler that wants
    /// packets: it gets those beyond a cutoff, too.
    #[inline]
    pub(crate) fn offer(&mut self, connection: &mut Connection<'_>) {
        /// Both bits: the entry was retired.
        const SETTLED: u16 = half::SHUNTED | half::UNSHUNTED;
        /// Segments that wait must be put in order first.
        const WAITS: u16 = half::HELD | half::QUEUED | half::FIN_SEEN | half::DOUBTFUL_FIN;
        for direction in Direction::BOTH {
            let me = &connection.flow.halves[direction as usize];
            let is_settled = me.has(SETTLED) && me.flags & SETTLED != SETTLED;
            if is_settled || me.has(WAITS) || !me.has(half::KNOWN) || H::PACKETS {
                continue;
            }
            let limit = connection.flow.cutoff(direction, &connection.shared.config.cutoff);
            if limit != u64::MAX && connection.flow.reached_here(direction) >= limit && !connection.flow.is_over() {
                self.cut_before(connection, direction);
            }
        }
    }

    #[cold]
    fn cut_before(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        // Of a subflow the mappings are still needed.
        if connection.is_part() {
            return;
        }
        let cut = match (&mut self.outputs.shunt, known(connection.flow, connection.shared.config.key_ids)) {
            (Some(shunt), Some(key)) => shunt.cut(&key, direction),
            _ => false,
        };
        let flags = &mut connection.flow.halves[direction as usize].flags;
        *flags = if cut { *flags & !half::UNSHUNTED | half::SHUNTED } else { *flags | half::UNSHUNTED };
    }

    /// Processes what was counted so far, before a segment that ends the direction is examined.
    #[cold]
    pub(crate) fn catch_up(&mut self, connection: &mut Connection<'_>, direction: Direction, segment: &Segment) {
        let Some(key) = known(connection.flow, connection.shared.config.key_ids) else { return };
        let counted = self.outputs.shunt.as_mut().and_then(|shunt| shunt.counted(&key, direction));
        if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
            connection.count_shunted(direction, &counted);
            self.skip_counted(connection, direction, &counted);
        }
        // Packets reach the engine some time after they passed the shunt, which may by now have counted later ones: a
        // FIN occupies a sequence number, and the stream continues behind it.
        let half = &mut connection.flow.halves[direction as usize];
        let start = half.offset_of(segment.seq);
        let is_behind = half.next as i64 == start + i64::from(segment.length) + 1;
        if segment.has(tcp_flag::FIN) && is_behind && !half.has(half::FIN | half::HELD) && start >= 0 {
            half.next = start as u64;
        }
    }

    /// Whether packets were counted before the engine since the flow seemed to be silent.
    pub(crate) fn was_counted_meanwhile(&mut self, connection: &mut Connection<'_>) -> bool {
        if (connection.flow.halves[0].flags | connection.flow.halves[1].flags) & half::SHUNTED == 0 {
            return false;
        }
        let Some(key) = known(connection.flow, connection.shared.config.key_ids) else { return false };
        for direction in Direction::BOTH {
            let counted = self.outputs.shunt.as_mut().and_then(|shunt| shunt.counted(&key, direction));
            if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
                connection.count_shunted(direction, &counted);
                // Where nothing waits, there is nothing to report to the handler.
                if !connection.flow.halves[direction as usize].has(half::HELD | half::QUEUED) {
                    connection.flow.move_next(direction, &counted);
                }
            }
        }
        !connection.is_expired()
    }

    /// Retires the entries of a flow that has been silent for a while, to make room for others. What was counted stays
    /// counted; later packets reach the engine, which then asks again.
    pub(crate) fn retire_silent(&mut self, connection: &mut Connection<'_>) {
        const WAITS: u16 = half::HELD | half::QUEUED;
        let flags = connection.flow.halves[0].flags | connection.flow.halves[1].flags;
        if flags & half::SHUNTED == 0 || flags & WAITS != 0 {
            return;
        }
        let Some(key) = known(connection.flow, connection.shared.config.key_ids) else { return };
        let heard_ns = connection.flow.seen_clock_ns;
        self.was_counted_meanwhile(connection);
        if connection.flow.seen_clock_ns != heard_ns
            || connection.shared.now.clock_ns < heard_ns.saturating_add(SILENT_NS)
        {
            return;
        }
        let Some(shunt) = &mut self.outputs.shunt else { return };
        let by_itself = shunt.cuts_by_itself();
        let counted = Direction::BOTH.map(|direction| shunt.retire(&key, direction));
        for (direction, counted) in Direction::BOTH.into_iter().zip(counted) {
            // The other side's acknowledgments were not seen meanwhile: the direction remains partly unknown.
            if !by_itself && connection.flow.halves[direction as usize].has(half::SHUNTED) {
                connection.flow.halves[direction as usize].flags |= half::UNSHUNTED;
            }
            if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
                connection.count_shunted(direction, &counted);
                connection.flow.move_next(direction, &counted);
            }
        }
    }

    /// Processes everything that was counted, and retires the entry.
    #[cold]
    pub(crate) fn retire(&mut self, connection: &mut Connection<'_>) {
        let all = self.outputs.shunt.as_ref().is_some_and(|shunt| shunt.counts_by_itself());
        if !all && (connection.flow.halves[0].flags | connection.flow.halves[1].flags) & half::SHUNTED == 0 {
            return;
        }
        let Some(key) = known(connection.flow, connection.shared.config.key_ids) else { return };
        for direction in Direction::BOTH {
            if !all && !connection.flow.halves[direction as usize].has(half::SHUNTED) {
                continue;
            }
            let counted = self.outputs.shunt.as_mut().and_then(|shunt| shunt.retire(&key, direction));
            if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
                connection.count_shunted(direction, &counted);
                self.skip_counted(connection, direction, &counted);
            }
        }
    }

    /// Nothing before the counted bytes arrives any more: delivers what waits, and continues the direction behind them.
    fn skip_counted(&mut self, connection: &mut Connection<'_>, direction: Direction, counted: &Counted) {
        connection.empty(self, direction, GapCause::NotCaptured);
        connection.flow.halves[direction as usize].flags &= !half::HELD;
        let before = connection.flow.halves[direction as usize].next;
        connection.flow.move_next(direction, counted);
        // The rest was repeated, or lies beyond the end.
        let moved = connection.flow.halves[direction as usize].next - before;
        connection.flow.slow_state().shunted_repeats[direction as usize] += counted.payload_bytes.saturating_sub(moved);
    }
}
