//! Reports of the event processor to the supervisor: lines of JSON over the descriptor that it was started with.

use serde::{Deserialize, Serialize};
pub use tidewire_event_socket::AnalyzerCounts as AnalyzerStatus;

use crate::reporter::Report;

/// One line from the event processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventsReport {
    /// The store is open, privileges are given up, analyzers can connect.
    Ready {
        /// The store's path.
        store: String,
        /// Records in it.
        records: u64,
        /// Events in these.
        events: u64,
    },
    /// Figures, twice a second.
    Status(EventsStatus),
    /// An analyzer connected, is gone, or was refused, in words. At most some in a second.
    Analyzer {
        /// The event, in words.
        text: String,
    },
    /// An event came that is a trigger of the recording: ten times a second at most.
    Trigger,
    /// Something that does not end the event processor.
    Warning {
        /// The warning.
        text: String,
    },
    /// It was stopped, and everything that it had received is stored; it still hears from the spooler where destinations are, until the
    /// other end is closed or it is stopped again. Only if [`lingers`](super::EventsSettings::lingers) is set.
    Stored(EventsStatus),
    /// It was stopped, and everything that it had received is stored.
    Finished(EventsStatus),
    /// It could not begin or go on, or not store everything at its end.
    Failed {
        /// Why.
        text: String,
        /// A remedy.
        hint: Option<String>,
        /// The last figures, if it was stopped and could not store everything.
        #[serde(default)]
        status: Option<Box<EventsStatus>>,
    },
}

/// Figures of the event processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventsStatus {
    /// Seconds since it began.
    pub seconds: f64,
    /// Events that were received.
    pub events: u64,
    /// Events of these that are durable.
    pub stored_events: u64,
    /// Records that hold them.
    pub stored_records: u64,
    /// Folds that are open.
    pub folds: u64,
    /// Folds that were closed early, because there were too many, or the memory was full.
    pub evicted: u64,
    /// Bytes that open folds take.
    pub memory_bytes: u64,
    /// Transactions.
    pub commits: u64,
    /// Bytes of the store that are in use.
    pub store_bytes: u64,
    /// Records that were removed because they were too old, or the store too large.
    pub removed_records: u64,
    /// Whether records are encrypted.
    pub encrypted: bool,
    /// Why nothing can be stored at this moment, with the path.
    pub failing: Option<String>,
    /// By analyzer.
    pub analyzers: Vec<AnalyzerStatus>,
    /// By destination.
    pub destinations: Vec<DestinationStatus>,
}

/// How far a destination is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DestinationStatus {
    /// Its name.
    pub name: String,
    /// The last record that it acknowledged.
    pub delivered: u64,
    /// Records that were removed before they were delivered to it.
    pub lost_records: u64,
    /// Events in these.
    pub lost_events: u64,
}

impl Report for EventsReport {
    fn is_status(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::Finished(_) | Self::Failed { .. })
    }

    fn warning(text: String) -> Self {
        Self::Warning { text }
    }
}
