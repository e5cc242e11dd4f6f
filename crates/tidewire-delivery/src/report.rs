//! Reports of the spooler: lines of JSON over the descriptor that it was started with.

use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SpoolReport {
    /// The store is open, and its destinations are tried.
    Ready,
    /// Figures, twice a second.
    Status(SpoolStatus),
    /// Something that does not end it.
    Warning {
        /// The warning.
        text: String,
    },
    /// The store cannot be read any more: it is damaged, and recovered when its writer opens it again. At most once a minute.
    Damaged {
        /// The damage, with the path.
        text: String,
    },
    /// It was stopped; what could be delivered within the time is.
    Finished(SpoolStatus),
    /// It could not begin or go on.
    Failed {
        /// Why.
        text: String,
        /// A remedy.
        hint: Option<String>,
    },
}

/// Figures of a spooler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpoolStatus {
    /// By destination.
    pub destinations: Vec<DestinationStatus>,
}

/// Figures of a destination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DestinationStatus {
    /// Its name.
    pub name: String,
    /// `collector`, `folder` …
    pub kind: String,
    /// Whether there is a connection, or what stands for one.
    pub connected: bool,
    /// The last record that it has; all before it were delivered, filtered out, or removed before.
    pub delivered: u64,
    /// Numbers of records behind it that the store has given: how much it still has to get, at most.
    pub lag_records: u64,
    /// Records delivered since the spooler began.
    pub records: u64,
    /// Events in these.
    pub events: u64,
    /// Bytes sent, as they are on the network or in files.
    pub bytes: u64,
    /// Records that were removed from the store before they were delivered, by the store's account.
    pub lost_records: u64,
    /// Events in these.
    pub lost_events: u64,
    /// Records that were damaged in the store and left out.
    #[serde(default)]
    pub damaged: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// The failure that is being retried, with a remedy; `None`: all is well.
    pub failing: Option<String>,
}
