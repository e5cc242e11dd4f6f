//! Reassembly: contiguous bytes are delivered at once, others wait in the queue.

use smallvec::SmallVec;

use super::{Events, Payload, Segment, holes::HoleEnd, limits::UNHEARD_SEGMENTS, tcp_flag};
use crate::{
    AnomalyKind, Direction, Fate, Gap, GapCause, Mode,
    connection::Connection,
    flow::{Flow, half},
    queue::Incoming,
};

impl Flow {
    /// Counts retransmitted bytes that were not captured the first time. If they are captured now, they are no longer
    /// lost.
    #[inline]
    fn count_lost_again(&mut self, direction: Direction, from: u64, run: Run<'_>) {
        let at = direction as usize;
        let Some(slow_state) = self.slow_state.as_mut().filter(|slow_state| !slow_state.lost_ranges[at].is_empty())
        else {
            return;
        };
        let (start, end) = (from.max(run.start.max(0) as u64), run.end.max(0) as u64);
        // Bytes that also wait, because they arrived later and unconfirmed, are counted by the queue.
        let (lost_ranges, mut repeated) = (&slow_state.lost_ranges[at], 0);
        slow_state.queue[at].gaps(start, end, &mut |from, to| repeated += lost_ranges.bytes_in(from, to));
        slow_state.retransmitted_bytes[at] += repeated;
        if run.unconfirmed {
            // Whether it is captured now is not clear.
            return;
        }
        let captured = (run.start + run.bytes.len() as i64).max(0) as u64;
        if captured > start {
            slow_state.lost_ranges[at].forget(start, captured, &mut slow_state.bytes);
        }
    }
}

impl Connection<'_> {
    /// Places a segment's payload in the stream.
    pub(crate) fn place(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
        unconfirmed: bool,
    ) -> Fate {
        let at = direction as usize;
        let start = self.flow.halves[at].offset_of(segment.seq);
        let mut end = start + i64::from(segment.length);
        let mut fin = segment.has(tcp_flag::FIN).then_some(end);
        if fin.is_some() && unconfirmed {
            self.doubt_fin(direction, end);
            fin = None;
        }
        if !unconfirmed && segment.length > 0 {
            self.drop_covered_fin(direction, start, end);
        }
        if let Some(last) = self.flow.fin_of(direction)
            && end > last
        {
            if segment.length > 0 {
                self.note_anomaly_once(AnomalyKind::DataBeyondFin);
            }
            end = last.max(start);
        }
        if fin.is_some_and(|fin| self.flow.is_covered(direction, start, fin)) {
            self.note_anomaly_once(AnomalyKind::DataBeyondFin);
            fin = None;
        }
        if segment.has(tcp_flag::URG) {
            self.note_urgent(direction, segment, unconfirmed);
        }
        let began = start.max(0) as u64;
        let conflicts = self.shared.ledger.anomalies[AnomalyKind::OverlapConflict as usize];
        let (mut contradicts_waiting, mut contradicts_delivered) = (false, false);
        let (next, held) = (self.flow.halves[at].next as i64, self.flow.halves[at].has(half::HELD));
        // Payload before offset 0 (a keep-alive of an untouched stream) is not part of the stream.
        if !held && start.max(0) < end.min(next) {
            let before = start.min(0).unsigned_abs() as usize;
            let origin = if payload.origin == 0 { 0 } else { payload.origin + before as u64 };
            let known = Payload { bytes: payload.bytes.get(before..).unwrap_or_default(), origin, ..payload };
            self.retransmission(direction, start.max(0), end.min(next), &known);
            contradicts_delivered = self.shared.ledger.anomalies[AnomalyKind::OverlapConflict as usize] > conflicts;
        }
        if !held && start < 0 && segment.length > 0 {
            self.before_beginning(direction, segment.length, end);
        }
        let mut fate = Fate::Tracked;
        if end > start && (held || end > next) && end > 0 {
            // A segment that continues unconfirmed bytes is in order, whether those are stored or beyond a cutoff.
            let waiting = self.flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.unconfirmed_end[at]) as i64;
            if !held && start > next.max(waiting) {
                self.flow.slow_state().out_of_order_packets[at] += 1;
            } else if unconfirmed && payload.is_unconfirmed || waiting > next {
                self.flow.slow_state().unconfirmed_end[at] = waiting.max(end) as u64;
            }
            let captured = payload.bytes.len().min((end - start) as usize);
            let run = Run { start, end, bytes: &payload.bytes[..captured], unconfirmed };
            contradicts_waiting = self.insert(events, direction, run, &payload);
            if self.flow.halves[at].has(half::CUT) {
                fate = self.fate_of_cut(direction, began.saturating_sub(self.flow.bias(direction)));
            }
        }
        if unconfirmed && payload.is_unconfirmed {
            // The end of a stream must not depend on how much of it is delivered.
            let contradicts = (contradicts_delivered, contradicts_waiting);
            let known = Payload { has_fate: payload.has_fate && fate == Fate::Tracked, ..payload };
            let doubted = self.doubt_place(direction, (start, end), segment.has(tcp_flag::FIN), contradicts, &known);
            fate = if fate == Fate::Tracked { doubted } else { fate };
        }
        if self.flow.halves[at].has(half::DOUBTFUL_FIN) {
            // It may be acknowledged already: captures may show packets in another order than they were sent in.
            self.settle_fin(direction);
        }
        if let Some(fin) = fin {
            self.note_fin(direction, start, fin);
        }
        if self.flow.halves[at].has(half::QUEUED | half::FIN_SEEN) {
            self.advance(events, direction, payload.timestamp_ns);
        }
        fate
    }

    /// The fate of a segment with a wrong checksum at its place: it waits for the receiver, unless nothing of it is
    /// new, or the new part contradicts other bytes. `contradicts`: delivered bytes, and waiting ones.
    #[cold]
    fn doubt_place(
        &mut self,
        direction: Direction,
        (start, end): (i64, i64),
        has_fin: bool,
        contradicts: (bool, bool),
        payload: &Payload<'_>,
    ) -> Fate {
        let at = direction as usize;
        let me = &self.flow.halves[at];
        let from = if me.has(half::HELD) { start } else { start.max(me.next as i64) }.max(0);
        let is_new = end > from || has_fin && end == from && me.has(half::DOUBTFUL_FIN);
        if !is_new {
            return if contradicts.0 { Fate::BadChecksum } else { Fate::Tracked };
        }
        if payload.is_merged {
            let merged_end = &mut self.flow.slow_state().merged_end[at];
            *merged_end = (*merged_end).max(end as u64);
        }
        // No decision brings back what the snap length cut.
        let is_truncated = end > start && payload.bytes.is_empty() && payload.cause == GapCause::Snapped;
        let may_wait = payload.has_fate && !contradicts.1 && !is_truncated;
        if self.note_doubted(direction, (from as u64, end as u64), may_wait) && may_wait {
            return Fate::Tracked;
        }
        if is_truncated { Fate::Tracked } else { Fate::BadChecksum }
    }

    /// Handles payload before the stream's first byte: the garbage byte of a keep-alive, or data that no receiver
    /// accepts.
    #[cold]
    fn before_beginning(&mut self, direction: Direction, length: u32, end: i64) {
        if length == 1 && end == self.flow.halves[direction as usize].next as i64 {
            self.note_anomaly_once(AnomalyKind::KeepAlive);
        } else {
            self.note_anomaly_once(AnomalyKind::OutOfWindow);
        }
    }

    /// Handles a retransmission of bytes that were delivered (or given up).
    #[cold]
    fn retransmission(&mut self, direction: Direction, start: i64, end: i64, payload: &Payload<'_>) {
        let me = &self.flow.halves[direction as usize];
        if end - start == 1 && end == me.next as i64 && payload.bytes.len() <= 1 {
            // A keep-alive's byte, if there is one, is garbage (RFC 9293 section 3.8.4), and not a second version.
            self.note_anomaly_once(AnomalyKind::KeepAlive);
            self.flow.slow_state().retransmitted_bytes[direction as usize] += 1;
            return;
        }
        self.flow.slow_state().retransmitted_bytes[direction as usize] += (end - start) as u64;
        self.compare(direction, start, end, payload);
    }

    /// Processes bytes beyond the delivered ones. Returns whether they contradict waiting ones.
    fn insert(&mut self, events: &mut impl Events, direction: Direction, run: Run<'_>, payload: &Payload<'_>) -> bool {
        let at = direction as usize;
        let me = &self.flow.halves[at];
        let first = match &self.flow.slow_state {
            Some(slow_state) if me.has(half::QUEUED) => slow_state.queue[at].first_start().unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let policy = self.tcp_policy(direction);
        let from = if me.has(half::HELD) { 0 } else { me.next };
        self.flow.count_lost_again(direction, from, run);
        let me = &self.flow.halves[at];
        let is_next = run.start <= me.next as i64 && (run.end as u64) <= first;
        if is_next && !me.has(half::HELD) && !run.unconfirmed && !policy.holds_until_acknowledged() {
            let skip = (me.next as i64 - run.start) as usize;
            let is_contradicted = me.has(half::QUEUED)
                && self.contradicts_waiting(
                    direction,
                    me.next,
                    run.end as u64,
                    run.bytes.get(skip..).unwrap_or_default(),
                );
            let end = run.end as u64;
            let origin = if payload.origin == 0 { 0 } else { payload.origin + skip as u64 };
            self.deliver_contiguous(
                events,
                direction,
                run.bytes.get(skip..).unwrap_or_default(),
                payload.timestamp_ns,
                origin,
            );
            let reached = self.flow.halves[at].next;
            if reached < end {
                self.flow.halves[at].next = end;
                let offset = reached - self.flow.bias(direction);
                events.gap(self, Gap { direction, offset, bytes: end - reached, cause: payload.cause });
            }
            return is_contradicted;
        }
        self.enqueue(direction, run, payload, policy)
    }

    /// Checks bytes that are delivered at once against doubtful ones that wait. Returns whether these are another
    /// version.
    fn contradicts_waiting(&mut self, direction: Direction, start: u64, end: u64, bytes: &[u8]) -> bool {
        let at = direction as usize;
        let incoming = Incoming { start, bytes, length: end.saturating_sub(start), ..Incoming::default() };
        let (bias, mut conflicts) = (self.flow.bias(direction), Conflicts::new());
        let slow_state = self.flow.slow_state();
        let fresh = slow_state.queue[at].compare(&incoming, &mut |offset, bytes| conflicts.push((offset, bytes)));
        slow_state.retransmitted_bytes[at] += incoming.length.saturating_sub(fresh);
        let is_contradicted = !conflicts.is_empty();
        for (offset, bytes) in conflicts {
            self.conflict(direction, offset.saturating_sub(bias), bytes);
        }
        is_contradicted
    }

    /// Stores bytes in the queue. Returns whether they contradict others in it.
    fn enqueue(&mut self, direction: Direction, run: Run<'_>, payload: &Payload<'_>, policy: crate::TcpPolicy) -> bool {
        let at = direction as usize;
        // Nothing of a stream lies before its offset 0.
        let skip = run.start.min(0).unsigned_abs() as usize;
        let start = run.start.max(0) as u64;
        let captured = run.bytes.get(skip..).unwrap_or_default();
        let bias = self.flow.bias(direction);
        let held = self.flow.halves[at].has(half::HELD);
        let expected = if held { 0 } else { self.flow.halves[at].next };
        // A cutoff counts the bytes of a connection, not those of a subflow of Multipath TCP.
        let is_subflow = self.flow.slow_state().subflow.is_some();
        // As long as the beginning of the stream is not known, nothing is known to lie beyond the cutoff.
        let beyond = !held && !is_subflow && start.saturating_sub(bias) >= self.cutoff(direction);
        let tracked = self.shared.config.mode == Mode::Track || beyond;
        let wanted = run.end as u64 - start;
        let length = if self.shared.config.mode == Mode::Track { wanted } else { captured.len() as u64 };
        let (before, is_first) = (self.flow.reserved(direction), !self.flow.halves[at].has(half::QUEUED));
        let mut conflicts = Conflicts::new();
        if is_first {
            self.flow.note_missing(direction, self.shared.now.before_ns);
        }
        let slow_state = self.flow.slow_state();
        if length > 0 {
            let incoming = Incoming {
                start,
                bytes: if tracked { &[] } else { captured },
                length,
                unconfirmed: run.unconfirmed,
                is_wrong: run.unconfirmed && payload.is_unconfirmed,
            };
            let inserted = slow_state.queue[at].insert(policy, expected, &incoming, &mut |offset, bytes| {
                conflicts.push((offset, bytes));
            });
            // Bytes before the next one were counted already.
            let before_next = expected.saturating_sub(start).min(length);
            slow_state.retransmitted_bytes[at] += inserted.repeated_bytes.saturating_sub(before_next);
            slow_state.waiting_bytes[at] += length.saturating_sub(inserted.repeated_bytes.max(before_next));
        }
        let mut has_room = true;
        // Uncaptured bytes may wait already, from an earlier packet. (Those before the next byte were counted.)
        let uncaptured = (start + length).max(expected);
        let end = run.end as u64;
        if uncaptured < end {
            let rest = Incoming { start: uncaptured, length: end - uncaptured, ..Incoming::default() };
            let fresh = slow_state.queue[at].compare(&rest, &mut |_, _| {});
            slow_state.retransmitted_bytes[at] += rest.length - fresh;
            if !run.unconfirmed && fresh > 0 {
                has_room = slow_state.lost_ranges[at].note(rest.start, end, payload.cause, &mut slow_state.bytes);
            } else if payload.is_unconfirmed
                && payload.cause == GapCause::Snapped
                && self.shared.config.mode != Mode::Track
            {
                slow_state.retransmitted_bytes[at] += slow_state.truncated[at].bytes_in(rest.start, end);
                slow_state.truncated[at].note(rest.start, end, payload.cause, &mut slow_state.bytes);
            }
        }
        if slow_state.hole_segments[at] == 0 {
            slow_state.hole_since_ns[at] = self.shared.now.clock_ns;
        }
        if is_first {
            slow_state.hole_interface[at] = payload.interface;
        }
        slow_state.hole_segments[at] = slow_state.hole_segments[at].saturating_add(1);
        if held {
            slow_state.note_arrival(direction, end, payload.timestamp_ns);
        }
        if !slow_state.has_nothing(at, held) {
            self.flow.halves[at].flags |= half::QUEUED;
        }
        self.settle_queue(direction, before);
        if !has_room {
            self.note_anomaly_once(AnomalyKind::HoleLimit);
        }
        let is_contradicted = !conflicts.is_empty();
        for (offset, bytes) in conflicts {
            self.conflict(direction, offset.saturating_sub(bias), bytes);
        }
        is_contradicted
    }

    /// Delivers what has become contiguous in the queue, and gives up holes that waited long enough.
    pub(crate) fn advance(&mut self, events: &mut impl Events, direction: Direction, timestamp_ns: u64) {
        let at = direction as usize;
        let mut has_begun = false;
        if self.flow.halves[at].has(half::QUEUED) {
            let mut before = self.flow.reserved(direction);
            self.flow.accept_unseen(direction, UNHEARD_SEGMENTS);
            // Bytes delivered when a bound first ended a hole: those behind it do not count in the flow's favour.
            let mut unforced = None;
            loop {
                let is_hole = self.drain(events, direction, timestamp_ns, false);
                if self.skip_lost(events, direction) {
                    continue;
                }
                let Some(first) = self.flow.next_queued(direction).filter(|_| is_hole) else { break };
                match self.hole_is_over(direction) {
                    HoleEnd::NotYet => break,
                    HoleEnd::Bound => unforced = unforced.or(Some(self.flow.delivered[0] + self.flow.delivered[1])),
                    HoleEnd::Time => {}
                }
                if self.accept_in_hole(direction, first) {
                    continue;
                }
                if self.flow.halves[at].has(half::HELD) {
                    self.begin_both(events, false);
                    before = self.flow.reserved(direction);
                    has_begun = true;
                    continue;
                }
                let cause = self.hole_cause(direction, GapCause::NotCaptured);
                self.give_up(events, direction, first, cause);
            }
            self.bound_doubtful(direction);
            if let Some(unforced) = unforced {
                self.shared
                    .accounting
                    .force(&self.shared.now, self.flow.delivered[0] + self.flow.delivered[1] - unforced);
            }
            self.settle_queue(direction, before);
        }
        // Without payload there was nothing to wait for.
        if !self.flow.halves[at].has(half::QUEUED) && self.flow.is_begun(direction) {
            self.flow.halves[at].flags &= !half::HELD;
        }
        self.reach_fin(direction);
        if self.flow.halves[direction as usize].has(half::FIN) {
            // Nothing follows: what was gathered need not wait for its size or time.
            events.end(self, direction);
        }
        if has_begun {
            self.advance(events, direction.opposite(), timestamp_ns);
        }
    }

    /// Bounds bytes that nothing acknowledges: no hole's end frees them.
    fn bound_doubtful(&mut self, direction: Direction) {
        let limit = self.shared.config.stream_buffer_bytes;
        let Some(slow_state) = &mut self.flow.slow_state else { return };
        if slow_state.queue[direction as usize].charged_bytes() > limit {
            while slow_state.queue[direction as usize].charged_bytes() > limit / 2 {
                if !slow_state.queue[direction as usize].drop_last() {
                    break;
                }
            }
            self.note_anomaly_once(AnomalyKind::BufferLimit);
        }
    }
}

/// Runs of bytes that came in two versions: offset and length. Mostly few.
type Conflicts = SmallVec<[(u64, u64); 4]>;

/// Payload with its place: internal offsets, which may lie before 0.
#[derive(Clone, Copy)]
struct Run<'a> {
    start: i64,
    end: i64,
    bytes: &'a [u8],
    unconfirmed: bool,
}
