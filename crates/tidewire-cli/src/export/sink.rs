//! The outputs of a run, which its workers share.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use tidewire::Stop;
use tidewire_exports::{
    Exchange, FlowRecord, Origin, eve,
    ipfix::{self, Exporter, Layout},
    zeek::{self, History, Log},
};

use super::{
    file::Files,
    network::Collector,
    rotate::Rotate,
    target::{Format, Place, Target},
};
use crate::{error::CliError, output_dir::Folder};

/// How long records wait in a message that is not full, nanoseconds.
const MESSAGE_WAIT_NS: u64 = 1_000_000_000;

/// What a run says of itself when it has ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub packets: u64,
    pub bytes: u64,
    /// Packets that belong to no flow.
    pub ignored: u64,
    /// Packets lost before they could be read; `None` for files.
    pub dropped: Option<u64>,
    pub uptime: u64,
}

/// Where a run's packets come from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub is_live: bool,
    /// The interface, if it is one.
    pub interface: Option<String>,
    /// The file, if it is one.
    pub file: Option<String>,
}

/// The outputs.
pub struct Exports {
    sinks: Vec<Sink>,
    source: Source,
    /// The greatest time of a record: what the time is while files are read.
    newest_ns: AtomicU64,
    flows: AtomicU64,
    stop: Stop,
}

enum Sink {
    Eve(Mutex<Files>),
    Zeek(zeek::Form, Box<[Mutex<Files>; Log::ALL.len()]>),
    Messages(Box<Mutex<Messages>>),
}

/// Messages of records, and where they go.
struct Messages {
    exporter: Exporter,
    output: Output,
    /// When the oldest record that waits was added; 0: none waits.
    waiting_ns: u64,
}

enum Output {
    Files(Files),
    Collector(Collector),
}

/// A worker that panicked leaves whole records.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos() as u64)
}

impl Exports {
    /// Opens files and connections.
    pub fn open(targets: &[Target], rotate: Rotate, source: Source, stop: &Stop) -> Result<Self, CliError> {
        let now_ns = if source.is_live { wall_ns() } else { 0 };
        let sinks = targets.iter().map(|target| Sink::open(target, rotate, now_ns)).collect::<Result<_, _>>()?;
        Ok(Self { sinks, source, newest_ns: AtomicU64::new(0), flows: AtomicU64::new(0), stop: stop.clone() })
    }

    /// The folders that files are made in.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.sinks.iter().filter_map(Sink::folder).collect()
    }

    /// Whether records need the order of packets.
    pub fn wants_history(&self) -> bool {
        self.sinks.iter().any(|sink| matches!(sink, Sink::Zeek(..)))
    }

    /// Where packets come from, as far as there is one place.
    pub fn origin(&self) -> Origin<'_> {
        Origin { interface: self.source.interface.as_deref(), file: self.source.file.as_deref() }
    }

    /// The time at which a record is written: the clock's, or that of the newest record.
    fn now_ns(&self, record_ns: u64) -> u64 {
        if self.source.is_live {
            return wall_ns();
        }
        self.newest_ns.fetch_max(record_ns, Ordering::Relaxed).max(record_ns)
    }

    /// Writes a stream that ended. `scratch` is a reusable buffer of the caller.
    pub fn flow(&self, flow: &FlowRecord<'_>, history: Option<&History>, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(flow.end_ns);
        self.flows.fetch_add(1, Ordering::Relaxed);
        for sink in &self.sinks {
            scratch.clear();
            match sink {
                Sink::Eve(files) => {
                    eve::push_records(scratch, flow, eve::Types::default());
                    self.push(files, scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    zeek::push_conn(scratch, *form, flow, history.unwrap_or(&History::default()));
                    self.push(&logs[Log::Conn as usize], scratch, now_ns);
                    scratch.clear();
                    zeek::push_weirds(scratch, *form, flow);
                    self.push(&logs[Log::Weird as usize], scratch, now_ns);
                }
                Sink::Messages(messages) => {
                    let mut messages = lock(messages);
                    messages.push(flow, now_ns);
                    self.stop_if(messages.has_failed());
                }
            }
        }
    }

    /// Writes a transaction.
    pub fn transaction(&self, exchange: &Exchange<'_>, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(exchange.transaction.end_ns);
        for sink in &self.sinks {
            scratch.clear();
            match sink {
                Sink::Eve(files) => {
                    eve::push_transaction(scratch, exchange);
                    self.push(files, scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    if let Some(log) = zeek::log_of(exchange) {
                        zeek::push_transaction(scratch, *form, exchange);
                        self.push(&logs[log as usize], scratch, now_ns);
                    }
                }
                Sink::Messages(_) => {}
            }
        }
    }

    fn push(&self, files: &Mutex<Files>, records: &[u8], now_ns: u64) {
        if !records.is_empty() {
            let mut files = lock(files);
            files.push(records, now_ns);
            self.stop_if(files.has_failed());
        }
    }

    /// What cannot be written ends the run.
    fn stop_if(&self, has_failed: bool) {
        if has_failed {
            self.stop.stop();
        }
    }

    /// Writes what was collected, and completes files whose time has come.
    pub fn flush(&self) {
        let now_ns = self.now_ns(0);
        let flush = |files: &Mutex<Files>| {
            let mut files = lock(files);
            if files.is_due(0, now_ns) {
                files.complete(now_ns);
            } else {
                files.flush();
            }
            self.stop_if(files.has_failed());
        };
        for sink in &self.sinks {
            match sink {
                Sink::Eve(files) => flush(files),
                Sink::Zeek(_, logs) => logs.iter().for_each(flush),
                Sink::Messages(messages) => {
                    let mut messages = lock(messages);
                    messages.flush(now_ns);
                    self.stop_if(messages.has_failed());
                }
            }
        }
    }

    /// Completes everything.
    ///
    /// # Errors
    /// The first that could not be written; the others are completed all the same.
    pub fn finish(&self, facts: &Facts) -> Result<(), CliError> {
        let now_ns = self.now_ns(0);
        let flows = self.flows.load(Ordering::Relaxed);
        let mut result = Ok(());
        for sink in &self.sinks {
            let finished = match sink {
                Sink::Eve(files) => {
                    let mut line = Vec::new();
                    let Facts { packets, bytes, dropped, uptime, .. } = *facts;
                    let stats = eve::Stats { time_ns: now_ns, uptime, packets, bytes, dropped, flows, records: flows };
                    eve::push_stats(&mut line, &stats);
                    let mut files = lock(files);
                    files.push(&line, now_ns);
                    files.finish(now_ns)
                }
                Sink::Zeek(_, logs) => logs.iter().map(|files| lock(files).finish(now_ns)).fold(Ok(()), Result::and),
                Sink::Messages(messages) => lock(messages).finish(facts, now_ns),
            };
            result = result.and(finished);
        }
        result
    }
}

impl Sink {
    fn open(target: &Target, rotate: Rotate, now_ns: u64) -> Result<Self, CliError> {
        let form = if target.format == Format::ZeekJson { zeek::Form::Json } else { zeek::Form::Tsv };
        match (target.format, &target.place) {
            (Format::Zeek | Format::ZeekJson, Place::Path(path)) => {
                let shown = tidewire::legible::legible(&path.to_string_lossy()).into_owned();
                let made = std::fs::create_dir_all(path).and_then(|()| Folder::open(path));
                let folder = Arc::new(
                    made.map_err(|error| CliError::Output(format!("{shown}: cannot be written to: {error}")))?,
                );
                let logs = Log::ALL.map(|log| Mutex::new(Files::of_log(&folder, &shown, form, log, rotate)));
                Ok(Self::Zeek(form, Box::new(logs)))
            }
            (Format::Eve, place) => Ok(Self::Eve(Mutex::new(open_files(place, rotate, now_ns)?))),
            (format, place) => {
                let layout = match format {
                    Format::IpfixUniflow => Layout::Uniflow,
                    Format::Netflow9 => Layout::Netflow9,
                    _ => Layout::Biflow,
                };
                let (output, is_datagrams) = match Collector::connect(place)? {
                    Some(collector) => {
                        let is_datagrams = collector.is_datagrams();
                        (Output::Collector(collector), is_datagrams)
                    }
                    None => (Output::Files(open_files(place, rotate, now_ns)?), false),
                };
                let settings = match is_datagrams {
                    true => ipfix::Settings::of_datagrams(layout),
                    false => ipfix::Settings::of_streams(layout),
                };
                let exporter = Exporter::new(settings);
                Ok(Self::Messages(Box::new(Mutex::new(Messages { exporter, output, waiting_ns: 0 }))))
            }
        }
    }

    fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Eve(files) => lock(files).folder(),
            Self::Zeek(_, logs) => lock(&logs[0]).folder(),
            Self::Messages(messages) => match &lock(messages).output {
                Output::Files(files) => files.folder(),
                Output::Collector(_) => None,
            },
        }
    }
}

fn open_files(place: &Place, rotate: Rotate, now_ns: u64) -> Result<Files, CliError> {
    match place {
        Place::Path(path) => Files::open(path, rotate, now_ns),
        _ => Files::stdout(),
    }
}

impl Messages {
    fn has_failed(&self) -> bool {
        match &self.output {
            Output::Files(files) => files.has_failed(),
            Output::Collector(collector) => collector.has_failed(),
        }
    }

    fn push(&mut self, flow: &FlowRecord<'_>, now_ns: u64) {
        self.rotate(now_ns);
        self.exporter.push(flow, ipfix::export_second(now_ns));
        if let Output::Files(files) = &mut self.output {
            files.touch(now_ns);
        }
        if self.waiting_ns == 0 {
            self.waiting_ns = now_ns.max(1);
        }
        self.pass(now_ns);
    }

    /// A file begins with templates, so what is in the message that is filled belongs to the file before.
    fn rotate(&mut self, now_ns: u64) {
        if let Output::Files(files) = &mut self.output
            && files.is_due(ipfix::STREAM_MESSAGE_BYTES, now_ns)
        {
            self.exporter.restart();
            for message in self.exporter.take() {
                files.push(&message, now_ns);
            }
            files.complete(now_ns);
        }
    }

    fn pass(&mut self, now_ns: u64) {
        for message in self.exporter.take() {
            match &mut self.output {
                Output::Files(files) => files.push(&message, now_ns),
                Output::Collector(collector) => collector.send(&message),
            }
            self.waiting_ns = 0;
        }
    }

    fn flush(&mut self, now_ns: u64) {
        if self.waiting_ns != 0 && now_ns.saturating_sub(self.waiting_ns) >= MESSAGE_WAIT_NS {
            self.exporter.finish_message();
        }
        self.rotate(now_ns);
        self.pass(now_ns);
        if let Output::Files(files) = &mut self.output {
            files.flush();
        }
    }

    fn finish(&mut self, facts: &Facts, now_ns: u64) -> Result<(), CliError> {
        let statistics = ipfix::Statistics {
            ignored_packets: facts.ignored,
            dropped_packets: facts.dropped.unwrap_or_default(),
            unsent_flows: 0,
        };
        self.exporter.push_statistics(&statistics, ipfix::export_second(now_ns));
        self.exporter.finish_message();
        self.pass(now_ns);
        match &mut self.output {
            Output::Files(files) => files.finish(now_ns),
            Output::Collector(collector) => collector.finish(),
        }
    }
}
