//! Which events are folded together, and for how long.

use std::collections::BTreeMap;

use crate::limits::RECORD_EVENTS_MAX;

/// Which members have to be equal for events to be folded. In any case analyzer, kind, severity, and the names and types of the
/// fields have to be.
///
/// Names are those of fields, and `proto`, `client_addr`, `client_port`, `server_addr`, `server_port`, `stream`, `offset`,
/// `excerpt`, `time_ns`. A name that an event does not have does nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Those that have few values: a member that takes more than eight among 16,384 events or a minute of a kind may vary
    /// from then on, until it has taken no more than eight for as long. Time, stream, offset and excerpt may always vary. So a scan is
    /// folded by its source, and a flood from forged sources by its target.
    #[default]
    Found,
    /// These; all others may vary.
    Members(Vec<String>),
    /// All but these, time, stream, offset and excerpt.
    AllBut(Vec<String>),
}

/// Which times of identical events are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// Each: about a byte an event.
    #[default]
    All,
    /// Of events that differ in time only, the first and the last, so that a flood of them takes no space at all.
    FirstAndLast,
}

/// How events of a kind are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldSettings {
    /// A fold is closed so long after it was opened. Default one minute: what a person takes for one incident.
    pub age_ns: u64,
    /// Events of a fold, at most [`RECORD_EVENTS_MAX`]. Default 65,536.
    pub count_max: u64,
    /// Bytes that a fold may take in memory. Default 1 MiB: a record of a store is read as a whole.
    pub bytes_max: usize,
    /// Values that have to be equal.
    pub identity: Identity,
    /// Which times of identical events are kept.
    pub times: Times,
}

impl Default for FoldSettings {
    fn default() -> Self {
        let (age_ns, count_max, bytes_max) = (60_000_000_000, 65_536, 1 << 20);
        Self { age_ns, count_max, bytes_max, identity: Identity::Found, times: Times::All }
    }
}

/// How all events are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSettings {
    /// For kinds without settings.
    pub default: FoldSettings,
    /// By kind.
    pub kinds: BTreeMap<String, FoldSettings>,
    /// Folds that are open at once. Default 4,096: their keys are what attackers choose. Beyond it, folds are closed early.
    pub folds_max: usize,
    /// Bytes that all open folds may take. Default 64 MiB. Beyond it, folds are closed early.
    pub memory_bytes: usize,
}

impl Default for FolderSettings {
    fn default() -> Self {
        let (folds_max, memory_bytes) = (4096, 64 << 20);
        Self { default: FoldSettings::default(), kinds: BTreeMap::new(), folds_max, memory_bytes }
    }
}

impl FolderSettings {
    /// The settings of a kind, within their limits.
    pub(crate) fn of(&self, kind: &str) -> FoldSettings {
        let mut settings = self.kinds.get(kind).unwrap_or(&self.default).clone();
        settings.count_max = settings.count_max.clamp(1, RECORD_EVENTS_MAX);
        settings
    }
}
