//! `--check`: what would be started, as tables.

use std::path::Path;

use tidewire::legible::legible;
use tidewire_delivery::{DestinationSettings, To};
use tidewire_recorder::RecordingOptions;
use tidewire_sensor::config::{
    AnalyzerConfig, CaptureConfig, CaptureInput, Distribution, Mistake, QueueConfig, Restart, SensorConfig,
    SlowReaders, Unit,
};

use crate::{
    error::{self, CliError, notify},
    layout::Layout,
    output::Out,
    row::Column,
    table::Table,
    units::{Binary, Lasting, counted},
};

const QUEUES: [Column; 8] = [
    Column::words("QUEUE", "queue", 0),
    Column::words("UNIT", "unit", 0),
    Column::figures("CUTOFF", "cutoff", 2),
    Column::figures("MEMORY", "memory", 2),
    Column::figures("CHUNK", "chunk", 4),
    Column::words("SLOW READERS", "slow", 3),
    Column::words("DISTRIBUTION", "distribution", 5),
    Column::words("FILTER", "filter", 1),
];

const ANALYZERS: [Column; 7] = [
    Column::words("ANALYZER", "analyzer", 0),
    Column::figures("N", "instances", 1),
    Column::words("QUEUE", "queue", 0),
    Column::words("GROUP", "group", 3),
    Column::words("USER", "user", 2),
    Column::words("RESTART", "restart", 4),
    Column::words("COMMAND", "command", 0),
];

const OUTPUTS: [Column; 5] = [
    Column::words("OUTPUT", "output", 0),
    Column::words("ROTATE", "rotate", 1),
    Column::words("KEEP", "keep", 1),
    Column::words("TYPES", "types", 2),
    Column::words("TO", "to", 0),
];

const DESTINATIONS: [Column; 5] = [
    Column::words("DESTINATION", "destination", 0),
    Column::words("TYPE", "type", 0),
    Column::words("SEVERITY", "severity", 1),
    Column::words("EVENTS", "events", 2),
    Column::words("TO", "to", 0),
];

/// A mistake of the file as a whole.
pub fn mistake(file: Option<&Path>, what: &str) -> Mistake {
    let file = file.map_or_else(|| "options".to_owned(), |file| file.display().to_string());
    Mistake { file, place: None, what: what.to_owned(), instead: String::new() }
}

/// Warns of analyzers that run as the sensor's own user.
pub fn warn_of_users(config: &SensorConfig) {
    let own = rustix::process::geteuid().as_raw();
    let shares = |one: &&AnalyzerConfig| one.user.is_none_or(|(user, _)| user == own);
    let names: Vec<&str> = config.analyzers.iter().filter(shares).map(|one| one.name.as_str()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        notify(format_args!(
            "warning: with the sensor's own user, whose files they can change, and whose processes they can end before Linux 6.12: {names}; write user = \"NAME\""
        ));
    }
}

/// Prints what a configuration starts.
pub fn print(config: &SensorConfig) -> Result<u8, CliError> {
    let mut out = Out::stdout();
    out.line(&format!("capture: {}", capture(&config.capture)))?;
    out.line(&format!("directory: {}", config.directory.display()))?;
    if let Some(address) = &config.metrics {
        out.line(&format!("metrics: http://{address}/metrics"))?;
    }
    for line in events(config) {
        out.line(&line)?;
    }
    let mut table = Table::new(&QUEUES, &Layout::default());
    config.queues.iter().for_each(|queue| table.row(queue_cells(queue)));
    if !config.queues.is_empty() {
        out.line("")?;
    }
    table.finish(&mut out)?;
    let mut table = Table::new(&ANALYZERS, &Layout::default());
    for analyzer in &config.analyzers {
        let user = analyzer.user.map(|(user, group)| format!("{user}:{group}"));
        let restart = match analyzer.restart {
            Restart::Always => "always",
            Restart::OnFailure => "on-failure",
            Restart::Never => "never",
        };
        table.row(vec![
            analyzer.name.clone(),
            analyzer.instances.to_string(),
            analyzer.queue.clone(),
            analyzer.group.clone().unwrap_or_default(),
            user.unwrap_or_default(),
            restart.into(),
            analyzer.command.join(" "),
        ]);
    }
    if !config.analyzers.is_empty() {
        out.line("")?;
    }
    table.finish(&mut out)?;
    if let Some(records) = &config.records {
        let cutoff =
            records.cutoff_bytes.map_or_else(|| "all".to_owned(), |bytes| format!("the first {}", Binary(bytes)));
        out.line("")?;
        out.line(&format!("records: of streams that end, and of transactions in {cutoff} of each direction"))?;
        let mut table = Table::new(&OUTPUTS, &Layout::default());
        for output in &records.outputs {
            let rotate = output.rotate.clone().unwrap_or_default();
            let keep = output.keep.clone().unwrap_or_default();
            table.row(vec![output.name.clone(), rotate, keep, output.types.join(","), output.to.clone()]);
        }
        table.finish(&mut out)?;
    }
    if let Some(record) = &config.record {
        out.line("")?;
        out.line(&recording(&record.options))?;
    }
    if let Some(spool) = &config.spool {
        let mut table = Table::new(&DESTINATIONS, &Layout::default());
        spool.destinations.iter().for_each(|one| table.row(destination_cells(one)));
        out.line("")?;
        table.finish(&mut out)?;
    }
    out.flush()?;
    Ok(error::OK)
}

/// Where packets are recorded, and how.
fn recording(options: &RecordingOptions) -> String {
    let places: Vec<_> = options.directories.iter().map(|path| legible(&path.to_string_lossy()).into_owned()).collect();
    let each = if places.len() > 1 { " in each" } else { "" };
    let bounds = [
        options
            .size_bytes
            .filter(|bytes| *bytes != u64::MAX)
            .map(|bytes| format!("the newest {}{each}", Binary(bytes))),
        options.age.map(|age| format!("for {}", Lasting(age.as_nanos() as u64))),
        options.free_bytes.map(|bytes| format!("while {} are free", Binary(bytes))),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    let kept = if bounds.is_empty() { "without a bound".to_owned() } else { bounds.join(", ") };
    let when = match &options.look_back {
        Some(look_back) => format!("around triggers, {} before each, ", Lasting(look_back.before.as_nanos() as u64)),
        None => String::new(),
    };
    format!("record: packets {when}to {}, kept {kept}", places.join(" and "))
}

fn capture(capture: &CaptureConfig) -> String {
    let input = match &capture.input {
        CaptureInput::Interfaces(names) => names.join(", "),
        CaptureInput::Files(files) => {
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            names.join(", ")
        }
    };
    let workers = counted(capture.workers as u64, "worker", "workers");
    let memory = capture.memory_bytes.map(|bytes| format!(", {} for the engine", Binary(bytes))).unwrap_or_default();
    let filter = capture.filter.as_ref().map(|filter| format!(", filter '{filter}'")).unwrap_or_default();
    let sandbox = if capture.sandbox { "" } else { ", without giving up privileges" };
    format!("{input}: {workers}{memory}{filter}{sandbox}")
}

/// Where events are stored, for how long and for whom, and which analyzers run within the capture.
fn events(config: &SensorConfig) -> Vec<String> {
    let Some(events) = &config.events else { return vec!["events: none".into()] };
    let age = events.age.map_or_else(|| "for ever".into(), |age| format!("for {}", Lasting(age.as_nanos() as u64)));
    let sealed = match events.recipients.len() {
        0 => String::new(),
        recipients => format!(", encrypted to {}", counted(recipients as u64, "recipient", "recipients")),
    };
    let (store, size) = (events.store.display(), Binary(events.size_bytes));
    let mut lines = vec![format!("events: {store}, at most {size}, {age}{sealed}")];
    if let Some(inline) = &config.inline {
        let states = [inline.anomaly.enabled, inline.matching.enabled, inline.scan.enabled];
        let on = ["anomaly", "match", "scan"].into_iter().zip(states).filter(|(_, is)| *is).map(|(name, _)| name);
        let on: Vec<&str> = on.collect();
        let on = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
        lines.push(format!("analyzers within the capture: {on}"));
    }
    lines
}

fn destination_cells(one: &DestinationSettings) -> Vec<String> {
    let (kind, to) = match &one.to {
        To::Collector(collector) => ("collector", collector.address.clone()),
        To::Folder(folder) => ("folder", folder.path.display().to_string()),
        To::Kafka(kafka) => ("kafka", format!("{} at {}", kafka.topic, kafka.brokers.join(", "))),
    };
    let only = [&one.kinds[..], &one.analyzers[..]].concat().join(", ");
    vec![one.name.clone(), kind.into(), one.severity.clone(), only, to]
}

fn queue_cells(queue: &QueueConfig) -> Vec<String> {
    let unit = match queue.unit {
        Unit::Streams => "streams",
        Unit::Packets => "packets",
    };
    let slow = match queue.slow {
        SlowReaders::Lose => "lose".into(),
        SlowReaders::Hold(None) => "are waited for".into(),
        SlowReaders::Hold(Some(most)) => format!("held for {}", Lasting(most.as_nanos() as u64)),
    };
    let distribution = match queue.distribution {
        _ if queue.count == 1 => "",
        Distribution::FlowHash => "flow-hash",
        Distribution::RoundRobin => "round-robin",
    };
    let name = match queue.count {
        1 => queue.name.clone(),
        count => format!("{}.0 to .{}", queue.name, count - 1),
    };
    let chunk = match (queue.unit, queue.chunk_bytes) {
        (Unit::Packets, _) => String::new(),
        (_, 0) => "none".into(),
        (_, bytes) => Binary(bytes.into()).to_string(),
    };
    vec![
        name,
        unit.into(),
        queue.cutoff_bytes.map(|bytes| Binary(bytes).to_string()).unwrap_or_default(),
        Binary(queue.memory_bytes).to_string(),
        chunk,
        slow,
        distribution.into(),
        queue.filter.clone().unwrap_or_default(),
    ]
}
