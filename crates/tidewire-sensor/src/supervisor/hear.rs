//! What parts report, by the supervisor's notion: the same for all of them.

use serde::de::DeserializeOwned;
use tidewire_delivery::{SpoolReport, SpoolStatus};

use super::log::Kind;
use crate::{
    events::report::{EventsReport, EventsStatus},
    report::{CaptureEvent, CaptureStatus},
};

/// A report with figures of this kind.
pub enum Heard<S> {
    /// It does its work now; what there is to say about that.
    Ready(Vec<String>),
    /// Figures.
    Status(S),
    /// Something happened, in words; lines of a kind are limited.
    Line(Kind, String),
    /// It has done what it had to, and helps others to end until it is asked again.
    Waits(S),
    /// It cannot read the store, which its writer can recover.
    Damaged(String),
    /// It was stopped or has nothing to do any more, and all is done.
    Finished(S),
    /// It could not begin or go on: why, and what to do about it.
    Failed(String, Option<String>),
}

/// A line that a part reports.
pub trait Reports: DeserializeOwned {
    /// Its figures.
    type Status: Default;

    /// What it says.
    fn heard(self) -> Heard<Self::Status>;
}

fn warning<S>(text: &str) -> Heard<S> {
    Heard::Line(Kind::Warnings, format!("warning: {text}"))
}

impl Reports for CaptureEvent {
    type Status = CaptureStatus;

    fn heard(self) -> Heard<CaptureStatus> {
        match self {
            Self::Ready { inputs } => Heard::Ready(inputs),
            Self::Status(status) => Heard::Status(status),
            Self::Finished(status) => Heard::Finished(status),
            Self::Failed { text, hint } => Heard::Failed(text, hint),
            Self::Warning { text } => warning(&text),
            Self::Reader { text } => {
                // No reader has a name with spaces.
                let kind = if text.starts_with("a reader of user ") { Kind::Refusals } else { Kind::Readers };
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
            Self::Failed { text, hint } => Heard::Failed(text, hint),
            Self::Warning { text } => warning(&text),
            Self::Analyzer { text } => Heard::Line(Kind::Analyzers, text),
        }
    }
}

impl Reports for SpoolReport {
    type Status = SpoolStatus;

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
