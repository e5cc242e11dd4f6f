//! One run: signals, the progress bar, the messages at the end.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use tidewire::{Capture, CaptureLoss, Error, Fate, Files, Handler, Ledger, Mode, Outcome, Pattern, Progress, Stop};
use tidewire_outputs::{Exports, KeptState};

use crate::{
    arg_types::StatsFormat,
    capture_losses,
    error::{self, CliError},
    interrupt::{INTERRUPTED, on_interrupt},
    ledger,
    live::{self, LiveReport},
    options::Common,
    output::Out,
    outputs::Outputs,
    packet_file::PacketFile,
    packets_outside,
    progress::Bar,
    shared_output::SharedOutput,
    units::{Count, counted},
};

/// Interval between outputs of records from a pipe.
const FLUSH: Duration = Duration::from_millis(200);

/// Silence after which a closed connection of a pipe is reported, as for interfaces.
const REPORT_CLOSED: Duration = Duration::from_secs(1);

/// A run before its start.
pub struct Session<'a> {
    common: &'a Common,
    /// The part of the memory that is not the engine's.
    kept: KeptState,
    /// Ends the run.
    pub stop: Stop,
    /// Paths below which files are written.
    writable: Vec<PathBuf>,
    /// Gets packets as they come.
    packets: Option<Arc<PacketFile>>,
    /// Gets records as they come.
    exports: Option<Arc<Exports>>,
}

/// The result of a run without its handlers.
pub struct Closing {
    pub ledger: Ledger,
    /// Counters before the engine, for captures from interfaces.
    live: Option<LiveReport>,
    input_errors: Vec<Error>,
    /// The pattern of copies, where it decided that they are left out.
    duplicates: Option<Pattern>,
    capture_losses: Vec<CaptureLoss>,
    interrupted: bool,
    elapsed: Duration,
    /// Whether a handler ended the run, not a signal.
    stopped: bool,
    /// Also set by later signals.
    stop: Stop,
}

impl<'a> Session<'a> {
    /// Creates a session. Signals now end the run instead of the process: at once for files, for interfaces once packets can
    /// arrive.
    pub fn new(common: &'a Common) -> Result<Self, CliError> {
        let stop = Stop::new();
        if !common.live.is_on() {
            on_interrupt(&stop, false)?;
        }
        Ok(Self { common, kept: KeptState::default(), stop, writable: Vec::new(), packets: None, exports: None })
    }

    /// Declares what the command keeps of the traffic: the engine has the rest of the memory.
    pub fn keeping(mut self, kept: KeptState) -> Self {
        self.kept = kept;
        self
    }

    /// Declares that files are written below `path`, which exists.
    pub fn writing(mut self, path: &Path) -> Self {
        self.writable.push(path.to_owned());
        self
    }

    /// Declares that packets are written to `file`: as they come, or with `is_later` when the run has ended.
    pub fn write_packets(&mut self, file: &Arc<PacketFile>, is_later: bool) {
        self.writable.extend(file.directory());
        self.packets = (!is_later).then(|| Arc::clone(file));
    }

    /// Declares that records are written to `exports`.
    pub fn export(&mut self, exports: &Arc<Exports>) {
        self.writable.extend(exports.folders());
        self.exports = Some(Arc::clone(exports));
    }

    /// Runs the capture of the options. `make` gets the index of each worker. Records that are printed as they come go to
    /// `sinks`.
    pub fn run<H: Handler + Send>(
        &self,
        mode: Mode,
        sinks: &[&SharedOutput],
        mut make: impl FnMut(usize) -> H,
    ) -> Result<(Vec<H>, Closing), CliError> {
        let (common, stop) = (self.common, &self.stop);
        let outputs = Outputs { sinks, packets: self.packets.as_deref(), exports: self.exports.as_deref() };
        let is_gradual =
            !sinks.is_empty() || common.is_unending() && (self.packets.is_some() || self.exports.is_some());
        let outcome = if common.live.is_on() {
            let capture = self.settled(common.of_interfaces(mode)?);
            live::run(capture, &common.live, stop, outputs, &self.writable, make)?
        } else if !is_gradual {
            read(self.settled(common.of_files(mode)?), outputs.exports, &mut make)?
        } else {
            read_unending(self.settled(common.of_files(mode)?), outputs, &mut make)?
        };
        let live = live::report_of(&outcome);
        let Outcome { handlers, ledger, input_errors, capture_losses, duplicates, elapsed, interrupted, .. } = outcome;
        let signal = INTERRUPTED.load(Ordering::Relaxed);
        let stopped = interrupted && !signal;
        // A signal during the last read counts, too. For interfaces a signal is the normal end.
        let interrupted = signal && live.is_none();
        let stop = self.stop.clone();
        let closing =
            Closing { ledger, live, input_errors, capture_losses, duplicates, interrupted, elapsed, stopped, stop };
        Ok((handlers, closing))
    }
}

impl Session<'_> {
    fn settled<I>(&self, capture: Capture<I>) -> Capture<I> {
        let engine_bytes = self.common.parts(self.kept).engine();
        capture.memory(engine_bytes).stream_bytes(self.kept.stream_bytes).stop_when(&self.stop)
    }
}

/// Reads files with a progress bar; lines of `exports` grow meanwhile.
fn read<H: Handler + Send>(
    capture: Capture<Files<'_>>,
    exports: Option<&Exports>,
    make: &mut impl FnMut(usize) -> H,
) -> Result<Outcome<H>, tidewire::Error> {
    // The bar is removed before any other output.
    let (mut bar, mut flushed) = (Bar::new(), Instant::now());
    let capture = match bar.is_some() || exports.is_some() {
        true => capture.on_progress(move |progress| {
            bar.iter_mut().for_each(|bar| bar.show(progress));
            if let Some(exports) = exports.filter(|_| flushed.elapsed() >= FLUSH) {
                exports.flush_lines();
                flushed = Instant::now();
            }
        }),
        false => capture,
    };
    capture.run(make)
}

/// Reads a pipe; records are printed as streams end.
fn read_unending<H: Handler + Send>(
    capture: Capture<Files<'_>>,
    outputs: Outputs<'_>,
    make: &mut impl FnMut(usize) -> H,
) -> Result<Outcome<H>, CliError> {
    let mut flushed = Instant::now();
    let flush = |_: Progress| {
        if flushed.elapsed() >= FLUSH {
            outputs.flush();
            flushed = Instant::now();
        }
    };
    let begun = Instant::now();
    let report = |ledger: &Ledger, clock| outputs.report_pipe(ledger, begun.elapsed(), clock);
    let outcome = capture.report_closed(REPORT_CLOSED).on_ledger(report).on_progress(flush).run(make);
    outputs.finish()?;
    Ok(outcome?)
}

impl Closing {
    /// Reports problems, prints the ledger if requested, and returns the exit code: `code` unless the input was damaged or the
    /// run interrupted. `json`: whether records were printed as JSON.
    pub fn finish(&self, common: &Common, json: bool, out: &mut Out, code: u8) -> Result<u8, CliError> {
        let implied = if json { StatsFormat::Json } else { StatsFormat::Text };
        let stats = common.stats.or((common.limit == Some(0)).then_some(implied));
        if stats == Some(StatsFormat::Json) {
            let (live, losses) = (self.live.as_ref(), &self.capture_losses);
            ledger::push_json(out.buffer(), &self.ledger, live, losses, self.elapsed);
            out.buffer().push(b'\n');
        }
        out.flush()?;
        if stats == Some(StatsFormat::Text) {
            let before = self.live.as_ref().map(|report| live::text(report, &self.ledger)).unwrap_or_default();
            let text = before + &ledger::text(&self.ledger, self.elapsed);
            std::io::stderr().write_all(text.as_bytes()).map_err(CliError::from_output)?;
        }
        for damage in &self.input_errors {
            error::notify(damage);
        }
        self.say_left_out();
        self.say_copies();
        capture_losses::say(&self.capture_losses);
        if let Some(report) = &self.live {
            live::say_lost(report);
        }
        self.say_evicted();
        if !self.ledger.closes() {
            let settled: u64 = self.ledger.fates().map(|(_, packets)| packets).sum();
            let received = self.ledger.received;
            return Err(CliError::Output(format!(
                "a bug in tidewire: {received} packets received, {settled} accounted for"
            )));
        }
        if self.interrupted {
            error::notify("interrupted; packets read so far were processed");
            return Ok(error::INTERRUPTED);
        }
        // A run that was stopped on purpose did not see the rest of its input.
        Ok(if self.input_errors.is_empty() || self.stopped { code } else { error::INPUT })
    }
}

impl Closing {
    /// Packets lost before they could be read; `None` for files.
    pub fn lost(&self) -> Option<u64> {
        self.live.as_ref().map(LiveReport::lost_packets)
    }

    /// Whether the input was read to its end, or to a configured limit.
    pub fn is_whole(&self) -> bool {
        self.is_whole_with(false)
    }

    /// The same for a run that ends when its result is found (`is_found`).
    pub fn is_whole_with(&self, is_found: bool) -> bool {
        !self.interrupted && (!self.stopped || is_found)
    }

    /// How long the run took.
    pub fn uptime(&self) -> Duration {
        self.elapsed
    }

    /// The lines after the closing line: see [`packets_outside::lines`].
    pub fn lines(&self, common: &Common) -> Vec<String> {
        packets_outside::lines(&self.ledger, common, &self.stop)
    }

    /// The message that the filter accepted no packet.
    pub fn none_accepted(&self, common: &Common) -> Option<String> {
        packets_outside::none_accepted(&self.ledger, common, &self.stop)
    }

    /// Reports packets that an option would have kept.
    fn say_left_out(&self) {
        let count = self.ledger.fate(Fate::BadChecksum);
        if count > 0 {
            let packets = counted(count, "packet", "packets");
            error::notify(format_args!("{packets} dropped for wrong checksums (--checksum ignore keeps them)"));
        }
    }

    /// Reports packets that were left out as copies.
    fn say_copies(&self) {
        let count = self.ledger.fate(Fate::Duplicate);
        if count == 0 {
            return;
        }
        let packets = format!("{} of {}", Count(count), counted(self.ledger.received, "packet", "packets"));
        let why = match (&self.duplicates, &self.live) {
            (Some(pattern), _) => {
                // Rounded up to hundredths.
                let within = pattern.within.as_nanos().div_ceil(10_000).max(1) as f64 / 100.0;
                format!("copies within {within} ms: a mirror of both directions?")
            }
            (None, Some(_)) => "copies that another interface showed".into(),
            (None, None) => "copies".into(),
        };
        error::notify(format_args!("{packets} left out as {why} (--duplicates keep processes them)"));
    }

    /// Reports flows that were evicted because of the memory limit.
    fn say_evicted(&self) {
        let (flows, half_open) = (self.ledger.evicted, self.ledger.evicted_half_open);
        if flows + half_open > 0 {
            let (flows, half_open) = (counted(flows, "flow", "flows"), Count(half_open));
            error::notify(format_args!(
                "memory limit: {flows} and {half_open} half-open connections were evicted; their later packets count as new flows, \
                 or none (raise --memory)"
            ));
        }
    }
}
