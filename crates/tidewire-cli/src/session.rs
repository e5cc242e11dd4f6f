//! One run: Ctrl-C, the progress bar, what is said at the end.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use nix::sys::signal::{SigSet, Signal};
use tidewire::{Capture, Error, Fate, Files, Handler, Ledger, Mode, Outcome, Progress, Stop};

use crate::{
    arg_types::StatsFormat,
    error::{self, CliError},
    interrupt::{DONE, INTERRUPTED, on_interrupt},
    ledger,
    live::{self, LiveReport},
    options::Common,
    output::Out,
    packets_outside,
    progress::Bar,
    shared_output::SharedOutput,
    units::{Count, counted},
};

/// How often records of a pipe are printed.
const FLUSH: Duration = Duration::from_millis(200);

/// Silence after which a connection of a pipe that is over has its record printed, as of interfaces.
const REPORT_CLOSED: Duration = Duration::from_secs(1);

/// A run that is about to begin.
pub struct Session<'a> {
    common: &'a Common,
    /// Ends it.
    pub stop: Stop,
    /// Where it writes files.
    writable: Vec<PathBuf>,
}

/// What remains of a run when its handlers are taken out.
pub struct Closing {
    pub ledger: Ledger,
    /// Of a capture from interfaces: what lies before the engine.
    live: Option<LiveReport>,
    input_errors: Vec<Error>,
    interrupted: bool,
    elapsed: Duration,
    /// Whether a handler ended the run, so that no signal did.
    stopped: bool,
    /// Raised by signals from now on, too.
    stop: Stop,
}

impl<'a> Session<'a> {
    /// Signals end the run, and not the program: of files from now on, of interfaces once packets can come.
    pub fn new(common: &'a Common) -> Result<Self, CliError> {
        let stop = Stop::new();
        // Beyond a limit of file sizes (RLIMIT_FSIZE) a write then fails, and is told of, instead of ending the program.
        let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
        if !common.live.is_on() {
            on_interrupt(&stop, false)?;
        }
        Ok(Self { common, stop, writable: Vec::new() })
    }

    /// Files are written below `path`, which exists.
    pub fn writing(mut self, path: &Path) -> Self {
        self.writable.push(path.to_owned());
        self
    }

    /// Runs the capture that the options describe. `make` is given each worker's index. What is printed as it comes goes to
    /// `sinks`.
    pub fn run<H: Handler + Send>(
        &self,
        mode: Mode,
        sinks: &[&SharedOutput],
        mut make: impl FnMut(usize) -> H,
    ) -> Result<(Vec<H>, Closing), CliError> {
        let (common, stop) = (self.common, &self.stop);
        let outcome = if common.live.is_on() {
            let capture = common.of_interfaces(mode)?.stop_when(stop);
            live::run(capture, &common.live, stop, sinks, &self.writable, make)?
        } else if sinks.is_empty() {
            read(common.of_files(mode)?.stop_when(stop), &mut make)?
        } else {
            read_unending(common.of_files(mode)?.stop_when(stop), sinks, &mut make)?
        };
        let live = live::report_of(&outcome);
        let Outcome { handlers, ledger, input_errors, elapsed, interrupted, .. } = outcome;
        let signal = INTERRUPTED.load(Ordering::Relaxed);
        let stopped = interrupted && !signal;
        // A signal that came while the last read was waiting counts, too. It is how a capture from interfaces ends.
        let interrupted = signal && live.is_none();
        let stop = self.stop.clone();
        Ok((handlers, Closing { ledger, live, input_errors, interrupted, elapsed, stopped, stop }))
    }
}

/// Reads files, with a progress bar for people who wait.
fn read<H: Handler + Send>(
    capture: Capture<Files<'_>>,
    make: &mut impl FnMut(usize) -> H,
) -> Result<Outcome<H>, tidewire::Error> {
    // Dropped, and so removed, before anything else is said.
    let outcome = match Bar::new() {
        Some(mut bar) => capture.on_progress(move |progress| bar.show(progress)).run(make),
        None => capture.run(make),
    };
    DONE.store(true, Ordering::Relaxed);
    outcome
}

/// Reads a pipe, whose records are printed as they come.
fn read_unending<H: Handler + Send>(
    capture: Capture<Files<'_>>,
    sinks: &[&SharedOutput],
    make: &mut impl FnMut(usize) -> H,
) -> Result<Outcome<H>, CliError> {
    let mut flushed = Instant::now();
    let flush = |_: Progress| {
        if flushed.elapsed() >= FLUSH {
            sinks.iter().for_each(|sink| sink.flush());
            flushed = Instant::now();
        }
    };
    let outcome = capture.report_closed(REPORT_CLOSED).on_progress(flush).run(make);
    DONE.store(true, Ordering::Relaxed);
    for sink in sinks {
        sink.finish()?;
    }
    Ok(outcome?)
}

impl Closing {
    /// Says what was wrong, prints the ledger where it is wanted, and gives the exit code: `code` unless the input was
    /// damaged or the run interrupted. `json` is whether records were printed as JSON.
    pub fn finish(&self, common: &Common, json: bool, out: &mut Out, code: u8) -> Result<u8, CliError> {
        let implied = if json { StatsFormat::Json } else { StatsFormat::Text };
        let stats = common.stats.or((common.limit == Some(0)).then_some(implied));
        if stats == Some(StatsFormat::Json) {
            ledger::push_json(out.buffer(), &self.ledger, self.live.as_ref(), self.elapsed);
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
            error::notify("interrupted; what was read until then was processed");
            return Ok(error::INTERRUPTED);
        }
        // A run that was cut short on purpose has not seen the rest of its input.
        Ok(if self.input_errors.is_empty() || self.stopped { code } else { error::INPUT })
    }
}

impl Closing {
    /// What stands beneath the closing line: see [`packets_outside::lines`].
    pub fn lines(&self, common: &Common) -> Vec<String> {
        packets_outside::lines(&self.ledger, common, &self.stop)
    }

    /// That the filter accepted no packet, if so.
    pub fn none_accepted(&self, common: &Common) -> Option<String> {
        packets_outside::none_accepted(&self.ledger, common, &self.stop)
    }

    /// Says how many packets were left out that an option takes.
    fn say_left_out(&self) {
        let count = self.ledger.fate(Fate::BadChecksum);
        if count > 0 {
            let packets = counted(count, "packet", "packets");
            error::notify(format_args!("{packets} left out for bad checksums (--checksum ignore takes them)"));
        }
    }

    /// Says how many flows are there in pieces because the tables or the memory could not hold them.
    fn say_evicted(&self) {
        let (flows, half_open) = (self.ledger.evicted, self.ledger.evicted_half_open);
        if flows + half_open > 0 {
            let (flows, half_open) = (counted(flows, "flow", "flows"), Count(half_open));
            error::notify(format_args!(
                "{flows} and {half_open} half-open connections ended early, as the memory could not hold them: what came later \
                 is in other flows, or in none (--memory takes more)"
            ));
        }
    }
}
