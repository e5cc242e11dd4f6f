//! Settings of a spooler.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::kafka::KafkaSettings;

/// A whole spooler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The sensor's store.
    pub store: PathBuf,
    /// The event processor's socket, where it reports what was delivered; `None`: nowhere, as in tests.
    pub socket: Option<PathBuf>,
    /// How long its orderly end may take: one more attempt to deliver everything. Default 10 s.
    #[serde(default = "ten_seconds")]
    pub stop: Duration,
    /// Nice value of the process. Default 10.
    #[serde(default = "ten")]
    pub nice: i32,
    /// Whether the process gives up what it does not need before it connects anywhere. Default `true`.
    #[serde(default = "yes")]
    pub sandbox: bool,
    /// Where events go.
    pub destinations: Vec<DestinationSettings>,
}

fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

fn ten() -> i32 {
    10
}

/// Where events go, and which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationSettings {
    /// Its name; its position in the store has it.
    pub name: String,
    /// Events of this severity or worse: `info` (the default), `low`, `medium`, `high` or `critical`.
    #[serde(default = "info")]
    pub severity: String,
    /// Events of these kinds; empty: all.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Events of these analyzers; empty: all.
    #[serde(default)]
    pub analyzers: Vec<String>,
    /// The longest pause between two attempts. Default 30 s; the first is a tenth of a second, and half of each is random.
    #[serde(default = "half_a_minute")]
    pub retry_max: Duration,
    /// Its type, with the settings of the type.
    #[serde(flatten)]
    pub to: To,
}

fn info() -> String {
    "info".into()
}

fn half_a_minute() -> Duration {
    Duration::from_secs(30)
}

/// A type of destination with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum To {
    /// Another Tidewire: `tidewire collect`.
    Collector(CollectorSettings),
    /// Files in a folder.
    Folder(FolderSettings),
    /// A topic of a Kafka cluster.
    Kafka(KafkaSettings),
}

/// A collector, and who the sensor is to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorSettings {
    /// Host and port, as in `collector.example.org:9610` or `[2001:db8::1]:9610`.
    pub address: String,
    /// A file with the sensor's key, its certificate and that of the authority, as `tidewire keys sensor` makes it; or these in
    /// files of their own, each of which comes first.
    pub keys: Option<PathBuf>,
    /// The certificate, with those between it and the authority's.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Certificates of the authorities that the collector's certificate may be from.
    pub authority: Option<PathBuf>,
    /// The name in the collector's certificate; `None`: the host of the address.
    pub server_name: Option<String>,
    /// A connection on which nothing comes back for so long is given up. Default 60 s.
    #[serde(default = "minute")]
    pub timeout: Duration,
}

fn minute() -> Duration {
    Duration::from_secs(60)
}

/// Files in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderSettings {
    /// The folder. It has to exist.
    pub path: PathBuf,
    /// A file gets its name, and counts as delivered, after so long. Default 60 s.
    #[serde(default = "minute")]
    pub every: Duration,
    /// Or when it has so many bytes. Default 64 MiB.
    #[serde(default = "default_file_bytes")]
    pub bytes: u64,
    /// Whether each event has a line; otherwise each record has one, with the number of its events, its first event and what
    /// varied. Default `true`. Records that are encrypted, or have more than 1,000 events, have one in any case.
    #[serde(default = "yes")]
    pub expand: bool,
}

fn default_file_bytes() -> u64 {
    64 << 20
}

fn yes() -> bool {
    true
}
