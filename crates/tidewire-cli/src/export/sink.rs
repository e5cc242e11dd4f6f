//! The outputs of a run, which its workers share.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tidewire::{Anomaly, FlowKey, Ledger, Stop};
use tidewire_exports::{
    Exchange, Explainer, FlowRecord, MatchRecord, Origin, eve,
    table::Row,
    zeek::{self, History, Log, Tunnel},
};

use tidewire_protocols::QuicEntry;

use super::{
    eve_file::Eve,
    facts::{Content, Facts, Source},
    file::{Files, Frame, open_files},
    messages::Messages,
    network::Sending,
    open_tables::open_tables,
    periods::Periods,
    rotate::Rotate,
    tables::Tables,
    target::{Format, Place, Target},
    text::TextRow,
};
use crate::{clock::Clock, error::CliError, output_dir::Folder, row::Form};

/// The outputs.
pub struct Exports {
    sinks: Vec<Sink>,
    source: Source,
    /// The greatest time of a record: what the time is while files are read.
    newest_ns: AtomicU64,
    flows: AtomicU64,
    stop: Stop,
    clock: Clock,
    /// The records of EVE that are written.
    eve: eve::Types,
    /// Whether messages say what streams carried.
    has_own_elements: bool,
    periods: Periods,
    /// Tunnels that were written.
    tunnels: Mutex<HashSet<Tunnel>>,
    /// How long a stream goes on before there is a record of it, nanoseconds; `None`: until its end.
    active_timeout_ns: Option<u64>,
    /// Time of the first packet of streams that were written.
    first_ns: AtomicU64,
    /// Anomalies that the point of the capture explains.
    explainer: Mutex<Explainer>,
    /// When they are written next in a capture that lasts, seconds since it began.
    explained_due_s: AtomicU64,
}

/// How often they are written then, seconds: a stream that began long ago has its explanation in the same day.
const EXPLAINED_S: u64 = 3600;

/// Most tunnels that are written of a run: 5 MB of memory.
const TUNNELS_MAX: usize = 65_536;

enum Sink {
    Eve(Mutex<Eve>),
    Zeek(zeek::Form, Box<[Mutex<Files>; Log::ALL.len()]>),
    Messages(Box<Mutex<Messages>>),
    Text(Form, Mutex<Files>),
    Tables(Mutex<Box<dyn Tables>>),
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
    pub fn open(
        targets: &[Target],
        rotate: Rotate,
        source: Source,
        content: &Content,
        stop: &Stop,
    ) -> Result<Self, CliError> {
        let now_ns = if source.is_live { wall_ns() } else { 0 };
        let open = |target| Sink::open(target, rotate, &source, (content, stop), now_ns);
        let sinks = targets.iter().map(open).collect::<Result<_, _>>()?;
        let (newest_ns, flows, clock) = (AtomicU64::new(0), AtomicU64::new(0), Clock::iso_utc());
        let has_own_elements = content.enterprise.is_some();
        Ok(Self {
            sinks,
            source,
            newest_ns,
            flows,
            stop: stop.clone(),
            clock,
            eve: content.eve,
            has_own_elements,
            periods: Periods::default(),
            tunnels: Mutex::default(),
            active_timeout_ns: content.active_timeout_ns,
            first_ns: AtomicU64::new(u64::MAX),
            explainer: Mutex::default(),
            explained_due_s: AtomicU64::new(EXPLAINED_S),
        })
    }

    /// The folders that files are made in.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.sinks.iter().filter_map(Sink::folder).collect()
    }

    /// The ports of TCP that collectors are connected to.
    #[cfg(feature = "live")]
    pub fn ports(&self) -> Vec<u16> {
        let ports = self.sinks.iter().map(|sink| match sink {
            Sink::Messages(messages) => lock(messages).ports(),
            _ => Vec::new(),
        });
        ports.flatten().collect()
    }

    /// How long a stream goes on before messages say what it did so far, nanoseconds; `None`: until its end.
    pub fn active_timeout_ns(&self) -> Option<u64> {
        self.active_timeout_ns.filter(|_| self.sinks.iter().any(|sink| matches!(sink, Sink::Messages(_))))
    }

    /// Whether records need the order of packets.
    pub fn wants_history(&self) -> bool {
        self.sinks.iter().any(|sink| matches!(sink, Sink::Zeek(..)))
    }

    /// Whether only figures of streams are written, which need neither reassembly nor protocol fields.
    pub fn wants_figures_only(&self) -> bool {
        !self.has_own_elements && self.sinks.iter().all(|sink| matches!(sink, Sink::Messages(_)))
    }

    /// Whether records are written as they are printed.
    pub fn wants_text(&self) -> bool {
        self.sinks.iter().any(|sink| matches!(sink, Sink::Text(..)))
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

    /// Writes what a stream that goes on did since the record before.
    pub fn interim(&self, flow: &FlowRecord<'_>) {
        self.message(flow, self.now_ns(flow.end_ns));
    }

    fn message(&self, flow: &FlowRecord<'_>, now_ns: u64) {
        for sink in &self.sinks {
            if let Sink::Messages(messages) = sink {
                let mut messages = lock(messages);
                messages.push(flow, now_ns);
                self.stop_if(messages.has_failed());
            }
        }
    }

    /// Writes a stream that ended. `rest`: what messages have not said of it yet, where they said something. `scratch` is a reusable
    /// buffer of the caller.
    pub fn flow(
        &self,
        flow: &FlowRecord<'_>,
        rest: Option<&FlowRecord<'_>>,
        history: Option<&History>,
        scratch: &mut Vec<u8>,
    ) {
        let now_ns = self.now_ns(flow.end_ns);
        self.flows.fetch_add(1, Ordering::Relaxed);
        self.row(&Row::Flow(flow), now_ns);
        let remaining = self.remaining(flow);
        let anomalies = remaining.as_deref().unwrap_or(flow.anomalies);
        for sink in &self.sinks {
            scratch.clear();
            match sink {
                Sink::Eve(eve) => {
                    eve::push_records(scratch, flow, anomalies, self.eve);
                    self.push_eve(eve, scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    zeek::push_conn(scratch, *form, flow, history.unwrap_or(&History::default()));
                    self.push(&logs[Log::Conn as usize], scratch, now_ns);
                    scratch.clear();
                    zeek::push_weirds(scratch, *form, flow, anomalies);
                    self.push(&logs[Log::Weird as usize], scratch, now_ns);
                }
                Sink::Messages(_) | Sink::Text(..) | Sink::Tables(_) => {}
            }
        }
        // A stream that did nothing since the record before has no further one.
        if rest.is_none_or(|rest| rest.stats.iter().any(|stats| stats.packets > 0)) {
            self.message(rest.unwrap_or(flow), now_ns);
        }
    }

    /// The anomalies of a stream that the point of the capture does not explain; `None`: all.
    fn remaining(&self, flow: &FlowRecord<'_>) -> Option<Vec<Anomaly>> {
        let first_ns = self.first_ns.fetch_min(flow.start_ns, Ordering::Relaxed).min(flow.start_ns);
        let has_records = |sink: &Sink| matches!(sink, Sink::Eve(_) | Sink::Zeek(..));
        if flow.anomalies.is_empty() || !self.sinks.iter().any(has_records) {
            return None;
        }
        lock(&self.explainer).remaining(flow, first_ns)
    }

    /// Writes the others: one record for all streams.
    fn explained(&self, now_ns: u64) {
        let (all, mut scratch) = (lock(&self.explainer).take(), Vec::new());
        for (sink, explained) in self.sinks.iter().flat_map(|sink| all.iter().map(move |one| (sink, one))) {
            scratch.clear();
            match sink {
                Sink::Eve(eve) if self.eve.has("anomaly") => {
                    eve::push_explained(&mut scratch, explained, self.origin());
                    self.push_eve(eve, &scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    zeek::push_explained(&mut scratch, *form, explained);
                    self.push(&logs[Log::Weird as usize], &scratch, now_ns);
                }
                _ => {}
            }
        }
    }

    /// Writes what the packets of a stream of QUIC were. `stream`: its number, time and key.
    pub fn quic(&self, stream: (u64, u64, &FlowKey), entry: &QuicEntry, end_ns: u64, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(end_ns);
        for sink in &self.sinks {
            if let Sink::Zeek(form, logs) = sink {
                scratch.clear();
                zeek::push_quic_entry(scratch, *form, stream, entry);
                self.push(&logs[Log::Quic as usize], scratch, now_ns);
            }
        }
    }

    /// Writes a tunnel, the first time.
    pub fn tunnel(&self, tunnel: &Tunnel, time_ns: u64, scratch: &mut Vec<u8>) {
        let mut known = lock(&self.tunnels);
        if known.len() >= TUNNELS_MAX || !known.insert(tunnel.sorted()) {
            return;
        }
        drop(known);
        let now_ns = self.now_ns(time_ns);
        for sink in &self.sinks {
            if let Sink::Zeek(form, logs) = sink {
                scratch.clear();
                zeek::push_tunnel(scratch, *form, tunnel, time_ns);
                self.push(&logs[Log::Tunnel as usize], scratch, now_ns);
            }
        }
    }

    /// Writes a transaction. `has_packets`: those of QUIC have their lines by their packets ([`quic`](Self::quic)).
    pub fn transaction(&self, exchange: &Exchange<'_>, has_packets: bool, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(exchange.transaction.end_ns);
        self.row(&Row::Transaction(exchange), now_ns);
        for sink in &self.sinks {
            scratch.clear();
            match sink {
                Sink::Eve(eve) => {
                    eve::push_transaction(scratch, exchange, self.eve);
                    self.push_eve(eve, scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    if let Some(log) = zeek::log_of(exchange) {
                        zeek::push_transaction(scratch, *form, exchange);
                        self.push(&logs[log as usize], scratch, now_ns);
                        scratch.clear();
                        zeek::push_files(scratch, *form, exchange);
                        self.push(&logs[Log::Files as usize], scratch, now_ns);
                        scratch.clear();
                        zeek::push_weird_answer(scratch, *form, exchange);
                        self.push(&logs[Log::Weird as usize], scratch, now_ns);
                        scratch.clear();
                    }
                    if !has_packets {
                        zeek::push_quic(scratch, *form, exchange);
                        self.push(&logs[Log::Quic as usize], scratch, now_ns);
                    }
                }
                _ => {}
            }
        }
    }

    /// Writes a record as it is printed.
    pub fn text(&self, row: &dyn TextRow, end_ns: u64, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(end_ns);
        for sink in &self.sinks {
            if let Sink::Text(form, files) = sink {
                scratch.clear();
                row.push(*form, &self.clock, scratch);
                self.push(files, scratch, now_ns);
            }
        }
    }

    /// Writes a pattern that was found.
    pub fn matched(&self, found: &MatchRecord<'_>, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(found.time_ns);
        self.row(&Row::Match(found), now_ns);
        for sink in &self.sinks {
            if let Sink::Eve(eve) = sink
                && self.eve.has("alert")
            {
                scratch.clear();
                eve::push_alert(scratch, found);
                self.push_eve(eve, scratch, now_ns);
            }
        }
    }

    /// Writes similar events as one record.
    #[cfg(feature = "live")]
    pub fn event(&self, event: &tidewire_exports::EventRecord<'_>) {
        self.row(&Row::Event(event), self.now_ns(event.last_ns));
    }

    fn row(&self, row: &Row<'_>, now_ns: u64) {
        for sink in &self.sinks {
            if let Sink::Tables(tables) = sink {
                let mut tables = lock(tables);
                tables.row(row, now_ns);
                self.stop_if(tables.has_failed());
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

    fn push_eve(&self, eve: &Mutex<Eve>, records: &[u8], now_ns: u64) {
        if !records.is_empty() {
            let mut eve = lock(eve);
            eve.push(records, now_ns);
            self.stop_if(eve.files.has_failed());
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
        let flush = |files: &mut Files| {
            if files.is_due(0, now_ns) {
                files.complete(now_ns);
            } else {
                files.flush();
            }
            self.stop_if(files.has_failed());
        };
        for sink in &self.sinks {
            match sink {
                Sink::Eve(eve) => flush(&mut lock(eve).files),
                Sink::Text(_, files) => flush(&mut lock(files)),
                Sink::Zeek(_, logs) => logs.iter().for_each(|files| flush(&mut lock(files))),
                Sink::Tables(tables) => {
                    let mut tables = lock(tables);
                    tables.flush(now_ns);
                    self.stop_if(tables.has_failed());
                }
                Sink::Messages(messages) => {
                    let mut messages = lock(messages);
                    messages.flush(now_ns);
                    self.stop_if(messages.has_failed());
                }
            }
        }
    }

    /// Writes the counters of a capture that lasts, where a period ended: its ledger, and how many packets were lost before
    /// (`None` for pipes). `elapsed`: since it began; `clock_ns`: the time of a pipe's packets, 0 if there was none.
    pub fn report(&self, elapsed: Duration, clock_ns: u64, counters: impl FnOnce() -> (Ledger, Option<u64>)) {
        let due_s = self.explained_due_s.load(Ordering::Relaxed);
        if elapsed.as_secs() >= due_s {
            self.explained_due_s.store(due_s.saturating_add(EXPLAINED_S), Ordering::Relaxed);
            self.explained(self.now_ns(0).max(clock_ns));
        }
        let [is_stats_due, are_statistics_due] = self.periods.ended(elapsed);
        if !is_stats_due && !are_statistics_due {
            return;
        }
        let (ledger, dropped) = counters();
        let (facts, now_ns) = (Facts::of(&ledger, dropped, elapsed), self.now_ns(0).max(clock_ns));
        for sink in &self.sinks {
            match sink {
                Sink::Eve(eve) if is_stats_due => self.stats(&mut lock(eve), &facts, now_ns),
                Sink::Messages(messages) if are_statistics_due => lock(messages).statistics(&facts, now_ns),
                _ => {}
            }
        }
    }

    /// Writes EVE's record of a run's counters.
    fn stats(&self, eve: &mut Eve, facts: &Facts, now_ns: u64) {
        if !self.eve.has("stats") {
            return;
        }
        let flows = self.flows.load(Ordering::Relaxed);
        let Facts { packets, bytes, dropped, uptime, .. } = *facts;
        let mut line = Vec::new();
        let records = eve.records();
        eve::push_stats(&mut line, &eve::Stats { time_ns: now_ns, uptime, packets, bytes, dropped, flows, records });
        eve.push(&line, now_ns);
        self.stop_if(eve.files.has_failed());
    }

    /// Writes lines that were collected, and does nothing else: what is read from files has no time of its own at which others are due.
    pub fn flush_lines(&self) {
        for sink in &self.sinks {
            sink.each_file(|files| {
                files.flush_lines();
                self.stop_if(files.has_failed());
            });
        }
    }

    /// Completes everything. `is_whole`: whether the run saw all of its input.
    ///
    /// # Errors
    /// The first that could not be written; the others are completed all the same.
    pub fn finish(&self, facts: &Facts, is_whole: bool) -> Result<(), CliError> {
        let now_ns = self.now_ns(0);
        self.explained(now_ns);
        let mut result = Ok(());
        for sink in &self.sinks {
            let finished = match sink {
                Sink::Eve(eve) => {
                    let mut eve = lock(eve);
                    self.stats(&mut eve, facts, now_ns);
                    eve.files.finish(now_ns)
                }
                Sink::Zeek(_, logs) => logs.iter().map(|files| lock(files).finish(now_ns)).fold(Ok(()), Result::and),
                Sink::Messages(messages) => lock(messages).finish(facts, now_ns),
                Sink::Text(_, files) => lock(files).finish(now_ns),
                Sink::Tables(tables) => lock(tables).finish(now_ns),
            };
            result = result.and(finished);
        }
        let is_whole = is_whole && result.is_ok();
        self.sinks.iter().for_each(|sink| sink.each_file(|files| files.settle_earlier(is_whole)));
        result
    }
}

impl Sink {
    fn open(
        target: &Target,
        rotate: Rotate,
        source: &Source,
        (content, stop): (&Content, &Stop),
        now_ns: u64,
    ) -> Result<Self, CliError> {
        Ok(match (target.format, &target.place) {
            (Format::Zeek, Place::Path(path)) => Self::logs(zeek::Form::Tsv, path, rotate)?,
            (Format::ZeekJson, Place::Path(path)) => Self::logs(zeek::Form::Json, path, rotate)?,
            (Format::Eve, place) => Self::Eve(Mutex::new(Eve::new(open_files(place, Frame::Lines, rotate, now_ns)?))),
            (Format::Json, place) => {
                Self::Text(Form::Json, Mutex::new(open_files(place, Frame::Lines, rotate, now_ns)?))
            }
            (Format::Csv, place) => {
                let header = Frame::Header((content.csv_header)(&Clock::iso_utc()));
                Self::Text(Form::Csv, Mutex::new(open_files(place, header, rotate, now_ns)?))
            }
            (Format::Sqlite | Format::Parquet | Format::Arrow, place) => {
                Self::Tables(Mutex::new(open_tables(target.format, place, rotate, source, content, now_ns)?))
            }
            (format, place) => {
                let (place, enterprise) = ((format, place), content.enterprise);
                let sending = Sending { is_live: source.is_live, rate: content.udp_rate, stop: stop.clone() };
                Self::Messages(Box::new(Mutex::new(Messages::open(place, enterprise, rotate, &sending, now_ns)?)))
            }
        })
    }

    fn logs(form: zeek::Form, path: &Path, rotate: Rotate) -> Result<Self, CliError> {
        let shown = tidewire::legible::legible(&path.to_string_lossy()).into_owned();
        if path.is_file() {
            return Err(CliError::Usage(format!("{shown} is a file; Zeek's logs are several: name a folder")));
        }
        let made = std::fs::create_dir_all(path).and_then(|()| Folder::open(path));
        let folder =
            Arc::new(made.map_err(|error| CliError::Output(format!("{shown}: cannot be written to: {error}")))?);
        let logs = Log::ALL.map(|log| Mutex::new(Files::of_log(&folder, &shown, form, log, rotate)));
        Ok(Self::Zeek(form, Box::new(logs)))
    }

    /// Calls for the files of lines.
    fn each_file(&self, mut each: impl FnMut(&mut Files)) {
        match self {
            Self::Eve(eve) => each(&mut lock(eve).files),
            Self::Text(_, files) => each(&mut lock(files)),
            Self::Zeek(_, logs) => logs.iter().for_each(|files| each(&mut lock(files))),
            Self::Messages(_) | Self::Tables(_) => {}
        }
    }

    fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::Eve(eve) => lock(eve).files.folder(),
            Self::Text(_, files) => lock(files).folder(),
            Self::Zeek(_, logs) => lock(&logs[0]).folder(),
            Self::Messages(messages) => lock(messages).folder(),
            Self::Tables(tables) => lock(tables).folder(),
        }
    }
}
