//! Several applications behind one handler (Scap): packets are decoded, tracked and reassembled once, and delivered to each
//! application according to its [`Subscription`](crate::Subscription).
//!
//! A flow has one [`SubscriberState`] for each application that it belongs to: the state that delivery keeps in a flow. To
//! deliver to an application the engine *selects* it: it swaps that state with the flow's fields, and the subscription with
//! the engine's settings, makes the calls that it makes for a single handler, and swaps them back. An application therefore
//! gets what it would get alone, because the same code runs. Between selections the flow's cutoff and priority are the
//! greatest of its applications'.

use std::mem::{swap, take};

use super::{Engine, context::FlowContext};
use crate::{
    Deliver, Direction, DirectionCutoff, EndReason, Join, Stream, StreamPacket,
    flow::{Flow, SubscriberState, bits, half},
};

/// The bits of a direction that each application has for itself.
const SUBSCRIBER_BITS: u16 = half::CUT | half::OWN_CUTOFF;

impl SubscriberState {
    fn new(join: &Join, priorities: u8) -> Self {
        let own = if join.class.cutoff.is_some() { half::OWN_CUTOFF } else { 0 };
        Self {
            subscriber: join.subscriber as u32,
            priority: join.class.priority.unwrap_or(0).min(priorities.saturating_sub(1)),
            discarded: 0,
            keep: false,
            flags: [own; 2],
            chunks: [0; 2],
            delivered: [0; 2],
            cutoff: join.class.cutoff.unwrap_or(DirectionCutoff::UNLIMITED).0,
            gaps: Default::default(),
            pending_chunk: [None, None],
        }
    }

    /// Swaps this state with the flow's fields.
    fn swap_with(&mut self, flow: &mut Flow) {
        swap(&mut flow.delivered, &mut self.delivered);
        swap(&mut flow.priority, &mut self.priority);
        let discarded = flow.flags & bits::DISCARDED;
        flow.flags = flow.flags & !bits::DISCARDED | self.discarded;
        self.discarded = discarded;
        for at in 0..2 {
            let half = &mut flow.halves[at];
            swap(&mut half.chunks, &mut self.chunks[at]);
            let flags = half.flags & SUBSCRIBER_BITS;
            half.flags = half.flags & !SUBSCRIBER_BITS | self.flags[at];
            self.flags[at] = flags;
        }
        let slow_state = flow.slow_state();
        swap(&mut slow_state.cutoff, &mut self.cutoff);
        swap(&mut slow_state.gaps, &mut self.gaps);
        swap(&mut slow_state.pending_chunk, &mut self.pending_chunk);
        swap(&mut slow_state.keep, &mut self.keep);
    }

    /// What the flow's cutoff and priority are derived from.
    fn limits(&self) -> ([u64; 2], [u16; 2], u8, u8) {
        let own = self.flags.map(|flags| flags & half::OWN_CUTOFF);
        (self.cutoff, own, self.priority, self.discarded)
    }
}

impl<H: Deliver> FlowContext<H> {
    /// Swaps a subscription with the engine's settings.
    fn swap_settings(&mut self, subscriber: usize) {
        self.subscribers.is_selected = !self.subscribers.is_selected;
        let Some(other) = self.subscribers.list.get_mut(subscriber) else { return };
        let (config, settings) = (&mut self.config, &mut other.settings);
        swap(&mut config.cutoff, &mut settings.cutoff);
        swap(&mut config.chunk_bytes, &mut settings.chunk_bytes);
        swap(&mut config.overlap_bytes, &mut settings.overlap_bytes);
        swap(&mut config.flush_timeout_ns, &mut settings.flush_timeout_ns);
        swap(&mut config.priorities, &mut settings.priorities);
        swap(&mut self.flushes, &mut other.flushes);
    }

    /// Calls a closure for each application of a flow, while it is selected.
    pub(crate) fn each(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        call: impl FnMut(&mut Self, &mut Flow, &mut H::Data),
    ) {
        self.for_each_matching(flow, data, |_| true, call);
    }

    fn for_each_matching(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        wanted: impl Fn(usize) -> bool,
        mut call: impl FnMut(&mut Self, &mut Flow, &mut H::Data),
    ) {
        let Some(slow_state) = flow.slow_state.as_mut().filter(|slow| !slow.subscriber_states.is_empty()) else {
            return;
        };
        let mut subscriber_states = take(&mut slow_state.subscriber_states);
        let mut changed = false;
        for (place, state) in subscriber_states.iter_mut().enumerate() {
            let subscriber = state.subscriber as usize;
            if !wanted(subscriber) {
                continue;
            }
            let before = state.limits();
            state.swap_with(flow);
            self.swap_settings(subscriber);
            self.handler.select(subscriber, place);
            call(self, flow, data);
            self.swap_settings(subscriber);
            state.swap_with(flow);
            changed |= state.limits() != before;
        }
        if changed {
            self.merge_limits(flow, &subscriber_states);
        }
        flow.slow_state().subscriber_states = subscriber_states;
    }

    /// Sets the flow's cutoff and priority to the greatest of its applications'.
    fn merge_limits(&self, flow: &mut Flow, subscriber_states: &[SubscriberState]) {
        for at in 0..2 {
            let cutoff = |state: &SubscriberState| match self.subscribers.list.get(state.subscriber as usize) {
                Some(subscriber) if state.flags[at] & half::OWN_CUTOFF == 0 => subscriber.settings.cutoff.0[at],
                _ => state.cutoff[at],
            };
            let most = subscriber_states.iter().map(cutoff).max().unwrap_or(0);
            flow.slow_state().cutoff[at] = most;
            flow.halves[at].flags |= half::OWN_CUTOFF;
        }
        flow.priority = subscriber_states.iter().map(|state| state.priority).max().unwrap_or(0);
        flow.flags &= !bits::DISCARDED;
        if subscriber_states.iter().all(|state| state.discarded != 0) {
            flow.flags |= bits::DISCARDED;
        }
    }

    /// Asks which applications a new stream belongs to.
    pub(crate) fn join(&mut self, flow: &mut Flow) {
        let mut joins = take(&mut self.subscribers.joins);
        joins.clear();
        self.handler.join(self.subscribers.marks, &mut joins);
        let list = &self.subscribers.list;
        let known = joins.iter().filter_map(|join| Some((join, list.get(join.subscriber)?)));
        let subscriber_states: Vec<_> =
            known.map(|(join, subscriber)| SubscriberState::new(join, subscriber.settings.priorities)).collect();
        self.subscribers.joins = joins;
        if !subscriber_states.is_empty() {
            self.merge_limits(flow, &subscriber_states);
            let slow_state = flow.slow_state();
            slow_state.bytes += (subscriber_states.capacity() * size_of::<SubscriberState>()) as u64 + 16;
            slow_state.subscriber_states = subscriber_states;
        }
    }

    /// Reports a new stream to each application.
    pub(crate) fn open_each(&mut self, flow: &mut Flow, data: &mut H::Data) {
        self.each(flow, data, |context, flow, data| {
            context.handler.open(&mut Stream { flow, data, config: &context.config });
        });
    }

    /// Reports the end of a stream to each application.
    pub(crate) fn close_each(&mut self, flow: &mut Flow, data: &mut H::Data, reason: EndReason) {
        self.each(flow, data, |context, flow, data| {
            context.handler.close(&mut Stream { flow, data, config: &context.config }, reason);
        });
    }

    /// Reports a packet to each application.
    pub(crate) fn show_each(&mut self, flow: &mut Flow, data: &mut H::Data, packet: StreamPacket<'_>) {
        self.each(flow, data, |context, flow, data| {
            context.handler.packet(&mut Stream { flow, data, config: &context.config }, packet);
        });
    }

    /// Delivers bytes to each application, up to its cutoff.
    pub(crate) fn deliver_each(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        self.each(flow, data, |context, flow, data| {
            let bytes = context.cut(flow, direction, start, bytes);
            if !bytes.is_empty() {
                context.deliver_within_cutoff(flow, data, direction, start, bytes, timestamp_ns);
            }
        });
    }

    /// Flushes chunks whose flush timeout is over, for each application.
    pub(crate) fn flush_due_each(&mut self, flow: &mut Flow, data: &mut H::Data) {
        self.each(flow, data, |context, flow, data| {
            if context.config.flush_timeout_ns != 0 {
                context.flush_due(flow, data);
            }
        });
    }

    /// Discards the pending chunks of all applications.
    pub(crate) fn drop_each(&mut self, flow: &mut Flow, direction: Direction) {
        let Some(slow_state) = &mut flow.slow_state else { return };
        let gathered =
            slow_state.subscriber_states.iter_mut().filter_map(|state| state.pending_chunk[direction as usize].take());
        let charged = gathered.map(|pending_chunk| pending_chunk.charged).sum();
        self.accounting.recharge(&self.now, flow, direction, charged, 0);
    }
}

impl<H: Deliver> Engine<H> {
    /// Flushes chunks whose flush timeout is over, of all applications.
    pub(crate) fn flush_subscribers(&mut self, clock_ns: u64) {
        for subscriber in 0..self.context.subscribers.list.len() {
            while let Some(&(due, slot, id)) = self.context.subscribers.list[subscriber].flushes.front() {
                if due > clock_ns {
                    break;
                }
                self.context.subscribers.list[subscriber].flushes.pop_front();
                let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
                if flow.has(bits::LIVE) && flow.id == id {
                    self.context.now.slot = slot;
                    self.context.for_each_matching(
                        flow,
                        data,
                        |one| one == subscriber,
                        |context, flow, data| context.flush_due(flow, data),
                    );
                }
            }
        }
    }
}
