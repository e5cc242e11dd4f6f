//! Anomalies that the point of the capture explains: they say something of where packets were captured, and nothing of their stream.

use tidewire_core::{Anomaly, AnomalyKind, DirectionStats, Gap, GapCause};

/// Why the point of the capture shows an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Explanation {
    /// The sender's card fills in checksums behind the capture, or the receiver's card merged packets: nothing was left out.
    ChecksumOffload,
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
            Self::OneDirection => "one_direction",
            Self::SeveralPaths => "several_paths",
        }
    }
}

/// The facts of a stream that ended which decide whether its anomalies are explained.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StreamEvidence<'a> {
    /// Figures of both directions.
    pub stats: &'a [DirectionStats; 2],
    /// Gaps.
    pub gaps: &'a [Gap],
    /// Whether bytes arrived in two versions.
    pub has_conflicts: bool,
    /// All anomalies.
    pub anomalies: &'a [Anomaly],
}

impl<'a> StreamEvidence<'a> {
    /// The facts of a stream without gaps, conflicts and anomalies.
    #[must_use]
    pub const fn new(stats: &'a [DirectionStats; 2]) -> Self {
        Self { stats, gaps: &[], has_conflicts: false, anomalies: &[] }
    }
}

impl StreamEvidence<'_> {
    /// Why anomalies of a kind do not count for this stream; `None`: they do. Whether paths differ for many streams
    /// ([`Explanation::SeveralPaths`]) is for the caller to see: one stream alone may be diverted.
    #[must_use]
    pub fn explains(&self, kind: AnomalyKind) -> Option<Explanation> {
        let is_explained = match kind {
            AnomalyKind::BadChecksum => self.is_offload(),
            AnomalyKind::AckedUnseen => self.stats.iter().any(|side| side.packets == 0),
            AnomalyKind::LinkMismatch | AnomalyKind::EncapsulationChange => true,
            _ => false,
        };
        let explanation = match kind {
            AnomalyKind::BadChecksum => Explanation::ChecksumOffload,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(packets: u64) -> DirectionStats {
        let mut stats = DirectionStats::default();
        stats.packets = packets;
        stats
    }

    fn evidence<'a>(stats: &'a [DirectionStats; 2], anomalies: &'a [Anomaly]) -> StreamEvidence<'a> {
        StreamEvidence { stats, gaps: &[], has_conflicts: false, anomalies }
    }

    #[test]
    fn wrong_checksums_that_were_believed_are_offload() {
        let both = [stats(3), stats(3)];
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
    fn only_what_the_capture_shows_is_explained() {
        let (both, one) = ([stats(1), stats(1)], [stats(1), stats(0)]);
        let of = |stats, kind| evidence(stats, &[]).explains(kind);
        assert_eq!(of(&one, AnomalyKind::AckedUnseen), Some(Explanation::OneDirection));
        assert_eq!(of(&both, AnomalyKind::AckedUnseen), None);
        assert_eq!(of(&both, AnomalyKind::LinkMismatch), Some(Explanation::SeveralPaths));
        assert_eq!(of(&both, AnomalyKind::BlindReset), None);
    }
}
