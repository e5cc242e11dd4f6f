//! Anomalies that the point of the capture explains, counted over streams: formats have one record for all of them.

use tidewire::{Anomaly, AnomalyKind, Explanation, StreamEvidence, Timestamp};

use crate::model::FlowRecord;

/// Streams on several paths that have records of their own. Of more, the capture is what they have in common.
const SEVERAL_PATHS_MAX: u64 = 16;

/// Anomalies of a stream that are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Those that the capture does not explain.
    pub unexplained: Vec<Anomaly>,
    /// Those of several paths: records of their own if [few](Explainer::are_few) streams have such, which is known at the end.
    pub of_paths: Vec<Anomaly>,
}

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
    /// When the first of them began.
    pub first: Timestamp,
    /// When the last of them ended.
    pub last: Timestamp,
}

/// Counts streams by what their anomalies are explained with: an entry for each kind and IP protocol, so their number is bounded.
#[derive(Debug, Default)]
pub struct Explainer {
    counts: Vec<Explained>,
    several_paths: u64,
}

impl Explainer {
    /// Counts a stream, and returns which of its anomalies are to be written; `None`: all of them.
    pub fn remaining(&mut self, flow: &FlowRecord<'_>) -> Option<Remaining> {
        let mut evidence = StreamEvidence::new(&flow.stats);
        (evidence.gaps, evidence.anomalies) = (flow.gaps, flow.anomalies);
        evidence.has_conflicts = flow.conflicts.iter().any(|list| !list.is_empty());
        let mut kinds: Vec<(AnomalyKind, Option<Explanation>)> = Vec::new();
        let mut remaining = Remaining::default();
        for anomaly in flow.anomalies {
            let known = kinds.iter().find(|(kind, _)| *kind == anomaly.kind).map(|(_, explanation)| *explanation);
            let explanation = known.unwrap_or_else(|| {
                let explanation = evidence.explains(anomaly.kind);
                kinds.push((anomaly.kind, explanation));
                explanation
            });
            match explanation {
                None => remaining.unexplained.push(*anomaly),
                Some(Explanation::SeveralPaths) => remaining.of_paths.push(*anomaly),
                Some(_) => {}
            }
        }
        self.several_paths += u64::from(!remaining.of_paths.is_empty());
        let explained = kinds.into_iter().filter_map(|(kind, explanation)| Some((kind, explanation?)));
        let mut is_any = false;
        for (kind, explanation) in explained {
            is_any = true;
            self.count(flow, kind, explanation);
        }
        is_any.then_some(remaining)
    }

    /// Whether streams on several paths were so few that each has records of its own. It does not depend on their order.
    #[must_use]
    pub fn are_few(&self) -> bool {
        self.several_paths <= SEVERAL_PATHS_MAX
    }

    /// Takes what was counted since the last time: what has one record for all streams.
    pub fn take(&mut self) -> Vec<Explained> {
        let mut all = std::mem::take(&mut self.counts);
        if self.are_few() {
            all.retain(|one| one.explanation != Explanation::SeveralPaths);
        }
        all.sort_by_key(|one| (one.kind as u8, one.proto));
        all
    }

    fn count(&mut self, flow: &FlowRecord<'_>, kind: AnomalyKind, explanation: Explanation) {
        let (proto, first, last) = (flow.key.proto, flow.start, flow.last);
        match self.counts.iter_mut().find(|one| (one.kind, one.proto) == (kind, proto)) {
            Some(one) => {
                one.streams += 1;
                (one.first, one.last) = (one.first.min(first), one.last.max(last));
            }
            None => self.counts.push(Explained { kind, proto, explanation, streams: 1, first, last }),
        }
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
        for (streams, are_few) in [(16, true), (17, false)] {
            let mut explainer = Explainer::default();
            for stream in 0..streams {
                let mut flow = sample.flow(key(if stream == 0 { 17 } else { 6 }));
                flow.gaps = &[];
                flow.conflicts = [&[], &[]];
                flow.stats.iter_mut().for_each(|side| side.ignored_bytes = 0);
                let remaining = explainer.remaining(&flow).unwrap();
                let kinds = |list: &[Anomaly]| list.iter().map(|anomaly| anomaly.kind).collect::<Vec<_>>();
                assert_eq!(kinds(&remaining.unexplained), [AnomalyKind::BlindReset]);
                assert_eq!(kinds(&remaining.of_paths), [AnomalyKind::LinkMismatch]);
            }
            assert_eq!(explainer.are_few(), are_few);
            let counts: Vec<_> = explainer.take().iter().map(|one| (one.kind, one.proto, one.streams)).collect();
            let mut expected = vec![(AnomalyKind::BadChecksum, 6, streams - 1), (AnomalyKind::BadChecksum, 17, 1)];
            if !are_few {
                expected.extend([(AnomalyKind::LinkMismatch, 6, streams - 1), (AnomalyKind::LinkMismatch, 17, 1)]);
            }
            assert_eq!(counts, expected);
            assert_eq!(explainer.take(), []);
        }
    }

    #[test]
    fn nothing_is_taken_from_a_stream_without_such() {
        let sample = Sample::new("x");
        let mut flow = sample.flow(key(6));
        let list = [Anomaly::new(AnomalyKind::BlindReset, 3)];
        flow.anomalies = &list;
        assert_eq!(Explainer::default().remaining(&flow), None);
    }
}
