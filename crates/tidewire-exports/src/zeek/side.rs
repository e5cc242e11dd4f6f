//! One side of a TCP connection, as Zeek's analyzer follows it.

use tidewire_types::tcp_flag;

use crate::zeek::segment::Segment;

/// Where one side's connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// It sent nothing.
    #[default]
    Inactive,
    SynSent,
    SynAckSent,
    /// It was joined after its beginning.
    Partial,
    Established,
    Closed,
    Reset,
}

impl State {
    pub(super) fn is_idle(self) -> bool {
        matches!(self, Self::Inactive | Self::Partial)
    }
}

/// One side of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub(super) state: State,
    pub(super) before: State,
    /// Letters that were written: a bit each.
    pub(super) seen: u8,
    /// Whether it sent a FIN or a reset that counts.
    pub(super) is_closed: bool,
    /// Whether it sent a FIN with a place.
    pub(super) has_fin: bool,
    /// The sequence number of its SYN, or one less than that of its first byte.
    pub(super) start: u32,
    /// How far it sent, and how far that was acknowledged, from `start`.
    pub(super) sent: i64,
    pub(super) acked: i64,
}

/// Fields that few packets of a side change: apart, so that most packets touch less memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    /// Where its last SYN, FIN and RST stood.
    pub(super) last: [i64; 3],
    /// Counts of what is written at 1, 10, 100 times.
    pub(super) often: [u32; 4],
    /// Packets that were left out for their checksums, and their bytes of payload and from the IP header on.
    pub(super) left_out: [u64; 3],
}

impl Side {
    pub(super) fn set(&mut self, state: State) {
        self.before = self.state;
        self.state = state;
    }

    /// The place of a sequence number: the one nearest to what was sent last.
    pub(super) fn place(&self, seq: u32, near: i64) -> i64 {
        let known = self.start.wrapping_add(near as u32);
        near + i64::from(seq.wrapping_sub(known) as i32)
    }

    pub(super) fn begin(&mut self, start: u32, sent: i64) {
        (self.start, self.sent, self.acked) = (start, sent, 0);
    }
}

pub(super) fn close_by_flags(own: &mut Side, segment: &Segment) {
    for (flag, state) in [(tcp_flag::FIN, State::Closed), (tcp_flag::RST, State::Reset)] {
        if segment.flags & flag != 0 {
            own.set(state);
            own.is_closed = true;
        }
    }
}

pub(super) fn leave_inactive(own: &mut Side, peer: &mut Side, is_origin: bool, segment: &Segment) {
    let has = |flag: u8| segment.flags & flag != 0;
    if has(tcp_flag::SYN) {
        if is_origin {
            own.set(if has(tcp_flag::ACK) { State::SynAckSent } else { State::SynSent });
        } else {
            if peer.state == State::SynSent {
                peer.set(State::Established);
            }
            own.set(State::Established);
        }
    }
    close_by_flags(own, segment);
    if own.state != State::Inactive {
        return;
    }
    if !is_origin && segment.payload_bytes == 0 && peer.state == State::SynSent {
        // Some hosts acknowledge a SYN before they answer it.
    } else if has(tcp_flag::ACK) && peer.state == State::Established {
        // The SYN was missed, its answer was not.
        own.set(State::Established);
    } else {
        own.set(State::Partial);
    }
}

pub(super) fn leave_established(own: &mut Side, peer: &mut Side, segment: &Segment) {
    let has = |flag: u8| segment.flags & flag != 0;
    if has(tcp_flag::SYN) && own.state == State::Partial && peer.state == State::Inactive && !has(tcp_flag::ACK) {
        own.set(State::SynSent);
    }
    if has(tcp_flag::FIN) && !has(tcp_flag::RST) {
        own.set(State::Closed);
        own.is_closed = true;
        if peer.state == State::Reset && peer.before == State::Closed {
            // A FIN and then a reset, which this FIN makes a normal end.
            peer.set(State::Closed);
        }
    }
    if has(tcp_flag::RST) {
        own.set(State::Reset);
        own.is_closed = true;
    }
}
