//! Records of the capture's streams: the handler's settings, the outputs, and their status.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tidewire::{Ledger, Stop, Timestamp, live::LiveReport};
use tidewire_exports::eve;
use tidewire_outputs::{
    BufferPool, ExportKind, Exporting, Exports, Facts, Keep, KeptState, Load, MemoryParts, OutputDestination,
    OutputError, OutputState, Room, Rotate, Settings, Sink, Source, Target, UDP_RATE,
};

use super::{
    events::Events,
    failure::{CONFIGURATION, ENVIRONMENT, Failure},
    input,
};
use crate::{
    config::{CaptureInput, OutputConfig, RecordsConfig, SensorConfig},
    producer,
    report::{OutputStatus, RecordsStatus},
};

/// How often lines that were gathered are written while files are read.
const FLUSH: Duration = Duration::from_millis(200);

/// Bytes that wait for a slow disk by default, of each file: lines of 100,000 connections a second for 160 ms. And of all together.
const BUFFER_BYTES: u64 = 8 << 20;
const POOL_BYTES: u64 = 64 << 20;

/// The priority of outputs by default: behind queues, whose is 3, and before a recording, which gives way to nothing.
const PRIORITY: u8 = 5;

/// When a file of a capture from interfaces is completed by default.
const DAILY: Rotate = Rotate { bytes: None, ns: Some(86_400_000_000_000) };

/// The records of a capture.
pub(super) struct RecordWriter {
    exporting: Exporting,
    parts: MemoryParts,
    cutoff_bytes: u64,
    outputs: Vec<OutputConfig>,
    is_unending: bool,
    flushed: Mutex<Instant>,
    begun: Instant,
    events: Events,
}

impl RecordWriter {
    /// Opens the outputs of the configuration, if it has some. The privileges are those of the start.
    /// `load`: that of the capture, to which outputs give way.
    pub(super) fn open(
        config: &SensorConfig,
        stop: &Stop,
        events: &Events,
        load: &Load,
    ) -> Result<Option<Self>, Failure> {
        let Some(records) = &config.records else { return Ok(None) };
        let kind = ExportKind::Flows;
        let memory = config.capture.memory_bytes.unwrap_or(tidewire::MEMORY_BYTES_DEFAULT);
        let has_columns =
            |output: &&OutputConfig| output.to.parse().is_ok_and(|target: Target| target.format.has_columns());
        let columns = records.outputs.iter().filter(has_columns).count() as u64;
        let log = events.clone();
        let common = Settings {
            source: match &config.capture.input {
                CaptureInput::Interfaces(names) => Source::of_interfaces(names),
                CaptureInput::Files(paths) => Source::of_files(paths),
            },
            tables: kind.tables(),
            csv_header: kind.csv_header(),
            rows_bytes: MemoryParts::of(memory, config.capture.workers, KeptState::RECORDS).records() / columns.max(1),
            active_timeout: Some(records.active_timeout).filter(|time| !time.is_zero()),
            stop: stop.clone(),
            // Queues and events need no outputs.
            goes_on_without: true,
            notify: Arc::new(move |notice| log.warn(notice.to_string())),
            ..Settings::default()
        };
        let (mut sinks, mut again) = (Vec::new(), Vec::new());
        let pool = BufferPool::new(records.buffer_bytes.unwrap_or(POOL_BYTES));
        for output in &records.outputs {
            let (target, mut settings) = target(output, &common)?;
            // Files can wait for a disk, interfaces cannot.
            settings.room = common.source.is_live.then(|| room(output, &pool, load));
            sinks.push(open(output, &target, &settings)?);
            again.push((target, settings));
        }
        let is_live = common.source.is_live;
        let exports = Exports::of(sinks, common);
        // Files are read once: their outputs are whole, or have failed.
        let exports = Arc::new(if is_live { exports.reopening(again) } else { exports });
        let (services, select, cuts) = (Arc::from([]), None, None);
        let exporting = Exporting { kind, services, select, cuts, exports };
        let parts = MemoryParts::of(memory, config.capture.workers, exporting.kept());
        Ok(Some(Self {
            exporting,
            parts,
            cutoff_bytes: cutoff(records),
            outputs: records.outputs.clone(),
            is_unending: matches!(&config.capture.input, CaptureInput::Files(paths) if input::is_unending(paths)),
            flushed: Mutex::new(Instant::now()),
            begun: Instant::now(),
            events: events.clone(),
        }))
    }

    /// Settings of the engine's handler.
    pub(super) fn producer(&self) -> producer::RecordSettings<'_> {
        let (exporting, parts, cutoff_bytes) = (&self.exporting, self.parts, self.cutoff_bytes);
        producer::RecordSettings { exporting, parts, cutoff_bytes }
    }

    /// The folders that files are made in.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.exporting.exports.folders()
    }

    /// The ports of collectors that are connected to again.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.exporting.exports.ports()
    }

    /// Writes what was gathered of interfaces, and counters where they are due.
    pub(super) fn captured(&self, report: &LiveReport) {
        let exports = &self.exporting.exports;
        exports.report_counters(report.elapsed, None, || (report.ledger(), Some(report.lost_packets())));
        exports.flush();
    }

    /// Writes what was gathered of files, now and then.
    pub(super) fn read(&self) {
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        if flushed.elapsed() < FLUSH {
            return;
        }
        *flushed = Instant::now();
        match self.is_unending {
            true => self.exporting.exports.flush(),
            false => self.exporting.exports.flush_lines(),
        }
    }

    /// Writes counters of a pipe where they are due.
    pub(super) fn report_pipe(&self, ledger: &Ledger, clock: Option<Timestamp>) {
        if self.is_unending {
            self.exporting.exports.report_counters(self.begun.elapsed(), clock, || (ledger.clone(), None));
        }
    }

    /// Completes the outputs of a capture that failed, as parts.
    pub(super) fn abandon(&self) {
        if let Err(error) = self.exporting.exports.finish(&Facts::default(), false) {
            self.events.warn(error.to_string());
        }
    }

    /// Completes everything, and reports failures. `is_whole`: whether the input was read to its end, or to a stop of interfaces.
    /// Returns whether all was written.
    pub(super) fn finish(&self, ran: &producer::Ran, is_whole: bool) -> bool {
        let [without_fields, cut_histories] = self.exporting.exports.losses();
        let warn = |count: u64, what: &str| {
            if count > 0 {
                self.events.warn(format!("{what}: {count} (raise 'memory' in [capture])"));
            }
        };
        warn(without_fields, "streams without protocol fields for lack of memory");
        warn(cut_histories, "streams of QUIC whose history was cut off for lack of memory");
        let lost = ran.live.as_ref().map(LiveReport::lost_packets);
        let facts = Facts::of(&ran.ledger, lost, self.begun.elapsed());
        match self.exporting.exports.finish(&facts, is_whole) {
            Ok(()) => true,
            Err(error) => {
                self.events.warn(error.to_string());
                false
            }
        }
    }

    /// Figures of now.
    pub(super) fn status(&self) -> RecordsStatus {
        let exports = &self.exporting.exports;
        let [flows, transactions] = exports.counts();
        let output = |(output, state): (&OutputConfig, OutputState)| {
            let OutputState { failing, written_again_ns, account, .. } = state;
            let since = failing.as_ref().map(|failing| failing.since_ns);
            let retried = failing.as_ref().is_some_and(|failing| failing.is_retried);
            OutputStatus {
                name: output.name.clone(),
                to: output.to.clone(),
                failed: failing.is_some(),
                failing: failing.and_then(|failing| failing.why),
                failed_since_ns: since,
                retried,
                written_again_ns,
                records: account.accepted,
                written_records: account.written,
                lost_records: account.lost,
                slow_records: account.slow,
                shed_records: account.shed,
                removed_files: account.removed_files,
                removed_bytes: account.removed_bytes,
            }
        };
        let [without_fields, cut_histories] = exports.losses();
        RecordsStatus {
            flows,
            transactions,
            without_fields,
            cut_histories,
            outputs: self.outputs.iter().zip(exports.states()).map(output).collect(),
        }
    }
}

fn cutoff(records: &RecordsConfig) -> u64 {
    records.cutoff_bytes.unwrap_or(u64::MAX)
}

fn wrong(output: &OutputConfig, what: &str) -> Failure {
    Failure::new(CONFIGURATION, format_args!("output {}: {what}", output.name))
}

/// An output's place, and its own settings.
fn target(output: &OutputConfig, common: &Settings) -> Result<(Target, Settings), Failure> {
    let wrong = |what: String| wrong(output, &what);
    let target: Target = output.to.parse().map_err(wrong)?;
    let types = match output.types.as_slice() {
        [] => eve::Types::default(),
        names => names.iter().filter_map(|name| eve::Types::of_name(name)).collect(),
    };
    let rotate = match output.rotate.as_deref() {
        Some(limits) => limits.parse().map_err(wrong)?,
        // A capture that is started again replaces nothing of the one before.
        None if common.source.is_live && is_file(&target) => DAILY,
        None => Rotate::default(),
    };
    let settings = Settings {
        eve: types,
        rotate,
        enterprise: output.enterprise,
        udp_rate: output.udp_rate.unwrap_or(UDP_RATE),
        keep: output.keep.as_deref().map_or(Ok(Keep::default()), str::parse).map_err(wrong)?,
        ..common.clone()
    };
    Ok((target, settings))
}

/// An output's room for records that wait.
fn room(output: &OutputConfig, pool: &Arc<BufferPool>, load: &Load) -> Room {
    Room {
        bytes_max: output.buffer_bytes.unwrap_or(BUFFER_BYTES),
        pool: Arc::clone(pool),
        priority: output.priority.unwrap_or(PRIORITY),
        load: load.clone(),
    }
}

/// Opens an output.
fn open(output: &OutputConfig, target: &Target, settings: &Settings) -> Result<(String, Box<dyn Sink>), Failure> {
    Exports::sink(target, settings).map_err(|error| match error {
        OutputError::Usage(what) => wrong(output, &what),
        error => Failure::new(ENVIRONMENT, format_args!("output {}: {error}", output.name)),
    })
}

/// Whether it makes files, and not what is written to a pipe or a device.
fn is_file(target: &Target) -> bool {
    let OutputDestination::Path(path) = &target.place else { return false };
    std::fs::metadata(path).map_or(true, |found| found.is_file() || found.is_dir())
}
