//! Several applications behind one handler (Scap; S10): decoded, tracked and reassembled once, delivered to each as it
//! asked for.
//!
//! A flow has one [`Branch`] for each application that it belongs to: what delivery leaves behind in a flow, for that one.
//! To deliver to an application the engine *turns to* its branch: it exchanges the branch with the flow's own fields, and
//! the outlet's settings with the engine's, calls what it would have called for a single handler, and exchanges them
//! back. So an application gets what it would get alone because the same code does it. Beside that the flow's own cutoff
//! and priority are always the greatest that any of its applications has.

use std::mem::{swap, take};

use super::{Engine, core::Core};
use crate::{
    Deliver, Direction, DirectionCutoff, EndReason, Join, Stream, StreamPacket,
    flow::{Branch, Flow, bits, half},
};

/// The bits of a direction that are an application's own.
const OWN_BITS: u16 = half::CUT | half::OWN_CUTOFF;

impl Branch {
    fn new(join: &Join, priorities: u8) -> Self {
        let own = if join.class.cutoff.is_some() { half::OWN_CUTOFF } else { 0 };
        Self {
            outlet: join.outlet as u32,
            priority: join.class.priority.unwrap_or(0).min(priorities.saturating_sub(1)),
            discarded: 0,
            keep: false,
            flags: [own; 2],
            chunks: [0; 2],
            delivered: [0; 2],
            cutoff: join.class.cutoff.unwrap_or(DirectionCutoff::UNLIMITED).0,
            gaps: Default::default(),
            gathering: [None, None],
        }
    }

    /// Changes places with the flow's own fields.
    fn exchange(&mut self, flow: &mut Flow) {
        swap(&mut flow.delivered, &mut self.delivered);
        swap(&mut flow.priority, &mut self.priority);
        let discarded = flow.flags & bits::DISCARDED;
        flow.flags = flow.flags & !bits::DISCARDED | self.discarded;
        self.discarded = discarded;
        for at in 0..2 {
            let half = &mut flow.halves[at];
            swap(&mut half.chunks, &mut self.chunks[at]);
            let flags = half.flags & OWN_BITS;
            half.flags = half.flags & !OWN_BITS | self.flags[at];
            self.flags[at] = flags;
        }
        let extra = flow.extra();
        swap(&mut extra.cutoff, &mut self.cutoff);
        swap(&mut extra.gaps, &mut self.gaps);
        swap(&mut extra.gathering, &mut self.gathering);
        swap(&mut extra.keep, &mut self.keep);
    }

    /// What decides of the flow's own cutoff and priority.
    fn wishes(&self) -> ([u64; 2], [u16; 2], u8, u8) {
        let own = self.flags.map(|flags| flags & half::OWN_CUTOFF);
        (self.cutoff, own, self.priority, self.discarded)
    }
}

impl<H: Deliver> Core<H> {
    /// Makes an outlet's settings the engine's, and the other way round.
    fn turn(&mut self, outlet: usize) {
        self.outlets.turned = !self.outlets.turned;
        let Some(state) = self.outlets.states.get_mut(outlet) else { return };
        let (config, settings) = (&mut self.config, &mut state.settings);
        swap(&mut config.cutoff, &mut settings.cutoff);
        swap(&mut config.chunk_bytes, &mut settings.chunk_bytes);
        swap(&mut config.overlap_bytes, &mut settings.overlap_bytes);
        swap(&mut config.flush_timeout_ns, &mut settings.flush_timeout_ns);
        swap(&mut config.priorities, &mut settings.priorities);
        swap(&mut self.flushes, &mut state.flushes);
    }

    /// Does something for each application of a flow.
    pub(crate) fn each(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        call: impl FnMut(&mut Self, &mut Flow, &mut H::Data),
    ) {
        self.each_of(flow, data, |_| true, call);
    }

    fn each_of(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        wanted: impl Fn(usize) -> bool,
        mut call: impl FnMut(&mut Self, &mut Flow, &mut H::Data),
    ) {
        let Some(extra) = flow.extra.as_mut().filter(|extra| !extra.branches.is_empty()) else { return };
        let mut branches = take(&mut extra.branches);
        let mut changed = false;
        for (place, branch) in branches.iter_mut().enumerate() {
            let outlet = branch.outlet as usize;
            if !wanted(outlet) {
                continue;
            }
            let before = branch.wishes();
            branch.exchange(flow);
            self.turn(outlet);
            self.handler.turn_to(outlet, place);
            call(self, flow, data);
            self.turn(outlet);
            branch.exchange(flow);
            changed |= branch.wishes() != before;
        }
        if changed {
            self.unite(flow, &branches);
        }
        flow.extra().branches = branches;
    }

    /// Gives the flow what its applications want at most.
    fn unite(&self, flow: &mut Flow, branches: &[Branch]) {
        for at in 0..2 {
            let cutoff = |branch: &Branch| match self.outlets.states.get(branch.outlet as usize) {
                Some(state) if branch.flags[at] & half::OWN_CUTOFF == 0 => state.settings.cutoff.0[at],
                _ => branch.cutoff[at],
            };
            let most = branches.iter().map(cutoff).max().unwrap_or(0);
            flow.extra().cutoff[at] = most;
            flow.halves[at].flags |= half::OWN_CUTOFF;
        }
        flow.priority = branches.iter().map(|branch| branch.priority).max().unwrap_or(0);
        flow.flags &= !bits::DISCARDED;
        if branches.iter().all(|branch| branch.discarded != 0) {
            flow.flags |= bits::DISCARDED;
        }
    }

    /// Finds out whom a new stream belongs to.
    pub(crate) fn join(&mut self, flow: &mut Flow) {
        let mut joins = take(&mut self.outlets.joins);
        joins.clear();
        self.handler.join(self.outlets.marks, &mut joins);
        let states = &self.outlets.states;
        let known = joins.iter().filter_map(|join| Some((join, states.get(join.outlet)?)));
        let branches: Vec<_> = known.map(|(join, state)| Branch::new(join, state.settings.priorities)).collect();
        self.outlets.joins = joins;
        if !branches.is_empty() {
            self.unite(flow, &branches);
            let extra = flow.extra();
            extra.bytes += (branches.capacity() * size_of::<Branch>()) as u64 + 16;
            extra.branches = branches;
        }
    }

    /// Tells each of a new stream.
    pub(crate) fn open_each(&mut self, flow: &mut Flow, data: &mut H::Data) {
        self.each(flow, data, |core, flow, data| {
            core.handler.open(&mut Stream { flow, data, config: &core.config });
        });
    }

    /// Tells each that a stream ended.
    pub(crate) fn close_each(&mut self, flow: &mut Flow, data: &mut H::Data, reason: EndReason) {
        self.each(flow, data, |core, flow, data| {
            core.handler.close(&mut Stream { flow, data, config: &core.config }, reason);
        });
    }

    /// Shows each a packet.
    pub(crate) fn show_each(&mut self, flow: &mut Flow, data: &mut H::Data, packet: StreamPacket<'_>) {
        self.each(flow, data, |core, flow, data| {
            core.handler.packet(&mut Stream { flow, data, config: &core.config }, packet);
        });
    }

    /// Hands bytes over to each, as far as its own cutoff allows.
    pub(crate) fn deliver_each(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        self.each(flow, data, |core, flow, data| {
            let bytes = core.cut(flow, direction, start, bytes);
            if !bytes.is_empty() {
                core.pass_on(flow, data, direction, start, bytes, timestamp_ns);
            }
        });
    }

    /// Flushes what each began to gather too long ago.
    pub(crate) fn flush_due_each(&mut self, flow: &mut Flow, data: &mut H::Data) {
        self.each(flow, data, |core, flow, data| {
            if core.config.flush_timeout_ns != 0 {
                core.flush_due(flow, data);
            }
        });
    }

    /// Forgets what was gathered for each.
    pub(crate) fn drop_each(&mut self, flow: &mut Flow, direction: Direction) {
        let Some(extra) = &mut flow.extra else { return };
        let gathered = extra.branches.iter_mut().filter_map(|branch| branch.gathering[direction as usize].take());
        let charged = gathered.map(|gathering| gathering.charged).sum();
        self.holdings.recharge(&self.now, flow, direction, charged, 0);
    }
}

impl<H: Deliver> Engine<H> {
    /// Flushes the chunks that are due, of all applications.
    pub(crate) fn flush_outlets(&mut self, clock_ns: u64) {
        for outlet in 0..self.core.outlets.states.len() {
            while let Some(&(due, slot, id)) = self.core.outlets.states[outlet].flushes.front() {
                if due > clock_ns {
                    break;
                }
                self.core.outlets.states[outlet].flushes.pop_front();
                let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
                if flow.has(bits::LIVE) && flow.id == id {
                    self.core.now.slot = slot;
                    self.core.each_of(flow, data, |one| one == outlet, |core, flow, data| core.flush_due(flow, data));
                }
            }
        }
    }
}
