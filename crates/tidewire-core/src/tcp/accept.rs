//! Which payload a receiving host would accept: acknowledgments, window, timestamps (RFC 9293 section 3.10.7.4, RFC
//! 5961 section 5, RFC 7323 section 5).
//!
//! **Unconfirmed bytes.** A segment that a host would probably have dropped is not discarded: the capture may have
//! missed the packet that makes it valid. Its bytes go to a second store. They lose against all other bytes, and are
//! delivered only when the receiver acknowledges them. A segment that acknowledges more than was seen has two
//! explanations: the capture lost data, or the segment was forged. Three successive acknowledgments, each beyond the
//! last and beyond even what was allowed to be sent, are taken for a loss of the capture, unless the other side
//! meanwhile sends with the expected number; their bytes are unconfirmed all the same. If the capture sees one side
//! only, no acknowledgment is seen: after 32 segments and one second (or half of the stream's memory) in which a
//! receiver would have answered and was not heard, the bytes are accepted; so are, at the end, bytes after which the
//! receiver was silent.

use super::{
    Events, Payload, Segment,
    limits::{UNHEARD, UNHEARD_SEGMENTS},
    segment::after,
    tcp_flag,
};
use crate::{
    AnomalyKind, Direction, Fate, TcpState,
    connection::Connection,
    flow::{Flow, SCALE_UNKNOWN, SlowState, half},
};

/// The verdict on a segment's acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ack {
    /// The ACK flag is not set.
    Absent,
    /// Possible, as far as the capture shows.
    Possible,
    /// Acknowledges more than was seen of the other side, within what that side was allowed to send: either the capture
    /// lost it, or a host would drop the segment.
    Unseen,
    /// Acknowledges data that the other side was never allowed to send.
    TooNew,
    /// Older than any acknowledgment that could still be in flight.
    TooOld,
    /// A host would not read it, for another reason.
    Refused,
}

/// Consecutive acknowledgments, each at most `SKIP_STEP_MAX` beyond the last, that are accepted as proof of data lost
/// by the capture.
const SKIP_ACKS: u32 = 3;
/// See `SKIP_ACKS`: more than arrives between two acknowledgments.
const SKIP_STEP_MAX: u32 = 1 << 20;
/// The least time that [`UNHEARD_SEGMENTS`] span: Linux answers such segments twice a second (tcp_invalid_ratelimit), and drops the others
/// silently.
const UNHEARD_NS: u64 = 1_000_000_000;
/// Time for which a host drops segments silently after a challenge ACK (Linux: `tcp_invalid_ratelimit`).
const CHALLENGE_NS: u64 = 500_000_000;
/// Anomalies that a host answers with a challenge ACK, as bits of `SlowState::anomaly_kinds`.
const CHALLENGED: u32 =
    1 << AnomalyKind::BlindReset as u32 | 1 << AnomalyKind::BlindSyn as u32 | 1 << AnomalyKind::InvalidAck as u32;

/// Linux discards segments whose timestamp is older than the last one by more than this (TCP_PAWS_WINDOW).
const PAWS_WINDOW: i32 = 1;

/// Greatest distance that counts as inside the window where the window is unknown (RFC 7323: 2^30).
const WINDOW_MAX: i64 = 1 << 30;

impl Flow {
    /// Notes what an empty segment implies: its number is that of the next byte that its sender will send, so bytes
    /// before it were sent, and lost by the capture. Acknowledging them is not acknowledging unsent data.
    #[inline]
    fn note_claim(&mut self, direction: Direction, segment: &Segment, before_ns: u64) {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        if segment.length != 0 || me.flags & (half::KNOWN | half::HELD) != half::KNOWN || !peer.has(half::ACKED) {
            return;
        }
        let offset = me.offset_of(segment.seq);
        // (Nothing was lost behind a FIN, which occupies a sequence number.)
        let sent = me.next as i64 + i64::from(me.has(half::FIN));
        if offset > sent && offset <= me.offset_of(peer.edge) {
            self.note_missing(direction, before_ns);
            let claimed = &mut self.slow_state().claimed[direction as usize];
            *claimed = offset.max(*claimed as i64) as u64;
        }
    }

    /// How far an acknowledgment may lie behind the last one (RFC 5961 section 5.2, Linux: `tcp_ack`): the largest
    /// window that its sender ever had, and no more than it has acknowledged in total.
    ///
    /// Only the last window is known, which is at most the largest: an acknowledgment that a host accepts may be
    /// doubted here.
    #[inline]
    fn old_ack_distance(&self, direction: Direction, acked: i64) -> i64 {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        let window = i64::from(me.edge.wrapping_sub(me.ack) as i32).clamp(0, WINDOW_MAX);
        if !peer.has(half::SYN) {
            return window.max(65_535);
        }
        let all = acked - self.bias(direction.opposite()) as i64;
        window.min(all.max(0))
    }

    /// Internal offset behind everything that was seen of a direction, including its FIN.
    #[inline]
    fn seen(&self, direction: Direction) -> i64 {
        let at = direction as usize;
        let me = &self.halves[at];
        // A FIN occupies a sequence number, which the side's next empty segment includes.
        let mut seen = me.next as i64 + i64::from(me.has(half::FIN));
        if let Some(slow_state) = &self.slow_state {
            if me.has(half::QUEUED) {
                seen = seen.max(slow_state.queue[at].end() as i64);
            }
            seen = seen.max(slow_state.claimed[at] as i64);
            seen = seen.max(slow_state.lost_ranges[at].end().unwrap_or(0) as i64);
            for fin in [slow_state.fin_at[at], slow_state.fin_doubtful[at]].into_iter().filter(|fin| *fin != u64::MAX) {
                seen = seen.max(fin as i64 + 1);
            }
        }
        seen
    }

    /// Internal offset up to which the first acknowledgment of the other side may reach: the SYN and at most the data
    /// that came with it, and a FIN. Where the other side's own SYN was not captured, it is beyond its handshake: more
    /// may be lost.
    #[inline]
    pub(super) fn sent(&self, direction: Direction) -> i64 {
        let has_syn = self.halves[direction.opposite() as usize].has(half::SYN);
        self.seen(direction) + if has_syn { 1 } else { i64::from(u16::MAX) }
    }

    /// Whether a host drops a segment because its timestamp is older than the last one (RFC 7323 section 5.3, Linux:
    /// `tcp_paws_check`). After a last one of 0 nothing is old.
    #[inline]
    pub(super) fn is_stale(&self, direction: Direction, segment: &Segment) -> bool {
        let me = &self.halves[direction as usize];
        let Some(value) = segment.timestamp else { return false };
        me.has(half::TIMESTAMP)
            && me.ts_recent != 0
            && (me.ts_recent.wrapping_sub(value) as i32) > PAWS_WINDOW
            && !self.has_no_timestamps()
    }

    /// Whether a host ignores a segment, including its acknowledgment, for its place or its age (Linux: `tcp_sequence`,
    /// `tcp_paws_check`).
    #[inline]
    pub(crate) fn is_outside(&self, direction: Direction, segment: &Segment) -> bool {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        let start = me.offset_of(segment.seq);
        let end = start + i64::from(segment.length) + i64::from(segment.has(tcp_flag::FIN));
        let is_beside = peer.has(half::ACKED) && (end < me.offset_of(peer.ack) || start > me.offset_of(peer.edge));
        is_beside || self.is_stale(direction, segment)
    }

    /// Records the timestamps of the SYN-ACKs where one is repeated or the side's next segment has another: the
    /// handshake's last segment may echo any of them. `again`: the value of another SYN-ACK.
    #[inline]
    pub(super) fn note_answer_stamps(&mut self, direction: Direction, again: Option<u32>) {
        const STAMPED: u16 = half::SYN | half::TIMESTAMP;
        let me = &self.halves[direction as usize];
        if self.state != TcpState::SynReceived || me.flags & STAMPED != STAMPED || !me.has(half::ACKED) {
            return;
        }
        let value = me.ts_recent;
        let (first, last) = self.slow_state().answer_stamps.unwrap_or((value, value));
        self.slow_state().answer_stamps = Some((first, again.unwrap_or(last)));
    }

    /// Whether the SYNs did not agree on timestamps (RFC 7323 section 3.2): hosts then ignore them.
    #[inline]
    fn has_no_timestamps(&self) -> bool {
        self.halves.iter().any(|half| half.flags & (half::SYN | half::TIMESTAMP) == half::SYN)
    }

    /// Records the timestamp of a segment that a host would accept, with or without payload (RFC 7323 section 4.3). A
    /// value that is 2^31 ahead counts as not older, as in Linux (`tcp_replace_ts_recent`).
    ///
    /// Linux records only the values of segments that begin at or before the last number that it acknowledged. Where
    /// that lags behind the next expected byte, this may record a newer value, and doubt a segment that the host
    /// accepts.
    #[inline]
    fn note_timestamp(&mut self, direction: Direction, segment: &Segment) {
        let Some(value) = segment.timestamp else { return };
        let me = &mut self.halves[direction as usize];
        if !me.has(half::TIMESTAMP) {
            if !me.has(half::SYN) {
                me.ts_recent = value;
                me.flags |= half::TIMESTAMP;
            }
        } else if (me.ts_recent.wrapping_sub(value) as i32) <= 0 && me.offset_of(segment.seq) <= me.next as i64 {
            if me.ts_recent != value {
                self.note_answer_stamps(direction, None);
            }
            self.halves[direction as usize].ts_recent = value;
        }
    }

    /// Whether a side of a connection joined midway never set ACK. A host would have dropped all its segments, but the
    /// handshake was not seen and nothing contradicts them.
    #[inline]
    pub(crate) fn never_acknowledges(&self, direction: Direction) -> bool {
        self.state == TcpState::Midstream && !self.halves[direction as usize].has(half::ACKED)
    }

    /// Why a host would not accept this payload; `None`: it would.
    #[inline]
    pub(super) fn doubt(&self, direction: Direction, segment: &Segment, ack: Ack) -> Option<AnomalyKind> {
        let me = &self.halves[direction as usize];
        let peer = &self.halves[direction.opposite() as usize];
        if self.state == TcpState::Reset {
            return Some(AnomalyKind::AfterReset);
        }
        if direction == Direction::ServerToClient && self.is_undecided() {
            return Some(AnomalyKind::ChangedIsn);
        }
        match ack {
            Ack::TooNew | Ack::TooOld => return Some(AnomalyKind::InvalidAck),
            Ack::Refused => return Some(AnomalyKind::UnexpectedSignature),
            Ack::Absent | Ack::Possible | Ack::Unseen => {}
        }
        // The key is unknown: the receiver, which knows it, shows by its acknowledgment whether a signature was right.
        let is_signed = segment.signed && me.has(half::SIGNED);
        if self.is_stale(direction, segment) && me.offset_of(segment.seq) + i64::from(segment.length) > me.next as i64 {
            return Some(AnomalyKind::OldTimestamp);
        }
        if peer.has(half::SHUNTED) {
            // Its acknowledgments and the end of its window are no longer seen.
            return None;
        }
        if me.has(half::HELD) || !peer.has(half::ACKED) {
            let distance = (me.offset_of(segment.seq) - me.next as i64).abs();
            if distance > WINDOW_MAX {
                return Some(AnomalyKind::OutOfWindow);
            }
            // A host drops what comes before an answer to its SYN (RFC 9293 section 3.10.7.3, "fifth").
            let is_unanswered = !me.has(half::SYN) && peer.flags & (half::SYN | half::ACKED) == half::SYN;
            let is_unseen = ack == Ack::Unseen && !me.has(half::HELD) || is_unanswered;
            return is_unseen.then_some(AnomalyKind::AckedUnseen);
        }
        let end = me.offset_of(segment.seq) + i64::from(segment.length);
        let edge = me.offset_of(peer.edge);
        if end > edge {
            let is_probe = segment.length <= 1 && peer.has(half::ZERO_WINDOW);
            return Some(if is_probe { AnomalyKind::ZeroWindowProbe } else { AnomalyKind::OutOfWindow });
        }
        match is_signed {
            true => Some(AnomalyKind::UnexpectedSignature),
            false => (ack == Ack::Unseen).then_some(AnomalyKind::AckedUnseen),
        }
    }
}

impl Connection<'_> {
    /// Processes the acknowledgment and the window of a segment.
    pub(crate) fn acknowledge(&mut self, direction: Direction, segment: &Segment) -> Ack {
        if !segment.has(tcp_flag::ACK) {
            return Ack::Absent;
        }
        let mut verdict = self.judge_ack(direction, segment);
        if verdict == Ack::TooNew && self.is_skip(direction, segment.ack) {
            verdict = Ack::Unseen;
        }
        if !matches!(verdict, Ack::Possible | Ack::Unseen) {
            return verdict;
        }
        self.reset_silence(direction, segment);
        self.flow.note_unseen(direction, segment.ack);
        // The host decides whether its FIN was acknowledged (`Flow::answers_syn`).
        let has_ended = self.flow.halves[direction.opposite() as usize].has(half::FIN);
        let is_lost_on_host = has_ended && self.flow.is_outside(direction, segment);
        self.flow.note_timestamp(direction, segment);
        let me = &mut self.flow.halves[direction as usize];
        let shift = if me.scale() == SCALE_UNKNOWN { 14 } else { me.scale() };
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << shift);
        if !me.has(half::ACKED) {
            (me.ack, me.edge) = (segment.ack, edge);
            me.flags |= half::ACKED;
        }
        if after(segment.ack, me.ack) && !is_lost_on_host {
            me.ack = segment.ack;
        }
        if after(edge, me.edge) {
            me.edge = edge;
        }
        me.flags = if segment.window == 0 { me.flags | half::ZERO_WINDOW } else { me.flags & !half::ZERO_WINDOW };
        verdict
    }

    /// Records the answer in an empty segment: a host that drops a segment sends one; its segments with payload may be
    /// older. `is_repeated`: it acknowledges nothing new, so it may be a challenge ACK.
    #[inline(always)]
    pub(super) fn note_empty_answer(slow_state: &mut SlowState, other: usize, is_repeated: bool, clock_ns: u64) {
        let is_answer = slow_state.unanswered[other].take().is_some();
        if is_repeated && (is_answer || slow_state.anomaly_kinds & CHALLENGED != 0) {
            slow_state.challenged_ns[other] = clock_ns;
        }
    }

    /// Resets what depends on the silence of a side that now sent a segment.
    fn reset_silence(&mut self, direction: Direction, segment: &Segment) {
        let (at, other) = (direction as usize, direction.opposite() as usize);
        if let Some(slow_state) = &mut self.flow.slow_state {
            slow_state.unheard[other] = 0;
            if segment.length == 0 {
                let is_repeated = self.flow.halves[at].has(half::ACKED) && segment.ack == self.flow.halves[at].ack;
                Self::note_empty_answer(slow_state, other, is_repeated, self.shared.now.clock_ns);
            }
            slow_state.skip[at].1 = 0;
        }
        self.note_sacks(direction, segment);
        self.flow.deny_doubted(direction.opposite(), segment.ack);
        self.flow.note_claim(direction, segment, self.shared.now.before_ns);
        // A side whose number is still the next expected sent nothing that was lost: an acknowledgment of more is
        // forged.
        let me = &self.flow.halves[at];
        if segment.length == 0
            && segment.flags & tcp_flag::FIN == 0
            && !me.has(half::QUEUED | half::FIN_SEEN | half::HELD)
            && segment.seq == me.next_seq()
        {
            if let Some(slow_state) = &mut self.flow.slow_state {
                slow_state.skip[other].1 = 0;
            }
            let peer = &mut self.flow.halves[other];
            if peer.has(half::ACKED) && after(peer.ack, segment.seq) {
                peer.ack = segment.seq;
            }
        }
    }

    /// Whether consecutive acknowledgments of unseen data continue each other: the capture lost what they acknowledge.
    /// A forged one stands alone among the genuine ones, or the other side's sequence number contradicts it.
    fn is_skip(&mut self, direction: Direction, ack: u32) -> bool {
        let slow_state = self.flow.slow_state();
        let (last, count) = &mut slow_state.skip[direction as usize];
        let goes_on = *count > 0 && ack.wrapping_sub(*last) < SKIP_STEP_MAX;
        *count = if goes_on { count.saturating_add(1) } else { 1 };
        *last = ack;
        let is_skip = *count >= SKIP_ACKS;
        if is_skip {
            self.note_anomaly_once(AnomalyKind::AckedUnseen);
        }
        is_skip
    }

    fn judge_ack(&mut self, direction: Direction, segment: &Segment) -> Ack {
        let me = &self.flow.halves[direction as usize];
        let peer = &self.flow.halves[direction.opposite() as usize];
        if !peer.has(half::KNOWN) || !me.has(half::ACKED) && !peer.has(half::SYN) {
            return Ack::Possible;
        }
        if peer.has(half::SHUNTED) {
            // The other side sends segments that are not captured.
            return Ack::Possible;
        }
        let offset = peer.offset_of(segment.ack);
        if !me.has(half::ACKED) {
            return match offset {
                _ if offset < 0 => Ack::TooOld,
                _ if offset > self.flow.sent(direction.opposite()) => Ack::TooNew,
                _ if offset > self.flow.seen(direction.opposite()) => Ack::Unseen,
                _ => Ack::Possible,
            };
        }
        if peer.packets() == 0 {
            let is_old = peer.unseen_offset(segment.ack) < -self.flow.old_ack_distance(direction, 0);
            return if is_old { Ack::TooOld } else { Ack::Possible };
        }
        // Acknowledgments of unseen data may be forged, and make no other old.
        let acked = peer.offset_of(me.ack).min(self.flow.seen(direction.opposite()));
        if offset < acked - self.flow.old_ack_distance(direction, acked) {
            return Ack::TooOld;
        }
        // Beyond what was seen: lost before the capture, unless it is beyond what this side's window ever allowed.
        if offset <= peer.next as i64 {
            return Ack::Possible;
        }
        let seen = self.flow.seen(direction.opposite());
        if offset <= seen {
            return Ack::Possible;
        }
        if offset > peer.offset_of(me.edge) + 1 {
            return Ack::TooNew;
        }
        // One more may be a FIN that was not captured.
        if offset > seen + 1 {
            self.note_anomaly_once(AnomalyKind::AckedUnseen);
        }
        Ack::Unseen
    }

    /// Processes payload (or a FIN) that is not simply the next.
    pub(crate) fn accept(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
        ack: Ack,
    ) -> Fate {
        if ack == Ack::Absent && self.flow.state != TcpState::SynSent {
            self.note_anomaly(AnomalyKind::NoAck);
            if !self.flow.never_acknowledges(direction) {
                return Fate::Ignored;
            }
        }
        if payload.is_unconfirmed && self.flow.is_outside_windows(direction, segment) {
            return Fate::BadChecksum;
        }
        let mut doubt = self.flow.doubt(direction, segment, ack);
        let may_be_believed = match doubt {
            Some(AnomalyKind::OutOfWindow | AnomalyKind::AckedUnseen | AnomalyKind::ChangedIsn) => true,
            Some(AnomalyKind::UnexpectedSignature) => payload.is_refused || ack != Ack::Refused,
            _ => false,
        };
        let is_silent = payload.is_unconfirmed || payload.is_refused;
        if may_be_believed
            && (!payload.is_unconfirmed || self.flow.engine_decides(direction))
            && self.receiver_is_silent(direction, segment, !is_silent)
        {
            if doubt == Some(AnomalyKind::ChangedIsn) {
                self.flow.accept_answer();
            }
            doubt = None;
        }
        if doubt.is_none() {
            doubt = self.doubt_checksum(direction, segment, &payload);
        }
        match doubt {
            // Noted before.
            Some(AnomalyKind::UnexpectedSignature) if payload.is_refused || ack != Ack::Refused => {
                self.note_unanswered(direction, segment, false);
            }
            None | Some(AnomalyKind::AfterReset | AnomalyKind::UnexpectedSignature) => {}
            Some(AnomalyKind::AckedUnseen) => {
                self.note_anomaly_once(AnomalyKind::AckedUnseen);
                self.note_unanswered(direction, segment, true);
            }
            // (An answer with another number was noted with the SYN-ACK.)
            Some(AnomalyKind::BadChecksum | AnomalyKind::ChangedIsn) => {
                self.note_unanswered(direction, segment, false);
            }
            Some(kind) => self.note_anomaly(kind),
        }
        let me = &self.flow.halves[direction as usize];
        let offset = me.offset_of(segment.seq);
        if doubt.is_some() && (offset - me.next as i64).abs() > WINDOW_MAX {
            return Fate::Ignored;
        }
        self.place(events, direction, segment, payload, doubt.is_some())
    }

    /// Whether the receiver's last acknowledgment no longer counts, because the receiver has been silent for long.
    ///
    /// `answers`: the receiver would have answered the segment. A segment dropped for its checksum is not answered, so
    /// such segments only decide what cannot wait any longer.
    fn receiver_is_silent(&mut self, direction: Direction, segment: &Segment, answers: bool) -> bool {
        let at = direction as usize;
        let (next, start) = (self.flow.halves[at].next, self.flow.halves[at].offset_of(segment.seq));
        let slow_state = self.flow.slow_state();
        if start > next.max(slow_state.queue[at].end()) as i64 {
            return false;
        }
        if slow_state.unheard[at] == 0 {
            slow_state.unheard_since_ns[at] = self.shared.now.clock_ns;
        }
        slow_state.unheard[at] = slow_state.unheard[at].saturating_add(1);
        let is_long = answers && self.shared.now.clock_ns.saturating_sub(slow_state.unheard_since_ns[at]) >= UNHEARD_NS;
        // Bytes that cannot wait any longer are decided now.
        let is_much = slow_state.queue[at].charged_bytes() >= self.shared.config.stream_buffer_bytes / 2;
        if slow_state.unheard[at] > UNHEARD_SEGMENTS && (is_long || is_much) {
            slow_state.unheard[at] = UNHEARD;
        }
        slow_state.unheard[at] == UNHEARD
    }

    /// Whether a segment is doubtful for its checksum. Segments with correct checksums behind a hole with doubtful
    /// bytes, which the receiver would have answered, show whether the receiver is captured.
    fn doubt_checksum(
        &mut self,
        direction: Direction,
        segment: &Segment,
        payload: &Payload<'_>,
    ) -> Option<AnomalyKind> {
        let at = direction as usize;
        let has_doubted = self.flow.slow_state.as_ref().is_some_and(|slow_state| !slow_state.doubted[at].is_empty());
        let is_ahead = self.flow.halves[at].offset_of(segment.seq) > self.flow.halves[at].next as i64;
        if payload.is_unconfirmed {
            // A present host drops segments with wrong checksums silently, and continues with what it accepted.
            if !self.flow.engine_decides(direction) {
                return Some(AnomalyKind::BadChecksum);
            }
            let is_unheard = self.receiver_is_silent(direction, segment, false);
            return (!is_unheard).then_some(AnomalyKind::BadChecksum);
        }
        if has_doubted && is_ahead {
            self.receiver_is_silent(direction, segment, true);
        }
        None
    }

    /// Notes bytes that the receiver has yet to answer: if the receiver sends nothing more, they are accepted at the
    /// end. `is_challenged`: a host that drops them sends a challenge ACK.
    fn note_unanswered(&mut self, direction: Direction, segment: &Segment, is_challenged: bool) {
        let at = direction as usize;
        let start = self.flow.halves[at].offset_of(segment.seq).max(0) as u64;
        let end = start + u64::from(segment.length);
        // A host sends at most two challenge ACKs a second, and drops silently in between.
        let challenged_ns = if is_challenged { self.flow.slow_state().challenged_ns[at] } else { 0 };
        let is_limited = challenged_ns != 0 && self.shared.now.clock_ns.saturating_sub(challenged_ns) < CHALLENGE_NS;
        if end < self.flow.halves[at].next || is_limited {
            return;
        }
        match &mut self.flow.slow_state().unanswered[at] {
            // Segments out of order belong together as well: a FIN before its data.
            Some((first, last)) if start <= *last && end >= *first => {
                (*first, *last) = (start.min(*first), end.max(*last));
            }
            Some(_) => {}
            none => *none = Some((start, end)),
        }
    }

    /// Whether the segment that should end the handshake has an older timestamp than the SYN, or echoes one that no
    /// SYN-ACK had (which Linux checks since 6.15): a host drops it (Linux: `tcp_check_req`), and keeps waiting.
    pub(super) fn ends_no_handshake(&mut self, direction: Direction, segment: &Segment) -> bool {
        const STAMPED: u16 = half::SYN | half::TIMESTAMP;
        let (me, peer) = (&self.flow.halves[direction as usize], &self.flow.halves[direction.opposite() as usize]);
        if self.flow.state != TcpState::SynReceived || me.flags & STAMPED != STAMPED || self.flow.has_no_timestamps() {
            return false;
        }
        let is_old =
            segment.timestamp.is_some_and(|value| me.ts_recent != 0 && me.ts_recent.wrapping_sub(value) as i32 > 0);
        // Where data on the SYN was accepted, the connection is open already.
        let is_open = peer.has(half::ACKED) && after(peer.ack, me.seq_of(self.flow.bias(direction)));
        let is_client = direction == Direction::ClientToServer && peer.flags & STAMPED == STAMPED;
        let echoes_nothing = is_client && !is_open && segment.echo != 0 && {
            let sent = self.flow.slow_state.as_ref().and_then(|slow_state| slow_state.answer_stamps);
            let (first, last) = sent.unwrap_or((peer.ts_recent, peer.ts_recent));
            segment.echo.wrapping_sub(first) > last.wrapping_sub(first)
        };
        if is_old || echoes_nothing {
            self.note_anomaly(AnomalyKind::OldTimestamp);
        }
        is_old || echoes_nothing
    }

    /// Handles an urgent pointer of a segment without payload.
    #[cold]
    pub(super) fn point_at_urgent(&mut self, direction: Direction, segment: &Segment, ack: Ack) {
        if !self.shared.config.urgent_inline {
            let is_doubtful = self.flow.doubt(direction, segment, ack).is_some();
            self.note_urgent(direction, segment, is_doubtful);
        }
    }
}
