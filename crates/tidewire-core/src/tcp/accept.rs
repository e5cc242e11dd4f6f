//! Which payload a receiving host would take: acknowledgments, window, timestamps (RFC 9293 section 3.10.7.4, RFC 5961
//! section 5, RFC 7323 section 5).

use super::{Payload, Segment, flag, segment::after};
use crate::{
    AnomalyKind, Direction, Fate, Handler, TcpState,
    engine::core::Core,
    flow::{Flow, SCALE_UNKNOWN, half},
};

/// What a segment's acknowledgment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ack {
    /// The ACK flag is not set.
    Absent,
    /// Possible, as far as we know.
    Possible,
    /// It acknowledges what the other side was never allowed to send.
    TooNew,
    /// It is older than any that could still be under way.
    TooOld,
}

/// So many acknowledgments in a row, each at most `SKIP_STEP_MAX` beyond the last, are believed.
const SKIP_ACKS: u32 = 3;
/// See `SKIP_ACKS`: more than what arrives between two acknowledgments.
const SKIP_STEP_MAX: u32 = 1 << 20;

/// After so many segments that go on without a gap beyond a window that nobody moves, while the receiver is not heard at
/// all, its side was not captured: one that was there would have answered the first (RFC 9293 section 3.10.7.4).
pub(crate) const UNHEARD_SEGMENTS: u32 = 32;

/// Linux discards segments whose timestamp is older than the last by more than this (TCP_PAWS_WINDOW).
const PAWS_WINDOW: i32 = 1;

/// The largest distance that is still taken for a place in the window where the window is not known (RFC 7323: 2^30).
const WINDOW_MAX: i64 = 1 << 30;

impl<H: Handler> Core<H> {
    /// Takes in the acknowledgment and the window of a segment.
    pub(crate) fn acknowledge(&mut self, flow: &mut Flow, direction: Direction, segment: &Segment) -> Ack {
        if !segment.has(flag::ACK) {
            return Ack::Absent;
        }
        let mut verdict = self.judge_ack(flow, direction, segment);
        if verdict == Ack::TooNew && self.is_skip(flow, direction, segment.ack) {
            verdict = Ack::Possible;
        }
        if verdict != Ack::Possible {
            return verdict;
        }
        if let Some(extra) = &mut flow.extra {
            extra.unheard[direction.opposite() as usize] = 0;
            extra.skip[direction as usize].1 = 0;
        }
        let me = &mut flow.halves[direction as usize];
        let shift = if me.scale == SCALE_UNKNOWN { 14 } else { me.scale };
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << shift);
        if !me.has(half::ACKED) {
            (me.ack, me.edge) = (segment.ack, edge);
            me.flags |= half::ACKED;
        }
        if after(segment.ack, me.ack) {
            me.ack = segment.ack;
        }
        if after(edge, me.edge) {
            me.edge = edge;
        }
        me.flags = if segment.window == 0 { me.flags | half::ZERO_WINDOW } else { me.flags & !half::ZERO_WINDOW };
        verdict
    }

    /// Several acknowledgments that are too new and go on from each other: the capture lost what they acknowledge (N6).
    /// One that somebody made up stands alone among the true ones.
    fn is_skip(&mut self, flow: &mut Flow, direction: Direction, ack: u32) -> bool {
        let extra = flow.extra();
        let (last, count) = &mut extra.skip[direction as usize];
        let goes_on = *count > 0 && ack.wrapping_sub(*last) < SKIP_STEP_MAX;
        *count = if goes_on { count.saturating_add(1) } else { 1 };
        *last = ack;
        let is_skip = *count >= SKIP_ACKS;
        if is_skip {
            self.odd_once(flow, AnomalyKind::AckedUnseen);
        }
        is_skip
    }

    fn judge_ack(&mut self, flow: &mut Flow, direction: Direction, segment: &Segment) -> Ack {
        let me = &flow.halves[direction as usize];
        let peer = &flow.halves[direction.opposite() as usize];
        if !peer.has(half::KNOWN) || !me.has(half::ACKED) && !peer.has(half::SYN) {
            return Ack::Possible;
        }
        let offset = peer.offset_of(segment.ack);
        if !me.has(half::ACKED) {
            // The handshake's last segment acknowledges the SYN, and with it at most what came with that.
            let queued = flow.extra.as_ref().map_or(0, |extra| extra.queue[direction.opposite() as usize].end());
            let seen = peer.next.max(queued) as i64;
            // Whose own SYN was not captured is beyond its handshake: more may be lost than that.
            let sent = seen + if me.has(half::SYN) { 1 } else { i64::from(u16::MAX) };
            return match offset {
                _ if offset < 0 => Ack::TooOld,
                _ if offset > sent => Ack::TooNew,
                _ => Ack::Possible,
            };
        }
        let window = i64::from(me.edge.wrapping_sub(me.ack)).clamp(65_535, WINDOW_MAX);
        if offset < peer.offset_of(me.ack) - window {
            return Ack::TooOld;
        }
        // Beyond what was seen: lost before us, unless it is beyond what this side's window ever allowed.
        if offset > peer.next as i64 + 1 && offset > self.queue_end(flow, direction.opposite()) + 1 && peer.packets > 0
        {
            if offset > peer.offset_of(me.edge) + 1 {
                return Ack::TooNew;
            }
            self.odd_once(flow, AnomalyKind::AckedUnseen);
        }
        Ack::Possible
    }

    /// Internal offset after the last byte that waits.
    fn queue_end(&self, flow: &Flow, direction: Direction) -> i64 {
        let at = direction as usize;
        match &flow.extra {
            Some(extra) if flow.halves[at].has(half::QUEUED) => extra.queue[at].end() as i64,
            _ => 0,
        }
    }

    /// Takes in payload (or a FIN) that is not simply the next.
    pub(crate) fn accept(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
        ack: Ack,
    ) -> Fate {
        if ack == Ack::Absent && !matches!(flow.state, TcpState::SynSent | TcpState::SynReceived) {
            self.odd(flow, AnomalyKind::NoAck);
            if !Self::never_acknowledges(flow, direction) {
                return Fate::Ignored;
            }
        }
        let mut doubt = self.doubt(flow, direction, segment, ack);
        if doubt == Some(AnomalyKind::OutOfWindow) && self.receiver_is_unheard(flow, direction, segment) {
            doubt = None;
        }
        // That it came after the reset was noted before.
        if let Some(kind) = doubt
            && kind != AnomalyKind::AfterReset
        {
            self.odd(flow, kind);
        }
        let me = &mut flow.halves[direction as usize];
        let offset = me.offset_of(segment.seq);
        if doubt.is_some() && (offset - me.next as i64).abs() > WINDOW_MAX {
            return Fate::Ignored;
        }
        if let (None, Some(value)) = (doubt, segment.timestamp)
            && (offset <= me.next as i64 || !me.has(half::TIMESTAMP))
            && (!me.has(half::TIMESTAMP) || after(value, me.ts_recent))
        {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        self.place(flow, data, direction, segment, payload, doubt.is_some())
    }

    /// Whether the window says nothing, as it is long since its owner was heard.
    fn receiver_is_unheard(&self, flow: &mut Flow, direction: Direction, segment: &Segment) -> bool {
        let at = direction as usize;
        let (next, start) = (flow.halves[at].next, flow.halves[at].offset_of(segment.seq));
        let extra = flow.extra();
        if start > next.max(extra.queue[at].end()) as i64 {
            return false;
        }
        extra.unheard[at] = extra.unheard[at].saturating_add(1);
        extra.unheard[at] > UNHEARD_SEGMENTS
    }

    /// Midway, a side that never set ACK may be of a kind that does not: a host would have dropped all it said, but
    /// the connection was not seen from its beginning, and its word is all there is.
    pub(crate) fn never_acknowledges(flow: &Flow, direction: Direction) -> bool {
        flow.state == TcpState::Midstream && !flow.halves[direction as usize].has(half::ACKED)
    }

    /// Why a host would not take this payload, if it would not.
    fn doubt(&self, flow: &Flow, direction: Direction, segment: &Segment, ack: Ack) -> Option<AnomalyKind> {
        let me = &flow.halves[direction as usize];
        let peer = &flow.halves[direction.opposite() as usize];
        if flow.state == TcpState::Reset {
            return Some(AnomalyKind::AfterReset);
        }
        if matches!(ack, Ack::TooNew | Ack::TooOld) {
            return Some(AnomalyKind::InvalidAck);
        }
        if let Some(value) = segment.timestamp
            && me.has(half::TIMESTAMP)
            && (me.ts_recent.wrapping_sub(value) as i32) > PAWS_WINDOW
            && me.offset_of(segment.seq) + i64::from(segment.length) > me.next as i64
        {
            return Some(AnomalyKind::OldTimestamp);
        }
        if me.has(half::HELD) || !peer.has(half::ACKED) {
            let distance = (me.offset_of(segment.seq) - me.next as i64).abs();
            return (distance > WINDOW_MAX).then_some(AnomalyKind::OutOfWindow);
        }
        let end = me.offset_of(segment.seq) + i64::from(segment.length);
        let edge = me.offset_of(peer.edge);
        if end > edge {
            let is_probe = segment.length <= 1 && peer.has(half::ZERO_WINDOW);
            return Some(if is_probe { AnomalyKind::ZeroWindowProbe } else { AnomalyKind::OutOfWindow });
        }
        None
    }
}
