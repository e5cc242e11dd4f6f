//! How events are received, folded and stored.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use tidewire_events::{FoldSettings, FolderSettings, Identity, Times};

/// Everything that the event processor is started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsSettings {
    /// The sensor's directory, in which `events.sock` is made.
    pub directory: PathBuf,
    /// The store. Its directory is made where it is not there, for its owner only.
    pub store: PathBuf,
    /// Users who may send events besides root and the sensor's own.
    pub users: Vec<u32>,
    /// Bytes of the store, at most; beyond, the oldest of the least severe records are removed. Default 1 GiB.
    pub size_bytes: u64,
    /// How long records are kept; `None`: as long as there is room. Default 14 days.
    pub age: Option<Duration>,
    /// To whom records are encrypted (`age1…`); empty: they are not.
    pub recipients: Vec<String>,
    /// Events a second of each analyzer, at most: it waits beyond. `None`: as many as are stored. Default 500,000.
    pub rate: Option<u64>,
    /// The same by the analyzer's name.
    pub rates: BTreeMap<String, u64>,
    /// Names of analyzers that belong to a user: a configured one's to its own, that of a part of the sensor (`None`) to the sensor only.
    #[serde(default)]
    pub owners: BTreeMap<String, Option<u32>>,
    /// Bytes that open folds may take. Default 32 MiB: with all else, the process stays below 64 MiB.
    pub memory_bytes: u64,
    /// How events are folded, by their kind.
    pub kinds: BTreeMap<String, KindSettings>,
    /// Kinds of events that trigger the recording of the capture: see [`EventsReport::Trigger`](super::report::EventsReport::Trigger).
    #[serde(default)]
    pub trigger_kinds: Vec<String>,
    /// Nice value of the process, -20 to 19. Default 0.
    pub nice: i32,
    /// Whether the process gives up what it does not need before the first event. Default `true`.
    pub sandbox: bool,
    /// How long an orderly end may take. Default 10 s.
    pub stop: Duration,
    /// All destinations that are configured: positions of others are forgotten. `None`: as the spooler says.
    #[serde(default)]
    pub destinations: Option<Vec<String>>,
    /// Whether it waits, after it was stopped and has stored everything, for the spooler to deliver the last events: see
    /// [`EventsReport::Stored`](super::report::EventsReport::Stored).
    #[serde(default)]
    pub lingers: bool,
    /// Whether the standard output is one end of a pair (`SOCK_SEQPACKET`) over which the capture sends events.
    pub capture_on_stdout: bool,
}

/// How events of a kind are folded. What is not set is found by itself, or has the value of [`FoldSettings`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindSettings {
    /// A fold is closed so long after it was opened.
    pub window: Option<Duration>,
    /// Members that have to be equal; all others may differ.
    pub identity: Option<Vec<String>>,
    /// Members that may differ; all others have to be equal. Not beside `identity`.
    pub vary: Option<Vec<String>>,
    /// Whether each time of identical events is kept (the default), or the first and the last.
    pub all_times: Option<bool>,
    /// Events of a fold, at most.
    pub count: Option<u64>,
}

impl Default for EventsSettings {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("/run/tidewire"),
            store: PathBuf::from("/var/lib/tidewire/events.db"),
            users: Vec::new(),
            size_bytes: 1 << 30,
            age: Some(Duration::from_secs(14 * 86_400)),
            recipients: Vec::new(),
            rate: Some(500_000),
            rates: BTreeMap::new(),
            owners: BTreeMap::new(),
            memory_bytes: 32 << 20,
            kinds: BTreeMap::new(),
            trigger_kinds: Vec::new(),
            nice: 0,
            sandbox: true,
            stop: Duration::from_secs(10),
            destinations: None,
            lingers: false,
            capture_on_stdout: false,
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl KindSettings {
    fn fold(&self) -> FoldSettings {
        let default = FoldSettings::default();
        let identity = match (&self.identity, &self.vary) {
            (Some(names), _) => Identity::Members(names.clone()),
            (None, Some(names)) => Identity::AllBut(names.clone()),
            (None, None) => Identity::Found,
        };
        let times = if self.all_times == Some(false) { Times::FirstAndLast } else { Times::All };
        FoldSettings {
            age_ns: self.window.map_or(default.age_ns, nanoseconds),
            count_max: self.count.unwrap_or(default.count_max),
            identity,
            times,
            ..default
        }
    }
}

impl EventsSettings {
    /// For the folder.
    pub(super) fn folder(&self) -> FolderSettings {
        FolderSettings {
            kinds: self.kinds.iter().map(|(kind, settings)| (kind.clone(), settings.fold())).collect(),
            memory_bytes: usize::try_from(self.memory_bytes).unwrap_or(usize::MAX),
            ..FolderSettings::default()
        }
    }

    /// How long records are kept, in nanoseconds.
    pub(super) fn age_ns(&self) -> Option<u64> {
        self.age.map(nanoseconds)
    }
}
