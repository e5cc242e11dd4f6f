//! Several applications behind one handler (Scap): packets are decoded, tracked and reassembled once, and delivered to each
//! application according to its [`Subscription`](crate::Subscription).
//!
//! A flow has one [`SubscriberState`] for each application that it belongs to: the state that delivery keeps in a flow. To
//! deliver to an application the engine *selects* it: it swaps that state with the flow's fields, and the subscription with
//! the engine's settings, makes the calls that it makes for a single handler, and swaps them back. An application therefore
//! gets what it would get alone, because the same code runs. Between selections the flow's cutoff and priority are the
//! greatest of its applications'.

use std::mem::{swap, take};

use super::delivery::Delivery;
use crate::{
    DirectionCutoff, EndReason, Handler, Join, StreamPacket,
    connection::Connection,
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

    /// The limits that the flow's cutoff and priority are derived from.
    fn limits(&self) -> ([u64; 2], [u16; 2], u8, u8) {
        let own = self.flags.map(|flags| flags & half::OWN_CUTOFF);
        (self.cutoff, own, self.priority, self.discarded)
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Swaps a subscription with the engine's settings.
    fn swap_settings(&mut self, connection: &mut Connection<'_>, subscriber: usize) {
        self.outputs.subscribers.is_selected = !self.outputs.subscribers.is_selected;
        let Some(other) = self.outputs.subscribers.list.get_mut(subscriber) else { return };
        let (config, settings) = (&mut connection.shared.config, &mut other.settings);
        swap(&mut config.cutoff, &mut settings.cutoff);
        swap(&mut config.chunk_bytes, &mut settings.chunk_bytes);
        swap(&mut config.overlap_bytes, &mut settings.overlap_bytes);
        swap(&mut config.flush_timeout_ns, &mut settings.flush_timeout_ns);
        swap(&mut config.priorities, &mut settings.priorities);
        swap(&mut self.outputs.flushes, &mut other.flushes);
    }

    /// Calls a closure for each application of a flow, while it is selected.
    pub(crate) fn each(&mut self, connection: &mut Connection<'_>, call: impl FnMut(&mut Self, &mut Connection<'_>)) {
        self.for_each_matching(connection, |_| true, call);
    }

    pub(super) fn for_each_matching(
        &mut self,
        connection: &mut Connection<'_>,
        wanted: impl Fn(usize) -> bool,
        mut call: impl FnMut(&mut Self, &mut Connection<'_>),
    ) {
        let Some(slow_state) = connection.flow.slow_state.as_mut().filter(|slow| !slow.subscriber_states.is_empty())
        else {
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
            state.swap_with(connection.flow);
            self.swap_settings(connection, subscriber);
            if let Some(membership) = self.outputs.handler.membership() {
                membership.select(subscriber, place);
            }
            call(self, connection);
            self.swap_settings(connection, subscriber);
            state.swap_with(connection.flow);
            changed |= state.limits() != before;
        }
        if changed {
            self.merge_limits(connection, &subscriber_states);
        }
        connection.flow.slow_state().subscriber_states = subscriber_states;
    }

    /// Sets the flow's cutoff and priority to the greatest of its applications'.
    fn merge_limits(&self, connection: &mut Connection<'_>, subscriber_states: &[SubscriberState]) {
        for at in 0..2 {
            let cutoff = |state: &SubscriberState| match self.outputs.subscribers.list.get(state.subscriber as usize) {
                Some(subscriber) if state.flags[at] & half::OWN_CUTOFF == 0 => subscriber.settings.cutoff.0[at],
                _ => state.cutoff[at],
            };
            let most = subscriber_states.iter().map(cutoff).max().unwrap_or(0);
            connection.flow.slow_state().cutoff[at] = most;
            connection.flow.halves[at].flags |= half::OWN_CUTOFF;
        }
        connection.flow.priority = subscriber_states.iter().map(|state| state.priority).max().unwrap_or(0);
        connection.flow.flags &= !bits::DISCARDED;
        if subscriber_states.iter().all(|state| state.discarded != 0) {
            connection.flow.flags |= bits::DISCARDED;
        }
    }

    /// Asks which applications a new stream belongs to.
    pub(crate) fn join(&mut self, connection: &mut Connection<'_>) {
        let mut joins = take(&mut self.outputs.subscribers.joins);
        joins.clear();
        if let Some(membership) = self.outputs.handler.membership() {
            membership.join(self.outputs.subscribers.marks, &mut joins);
        }
        let list = &self.outputs.subscribers.list;
        let known = joins.iter().filter_map(|join| Some((join, list.get(join.subscriber)?)));
        let subscriber_states: Vec<_> =
            known.map(|(join, subscriber)| SubscriberState::new(join, subscriber.settings.priorities)).collect();
        self.outputs.subscribers.joins = joins;
        if !subscriber_states.is_empty() {
            self.merge_limits(connection, &subscriber_states);
            let slow_state = connection.flow.slow_state();
            slow_state.bytes += (subscriber_states.capacity() * size_of::<SubscriberState>()) as u64 + 16;
            slow_state.subscriber_states = subscriber_states;
        }
    }

    /// Reports a new stream to each application.
    pub(crate) fn open_each(&mut self, connection: &mut Connection<'_>) {
        self.each(connection, |delivery, connection| {
            delivery.outputs.handler.open(&mut connection.stream(delivery.data));
        });
    }

    /// Reports the end of a stream to each application.
    pub(crate) fn close_each(&mut self, connection: &mut Connection<'_>, reason: EndReason) {
        self.each(connection, |delivery, connection| {
            delivery.outputs.handler.close(&mut connection.stream(delivery.data), reason);
        });
    }

    /// Reports a packet to each application.
    pub(crate) fn show_each(&mut self, connection: &mut Connection<'_>, packet: StreamPacket<'_>) {
        self.each(connection, |delivery, connection| {
            delivery.outputs.handler.packet(&mut connection.stream(delivery.data), packet);
        });
    }
}
