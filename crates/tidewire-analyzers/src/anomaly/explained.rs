//! Anomalies that the point of the capture explains, counted over all workers: one event of each kind for the capture.
//!
//! The event has the number of streams, and comes at the end; while a capture lasts, a minute after the first of them, then each
//! hour. So it is the same for any number of workers.

use std::sync::{Mutex, PoisonError};

use tidewire::{AnomalyKind, Explanation};
use tidewire_events::{Event, Severity, Value};

use crate::{describe, emit::Outlet};

/// How long streams are counted before the first event of a capture that lasts, nanoseconds: many say so at once.
const FIRST_NS: u64 = 60_000_000_000;

/// How long until the next ones: an hour.
const PERIOD_NS: u64 = 3_600_000_000_000;

/// Streams on several paths that have events of their own. Of more, the capture is what they have in common.
const SEVERAL_PATHS_MAX: u64 = 16;

/// Counts of all workers.
#[derive(Debug)]
pub(crate) struct Explained {
    outlet: Outlet,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// An entry for each kind: few.
    kinds: Vec<Count>,
    /// Streams on several paths so far, and the events of those that may be few: at most two for each.
    several_paths: u64,
    held: Vec<Event>,
    /// When events are due, nanoseconds since the epoch; `None`: a minute after the next look.
    due_ns: Option<u64>,
}

/// Streams with a kind of anomaly.
#[derive(Debug)]
struct Count {
    kind: AnomalyKind,
    explanation: Explanation,
    streams: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Explained {
    pub(crate) fn new(outlet: Outlet) -> Self {
        Self { outlet, counts: Mutex::default() }
    }

    /// Counts a stream. `times_ns`: of its first and last packet.
    pub(super) fn note(&self, kind: AnomalyKind, explanation: Explanation, times_ns: (u64, u64)) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).add(kind, explanation, times_ns);
    }

    /// Counts a stream on several paths. `events`: its own, if only few streams are.
    pub(super) fn note_path(&self, kind: AnomalyKind, times_ns: (u64, u64), events: Vec<Event>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(kind, Explanation::SeveralPaths, times_ns);
        counts.several_paths += 1;
        match counts.several_paths <= SEVERAL_PATHS_MAX {
            true => counts.held.extend(events),
            false => counts.held.clear(),
        }
    }

    /// Reports what is due in a capture that lasts.
    pub(crate) fn look(&self, now_ns: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.kinds.is_empty() {
            return;
        }
        let due_ns = *counts.due_ns.get_or_insert(now_ns.saturating_add(FIRST_NS));
        if now_ns < due_ns {
            return;
        }
        counts.due_ns = Some(now_ns.saturating_add(PERIOD_NS));
        let events = counts.take();
        drop(counts);
        self.emit(events);
    }

    /// Reports what was counted: the input has ended.
    pub(crate) fn finish(&self) {
        let events = self.counts.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.emit(events);
    }

    fn emit(&self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.outlet.emit(event));
    }
}

impl Counts {
    fn add(&mut self, kind: AnomalyKind, explanation: Explanation, (first_ns, last_ns): (u64, u64)) {
        match self.kinds.iter_mut().find(|one| one.kind == kind) {
            Some(one) => {
                one.streams += 1;
                (one.first_ns, one.last_ns) = (one.first_ns.min(first_ns), one.last_ns.max(last_ns));
            }
            None => self.kinds.push(Count { kind, explanation, streams: 1, first_ns, last_ns }),
        }
    }

    /// The events of what was counted, in an order that no worker decides.
    fn take(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.held);
        let are_few = self.several_paths <= SEVERAL_PATHS_MAX;
        let is_counted = |one: &Count| one.explanation != Explanation::SeveralPaths || !are_few;
        events.extend(self.kinds.drain(..).filter(is_counted).map(|one| one.event()));
        events.sort_by(|a, b| (a.stream, &a.kind, a.time_ns).cmp(&(b.stream, &b.kind, b.time_ns)));
        events
    }
}

impl Count {
    /// All of them are what ordinary captures show.
    fn event(&self) -> Event {
        let event = Event {
            time_ns: self.last_ns,
            kind: describe::anomaly(self.kind.name()),
            severity: Severity::Info,
            ..Event::default()
        };
        event
            .with("first", Value::Time(self.first_ns))
            .with("reason", Value::Text(self.explanation.name().to_owned()))
            .with("streams", Value::U64(self.streams))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::emit::Emit;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Event>>);

    impl Emit for Kept {
        fn try_emit(&self, event: &Event) -> bool {
            self.0.lock().unwrap().push(event.clone());
            true
        }
    }

    fn kept_after(streams: u64, run: impl Fn(&Explained)) -> Vec<(Option<u64>, usize)> {
        let kept = Arc::new(Kept::default());
        let explained = Explained::new(Outlet::new("anomaly", Arc::clone(&kept) as Arc<dyn Emit>));
        // Workers end streams in any order.
        for stream in (1..=streams).rev() {
            let event = Event { stream: Some(stream), ..Event::default() };
            explained.note_path(AnomalyKind::LinkMismatch, (stream, stream + 1), vec![event]);
        }
        run(&explained);
        let events = kept.0.lock().unwrap();
        events.iter().map(|event| (event.stream, event.fields.len())).collect()
    }

    #[test]
    fn few_streams_on_several_paths_have_their_own_events() {
        assert_eq!(kept_after(3, Explained::finish), [(Some(1), 0), (Some(2), 0), (Some(3), 0)]);
        assert_eq!(kept_after(17, Explained::finish), [(None, 3)]);
    }

    #[test]
    fn a_capture_that_lasts_reports_after_a_minute_then_each_hour() {
        let at = |seconds: u64| 1_000_000_000_000 + seconds * 1_000_000_000;
        let run = |explained: &Explained| {
            explained.look(at(0));
            explained.look(at(59));
            assert_eq!(explained.counts.lock().unwrap().kinds.len(), 1);
            explained.look(at(60));
            assert_eq!(explained.counts.lock().unwrap().kinds.len(), 0);
            explained.note(AnomalyKind::BadChecksum, Explanation::ChecksumOffload, (1, 2));
            explained.look(at(3659));
            assert_eq!(explained.counts.lock().unwrap().kinds.len(), 1);
            explained.look(at(3660));
        };
        assert_eq!(kept_after(17, run), [(None, 3), (None, 3)]);
    }
}
