//! What a run writes: each record to each output, from all workers.

use std::{
    collections::HashSet,
    fmt::Arguments,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
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
    file::Files,
    periods::{Periods, wall_ns},
    rotate::Rotate,
    sink::{Output, Sink, lock},
    target::Target,
    text::TextRow,
};
use crate::{
    clock::Clock,
    error::{self, CliError, graver},
};

/// The outputs.
pub struct Exports {
    outputs: Vec<Output>,
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
        let open = |target: &Target| {
            let sink = Sink::open(target, rotate, &source, (content, stop), now_ns)?;
            Ok(Output::new(sink, target))
        };
        let outputs = targets.iter().map(open).collect::<Result<_, CliError>>()?;
        let (newest_ns, flows, clock) = (AtomicU64::new(0), AtomicU64::new(0), Clock::iso_utc());
        let has_own_elements = content.enterprise.is_some();
        Ok(Self {
            outputs,
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
        self.outputs.iter().filter_map(|output| output.sink.folder()).collect()
    }

    /// The ports of TCP that collectors are connected to.
    #[cfg(feature = "live")]
    pub fn ports(&self) -> Vec<u16> {
        let ports = self.outputs.iter().map(|output| match &output.sink {
            Sink::Messages(messages) => lock(messages).ports(),
            _ => Vec::new(),
        });
        ports.flatten().collect()
    }

    /// How long a stream goes on before messages say what it did so far, nanoseconds; `None`: until its end.
    pub fn active_timeout_ns(&self) -> Option<u64> {
        self.active_timeout_ns.filter(|_| self.outputs.iter().any(|output| matches!(output.sink, Sink::Messages(_))))
    }

    /// Whether records need the order of packets.
    pub fn wants_history(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output.sink, Sink::Zeek(..)))
    }

    /// Whether only figures of streams are written, which need neither reassembly nor protocol fields.
    pub fn wants_figures_only(&self) -> bool {
        !self.has_own_elements && self.outputs.iter().all(|output| matches!(output.sink, Sink::Messages(_)))
    }

    /// Whether records are written as they are printed.
    pub fn wants_text(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output.sink, Sink::Text(..)))
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
        for output in &self.outputs {
            if let Sink::Messages(messages) = &output.sink {
                let mut messages = lock(messages);
                messages.push(flow, now_ns);
                self.note(output, messages.has_failed());
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
        for output in &self.outputs {
            scratch.clear();
            match &output.sink {
                Sink::Eve(eve) => {
                    eve::push_records(scratch, flow, anomalies, self.eve);
                    self.push_eve(output, eve, scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    zeek::push_conn(scratch, *form, flow, history.unwrap_or(&History::default()));
                    self.push(output, &logs[Log::Conn as usize], scratch, now_ns);
                    scratch.clear();
                    zeek::push_weirds(scratch, *form, flow, anomalies);
                    self.push(output, &logs[Log::Weird as usize], scratch, now_ns);
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
        let has_records = |output: &Output| matches!(output.sink, Sink::Eve(_) | Sink::Zeek(..));
        if flow.anomalies.is_empty() || !self.outputs.iter().any(has_records) {
            return None;
        }
        lock(&self.explainer).remaining(flow, first_ns)
    }

    /// Writes the others: one record for all streams.
    fn explained(&self, now_ns: u64) {
        let (all, mut scratch) = (lock(&self.explainer).take(), Vec::new());
        for (output, explained) in self.outputs.iter().flat_map(|output| all.iter().map(move |one| (output, one))) {
            scratch.clear();
            match &output.sink {
                Sink::Eve(eve) if self.eve.has("anomaly") => {
                    eve::push_explained(&mut scratch, explained, self.origin());
                    self.push_eve(output, eve, &scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    zeek::push_explained(&mut scratch, *form, explained);
                    self.push(output, &logs[Log::Weird as usize], &scratch, now_ns);
                }
                _ => {}
            }
        }
    }

    /// Writes what the packets of a stream of QUIC were. `stream`: its number, time and key.
    pub fn quic(&self, stream: (u64, u64, &FlowKey), entry: &QuicEntry, end_ns: u64, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(end_ns);
        for output in &self.outputs {
            if let Sink::Zeek(form, logs) = &output.sink {
                scratch.clear();
                zeek::push_quic_entry(scratch, *form, stream, entry);
                self.push(output, &logs[Log::Quic as usize], scratch, now_ns);
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
        for output in &self.outputs {
            if let Sink::Zeek(form, logs) = &output.sink {
                scratch.clear();
                zeek::push_tunnel(scratch, *form, tunnel, time_ns);
                self.push(output, &logs[Log::Tunnel as usize], scratch, now_ns);
            }
        }
    }

    /// Writes a transaction. `has_packets`: those of QUIC have their lines by their packets ([`quic`](Self::quic)).
    pub fn transaction(&self, exchange: &Exchange<'_>, has_packets: bool, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(exchange.transaction.end_ns);
        self.row(&Row::Transaction(exchange), now_ns);
        for output in &self.outputs {
            scratch.clear();
            match &output.sink {
                Sink::Eve(eve) => {
                    eve::push_transaction(scratch, exchange, self.eve);
                    self.push_eve(output, eve, scratch, now_ns);
                }
                Sink::Zeek(form, logs) => {
                    if let Some(log) = zeek::log_of(exchange) {
                        zeek::push_transaction(scratch, *form, exchange);
                        self.push(output, &logs[log as usize], scratch, now_ns);
                        scratch.clear();
                        zeek::push_files(scratch, *form, exchange);
                        self.push(output, &logs[Log::Files as usize], scratch, now_ns);
                        scratch.clear();
                        zeek::push_weird_answer(scratch, *form, exchange);
                        self.push(output, &logs[Log::Weird as usize], scratch, now_ns);
                        scratch.clear();
                    }
                    if !has_packets {
                        zeek::push_quic(scratch, *form, exchange);
                        self.push(output, &logs[Log::Quic as usize], scratch, now_ns);
                    }
                }
                _ => {}
            }
        }
    }

    /// Writes a record as it is printed.
    pub fn text(&self, row: &dyn TextRow, end_ns: u64, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(end_ns);
        for output in &self.outputs {
            if let Sink::Text(form, files) = &output.sink {
                scratch.clear();
                row.push(*form, &self.clock, scratch);
                self.push(output, files, scratch, now_ns);
            }
        }
    }

    /// Writes a pattern that was found.
    pub fn matched(&self, found: &MatchRecord<'_>, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(found.time_ns);
        self.row(&Row::Match(found), now_ns);
        for output in &self.outputs {
            if let Sink::Eve(eve) = &output.sink
                && self.eve.has("alert")
            {
                scratch.clear();
                eve::push_alert(scratch, found);
                self.push_eve(output, eve, scratch, now_ns);
            }
        }
    }

    /// Writes similar events as one record.
    #[cfg(feature = "live")]
    pub fn event(&self, event: &tidewire_exports::EventRecord<'_>) {
        self.row(&Row::Event(event), self.now_ns(event.last_ns));
    }

    fn row(&self, row: &Row<'_>, now_ns: u64) {
        for output in &self.outputs {
            if let Sink::Tables(tables) = &output.sink {
                let mut tables = lock(tables);
                tables.row(row, now_ns);
                self.note(output, tables.has_failed());
            }
        }
    }

    fn push(&self, output: &Output, files: &Mutex<Files>, records: &[u8], now_ns: u64) {
        if !records.is_empty() {
            self.add(output, &mut lock(files), records, now_ns);
        }
    }

    fn push_eve(&self, output: &Output, eve: &Mutex<Eve>, records: &[u8], now_ns: u64) {
        if !records.is_empty() {
            let mut eve = lock(eve);
            eve.count(records);
            self.add(output, &mut eve.files, records, now_ns);
        }
    }

    /// Notes whether an output cannot be written.
    fn note(&self, output: &Output, has_failed: bool) {
        if has_failed && !output.has_failed.swap(true, Ordering::Relaxed) {
            self.go_on(format_args!("{}: cannot be written any more", output.shown));
        }
    }

    /// Notes whether a file cannot be written. Each of an output's files fails for itself, and the output with the last of them.
    fn note_file(&self, output: &Output, files: &mut Files) {
        let Some(failure) = files.news() else { return };
        let failed = output.failed_files.fetch_add(1, Ordering::Relaxed) + 1;
        if failed >= output.begun_files.load(Ordering::Relaxed) {
            output.has_failed.store(true, Ordering::Relaxed);
        }
        if let Some(failure) = failure {
            self.go_on(format_args!("{failure}"));
        } else if self.has_failed() {
            self.stop.stop();
        }
    }

    fn has_failed(&self) -> bool {
        self.outputs.iter().all(|output| output.has_failed.load(Ordering::Relaxed))
    }

    /// The run goes on for what can be written, and ends where nothing can.
    fn go_on(&self, failure: Arguments<'_>) {
        if self.has_failed() {
            self.stop.stop();
        } else {
            error::notify(format_args!("{failure}; the run goes on for what can be written"));
        }
    }

    /// Adds records to a file.
    fn add(&self, output: &Output, files: &mut Files, records: &[u8], now_ns: u64) {
        if files.begins() {
            output.begun_files.fetch_add(1, Ordering::Relaxed);
        }
        files.push(records, now_ns);
        self.note_file(output, files);
    }

    /// Writes what was collected, and completes files whose time has come.
    pub fn flush(&self) {
        let now_ns = self.now_ns(0);
        let flush = |output: &Output, files: &mut Files| {
            if files.is_due(0, now_ns) {
                files.complete(now_ns);
            } else {
                files.flush();
            }
            self.note_file(output, files);
        };
        for output in &self.outputs {
            match &output.sink {
                Sink::Eve(eve) => flush(output, &mut lock(eve).files),
                Sink::Text(_, files) => flush(output, &mut lock(files)),
                Sink::Zeek(_, logs) => logs.iter().for_each(|files| flush(output, &mut lock(files))),
                Sink::Tables(tables) => {
                    let mut tables = lock(tables);
                    tables.flush(now_ns);
                    self.note(output, tables.has_failed());
                }
                Sink::Messages(messages) => {
                    let mut messages = lock(messages);
                    messages.flush(now_ns);
                    self.note(output, messages.has_failed());
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
        for output in &self.outputs {
            match &output.sink {
                Sink::Eve(eve) if is_stats_due => self.stats(output, &mut lock(eve), &facts, now_ns),
                Sink::Messages(messages) if are_statistics_due => lock(messages).statistics(&facts, now_ns),
                _ => {}
            }
        }
    }

    /// Writes EVE's record of a run's counters.
    fn stats(&self, output: &Output, eve: &mut Eve, facts: &Facts, now_ns: u64) {
        if !self.eve.has("stats") {
            return;
        }
        let flows = self.flows.load(Ordering::Relaxed);
        let Facts { packets, bytes, dropped, uptime, .. } = *facts;
        let mut line = Vec::new();
        let records = eve.records();
        eve::push_stats(&mut line, &eve::Stats { time_ns: now_ns, uptime, packets, bytes, dropped, flows, records });
        eve.count(&line);
        self.add(output, &mut eve.files, &line, now_ns);
    }

    /// Writes lines that were collected, and does nothing else: what is read from files has no time of its own at which others are due.
    pub fn flush_lines(&self) {
        for output in &self.outputs {
            output.sink.each_file(|files| {
                files.flush_lines();
                self.note_file(output, files);
            });
        }
    }

    /// Completes everything. `is_whole`: whether the run saw all of its input.
    ///
    /// # Errors
    /// The gravest of what could not be written; the others are said, and what could be written is completed all the same.
    pub fn finish(&self, facts: &Facts, is_whole: bool) -> Result<(), CliError> {
        let now_ns = self.now_ns(0);
        self.explained(now_ns);
        let mut result = Ok(());
        for output in &self.outputs {
            let finish = |files: &mut Files| {
                let finished = files.finish(now_ns, is_whole);
                files.settle_earlier(is_whole && finished.is_ok());
                finished
            };
            let finished = match &output.sink {
                Sink::Eve(eve) => {
                    let mut eve = lock(eve);
                    self.stats(output, &mut eve, facts, now_ns);
                    finish(&mut eve.files)
                }
                Sink::Zeek(_, logs) => logs.iter().map(|files| finish(&mut lock(files))).fold(Ok(()), graver),
                Sink::Messages(messages) => lock(messages).finish(facts, now_ns, is_whole),
                Sink::Text(_, files) => finish(&mut lock(files)),
                Sink::Tables(tables) => lock(tables).finish(now_ns, is_whole),
            };
            result = graver(result, finished);
        }
        result
    }
}
