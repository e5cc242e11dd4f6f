//! Urgent pointers: which byte a host removes from the stream (RFC 6093, Linux: `tcp_check_urg`).

use super::{Segment, tcp_flag};
use crate::{AnomalyKind, Direction, connection::Connection, flow::half};

impl Connection<'_> {
    /// Records the byte that a segment's urgent pointer names. With `urgent_inline` there is nothing to record.
    ///
    /// A host has one urgent pointer. It points at its byte (not behind it, as RFC 9293 says), moves only forwards, and
    /// 0 is the segment's first byte; bytes that were received already are not urgent any more. A second one makes the
    /// first an ordinary byte, unless the application has read beyond it: because that is unknown, a second `urgent` is
    /// noted.
    #[cold]
    pub(super) fn note_urgent(&mut self, direction: Direction, segment: &Segment, is_doubtful: bool) {
        let at = direction as usize;
        if self.shared.config.urgent_inline {
            if segment.urgent != 0 && segment.length != 0 {
                self.note_anomaly_once(AnomalyKind::Urgent);
            }
            return;
        }
        self.note_anomaly_once(AnomalyKind::Urgent);
        let me = self.flow.halves[at];
        let byte = me.offset_of(segment.seq) + i64::from(segment.urgent.max(1)) - 1;
        let (next, last) = (me.next, self.flow.slow_state().urgent[at]);
        // A host drops a segment that ends before the last number that it acknowledged, which may lie behind what it
        // has received.
        let end = me.offset_of(segment.seq) + i64::from(segment.length) + i64::from(segment.has(tcp_flag::FIN));
        let peer = &self.flow.halves[direction.opposite() as usize];
        if peer.has(half::ACKED) && end < me.offset_of(peer.ack) {
            return;
        }
        if is_doubtful || me.has(half::HELD) || end < next as i64 {
            // It is not known whether the host reads it, nor which byte the first one is.
            self.note_anomaly(AnomalyKind::Urgent);
        }
        if is_doubtful || byte < next as i64 {
            return;
        }
        let byte = byte as u64;
        if last != u64::MAX && last < next {
            self.note_anomaly(AnomalyKind::Urgent);
        } else if last != u64::MAX && byte <= last {
            return;
        }
        self.flow.slow_state().urgent[at] = byte;
    }
}
