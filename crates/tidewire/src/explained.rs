//! Anomalies that the point of the capture explains: they say something of where packets were captured, and nothing of their stream.

use tidewire_core::{Anomaly, AnomalyKind, DirectionStats, Gap, GapCause};

/// Streams that are joined within so long behind a capture's first packet were open before it: most that are open send something in
/// five minutes, and timeouts of firewalls for those that do not are not shorter.
const JOINED_NS: u64 = 300_000_000_000;

/// Why the point of the capture shows an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Explanation {
    /// The sender's card fills in checksums behind the capture, or the receiver's card merged packets: nothing was left out.
    ChecksumOffload,
    /// The stream was open when the capture began.
    BeforeTheCapture,
    /// Only one direction is captured.
    OneDirection,
    /// Packets are captured on several paths, as where a mirror has several ports.
    SeveralPaths,
}

impl Explanation {
    /// Its name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ChecksumOffload => "checksum_offload",
            Self::BeforeTheCapture => "before_the_capture",
            Self::OneDirection => "one_direction",
            Self::SeveralPaths => "several_paths",
        }
    }
}

/// The facts of a stream that ended which tell whether its anomalies are explained.
#[derive(Clone, Copy, Debug)]
pub struct StreamEvidence<'a> {
    /// Time of the first packet, nanoseconds since the epoch.
    pub start_ns: u64,
    /// Time of the capture's first packet, as far as it is known.
    pub capture_start_ns: u64,
    /// Figures of both directions.
    pub stats: &'a [DirectionStats; 2],
    /// Gaps.
    pub gaps: &'a [Gap],
    /// Whether bytes arrived in two versions.
    pub has_conflicts: bool,
    /// All anomalies.
    pub anomalies: &'a [Anomaly],
}

impl StreamEvidence<'_> {
    /// Why anomalies of a kind are none of this stream; `None`: they say something of it. Whether paths differ for many streams
    /// ([`Explanation::SeveralPaths`]) is for the caller to see: one stream alone may be diverted.
    #[must_use]
    pub fn explains(&self, kind: AnomalyKind) -> Option<Explanation> {
        let is_explained = match kind {
            AnomalyKind::BadChecksum => self.is_offload(),
            AnomalyKind::Midstream => self.was_open(),
            AnomalyKind::AckedUnseen => self.stats.iter().any(|side| side.packets == 0),
            AnomalyKind::LinkMismatch | AnomalyKind::EncapsulationChange => true,
            _ => false,
        };
        let explanation = match kind {
            AnomalyKind::BadChecksum => Explanation::ChecksumOffload,
            AnomalyKind::Midstream => Explanation::BeforeTheCapture,
            AnomalyKind::AckedUnseen => Explanation::OneDirection,
            _ => Explanation::SeveralPaths,
        };
        is_explained.then_some(explanation)
    }

    /// Whether all that had a wrong checksum was believed. A packet that was left out has an anomaly for itself; all that were believed
    /// have one.
    fn is_offload(&self) -> bool {
        let is_bad = |anomaly: &&Anomaly| anomaly.kind == AnomalyKind::BadChecksum;
        !self.has_conflicts
            && self.anomalies.iter().filter(is_bad).count() == 1
            && self.stats.iter().all(|side| side.ignored_bytes == 0)
            && self.gaps.iter().all(|gap| gap.cause != GapCause::BadChecksum)
    }

    /// Whether the stream was in use when the capture began: a packet that nobody answered, or that was answered by a reset, is none of an
    /// open connection.
    fn was_open(&self) -> bool {
        const RST: u16 = 4;
        let is_used = self.stats.iter().any(|side| side.reassembled_bytes > 0)
            || self.stats.iter().all(|side| side.packets > 0 && side.tcp_flags & RST == 0);
        is_used && self.start_ns.saturating_sub(self.capture_start_ns) <= JOINED_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(packets: u64, reassembled_bytes: u64, tcp_flags: u16) -> DirectionStats {
        let mut stats = DirectionStats::default();
        (stats.packets, stats.reassembled_bytes, stats.tcp_flags) = (packets, reassembled_bytes, tcp_flags);
        stats
    }

    fn evidence<'a>(stats: &'a [DirectionStats; 2], anomalies: &'a [Anomaly]) -> StreamEvidence<'a> {
        StreamEvidence { start_ns: 7, capture_start_ns: 5, stats, gaps: &[], has_conflicts: false, anomalies }
    }

    #[test]
    fn wrong_checksums_that_were_believed_are_offload() {
        let both = [stats(3, 10, 0), stats(3, 10, 0)];
        let one = [Anomaly::new(AnomalyKind::BadChecksum, 3)];
        let offload = Some(Explanation::ChecksumOffload);
        let of = |evidence: &StreamEvidence<'_>| evidence.explains(AnomalyKind::BadChecksum);
        assert_eq!(of(&evidence(&both, &one)), offload);
        // Left out: packets, bytes of a gap, bytes that the receiver did not take; and two versions of bytes.
        assert_eq!(of(&evidence(&both, &[one[0]; 2])), None);
        let gaps = [Gap::new(tidewire_core::Direction::ClientToServer, 0, 5, GapCause::BadChecksum)];
        assert_eq!(of(&StreamEvidence { gaps: &gaps, ..evidence(&both, &one) }), None);
        assert_eq!(of(&StreamEvidence { has_conflicts: true, ..evidence(&both, &one) }), None);
        let mut ignored = both;
        ignored[0].ignored_bytes = 1;
        assert_eq!(of(&evidence(&ignored, &one)), None);
    }

    #[test]
    fn connections_that_were_open_before_are_no_scans() {
        let of = |stats: [DirectionStats; 2], start_ns: u64| {
            StreamEvidence { start_ns, ..evidence(&stats, &[]) }.explains(AnomalyKind::Midstream)
        };
        let open = Some(Explanation::BeforeTheCapture);
        assert_eq!(of([stats(1, 0, 16), stats(1, 0, 16)], 6), open);
        assert_eq!(of([stats(1, 8, 24), stats(0, 0, 0)], 6), open);
        // Long behind the beginning; a packet alone; one that a reset answers.
        assert_eq!(of([stats(1, 8, 24), stats(1, 0, 16)], 6 + JOINED_NS), None);
        assert_eq!(of([stats(1, 0, 16), stats(0, 0, 0)], 6), None);
        assert_eq!(of([stats(1, 0, 16), stats(1, 0, 4)], 6), None);
    }

    #[test]
    fn only_what_the_capture_shows_is_explained() {
        let (both, one) = ([stats(1, 0, 0), stats(1, 0, 0)], [stats(1, 0, 0), stats(0, 0, 0)]);
        let of = |stats, kind| evidence(stats, &[]).explains(kind);
        assert_eq!(of(&one, AnomalyKind::AckedUnseen), Some(Explanation::OneDirection));
        assert_eq!(of(&both, AnomalyKind::AckedUnseen), None);
        assert_eq!(of(&both, AnomalyKind::LinkMismatch), Some(Explanation::SeveralPaths));
        assert_eq!(of(&both, AnomalyKind::BlindReset), None);
    }
}
