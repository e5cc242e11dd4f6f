//! Reassembly: contiguous bytes are delivered at once, others wait in the queue.

use smallvec::SmallVec;

use super::{
    Payload, Segment,
    accept::{UNHEARD, UNHEARD_SEGMENTS},
    doubted::AcceptedRanges,
    flag,
    holes::HoleEnd,
    queue::Incoming,
};
use crate::{
    AnomalyKind, Deliver, Direction, Fate, Gap, GapCause, Mode,
    engine::context::FlowContext,
    flow::{Flow, half},
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

    /// Up to where unconfirmed bytes are accepted when nothing more will be acknowledged.
    #[inline]
    fn last_limit(&self, direction: Direction) -> u64 {
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

    /// Internal offset up to which the receiver has acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&self, direction: Direction) -> u64 {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        if peer.has(half::ACKED) { me.offset_of(peer.ack).max(0) as u64 } else { 0 }
    }
}

impl<H: Deliver> FlowContext<H> {
    /// Places a segment's payload in the stream.
    pub(crate) fn place(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
        unconfirmed: bool,
    ) -> Fate {
        let at = direction as usize;
        let start = flow.halves[at].offset_of(segment.seq);
        let mut end = start + i64::from(segment.length);
        let mut fin = segment.has(flag::FIN).then_some(end);
        if fin.is_some() && unconfirmed {
            self.doubt_fin(flow, direction, end);
            fin = None;
        }
        if !unconfirmed && segment.length > 0 {
            self.drop_covered_fin(flow, direction, start, end);
        }
        if let Some(last) = flow.fin_of(direction)
            && end > last
        {
            if segment.length > 0 {
                self.note_anomaly_once(flow, AnomalyKind::DataBeyondFin);
            }
            end = last.max(start);
        }
        if fin.is_some_and(|fin| flow.is_covered(direction, start, fin)) {
            self.note_anomaly_once(flow, AnomalyKind::DataBeyondFin);
            fin = None;
        }
        if segment.has(flag::URG) {
            self.note_urgent(flow, direction, segment, unconfirmed);
        }
        let began = start.max(0) as u64;
        let conflicts = self.ledger.anomalies[AnomalyKind::OverlapConflict as usize];
        let (mut contradicts_waiting, mut contradicts_delivered) = (false, false);
        let (next, held) = (flow.halves[at].next as i64, flow.halves[at].has(half::HELD));
        // Payload before offset 0 (a keep-alive of an untouched stream) is not part of the stream.
        if !held && start.max(0) < end.min(next) {
            let before = start.min(0).unsigned_abs() as usize;
            let origin = if payload.origin == 0 { 0 } else { payload.origin + before as u64 };
            let known = Payload { bytes: payload.bytes.get(before..).unwrap_or_default(), origin, ..payload };
            self.retransmission(flow, direction, start.max(0), end.min(next), &known);
            contradicts_delivered = self.ledger.anomalies[AnomalyKind::OverlapConflict as usize] > conflicts;
        }
        if !held && start < 0 && segment.length > 0 {
            self.before_beginning(flow, direction, segment.length, end);
        }
        let mut fate = Fate::Tracked;
        if end > start && (held || end > next) && end > 0 {
            // What continues unconfirmed bytes is in order, whether those are stored or beyond a cutoff.
            let waiting = flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.unconfirmed_end[at]) as i64;
            if !held && start > next.max(waiting) {
                flow.slow_state().out_of_order_packets[at] += 1;
            } else if unconfirmed && payload.is_unconfirmed || waiting > next {
                flow.slow_state().unconfirmed_end[at] = waiting.max(end) as u64;
            }
            let captured = payload.bytes.len().min((end - start) as usize);
            let run = Run { start, end, bytes: &payload.bytes[..captured], unconfirmed };
            contradicts_waiting = self.insert(flow, data, direction, run, &payload);
            if flow.halves[at].has(half::CUT) {
                fate = self.fate_of_cut(flow, direction, began.saturating_sub(flow.bias(direction)));
            }
        }
        if unconfirmed && payload.is_unconfirmed {
            // The end of a stream must not depend on how much of it is delivered.
            let contradicts = (contradicts_delivered, contradicts_waiting);
            let known = Payload { has_fate: payload.has_fate && fate == Fate::Tracked, ..payload };
            let doubted = self.doubt_place(flow, direction, (start, end), segment.has(flag::FIN), contradicts, &known);
            fate = if fate == Fate::Tracked { doubted } else { fate };
        }
        if flow.halves[at].has(half::DOUBTFUL_FIN) {
            // It may be acknowledged already: captures may show packets in another order than they were sent in.
            self.settle_fin(flow, direction);
        }
        if let Some(fin) = fin {
            self.note_fin(flow, direction, start, fin);
        }
        if flow.halves[at].has(half::QUEUED | half::FIN_SEEN) {
            self.advance(flow, data, direction, payload.timestamp_ns);
        }
        fate
    }

    /// The fate of a segment with a wrong checksum at its place: it waits for the receiver, unless nothing of it is
    /// new, or the new part contradicts other bytes. `contradicts`: delivered bytes, and waiting ones.
    #[cold]
    fn doubt_place(
        &mut self,
        flow: &mut Flow,
        direction: Direction,
        (start, end): (i64, i64),
        has_fin: bool,
        contradicts: (bool, bool),
        payload: &Payload<'_>,
    ) -> Fate {
        let at = direction as usize;
        let me = &flow.halves[at];
        let from = if me.has(half::HELD) { start } else { start.max(me.next as i64) }.max(0);
        let is_new = end > from || has_fin && end == from && me.has(half::DOUBTFUL_FIN);
        if !is_new {
            return if contradicts.0 { Fate::BadChecksum } else { Fate::Tracked };
        }
        if payload.is_merged {
            let merged_end = &mut flow.slow_state().merged_end[at];
            *merged_end = (*merged_end).max(end as u64);
        }
        // No decision brings back what the snap length cut.
        let is_truncated = end > start && payload.bytes.is_empty() && payload.cause == GapCause::Snapped;
        let may_wait = payload.has_fate && !contradicts.1 && !is_truncated;
        if self.note_doubted(flow, direction, (from as u64, end as u64), may_wait) && may_wait {
            return Fate::Tracked;
        }
        if is_truncated { Fate::Tracked } else { Fate::BadChecksum }
    }

    /// Handles payload before the stream's first byte: the garbage byte of a keep-alive, or data that no receiver
    /// accepts.
    #[cold]
    fn before_beginning(&mut self, flow: &mut Flow, direction: Direction, length: u32, end: i64) {
        if length == 1 && end == flow.halves[direction as usize].next as i64 {
            self.note_anomaly_once(flow, AnomalyKind::KeepAlive);
        } else {
            self.note_anomaly_once(flow, AnomalyKind::OutOfWindow);
        }
    }

    /// Handles a retransmission of bytes that were delivered (or given up).
    #[cold]
    fn retransmission(&mut self, flow: &mut Flow, direction: Direction, start: i64, end: i64, payload: &Payload<'_>) {
        let me = &flow.halves[direction as usize];
        if end - start == 1 && end == me.next as i64 && payload.bytes.len() <= 1 {
            // A keep-alive's byte, if there is one, is garbage (RFC 9293 section 3.8.4), and not a second version.
            self.note_anomaly_once(flow, AnomalyKind::KeepAlive);
            flow.slow_state().retransmitted_bytes[direction as usize] += 1;
            return;
        }
        flow.slow_state().retransmitted_bytes[direction as usize] += (end - start) as u64;
        self.compare(flow, direction, start, end, payload);
    }

    /// Processes bytes beyond the delivered ones. Returns whether they contradict waiting ones.
    fn insert(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        run: Run<'_>,
        payload: &Payload<'_>,
    ) -> bool {
        let at = direction as usize;
        let me = &flow.halves[at];
        let first = match &flow.slow_state {
            Some(slow_state) if me.has(half::QUEUED) => slow_state.queue[at].first_start().unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let policy = self.tcp_policy(flow, direction);
        let from = if me.has(half::HELD) { 0 } else { me.next };
        flow.count_lost_again(direction, from, run);
        let me = &flow.halves[at];
        let is_next = run.start <= me.next as i64 && (run.end as u64) <= first;
        if is_next && !me.has(half::HELD) && !run.unconfirmed && !policy.holds_until_acknowledged() {
            let skip = (me.next as i64 - run.start) as usize;
            let is_contradicted = me.has(half::QUEUED)
                && self.contradicts_waiting(
                    flow,
                    direction,
                    me.next,
                    run.end as u64,
                    run.bytes.get(skip..).unwrap_or_default(),
                );
            let end = run.end as u64;
            let origin = if payload.origin == 0 { 0 } else { payload.origin + skip as u64 };
            self.deliver_contiguous(
                flow,
                data,
                direction,
                run.bytes.get(skip..).unwrap_or_default(),
                payload.timestamp_ns,
                origin,
            );
            let reached = flow.halves[at].next;
            if reached < end {
                flow.halves[at].next = end;
                let offset = reached - flow.bias(direction);
                self.gap(flow, data, direction, offset, end - reached, payload.cause);
            }
            return is_contradicted;
        }
        self.enqueue(flow, direction, run, payload, policy)
    }

    /// Checks bytes that are delivered at once against doubtful ones that wait. Returns whether these are another
    /// version.
    fn contradicts_waiting(
        &mut self,
        flow: &mut Flow,
        direction: Direction,
        start: u64,
        end: u64,
        bytes: &[u8],
    ) -> bool {
        let at = direction as usize;
        let incoming = Incoming { start, bytes, length: end.saturating_sub(start), ..Incoming::default() };
        let (bias, mut conflicts) = (flow.bias(direction), Conflicts::new());
        let slow_state = flow.slow_state();
        let fresh = slow_state.queue[at].compare(&incoming, &mut |offset, bytes| conflicts.push((offset, bytes)));
        slow_state.retransmitted_bytes[at] += incoming.length.saturating_sub(fresh);
        let is_contradicted = !conflicts.is_empty();
        for (offset, bytes) in conflicts {
            self.conflict(flow, direction, offset.saturating_sub(bias), bytes);
        }
        is_contradicted
    }

    /// Stores bytes in the queue. Returns whether they contradict others in it.
    fn enqueue(
        &mut self,
        flow: &mut Flow,
        direction: Direction,
        run: Run<'_>,
        payload: &Payload<'_>,
        policy: crate::TcpPolicy,
    ) -> bool {
        let at = direction as usize;
        // Nothing of a stream lies before its offset 0.
        let skip = run.start.min(0).unsigned_abs() as usize;
        let start = run.start.max(0) as u64;
        let captured = run.bytes.get(skip..).unwrap_or_default();
        let bias = flow.bias(direction);
        let held = flow.halves[at].has(half::HELD);
        let expected = if held { 0 } else { flow.halves[at].next };
        // As long as the beginning of the stream is not known, nothing is known to lie beyond the cutoff.
        let beyond = !held && start.saturating_sub(bias) >= self.cutoff(flow, direction);
        let tracked = self.config.mode == Mode::Track || beyond;
        let wanted = run.end as u64 - start;
        let length = if self.config.mode == Mode::Track { wanted } else { captured.len() as u64 };
        let (before, is_first) = (flow.queue_charge(direction), !flow.halves[at].has(half::QUEUED));
        let mut conflicts = Conflicts::new();
        let slow_state = flow.slow_state();
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
            // What lies before the next byte was counted already.
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
            } else if payload.is_unconfirmed && payload.cause == GapCause::Snapped && self.config.mode != Mode::Track {
                slow_state.retransmitted_bytes[at] += slow_state.truncated[at].bytes_in(rest.start, end);
                slow_state.truncated[at].note(rest.start, end, payload.cause, &mut slow_state.bytes);
            }
        }
        if slow_state.hole_segments[at] == 0 {
            slow_state.hole_since_ns[at] = self.now.clock_ns;
        }
        if is_first {
            (slow_state.hole_after_ns[at], slow_state.hole_interface[at]) = (self.now.before_ns, payload.interface);
        }
        slow_state.hole_segments[at] = slow_state.hole_segments[at].saturating_add(1);
        if held {
            slow_state.note_arrival(direction, end, payload.timestamp_ns);
        }
        if !slow_state.has_nothing(at, held) {
            flow.halves[at].flags |= half::QUEUED;
        }
        self.settle_queue(flow, direction, before);
        if !has_room {
            self.note_anomaly_once(flow, AnomalyKind::HoleLimit);
        }
        let is_contradicted = !conflicts.is_empty();
        for (offset, bytes) in conflicts {
            self.conflict(flow, direction, offset.saturating_sub(bias), bytes);
        }
        is_contradicted
    }

    /// Delivers bytes that continue the direction, without urgent bytes that are to be removed.
    pub(crate) fn deliver_contiguous(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        bytes: &[u8],
        timestamp_ns: u64,
        origin: u64,
    ) {
        let at = direction as usize;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let start = flow.halves[at].next;
            let end = start + bytes.len() as u64;
            let urgent = flow
                .slow_state
                .as_ref()
                .map(|slow_state| slow_state.urgent[at])
                .filter(|byte| (start..end).contains(byte));
            let length = urgent.map_or(bytes.len(), |byte| (byte - start) as usize);
            let offset = start - flow.bias(direction);
            flow.halves[at].next += length as u64;
            self.remember(flow, direction, start, &bytes[..length], origin);
            self.deliver(flow, data, direction, offset, &bytes[..length], timestamp_ns);
            bytes = &bytes[length..];
            if urgent.is_some() {
                flow.halves[at].next += 1;
                self.gap(flow, data, direction, offset + length as u64, 1, GapCause::Urgent);
                bytes = &bytes[1..];
            }
        }
    }

    /// Delivers what has become contiguous in the queue, and gives up holes that waited long enough.
    pub(crate) fn advance(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, timestamp_ns: u64) {
        let at = direction as usize;
        let mut has_begun = false;
        if flow.halves[at].has(half::QUEUED) {
            let mut before = flow.queue_charge(direction);
            flow.accept_unseen(direction, UNHEARD_SEGMENTS);
            // Bytes delivered when a bound first ended a hole: those behind it do not count in the flow's favour.
            let mut unforced = None;
            loop {
                let is_hole = self.drain(flow, data, direction, timestamp_ns, false);
                if self.skip_lost(flow, data, direction) {
                    continue;
                }
                let Some(first) = flow.next_queued(direction).filter(|_| is_hole) else { break };
                match self.hole_is_over(flow, direction) {
                    HoleEnd::NotYet => break,
                    HoleEnd::Bound => unforced = unforced.or(Some(flow.delivered[0] + flow.delivered[1])),
                    HoleEnd::Time => {}
                }
                if self.accept_in_hole(flow, direction, first) {
                    continue;
                }
                if flow.halves[at].has(half::HELD) {
                    self.begin_both(flow, data, false);
                    before = flow.queue_charge(direction);
                    has_begun = true;
                    continue;
                }
                let cause = self.hole_cause(flow, direction, GapCause::NotCaptured);
                self.give_up(flow, data, direction, first, cause);
            }
            self.bound_doubtful(flow, direction);
            if let Some(unforced) = unforced {
                self.accounting.budget.force(self.now.slot, flow.delivered[0] + flow.delivered[1] - unforced);
            }
            self.settle_queue(flow, direction, before);
        }
        // Without payload there was nothing to wait for.
        if !flow.halves[at].has(half::QUEUED) && flow.is_begun(direction) {
            flow.halves[at].flags &= !half::HELD;
        }
        self.reach_fin(flow, direction);
        if flow.halves[direction as usize].has(half::FIN) {
            // Nothing follows: what was gathered need not wait for its size or time.
            self.flush(flow, data, direction);
        }
        if has_begun {
            self.advance(flow, data, direction.opposite(), timestamp_ns);
        }
    }

    /// Bounds bytes that nothing acknowledges: no hole's end frees them.
    fn bound_doubtful(&mut self, flow: &mut Flow, direction: Direction) {
        let limit = self.config.stream_buffer_bytes;
        let Some(slow_state) = &mut flow.slow_state else { return };
        if slow_state.queue[direction as usize].charged_bytes() > limit {
            while slow_state.queue[direction as usize].charged_bytes() > limit / 2 {
                if !slow_state.queue[direction as usize].drop_last() {
                    break;
                }
            }
            self.note_anomaly_once(flow, AnomalyKind::BufferLimit);
        }
    }

    /// Delivers everything that is contiguous in the queue. Returns whether a hole follows. `last`: nothing more will
    /// be acknowledged.
    pub(crate) fn drain(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        timestamp_ns: u64,
        last: bool,
    ) -> bool {
        self.drain_until(flow, data, direction, timestamp_ns, last, u64::MAX)
    }

    /// The same up to an internal offset.
    pub(crate) fn drain_until(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        timestamp_ns: u64,
        last: bool,
        until: u64,
    ) -> bool {
        let at = direction as usize;
        let (mut limit, mut unconfirmed_limit) = self.limits(flow, direction);
        if last {
            limit = flow.fin_of(direction).map_or(u64::MAX, |fin| fin.max(0) as u64);
            unconfirmed_limit = unconfirmed_limit.max(flow.last_limit(direction).min(limit));
        }
        limit = limit.min(until);
        if flow.halves[at].has(half::HELD) {
            // The beginning of the stream depends on what is accepted, too.
            if let Some(slow_state) = &mut flow.slow_state {
                slow_state.queue[at].accept_unconfirmed(unconfirmed_limit);
            }
            return true;
        }
        let mut moved = false;
        let mut accepted = AcceptedRanges::new();
        // The next byte for which the limit at the end is known.
        let mut limited_at = flow.halves[at].next;
        loop {
            let next = flow.halves[at].next;
            let Some(slow_state) = flow.slow_state.as_mut() else { return false };
            let Some(piece) = slow_state.queue[at].take(next, limit, unconfirmed_limit) else {
                let is_known = !last || limited_at == next;
                let further = if is_known { 0 } else { flow.last_limit(direction).min(limit) };
                if further <= unconfirmed_limit {
                    break;
                }
                limited_at = next;
                unconfirmed_limit = further;
                continue;
            };
            moved = true;
            if piece.is_wrong {
                match accepted.last_mut() {
                    Some(last) if last.1 == next => last.1 += piece.length,
                    _ => accepted.push((next, next + piece.length)),
                }
            }
            slow_state.waiting_bytes[at] = slow_state.waiting_bytes[at].saturating_sub(piece.length);
            self.deliver_contiguous(flow, data, direction, piece.bytes(), timestamp_ns, 0);
            let end = next + piece.length;
            let reached = flow.halves[at].next;
            if reached < end {
                flow.halves[at].next = end;
                self.skip_untracked(flow, data, direction, reached, end);
            }
        }
        if moved {
            // A new hole starts to wait now.
            let slow_state = flow.slow_state();
            (slow_state.hole_segments[at], slow_state.hole_since_ns[at]) = (0, self.now.clock_ns);
        }
        if flow.slow_state.as_ref().is_some_and(|slow_state| !slow_state.doubted[at].is_empty()) {
            self.settle_doubted(flow, direction, &accepted);
        }
        let next = flow.halves[at].next;
        flow.slow_state().queue[at].first_start().is_some_and(|first| first > next)
    }

    /// Passes bytes without delivering them: in track mode, or beyond the cutoff. If the cutoff was raised after they
    /// arrived, they are reported at once, because others may follow them.
    fn skip_untracked(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, start: u64, end: u64) {
        if self.config.mode == Mode::Track {
            return;
        }
        let (bias, limit) = (flow.bias(direction), self.cutoff(flow, direction));
        let (offset, end) = (start.saturating_sub(bias), end.saturating_sub(bias));
        if end > limit {
            flow.halves[direction as usize].flags |= half::CUT;
        }
        let bytes = end.min(limit).saturating_sub(offset);
        self.report_gap(flow, data, Gap { direction, offset, bytes, cause: GapCause::Cutoff });
    }

    /// Up to where the queue may be emptied, and up to where doubtful bytes are accepted: what was acknowledged.
    pub(crate) fn limits(&self, flow: &Flow, direction: Direction) -> (u64, u64) {
        let acknowledged = flow.acknowledged(direction);
        let unheard =
            flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.unheard[direction as usize] == UNHEARD);
        let holds = self.tcp_policy(flow, direction).holds_until_acknowledged() && !flow.is_over() && !unheard;
        // The FIN occupies a sequence number: an acknowledgment beyond it does not acknowledge a byte in its place.
        let fin = flow.fin_of(direction).map_or(u64::MAX, |fin| fin.max(0) as u64);
        let accepted = flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.accepted[direction as usize]);
        let accepted = if unheard { flow.silence_limit(direction) } else { 0 }.max(acknowledged).max(accepted);
        (if holds { acknowledged } else { u64::MAX }.min(fin), accepted.min(fin))
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
