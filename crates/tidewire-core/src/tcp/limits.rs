//! Up to where bytes of a direction are accepted: its receiver acknowledged them, or is silent.

use crate::{Direction, connection::Connection, flow::Flow};

/// Contiguous segments, each of which a receiver would have answered at once with its next expected byte (RFC 9293
/// section 3.10.7.4), after which a silent receiver counts as not captured.
pub(crate) const UNHEARD_SEGMENTS: u32 = 32;
/// Value of `SlowState::unheard` once the receiver counts as not captured.
pub(crate) const UNHEARD: u32 = u32::MAX;

impl Flow {
    /// Up to where unconfirmed bytes are accepted when nothing more will be acknowledged.
    #[inline]
    pub(super) fn last_limit(&self, direction: Direction) -> u64 {
        let at = direction as usize;
        let Some(slow_state) = &self.slow_state else { return 0 };
        // If the receiver was never seen, or not since, there is nothing to wait for.
        let is_unheard =
            self.halves[direction.opposite() as usize].packets() == 0 || slow_state.unheard[at] > UNHEARD_SEGMENTS;
        let silence = if is_unheard { self.silence_limit(direction) } else { 0 };
        let accepted = self.accepted_at_end(direction).max(silence);
        let accepted = match slow_state.unanswered[at] {
            Some((first, last)) if first <= self.halves[at].next => accepted.max(last),
            _ => accepted,
        };
        self.bound_accepted(direction, accepted)
    }
}

impl Connection<'_> {
    /// Up to where the queue may be emptied, and up to where doubtful bytes are accepted: what was acknowledged.
    pub(crate) fn limits(&self, direction: Direction) -> (u64, u64) {
        let acknowledged = self.flow.acknowledged(direction);
        let unheard =
            self.flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.unheard[direction as usize] == UNHEARD);
        let holds = self.tcp_policy(direction).holds_until_acknowledged() && !self.flow.is_over() && !unheard;
        // The FIN occupies a sequence number: an acknowledgment beyond it does not acknowledge a byte in its place.
        let fin = self.flow.fin_of(direction).map_or(u64::MAX, |fin| fin.max(0) as u64);
        let accepted = self.flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.accepted[direction as usize]);
        let accepted = if unheard { self.flow.silence_limit(direction) } else { 0 }.max(acknowledged).max(accepted);
        (if holds { acknowledged } else { u64::MAX }.min(fin), accepted.min(fin))
    }
}
