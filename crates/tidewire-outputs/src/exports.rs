//! The outputs of a run: each record goes to each of them, from all workers.

use std::{
    collections::HashSet,
    fmt::Arguments,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tidewire::{Ledger, Timestamp};
use tidewire_exports::{
    Explainer, FlowRecord, Origin, Remaining,
    zeek::{History, Tunnel},
};
use tidewire_types::clock::wall_ns;

use crate::{
    error::{OutputError, graver},
    facts::Facts,
    locking::lock,
    output::{Output, OutputState},
    periods::Periods,
    record::{EndedFlow, Record},
    settings::Settings,
    sink::{Call, Failure, Needs, Sink},
    sinks,
    target::Target,
};

/// The outputs of a run.
pub struct Exports {
    outputs: Vec<Arc<Output>>,
    settings: Settings,
    /// The greatest time of a record: what the time is while files are read.
    newest_ns: AtomicU64,
    flows: AtomicU64,
    transactions: AtomicU64,
    /// Streams that lost their protocol fields for lack of memory.
    without_fields: AtomicU64,
    /// Histories of QUIC that were cut off for lack of memory.
    cut_histories: AtomicU64,
    periods: Periods,
    /// Tunnels that were written.
    tunnels: Mutex<HashSet<Tunnel>>,
    /// Anomalies that the point of the capture explains.
    explainer: Mutex<Explainer>,
    /// When they are written next in a capture that lasts, seconds since it began.
    explained_due_s: AtomicU64,
}

/// How many streams came on several paths so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paths {
    /// Few: each has records of its own.
    Few,
    /// Many, since this stream.
    NoLongerFew,
    Many,
}

/// How often explained anomalies are written, seconds: a stream that began long ago has its explanation in the same day.
const EXPLAINED_S: u64 = 3600;

/// Most tunnels that are written of a run: 5 MB of memory.
const TUNNELS_MAX: usize = 65_536;

impl Exports {
    /// Opens files and connections.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub fn open(targets: &[Target], settings: Settings) -> Result<Self, OutputError> {
        let sinks = targets.iter().map(|target| Self::sink(target, &settings)).collect::<Result<_, OutputError>>()?;
        Ok(Self::of(sinks, settings))
    }

    /// Opens one of them, for [`of`](Self::of): its own settings may be others.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn sink(target: &Target, settings: &Settings) -> Result<(String, Box<dyn Sink>), OutputError> {
        let now_ns = if settings.source.is_live { wall_ns() } else { 0 };
        Ok((target.to_string(), sinks::open(target, settings, now_ns)?))
    }

    /// Passes records to sinks, each with its name for messages.
    #[must_use]
    pub fn of(sinks: Vec<(String, Box<dyn Sink>)>, settings: Settings) -> Self {
        Self {
            outputs: sinks.into_iter().map(|(shown, sink)| Arc::new(Output::new(shown, sink))).collect(),
            settings,
            newest_ns: AtomicU64::new(0),
            flows: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
            without_fields: AtomicU64::new(0),
            cut_histories: AtomicU64::new(0),
            periods: Periods::default(),
            tunnels: Mutex::default(),
            explainer: Mutex::default(),
            explained_due_s: AtomicU64::new(EXPLAINED_S),
        }
    }

    /// Has outputs of files that fail opened again while the run goes on, each with its target and settings, in the order of
    /// [`of`](Self::of): for a capture that lasts. Outputs beyond the list are not.
    #[must_use]
    pub fn reopening(mut self, how: impl IntoIterator<Item = (Target, Settings)>) -> Self {
        for (output, (target, settings)) in self.outputs.iter_mut().zip(how) {
            // No thread has it yet.
            if let Some(output) = Arc::get_mut(output) {
                output.reopen(target, settings);
            }
        }
        self
    }

    /// By output, its state and the account of its records.
    pub fn states(&self) -> Vec<OutputState> {
        self.outputs.iter().map(|output| output.state()).collect()
    }

    #[cfg(test)]
    pub(crate) fn attempts(&self, index: usize) -> u64 {
        self.outputs[index].attempts()
    }

    /// The folders that files are made in.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.outputs.iter().filter_map(|output| output.sink().folder()).collect()
    }

    /// The ports of TCP that collectors are connected to.
    pub fn ports(&self) -> Vec<u16> {
        self.outputs.iter().flat_map(|output| output.sink().ports()).collect()
    }

    /// Streams that ended, and transactions, that were passed to the outputs.
    pub fn counts(&self) -> [u64; 2] {
        [&self.flows, &self.transactions].map(|count| count.load(Ordering::Relaxed))
    }

    /// Streams that lost their protocol fields, and histories of QUIC that were cut off, for lack of memory.
    pub fn losses(&self) -> [u64; 2] {
        [&self.without_fields, &self.cut_histories].map(|count| count.load(Ordering::Relaxed))
    }

    pub(crate) fn lose_fields(&self, streams: u64) {
        self.without_fields.fetch_add(streams, Ordering::Relaxed);
    }

    pub(crate) fn cut_history(&self) {
        self.cut_histories.fetch_add(1, Ordering::Relaxed);
    }

    /// By output, whether nothing of it can be written any more.
    pub fn failed(&self) -> impl Iterator<Item = bool> {
        self.outputs.iter().map(|output| output.has_failed())
    }

    /// The time after which a stream that continues has an interim record; `None`: no output has such records.
    pub fn active_timeout(&self) -> Option<Duration> {
        self.settings.active_timeout.filter(|_| self.needs(|needs| needs.interim))
    }

    /// Whether records need the order of packets.
    pub fn wants_history(&self) -> bool {
        self.needs(|needs| needs.history)
    }

    /// Whether only figures of streams are written, which need neither reassembly nor protocol fields.
    pub fn wants_figures_only(&self) -> bool {
        !self.needs(|needs| needs.content)
    }

    /// Whether records are written as they are printed.
    pub fn wants_text(&self) -> bool {
        self.needs(|needs| needs.text)
    }

    fn needs(&self, has: impl Fn(Needs) -> bool) -> bool {
        self.outputs.iter().any(|output| has(output.needs))
    }

    /// Where packets come from, as far as there is one place.
    pub fn origin(&self) -> Origin<'_> {
        self.settings.source.origin()
    }

    /// The time at which a record is written: the clock's, or that of the newest record.
    fn now_ns(&self, record_ns: u64) -> u64 {
        if self.settings.source.is_live {
            return wall_ns();
        }
        self.newest_ns.fetch_max(record_ns, Ordering::Relaxed).max(record_ns)
    }

    /// Writes a record of time `record_ns`, nanoseconds since the epoch. `scratch` is a reusable buffer of the caller.
    pub fn write(&self, record: &Record<'_>, record_ns: u64, scratch: &mut Vec<u8>) {
        let now_ns = self.now_ns(record_ns);
        if let Record::Transaction { .. } = record {
            self.transactions.fetch_add(1, Ordering::Relaxed);
        }
        self.pass(record, now_ns, scratch);
    }

    fn pass(&self, record: &Record<'_>, now_ns: u64, scratch: &mut Vec<u8>) {
        scratch.clear();
        let mut call = Call::at(now_ns, scratch);
        for output in &self.outputs {
            output.sink().write(record, &mut call);
            self.note(output, &mut call);
        }
    }

    /// Writes a stream that ended. `rest`: its figures since its last interim record, if it had one.
    pub fn flow(
        &self,
        flow: &FlowRecord<'_>,
        rest: Option<&FlowRecord<'_>>,
        history: Option<&History>,
        scratch: &mut Vec<u8>,
    ) {
        self.flows.fetch_add(1, Ordering::Relaxed);
        let (remaining, empty) = (self.remaining(flow), History::default());
        let (anomalies, held) = match &remaining {
            Some((remaining, paths)) => {
                let held = if *paths == Paths::Few { &*remaining.of_paths } else { &[] };
                (&*remaining.unexplained, held)
            }
            None => (flow.anomalies, &[][..]),
        };
        if let Some((_, Paths::NoLongerFew)) = remaining {
            self.write(&Record::Release { are_few: false }, flow.last.as_nanos(), scratch);
        }
        let ended = EndedFlow { flow, anomalies, held, rest, history: history.unwrap_or(&empty) };
        self.write(&Record::Flow(&ended), flow.last.as_nanos(), scratch);
    }

    /// The anomalies of a stream that are written with it, or held as long as streams with such are few; `None`: all are written.
    fn remaining(&self, flow: &FlowRecord<'_>) -> Option<(Remaining, Paths)> {
        if flow.anomalies.is_empty() || !self.needs(|needs| needs.anomalies) {
            return None;
        }
        let mut explainer = lock(&self.explainer);
        let were_few = explainer.are_few();
        let remaining = explainer.remaining(flow)?;
        let paths = match (were_few, explainer.are_few()) {
            (_, true) => Paths::Few,
            (true, false) => Paths::NoLongerFew,
            (false, false) => Paths::Many,
        };
        Some((remaining, paths))
    }

    /// Writes the others: those that were held, and one record for all streams.
    fn explained(&self, now_ns: u64) {
        let mut scratch = Vec::new();
        let (are_few, all) = {
            let mut explainer = lock(&self.explainer);
            (explainer.are_few(), explainer.take())
        };
        self.pass(&Record::Release { are_few }, now_ns, &mut scratch);
        for explained in &all {
            self.pass(&Record::Explained { explained, origin: self.origin() }, now_ns, &mut scratch);
        }
    }

    /// Writes a tunnel, the first time.
    pub fn tunnel(&self, tunnel: &Tunnel, time_ns: u64, scratch: &mut Vec<u8>) {
        let mut known = lock(&self.tunnels);
        if known.len() >= TUNNELS_MAX || !known.insert(tunnel.sorted()) {
            return;
        }
        drop(known);
        self.write(&Record::Tunnel { tunnel, time_ns }, time_ns, scratch);
    }

    /// Reports what failed in a call. The run continues for what can be written, and ends where nothing can.
    fn note(&self, output: &Output, call: &mut Call<'_>) {
        for failure in call.failures.drain(..) {
            match failure {
                Failure::Output if output.is_reopened() => output.fail(None),
                Failure::File { message, .. } if output.is_reopened() => output.fail(message),
                Failure::Output => {
                    if output.fail_for_good(None) {
                        self.report(format_args!("{}: cannot be written any more", output.shown));
                    }
                }
                Failure::File { message, is_last } => {
                    if is_last {
                        output.fail_for_good(message.clone());
                    }
                    match message {
                        Some(message) => self.report(format_args!("{message}")),
                        None if self.settings.goes_on_without => {
                            self.report(format_args!("{}: its reader went away", output.shown));
                        }
                        None if self.has_failed() => self.settings.stop.stop(),
                        None => {}
                    }
                }
            }
        }
    }

    fn has_failed(&self) -> bool {
        self.outputs.iter().all(|output| output.has_failed())
    }

    fn report(&self, failure: Arguments<'_>) {
        match (self.has_failed(), self.settings.goes_on_without) {
            (true, false) => self.settings.stop.stop(),
            (true, true) => (self.settings.notify)(format_args!("{failure}; no output is left")),
            (false, _) => {
                (self.settings.notify)(format_args!("{failure}; the run goes on for what can be written"));
            }
        }
    }

    /// Writes what was gathered, and completes files whose time has come.
    pub fn flush(&self) {
        let mut scratch = Vec::new();
        let mut call = Call::at(self.now_ns(0), &mut scratch);
        for output in &self.outputs {
            output.sink().flush(&mut call);
            self.note(output, &mut call);
            output.retry(call.now_ns, &self.settings.notify);
        }
    }

    /// Writes lines that were gathered, and does nothing else: what is read from files has no time of its own at which others are due.
    pub fn flush_lines(&self) {
        let mut scratch = Vec::new();
        let mut call = Call::at(0, &mut scratch);
        for output in &self.outputs {
            output.sink().flush_lines(&mut call);
            self.note(output, &mut call);
        }
    }

    /// Writes the counters of a capture that lasts, where a period ended: its ledger, and how many packets were lost before
    /// (`None` for pipes). `elapsed`: since it began; `clock`: the time of a pipe's packets, if there was one.
    pub fn report_counters(
        &self,
        elapsed: Duration,
        clock: Option<Timestamp>,
        counters: impl FnOnce() -> (Ledger, Option<u64>),
    ) {
        let clock_ns = clock.map_or(0, Timestamp::as_nanos);
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
        let mut scratch = Vec::new();
        if is_stats_due {
            self.pass(&self.stats(&facts), now_ns, &mut scratch);
        }
        if are_statistics_due {
            self.pass(&Record::Statistics(&facts), now_ns, &mut scratch);
        }
    }

    fn stats<'a>(&self, facts: &'a Facts) -> Record<'a> {
        Record::Stats { facts, flows: self.flows.load(Ordering::Relaxed) }
    }

    /// Completes everything. `is_whole`: whether the run saw all of its input.
    ///
    /// # Errors
    /// The most severe failure. Less severe ones are reported, and outputs without a failure are completed all the same.
    pub fn finish(&self, facts: &Facts, is_whole: bool) -> Result<(), OutputError> {
        let now_ns = self.now_ns(0);
        self.explained(now_ns);
        let mut scratch = Vec::new();
        let (stats, statistics) = (self.stats(facts), Record::Statistics(facts));
        let mut result = Ok(());
        // Slow outputs end at the same time.
        for output in &self.outputs {
            // Failures of these last records are in the result.
            let mut call = Call::at(now_ns, &mut scratch);
            [&stats, &statistics].into_iter().for_each(|record| output.sink().write(record, &mut call));
            output.sink().begin_end(now_ns, is_whole && !output.has_been_reopened());
        }
        for output in &self.outputs {
            let is_whole = is_whole && !output.has_been_reopened();
            result = graver(result, output.sink().finish(now_ns, is_whole), &self.settings.notify);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::{TextForm, TextRow};

    struct Line;

    impl TextRow for Line {
        fn push(&self, _: TextForm, out: &mut Vec<u8>) {
            out.push(b'x');
        }
    }

    /// A sink of another program: it counts records, and fails behind a number of them.
    struct Counter {
        count: Arc<AtomicUsize>,
        most: usize,
    }

    impl Sink for Counter {
        fn needs(&self) -> Needs {
            Needs { text: true, ..Needs::default() }
        }

        fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
            if !matches!(record, Record::Text(_)) {
                return;
            }
            if self.count.load(Ordering::Relaxed) == self.most {
                call.failures.push(Failure::Output);
            } else {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn flush(&self, _: &mut Call<'_>) {}

        fn finish(&self, _: u64, _: bool) -> Result<(), OutputError> {
            match self.count.load(Ordering::Relaxed) == self.most {
                true => Err(OutputError::Write(format!("full at {}", self.most))),
                false => Ok(()),
            }
        }

        fn folder(&self) -> Option<PathBuf> {
            None
        }
    }

    #[test]
    fn each_sink_fails_for_itself_and_the_run_ends_with_the_last() {
        let settings = Settings::default();
        let counts: [Arc<AtomicUsize>; 2] = Default::default();
        let sink = |index: usize, most| -> (String, Box<dyn Sink>) {
            (format!("sink {index}"), Box::new(Counter { count: Arc::clone(&counts[index]), most }))
        };
        let exports = Exports::of(vec![sink(0, 3), sink(1, 7)], settings.clone());
        assert!(exports.wants_text() && exports.wants_figures_only() && !exports.wants_history());
        let written = || [&counts[0], &counts[1]].map(|count| count.load(Ordering::Relaxed));
        let mut scratch = Vec::new();
        for number in 1..=7 {
            exports.write(&Record::Text(&Line), number, &mut scratch);
        }
        assert_eq!((written(), settings.stop.is_stopped()), ([3, 7], false));
        exports.write(&Record::Text(&Line), 8, &mut scratch);
        assert_eq!((written(), settings.stop.is_stopped()), ([3, 7], true));
        assert_eq!(exports.finish(&Facts::default(), true).unwrap_err().to_string(), "full at 3");
    }
}
