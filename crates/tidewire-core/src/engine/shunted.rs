//! Directions whose packets are counted and dropped before the engine (S3, S4): when that is asked for, and how what was
//! counted comes into the figures.

use super::{Engine, context::FlowContext};
use crate::{
    Counted, Deliver, Direction, FlowKey, KeyIds,
    flow::{Flow, bits, half},
    tcp::{Segment, flag},
    wire::TunnelKind,
};

const BOTH: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];

/// Silence after which a flow's entries may be given up where there is little room, nanoseconds of packet time.
const SILENT_NS: u64 = 2_000_000_000;

/// Protocols whose packets a shunt can tell apart by ports.
const PROTOCOLS: [u8; 3] = [6, 17, 132];

/// The flow's key, where a shunt can know it: without ids that do not tell flows apart.
fn known(flow: &Flow, ids: KeyIds) -> Option<FlowKey> {
    let mut key = flow.key.describe(flow.has(bits::CLIENT_IS_A), [0; 2]);
    if !ids.vlan {
        key.vlan = [0xffff; 2];
    }
    (key.tunnel.kind == TunnelKind::None && PROTOCOLS.contains(&key.proto)).then_some(key)
}

impl Flow {
    /// The next byte expected, after what was counted. Sequence numbers wrap: the payload's bytes tell about where.
    #[inline]
    fn move_next(&mut self, direction: Direction, counted: &Counted) {
        // A FIN takes a number, but is no byte: what comes after it goes no further.
        let last = self.fin_of(direction).map_or(u64::MAX, |fin| fin.max(0) as u64);
        let half = &mut self.halves[direction as usize];
        let about = half.next + counted.payload_bytes;
        if self.key.proto() != 6 {
            half.next = about;
            return;
        }
        let Some(end) = counted.end.filter(|_| half.has(half::KNOWN)) else { return };
        let distance = i64::from(end.wrapping_sub(half.seq_of(about)) as i32);
        half.next = half.next.max(about.saturating_add_signed(distance).min(last));
    }
}

impl<H: Deliver> Engine<H> {
    /// Tells the shunt how much of the memory is in use: of the engine's buffers, or of what is before it, `permille`
    /// (thousandths); the larger counts.
    pub fn publish_level(&mut self, permille: u32) {
        let level = permille.max(self.context.accounting.budget.level_permille());
        if let Some(shunt) = &mut self.context.shunt
            && level != self.context.level_permille
        {
            shunt.level(level);
            self.context.level_permille = level;
        }
    }
}

impl<H: Deliver> FlowContext<H> {
    /// A stream begins: tells its priority, and notes what the shunt does by itself.
    #[cold]
    pub(crate) fn begin_shunted(&mut self, flow: &mut Flow) {
        let Some(shunt) = &mut self.shunt else { return };
        let cuts = shunt.cuts_by_itself();
        if !cuts && flow.priority == 0 {
            return;
        }
        let Some(key) = known(flow, self.config.key_ids) else { return };
        for direction in BOTH {
            if flow.priority != 0 {
                shunt.prioritize(&key, direction, flow.priority);
            }
            if cuts {
                flow.halves[direction as usize].flags |= half::SHUNTED;
            }
        }
    }

    /// Asks that the packets of directions that are beyond their cutoff do not come any more. Whoever wants the packets
    /// themselves wants them beyond a cutoff, too.
    #[inline]
    pub(crate) fn offer(&mut self, flow: &mut Flow) {
        /// Both: its entry was given up.
        const SETTLED: u16 = half::SHUNTED | half::UNSHUNTED;
        /// What is on its way has to be put in order first.
        const WAITS: u16 = half::HELD | half::QUEUED | half::FIN_SEEN | half::DOUBTFUL_FIN;
        for direction in BOTH {
            let me = &flow.halves[direction as usize];
            let is_settled = me.has(SETTLED) && me.flags & SETTLED != SETTLED;
            if is_settled || me.has(WAITS) || !me.has(half::KNOWN) || H::PACKETS {
                continue;
            }
            let limit = match &flow.slow_state {
                Some(slow_state) if me.has(half::OWN_CUTOFF) => slow_state.cutoff[direction as usize],
                _ => self.config.cutoff.0[direction as usize],
            };
            if limit != u64::MAX && me.next.saturating_sub(flow.bias(direction)) >= limit && !flow.is_over() {
                self.cut_before(flow, direction);
            }
        }
    }

    #[cold]
    fn cut_before(&mut self, flow: &mut Flow, direction: Direction) {
        let cut = match (&mut self.shunt, known(flow, self.config.key_ids)) {
            (Some(shunt), Some(key)) => shunt.cut(&key, direction),
            _ => false,
        };
        let flags = &mut flow.halves[direction as usize].flags;
        *flags = if cut { *flags & !half::UNSHUNTED | half::SHUNTED } else { *flags | half::UNSHUNTED };
    }

    /// Takes in what was counted so far, before a segment that ends the direction is looked at.
    #[cold]
    pub(crate) fn catch_up(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, segment: &Segment) {
        let Some(key) = known(flow, self.config.key_ids) else { return };
        let counted = self.shunt.as_mut().and_then(|shunt| shunt.counted(&key, direction));
        if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
            self.count_shunted(flow, direction, &counted);
            self.go_beyond(flow, data, direction, &counted);
        }
        // Packets reach the engine some time after they passed the shunt, which may have counted by now what came after
        // this one: a FIN takes a number, and what follows it goes on behind that.
        let half = &mut flow.halves[direction as usize];
        let start = half.offset_of(segment.seq);
        let is_behind = half.next as i64 == start + i64::from(segment.length) + 1;
        if segment.has(flag::FIN) && is_behind && !half.has(half::FIN | half::HELD) && start >= 0 {
            half.next = start as u64;
        }
    }

    /// Whether packets came, and were counted before the engine, since the flow seemed to be silent.
    pub(crate) fn was_heard_meanwhile(&mut self, flow: &mut Flow) -> bool {
        if (flow.halves[0].flags | flow.halves[1].flags) & half::SHUNTED == 0 {
            return false;
        }
        let Some(key) = known(flow, self.config.key_ids) else { return false };
        for direction in BOTH {
            let counted = self.shunt.as_mut().and_then(|shunt| shunt.counted(&key, direction));
            if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
                self.count_shunted(flow, direction, &counted);
                // Where nothing waits, there is nothing to tell the handler.
                if !flow.halves[direction as usize].has(half::HELD | half::QUEUED) {
                    flow.move_next(direction, &counted);
                }
            }
        }
        !self.is_expired(flow)
    }

    /// Gives up the entries of a flow that has been silent for a while, so that others find room. What was counted stays
    /// counted; where packets come again, they reach the engine, and it asks anew.
    pub(crate) fn make_way(&mut self, flow: &mut Flow) {
        const WAITS: u16 = half::HELD | half::QUEUED;
        let flags = flow.halves[0].flags | flow.halves[1].flags;
        if flags & half::SHUNTED == 0 || flags & WAITS != 0 {
            return;
        }
        let Some(key) = known(flow, self.config.key_ids) else { return };
        let heard_ns = flow.seen_clock_ns;
        self.was_heard_meanwhile(flow);
        if flow.seen_clock_ns != heard_ns || self.now.clock_ns < heard_ns.saturating_add(SILENT_NS) {
            return;
        }
        let Some(shunt) = &mut self.shunt else { return };
        let by_itself = shunt.cuts_by_itself();
        let counted = BOTH.map(|direction| shunt.retire(&key, direction));
        for (direction, counted) in BOTH.into_iter().zip(counted) {
            // What the other side acknowledged meanwhile was not seen: the direction stays one that is not fully known.
            if !by_itself && flow.halves[direction as usize].has(half::SHUNTED) {
                flow.halves[direction as usize].flags |= half::UNSHUNTED;
            }
            if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
                self.count_shunted(flow, direction, &counted);
                flow.move_next(direction, &counted);
            }
        }
    }

    /// Takes in everything that was counted, and ends it.
    #[cold]
    pub(crate) fn retire(&mut self, flow: &mut Flow, data: &mut H::Data) {
        let all = self.shunt.as_ref().is_some_and(|shunt| shunt.counts_by_itself());
        if !all && (flow.halves[0].flags | flow.halves[1].flags) & half::SHUNTED == 0 {
            return;
        }
        let Some(key) = known(flow, self.config.key_ids) else { return };
        for direction in BOTH {
            if !all && !flow.halves[direction as usize].has(half::SHUNTED) {
                continue;
            }
            let counted = self.shunt.as_mut().and_then(|shunt| shunt.retire(&key, direction));
            if let Some(counted) = counted.filter(|counted| counted.packets > 0) {
                self.count_shunted(flow, direction, &counted);
                self.go_beyond(flow, data, direction, &counted);
            }
        }
    }

    fn count_shunted(&mut self, flow: &mut Flow, direction: Direction, counted: &Counted) {
        let at = direction as usize;
        self.ledger.shunted_packets += counted.packets;
        self.ledger.shunted_bytes += counted.wire_bytes;
        flow.count_many(at, counted.wire_bytes, counted.ip_bytes);
        let half = &mut flow.halves[at];
        let is_first = half.packets() == 0;
        half.add_packets(counted.packets);
        half.payload_wire_bytes += counted.payload_bytes;
        half.tcp_flags |= counted.tcp_flags;
        if is_first {
            (flow.first_ns[at], flow.last_ns[at]) = (counted.last_ns, counted.last_ns);
        }
        flow.last_ns[at] = flow.last_ns[at].max(counted.last_ns);
        flow.seen_clock_ns = flow.seen_clock_ns.max(counted.last_ns);
    }

    /// Nothing before what was counted comes any more: what waits goes out, and the direction goes on behind it.
    fn go_beyond(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, counted: &Counted) {
        self.empty(flow, data, direction, crate::GapCause::NotCaptured);
        flow.halves[direction as usize].flags &= !half::HELD;
        let before = flow.halves[direction as usize].next;
        flow.move_next(direction, counted);
        // The rest was repeated, or lies beyond the end.
        let moved = flow.halves[direction as usize].next - before;
        flow.slow_state().shunted_repeats[direction as usize] += counted.payload_bytes.saturating_sub(moved);
    }
}
