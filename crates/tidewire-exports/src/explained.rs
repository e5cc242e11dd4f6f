//! Anomalies that the point of the capture explains, counted over streams: formats have one record for all of them.

use tidewire::{Anomaly, AnomalyKind, Explanation, StreamEvidence};

use crate::model::FlowRecord;

/// Streams on several paths that have records of their own. Of more, the capture is what they have in common.
const SEVERAL_PATHS_MIN: u64 = 16;

/// Streams with an anomaly that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The anomaly.
    pub kind: AnomalyKind,
    /// The IP protocol.
    pub proto: u8,
    /// Why it is shown.
    pub explanation: Explanation,
    /// How many streams have it.
    pub streams: u64,
    /// When the first of them began, nanoseconds since the epoch.
    pub first_ns: u64,
    /// When the last of them ended.
    pub last_ns: u64,
}

/// Counts streams by what their anomalies are explained with: an entry for each kind and IP protocol, so their number is bounded.
#[derive(Debug, Default)]
pub struct Explainer {
    counts: Vec<Explained>,
    several_paths: u64,
}

impl Explainer {
    /// Counts a stream, and returns its anomalies that are not explained; `None`: all are as they were. `capture_start_ns`: the time of the
    /// first packet, as far as it is known.
    pub fn remaining(&mut self, flow: &FlowRecord<'_>, capture_start_ns: u64) -> Option<Vec<Anomaly>> {
        let evidence = StreamEvidence {
            start_ns: flow.start_ns,
            capture_start_ns,
            stats: &flow.stats,
            gaps: flow.gaps,
            has_conflicts: flow.conflicts.iter().any(|list| !list.is_empty()),
            anomalies: flow.anomalies,
        };
        let mut kinds: Vec<(AnomalyKind, bool)> = Vec::new();
        for anomaly in flow.anomalies {
            if !kinds.iter().any(|(kind, _)| *kind == anomaly.kind) {
                let explanation = evidence.explains(anomaly.kind);
                let is_explained = explanation.is_some_and(|explanation| self.count(flow, anomaly.kind, explanation));
                kinds.push((anomaly.kind, is_explained));
            }
        }
        let is_explained = |anomaly: &&Anomaly| kinds.contains(&(anomaly.kind, true));
        let is_any = kinds.iter().any(|(_, is_explained)| *is_explained);
        is_any.then(|| flow.anomalies.iter().filter(|anomaly| !is_explained(anomaly)).copied().collect())
    }

    /// Takes what was counted since the last time.
    pub fn take(&mut self) -> Vec<Explained> {
        std::mem::take(&mut self.counts)
    }

    /// `false`: it is not counted, as few streams have it.
    fn count(&mut self, flow: &FlowRecord<'_>, kind: AnomalyKind, explanation: Explanation) -> bool {
        if explanation == Explanation::SeveralPaths {
            self.several_paths += 1;
            if self.several_paths <= SEVERAL_PATHS_MIN {
                return false;
            }
        }
        let (proto, first_ns, last_ns) = (flow.key.proto, flow.start_ns, flow.end_ns);
        match self.counts.iter_mut().find(|one| (one.kind, one.proto) == (kind, proto)) {
            Some(one) => {
                one.streams += 1;
                (one.first_ns, one.last_ns) = (one.first_ns.min(first_ns), one.last_ns.max(last_ns));
            }
            None => self.counts.push(Explained { kind, proto, explanation, streams: 1, first_ns, last_ns }),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sample, key};

    #[test]
    fn explained_anomalies_are_counted_once_for_all_streams() {
        let mut sample = Sample::new("x");
        sample.anomalies = [AnomalyKind::BadChecksum, AnomalyKind::LinkMismatch, AnomalyKind::BlindReset]
            .into_iter()
            .map(|kind| Anomaly::new(kind, 3))
            .collect();
        let mut explainer = Explainer::default();
        let mut remaining = Vec::new();
        for stream in 0..20 {
            let mut flow = sample.flow(key(if stream == 0 { 17 } else { 6 }));
            flow.gaps = &[];
            flow.conflicts = [&[], &[]];
            flow.stats.iter_mut().for_each(|side| side.ignored_bytes = 0);
            remaining.push(explainer.remaining(&flow, 0).map_or(3, |left| left.len()));
        }
        // Of several paths the first ones say something of their streams.
        assert_eq!(remaining, [[2; 16].as_slice(), &[1; 4]].concat());
        let counts: Vec<_> = explainer.take().iter().map(|one| (one.kind, one.proto, one.streams)).collect();
        let expected =
            [(AnomalyKind::BadChecksum, 17, 1), (AnomalyKind::BadChecksum, 6, 19), (AnomalyKind::LinkMismatch, 6, 4)];
        assert_eq!(counts, expected);
        assert_eq!(explainer.take(), []);
    }

    #[test]
    fn nothing_is_taken_from_a_stream_without_such() {
        let sample = Sample::new("x");
        let mut flow = sample.flow(key(6));
        let list = [Anomaly::new(AnomalyKind::BlindReset, 3)];
        flow.anomalies = &list;
        assert_eq!(Explainer::default().remaining(&flow, 0), None);
    }
}
