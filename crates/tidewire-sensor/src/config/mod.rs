//! Configuration of a sensor. docs/sensor.md has every key.

mod doubt;
mod outside;
mod sections;
mod sums;
mod system;
mod types;

use std::path::PathBuf;

use tidewire_config::{Document, Mistakes};

use crate::{QUEUES_SOCKET, events::EventsSettings};

pub use doubt::Doubt;
pub use sections::DIRECTORY;
pub use sections::OWN_NAMES;
use sections::{Places, Sections};
pub(crate) use sums::PACKET_QUEUE_BYTES_MIN;
pub use sums::{PROCESSES_MAX, QUEUES_MAX, member_name, queue_of};
pub use system::{Machine, System};
pub use tidewire_config::Mistake;
pub use types::{
    AnalyzerConfig, CaptureConfig, CaptureInput, ClassConfig, Distribution, OutputConfig, QueueConfig, RecordConfig,
    RecordsConfig, Restart, SensorConfig, SlowReaders, SpoolConfig, Unit,
};

/// Bytes of a configuration at most.
pub const CONFIG_BYTES_MAX: usize = 1 << 20;
/// The tables of a file.
const TABLES: &[&str] = &[
    "sensor",
    "capture",
    "queue",
    "analyzer",
    "events",
    "inline",
    "spool",
    "destination",
    "records",
    "output",
    "record",
];
/// See [`SensorConfig::stop`].
const STOP: std::time::Duration = std::time::Duration::from_secs(10);

/// Settings of the command line, which override those of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Interfaces, instead of those or the files in the file.
    pub interfaces: Vec<String>,
    /// Capture files, instead of those or the interfaces in the file.
    pub files: Vec<PathBuf>,
    /// See [`SensorConfig::directory`].
    pub directory: Option<PathBuf>,
    /// See [`SensorConfig::metrics`].
    pub metrics: Option<String>,
    /// See [`QueueConfig::wait_for`], for every queue.
    pub wait_for: Option<usize>,
    /// A sensor runs with an earlier form of it, so that its address is in use.
    pub is_running: bool,
}

/// Result of examining a configuration, with all mistakes and warnings.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The configuration, if it has no mistake.
    pub config: Option<SensorConfig>,
    /// Every mistake, in the order of the file.
    pub mistakes: Vec<Mistake>,
    /// Unusual settings, which may be meant.
    pub warnings: Vec<Mistake>,
}

/// Reads a configuration in TOML and checks it against this machine. `name`: what messages call it.
///
/// # Errors
/// Every mistake.
pub fn parse(text: &str, name: &str) -> Result<SensorConfig, Vec<Mistake>> {
    let examined = examine(text, name, &Overrides::default(), &Machine);
    examined.config.ok_or(examined.mistakes)
}

/// Reads a configuration with the settings of the command line, and checks it against a machine.
#[must_use]
pub fn examine(text: &str, name: &str, given: &Overrides, system: &dyn System) -> Examined {
    let document = Document::new(text, name);
    let mut sections = Sections { document, system, places: Places::new() };
    let config = match text.len() > CONFIG_BYTES_MAX {
        true => {
            let what = format!("it is longer than {} bytes, the limit", CONFIG_BYTES_MAX);
            sections.document.wrong_at(None, what, "is it the right file?");
            None
        }
        false => Some(completed(&mut sections, given)),
    };
    let Mistakes { mistakes, warnings } = sections.document.finish();
    let is_right = mistakes.is_empty();
    Examined { config: config.filter(|_| is_right), mistakes, warnings }
}

/// Of `sockaddr_un` (unix(7)), without the byte that ends it.
const SOCKET_PATH_BYTES_MAX: usize = 107;

fn completed(sections: &mut Sections<'_, '_>, given: &Overrides) -> SensorConfig {
    let table = sections.document.parse();
    let (mut sensor, mut capture) = (sections::Sensor::default(), sections::Capture::default());
    let (mut queues, mut analyzers) = (Vec::new(), Vec::new());
    let mut events = sections::AllEvents::default();
    let (mut records, mut outputs, mut record) = (sections::Records::default(), Vec::new(), None);
    for (key, value) in table.get_ref().iter() {
        match key.get_ref().as_ref() {
            "sensor" => sensor = sections.sensor(value),
            "capture" => capture = sections.capture(value),
            "queue" => {
                let named = sections.named("queue", value);
                queues = named.into_iter().map(|entry| sections.queue(entry)).collect();
            }
            "analyzer" => {
                let named = sections.named("analyzer", value);
                analyzers = named.into_iter().map(|entry| sections.analyzer(entry)).collect();
            }
            "events" => events.events = sections.events(value),
            "inline" => events.inline = sections.inline(value),
            "spool" => events.spool = sections.spool(value),
            "destination" => events.destinations = sections.destinations(value),
            "record" => record = sections.record(value),
            "records" => records = sections.records(value),
            "output" => {
                let named = sections.named("output", value);
                outputs = named.into_iter().map(|entry| sections.output(entry)).collect();
            }
            _ => sections.document.unknown(key, "the configuration", TABLES),
        }
    }
    let input = sections.input(&capture, &given.interfaces, &given.files);
    let is_live = matches!(input, CaptureInput::Interfaces(_));
    let capture = sections.completed_capture(capture, input);
    let records = sections.completed_records(records, outputs, is_live);
    let record = sections.completed_record(record, &capture);
    let mut queues = sections.completed_queues(queues, is_live, records.is_some() || record.is_some());
    let analyzers = sections.completed_analyzers(analyzers, &queues);
    sections.check_memory(&capture, &queues, record.as_ref());
    if is_live && given.wait_for.is_some() {
        let what = "interfaces cannot wait for readers";
        sections.document.wrong_at(None, what, "leave --wait-for out, or use -r FILE");
    }
    for queue in &mut queues {
        queue.wait_for = given.wait_for.unwrap_or(queue.wait_for);
    }
    let mut users = sensor.users;
    users.extend(analyzers.iter().filter_map(|analyzer| Some(analyzer.user?.0)));
    users.sort_unstable();
    users.dedup();
    let directory = given.directory.clone().or(sensor.directory).unwrap_or_else(|| DIRECTORY.into());
    if directory.as_os_str().len() + "/".len() + QUEUES_SOCKET.len() > SOCKET_PATH_BYTES_MAX {
        let what = format!(
            "{} is too long a path for sockets, which have at most {SOCKET_PATH_BYTES_MAX} bytes",
            directory.display()
        );
        sections.document.wrong_at(None, what, "name a directory with a shorter path");
    }
    let stop = sensor.stop.unwrap_or(STOP);
    let common = EventsSettings { directory, users, stop, capture_on_stdout: true, ..EventsSettings::default() };
    let (mut events, inline, spool) = sections.completed_events(events, &common);
    sections.take_triggers(record.as_ref(), events.as_mut());
    let store = events.as_ref().map(|events| events.store.as_path());
    sections.check_directories(record.as_ref(), &common.directory, store);
    let EventsSettings { directory, users, .. } = common;
    let mut used = read(&sections.document, &capture, events.as_ref(), inline.as_ref());
    used.extend(record.iter().flat_map(|record| record.options.directories.iter().cloned()));
    sections.check_outputs(records.as_ref(), &used);
    let metrics = sections.metrics(given.metrics.clone(), sensor.metrics, given.is_running);
    SensorConfig { directory, metrics, users, stop, capture, queues, analyzers, events, inline, spool, records, record }
}

/// Files that the sensor reads or keeps: no output may be one of them.
fn read(
    document: &Document<'_>,
    capture: &CaptureConfig,
    events: Option<&EventsSettings>,
    inline: Option<&tidewire_analyzers::Settings>,
) -> Vec<PathBuf> {
    let mut read = vec![PathBuf::from(document.name())];
    if let CaptureInput::Files(files) = &capture.input {
        read.extend(
            files.iter().map(|file| if file.as_os_str() == "-" { "/proc/self/fd/0".into() } else { file.clone() }),
        );
    }
    read.extend(events.map(|events| events.store.clone()));
    read.extend(inline.iter().flat_map(|inline| inline.matching.files.iter().cloned()));
    read
}

impl SensorConfig {
    /// How many readers a queue must have before the first packet of a file is read: so many as are configured, and all that are
    /// started for it, because nothing is to be lost. `place` is the queue's or set's in the configuration, `name` that of the
    /// queue itself.
    #[must_use]
    pub fn readers_awaited(&self, place: usize, name: &str) -> usize {
        let started = self.analyzers.iter().flat_map(|one| (0..one.instances).map(move |instance| (one, instance)));
        let started = started.filter(|(one, instance)| queue_of(one, *instance, &self.queues).as_deref() == Some(name));
        let configured = self.queues.get(place).map_or(0, |queue| queue.wait_for);
        configured.max(started.count()).min(tidewire_queue::READERS_MAX)
    }
}

#[cfg(test)]
mod tests;
