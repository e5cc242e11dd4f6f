//! Reports of parts in the supervisor's terms: the same for all of them.

use serde::de::DeserializeOwned;
use tidewire_delivery::{DestinationStatus, SpoolReport, SpoolStatus};

use super::log::LineKind;
use crate::{
    events::report::{EventsReport, EventsStatus},
    report::{CaptureEvent, CaptureStatus, QueueStatus},
};

/// A report with figures of this kind.
pub enum Heard<S> {
    /// It does its work now; what there is to say about that.
    Ready(Vec<String>),
    /// Figures.
    Status(S),
    /// Something happened, in words; lines of a kind are limited.
    Line(LineKind, String),
    /// The recording is to be triggered.
    Trigger,
    /// It has done what it had to, and helps others to end until it is stopped again.
    Waits(S),
    /// It cannot read the store, which its writer can recover.
    Damaged(String),
    /// It was stopped or has nothing to do any more, and all is done.
    Finished(S),
    /// It could not begin or go on: why, and what to do about it.
    Failed(String, Option<String>),
    /// It was stopped, and could not do everything that it had to: what not, and why.
    Unfinished(S, String),
}

/// An operation that fails at this moment, and is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its object: the name of a destination, or nothing.
    pub of: String,
    /// Why.
    pub why: String,
    /// How much waits meanwhile.
    pub waiting: u64,
}

/// A line that a part reports.
pub trait Reports: DeserializeOwned {
    /// Its figures.
    type Status: Default;

    /// The report in these terms.
    fn heard(self) -> Heard<Self::Status>;

    /// Of its figures, those that add up over its processes.
    fn totals(status: &Self::Status) -> [u64; 2];

    /// Failing operations by these figures, and those before.
    fn troubles(before: &Self::Status, now: &Self::Status) -> Vec<Trouble>;

    /// The lines for a trouble that begins, or that is over after so much had waited (`None`, and how much).
    fn of_trouble(of: &str, why: Option<&str>, waiting: u64) -> String;
}

fn warning<S>(text: &str) -> Heard<S> {
    Heard::Line(LineKind::Warnings, format!("warning: {text}"))
}

/// The object of a trouble of the recording: no queue has this name.
const RECORDING: &str = "[record]";

/// The share of a report's time that the capture waits for readers of a queue, from which on it is in the log.
const WAITING_SHARE: f64 = 0.5;

/// The reader that has most to read, in words.
fn slowest(queue: &QueueStatus) -> String {
    let slowest = queue.readers.iter().max_by_key(|reader| reader.lag);
    slowest.map_or_else(|| "readers".into(), |reader| format!("{} (process {})", reader.name, reader.process))
}

impl Reports for CaptureEvent {
    type Status = CaptureStatus;

    /// Packets, and those of them that were dropped.
    fn totals(status: &CaptureStatus) -> [u64; 2] {
        [status.packets, status.dropped]
    }

    fn troubles(before: &CaptureStatus, now: &CaptureStatus) -> Vec<Trouble> {
        let seconds = now.seconds - before.seconds;
        let trouble = |queue: &QueueStatus| {
            let earlier = before.queues.iter().find(|one| one.name == queue.name)?;
            let waited = queue.waited_ns.saturating_sub(earlier.waited_ns) as f64 / 1e9;
            let waiting = queue.readers.iter().filter_map(|reader| reader.lag).max().unwrap_or(0);
            let is = seconds > 0.0 && waited >= seconds * WAITING_SHARE;
            is.then(|| Trouble { of: queue.name.clone(), why: slowest(queue), waiting })
        };
        let shed = |status: &CaptureStatus| {
            status.record.as_ref().map_or(0, |record| record.figures.totals.all().shed_packets)
        };
        let packets = shed(now);
        let why = now.record.as_ref().and_then(|record| record.failing.clone());
        let is_shed = packets > shed(before);
        let recording = is_shed.then(|| Trouble {
            of: RECORDING.into(),
            why: why.unwrap_or_else(|| "the disk is too slow".into()),
            waiting: packets,
        });
        now.queues.iter().filter_map(trouble).chain(recording).collect()
    }

    fn of_trouble(of: &str, why: Option<&str>, waiting: u64) -> String {
        match why {
            Some(why) if of == RECORDING => format!("record: packets are shed: {why}"),
            None if of == RECORDING => format!("record: packets are shed no more; {waiting} were until then"),
            Some(why) => {
                format!("queue {of}: the capture waits for {why}; packets wait in the rings or are dropped")
            }
            None => format!(
                "queue {of}: the capture waits no more; at most {} had waited to be read",
                tidewire_types::counted(waiting, "record", "records")
            ),
        }
    }

    fn heard(self) -> Heard<CaptureStatus> {
        match self {
            Self::Ready { inputs } => Heard::Ready(inputs),
            Self::Status(status) => Heard::Status(status),
            Self::Finished(status) => Heard::Finished(status),
            Self::Failed { text, hint } => Heard::Failed(text, hint),
            Self::Warning { text } => warning(&text),
            Self::Reader { text } => {
                // No reader has a name with spaces.
                let kind = if text.starts_with("a reader of user ") { LineKind::Refusals } else { LineKind::Readers };
                Heard::Line(kind, text)
            }
        }
    }
}

impl Reports for EventsReport {
    type Status = EventsStatus;

    fn heard(self) -> Heard<EventsStatus> {
        match self {
            Self::Ready { store, records, events } => {
                let held = match records {
                    0 => "empty".to_owned(),
                    _ => format!("{events} events in {records} records"),
                };
                Heard::Ready(vec![format!("{store}: {held}")])
            }
            Self::Status(status) => Heard::Status(status),
            Self::Stored(status) => Heard::Waits(status),
            Self::Finished(status) => Heard::Finished(status),
            Self::Failed { text, status: Some(status), .. } => Heard::Unfinished(*status, text),
            Self::Failed { text, hint, status: None } => Heard::Failed(text, hint),
            Self::Warning { text } => warning(&text),
            Self::Analyzer { text } => Heard::Line(LineKind::Analyzers, text),
            Self::Trigger => Heard::Trigger,
        }
    }

    /// Events of analyzers, and all that were stored.
    fn totals(status: &EventsStatus) -> [u64; 2] {
        [status.events, status.stored_events]
    }

    fn troubles(_: &EventsStatus, status: &EventsStatus) -> Vec<Trouble> {
        let waiting = status.events.saturating_sub(status.stored_events);
        let trouble = |why: &String| Trouble { of: String::new(), why: why.clone(), waiting };
        status.failing.iter().map(trouble).collect()
    }

    fn of_trouble(_: &str, why: Option<&str>, waiting: u64) -> String {
        match why {
            Some(why) => format!("nothing can be stored: {why}; what comes waits"),
            None => format!("events are stored again; at most {waiting} had waited"),
        }
    }
}

impl Reports for SpoolReport {
    type Status = SpoolStatus;

    /// Events that were delivered, and those that were lost: a store has both for ever.
    fn totals(_: &SpoolStatus) -> [u64; 2] {
        [0, 0]
    }

    fn troubles(_: &SpoolStatus, status: &SpoolStatus) -> Vec<Trouble> {
        let trouble = |one: &DestinationStatus| {
            Some(Trouble { of: one.name.clone(), why: one.failing.clone()?, waiting: one.lag_records })
        };
        status.destinations.iter().filter_map(trouble).collect()
    }

    fn of_trouble(of: &str, why: Option<&str>, waiting: u64) -> String {
        match why {
            Some(why) => format!("{of}: nothing can be delivered: {why}; records wait"),
            None => format!("{of}: records are delivered again; at most {waiting} had waited"),
        }
    }

    fn heard(self) -> Heard<SpoolStatus> {
        match self {
            Self::Ready => Heard::Ready(Vec::new()),
            Self::Status(status) => Heard::Status(status),
            Self::Damaged { text } => Heard::Damaged(text),
            Self::Finished(status) => Heard::Finished(status),
            Self::Failed { text, hint } => Heard::Failed(text, hint),
            Self::Warning { text } => warning(&text),
        }
    }
}
