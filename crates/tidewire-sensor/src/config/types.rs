//! The settings of a sensor, checked and completed. The supervisor passes them to the capture as JSON.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::events::EventsSettings;

/// A whole sensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SensorConfig {
    /// Where the sockets are: `queues.sock` (analyzers attach) and `sensor.sock` (status). Default `/run/tidewire`.
    pub directory: PathBuf,
    /// Address of the metrics, as in `127.0.0.1:9600`.
    pub metrics: Option<String>,
    /// Users who may attach besides root and the sensor's own; those of the analyzers are among them.
    pub users: Vec<u32>,
    /// How long each step of an orderly end may take: the capture publishes what it has, analyzers read to the end, and they end
    /// after SIGTERM. Default 10 s.
    pub stop: Duration,
    /// The capture.
    pub capture: CaptureConfig,
    /// The queues; none only where there are outputs, or a recording.
    pub queues: Vec<QueueConfig>,
    /// Programs that the supervisor starts.
    pub analyzers: Vec<AnalyzerConfig>,
    /// Settings of events; `None`: there are none.
    #[serde(default)]
    pub events: Option<EventsSettings>,
    /// Analyzers within the capture, whose standard output is the socket of the event processor then; `None`: there are no events.
    #[serde(default)]
    pub inline: Option<tidewire_analyzers::Settings>,
    /// Where events go besides the store; `None`: nowhere.
    #[serde(default)]
    pub spool: Option<SpoolConfig>,
    /// Records of streams and transactions; `None`: none are written.
    #[serde(default)]
    pub records: Option<RecordsConfig>,
    /// A recording of the packets; `None`: there is none.
    #[serde(default)]
    pub record: Option<RecordConfig>,
}

/// A recording beside everything else that is made of the packets: that of `tidewire record`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordConfig {
    /// Its options.
    pub options: tidewire_recorder::RecordingOptions,
    /// Kinds of events that are triggers of look-back.
    pub trigger_events: Vec<String>,
}

/// Records that the capture itself writes: those of `tidewire flows --to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsConfig {
    /// Bytes of each direction that protocol fields are read from; `None`: all.
    pub cutoff_bytes: Option<u64>,
    /// Of streams that go on, a record of IPFIX and NetFlow is written so often; zero: at their ends only.
    pub active_timeout: Duration,
    /// Over interfaces, bytes that wait for slow outputs, of all together.
    #[serde(default)]
    pub buffer_bytes: Option<u64>,
    /// The outputs, at least one.
    pub outputs: Vec<OutputConfig>,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputConfig {
    /// Its name.
    pub name: String,
    /// Format and place, as `--to` has them.
    pub to: String,
    /// Types of EVE's records; empty: all but netflow.
    pub types: Vec<String>,
    /// When a file is completed and the next one begun, as `--rotate` has it.
    pub rotate: Option<String>,
    /// Over interfaces, bytes that wait for a slow disk or reader.
    #[serde(default)]
    pub buffer_bytes: Option<u64>,
    /// Who loses first where memory or processors run short: 0 (first) to 7.
    #[serde(default)]
    pub priority: Option<u8>,
    /// Bounds of the files that are complete, as `--keep` has them.
    pub keep: Option<String>,
    /// The private enterprise number of our own elements of IPFIX.
    pub enterprise: Option<u32>,
    /// Datagrams a second to a collector, at most.
    pub udp_rate: Option<u32>,
}

/// Where packets come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureInput {
    /// Interfaces, captured together.
    Interfaces(Vec<String>),
    /// Capture files, merged by time. The sensor ends with the last packet.
    Files(Vec<PathBuf>),
}

/// The capture and the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureConfig {
    /// Interfaces or files.
    pub input: CaptureInput,
    /// Packets that it does not match are counted only.
    pub filter: Option<String>,
    /// Workers of the engine, 1 by default.
    pub workers: usize,
    /// Budget of the engine in bytes; `None`: 1 GiB.
    pub memory_bytes: Option<u64>,
    /// Bytes of each ring.
    pub ring_bytes: Option<u64>,
    /// Bytes kept of each packet.
    pub snap_bytes: Option<u32>,
    /// The interfaces are on a tap or mirror port.
    pub tap: bool,
    /// Whether interfaces see frames to other hosts. Default `true`.
    pub promiscuous: bool,
    /// Whether the capture gives up privileges before the first packet. Default `true`.
    pub sandbox: bool,
    /// Nice value of the process, -20 to 19. Default 0.
    pub nice: i32,
}

/// Content of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A handler's calls: opens, chunks, gaps, conflicts, closes.
    Streams,
    /// Decoded packets.
    Packets,
}

/// How streams are distributed over the queues of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// By the hash of the flow, both directions together.
    FlowHash,
    /// In turn: streams to stream queues, packets to packet queues.
    RoundRobin,
}

/// Treatment of readers that are too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowReaders {
    /// They lose records, and learn which.
    Lose,
    /// The producer waits at most so long at a time, then sheds by priority until they have caught up; `None`: without end,
    /// as long as the reader lives (the default over files).
    Hold(Option<Duration>),
}

/// Streams of a queue with settings of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassConfig {
    /// Which streams: an expression in libpcap's language.
    pub filter: String,
    /// Bytes of each direction.
    pub cutoff_bytes: Option<u64>,
    /// 0 (the lowest) to 7.
    pub priority: Option<u8>,
}

/// A queue, or a set of queues with the same settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueConfig {
    /// Its name; queues of a set are `name.0`, `name.1` and so on.
    pub name: String,
    /// Its content.
    pub unit: Unit,
    /// How many queues the set has, 1 to 64. 1: no set.
    pub count: usize,
    /// How streams are distributed over the set.
    pub distribution: Distribution,
    /// Streams whose first packet matches; `None`: all.
    pub filter: Option<String>,
    /// Bytes of each direction; `None`: all.
    pub cutoff_bytes: Option<u64>,
    /// Chunks are gathered to this size; 0: bytes as they arrive.
    pub chunk_bytes: u32,
    /// A chunk that was begun is published after this time.
    pub flush: Duration,
    /// Priority of streams without a class, 0 to 7.
    pub priority: u8,
    /// Classes of its streams.
    pub classes: Vec<ClassConfig>,
    /// Payload bytes in shared memory (of each queue of a set); a power of two is used.
    pub memory_bytes: u64,
    /// Records in the index; a power of two is used.
    pub records: u64,
    /// Treatment of slow readers.
    pub slow: SlowReaders,
    /// Over files: readers that each queue of a set must have before the first packet is read, besides what
    /// [`SensorConfig::readers_awaited`] adds.
    pub wait_for: usize,
}

/// When a program is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Whenever it ends.
    Always,
    /// When it fails (the default).
    OnFailure,
    /// Never.
    Never,
}

/// A program that the supervisor starts. It finds its queue by the environment: `TIDEWIRE_SOCKET`, `TIDEWIRE_QUEUE`,
/// `TIDEWIRE_NAME` and, in a group, `TIDEWIRE_GROUP`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyzerConfig {
    /// Its name.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The queue that it reads; of a set, each instance gets the next queue in turn.
    pub queue: String,
    /// Its group: each stream goes to one member.
    pub group: Option<String>,
    /// How many are started, 1 to 32.
    pub instances: usize,
    /// User and group that it runs as; `None`: those of the supervisor.
    pub user: Option<(u32, u32)>,
    /// Nice value, -20 to 19.
    pub nice: i32,
    /// When it is started again.
    pub restart: Restart,
}

/// The spooler and its destinations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolConfig {
    /// Nice value of the spooler, -20 to 19. Default 10.
    pub nice: i32,
    /// Whether the spooler gives up privileges before it connects anywhere. Default `true`.
    #[serde(default = "yes")]
    pub sandbox: bool,
    /// The destinations, at least one.
    pub destinations: Vec<tidewire_delivery::DestinationSettings>,
}

fn yes() -> bool {
    true
}
