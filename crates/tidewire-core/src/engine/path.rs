//! How each packet travelled, compared with its direction's first packet.

use crate::{
    AnomalyKind, Direction,
    connection::Connection,
    flow::Flow,
    packet::Packet,
    path::{Path, REASONS},
    wire::Doubts,
};

/// Consecutive packets by which another link address or encapsulation replaces the known one: a router that took over
/// for another, or two paths that both lead to the receiver.
const OTHER_PATH_PACKETS: u8 = 16;

impl Flow {
    /// Updates what is known after a packet that travelled another way.
    #[inline]
    fn other_path(&mut self, at: usize, path: Path, known: Path) -> Path {
        let (other, count) = &mut self.slow_state().other_path[at];
        *count = if *other == path.name() { count.saturating_add(1) } else { 1 };
        *other = path.name();
        if *count < OTHER_PATH_PACKETS {
            return known;
        }
        *count = 0;
        path
    }
}

impl Connection<'_> {
    /// Notes the path of a direction's packet. Returns whether the receiver's acknowledgment decides about it.
    #[inline(always)]
    pub(crate) fn note_path(&mut self, direction: Direction, packet: &Packet<'_>) -> bool {
        let known = self.flow.halves[direction as usize].path();
        if packet.path == known && known.0 & REASONS == 0 {
            return false;
        }
        self.note_other_path(direction, packet)
    }

    #[cold]
    fn note_other_path(&mut self, direction: Direction, packet: &Packet<'_>) -> bool {
        let at = direction as usize;
        let (path, known) = (packet.path, self.flow.halves[at].path());
        let (is_other, is_doubtful) = if known == Path::NONE { (false, false) } else { path.differs(known) };
        let kinds = [
            (Doubts::HEADER | Doubts::UNCONFIGURED, AnomalyKind::DoubtfulHeader),
            (Doubts::LINK, AnomalyKind::LinkMismatch),
            (Doubts::OUTER_CHECKSUM, AnomalyKind::OuterChecksum),
        ];
        for (_, kind) in kinds.into_iter().filter(|(doubts, _)| path.0 & u32::from(doubts.reasons()) != 0) {
            self.note_anomaly_once(kind);
        }
        // Different VLAN or tunnel ids have an anomaly of their own kind.
        if is_other && !self.flow.key.has_other_ids() {
            self.note_anomaly_once(AnomalyKind::LinkMismatch);
        }
        let known = if known == Path::NONE { path } else { known.and(path) };
        let known = if is_other { self.flow.other_path(at, path, known) } else { known };
        self.flow.halves[at].set_path(known);
        // A receiver that is not captured sends no visible acknowledgments.
        let is_alone = self.flow.halves[at ^ 1].packets() == 0;
        is_doubtful || is_other && !is_alone
    }
}
