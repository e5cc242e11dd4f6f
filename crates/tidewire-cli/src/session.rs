//! One run: Ctrl-C, the progress bar, what is said at the end.

use std::{
    io::{IsTerminal, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tidewire::{CaptureError, Handler, Ledger, Mode, Outcome, Progress, Stop};

use crate::{
    failure::{self, Failure},
    ledger,
    options::Common,
    output::Out,
    units::Bytes,
    values::StatsFormat,
};

/// Nobody misses a progress bar before.
const PROGRESS_AFTER: Duration = Duration::from_millis(400);

/// Inputs below this are read before anybody would look at a progress bar.
const PROGRESS_BYTES_MIN: u64 = 64 << 20;

/// Nobody wonders before whether Ctrl-C was noticed.
const PATIENCE: Duration = Duration::from_secs(1);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether reading has ended.
static DONE: AtomicBool = AtomicBool::new(false);

/// What remains of a run when its handlers are taken out.
pub struct Closing {
    pub ledger: Ledger,
    damages: Vec<CaptureError>,
    interrupted: bool,
    elapsed: Duration,
    /// Whether a handler ended the run, so that no signal did.
    stopped: bool,
}

/// Runs the capture that the options describe. `make` is given each worker's index and the flag by which a handler can
/// end the run.
pub fn run<H: Handler + Send>(
    common: &Common,
    mode: Mode,
    mut make: impl FnMut(usize, &Stop) -> H,
) -> Result<(Vec<H>, Closing), Failure> {
    let stop = Stop::new();
    on_interrupt(&stop)?;
    let capture = common.capture(mode)?.stop_when(&stop);
    let mut bar = Bar::new();
    let outcome = if bar.possible {
        capture.on_progress(|progress| bar.show(progress)).run(|index| make(index, &stop))
    } else {
        capture.run(|index| make(index, &stop))
    };
    DONE.store(true, Ordering::Relaxed);
    bar.clear();
    let Outcome { handlers, ledger, damages, elapsed, interrupted, .. } = outcome?;
    let signal = INTERRUPTED.load(Ordering::Relaxed);
    let stopped = interrupted && !signal;
    // A signal that came while the last read was waiting counts, too.
    Ok((handlers, Closing { ledger, damages, interrupted: signal, elapsed, stopped }))
}

/// The first Ctrl-C ends reading, as soon as the read that is under way comes back: of a pipe that may be never, which is
/// told. A second one ends everything.
fn on_interrupt(stop: &Stop) -> Result<(), Failure> {
    let stop = stop.clone();
    let handler = move || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(failure::INTERRUPTED));
        }
        stop.raise();
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            if !DONE.load(Ordering::Relaxed) {
                failure::say("interrupted; waiting for the input to go on or end (Ctrl-C again: end at once)");
            }
        });
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::Output(format!("signals cannot be handled: {error}")))
}

impl Closing {
    /// Says what was wrong, prints the ledger where it is wanted, and gives the exit code: `code` unless the input was
    /// damaged or the run interrupted. `json` is whether records were printed as JSON.
    pub fn finish(&self, common: &Common, json: bool, out: &mut Out, code: u8) -> Result<u8, Failure> {
        let implied = if json { StatsFormat::Json } else { StatsFormat::Text };
        let stats = common.stats.or((common.limit == Some(0)).then_some(implied));
        if stats == Some(StatsFormat::Json) {
            ledger::push_json(out.buffer(), &self.ledger, self.elapsed);
            out.buffer().push(b'\n');
        }
        out.flush()?;
        if stats == Some(StatsFormat::Text) {
            let text = ledger::text(&self.ledger, self.elapsed);
            std::io::stderr().write_all(text.as_bytes()).map_err(Failure::from_output)?;
        }
        for damage in &self.damages {
            failure::say(damage);
        }
        if !self.ledger.closes() {
            let settled: u64 = self.ledger.fates.iter().sum();
            let received = self.ledger.received;
            return Err(Failure::Output(format!(
                "a defect of tidewire: {received} packets received, {settled} settled"
            )));
        }
        if self.interrupted {
            failure::say("interrupted; what was read until then was processed");
            return Ok(failure::INTERRUPTED);
        }
        // A run that was cut short on purpose has not seen the rest of its input.
        Ok(if self.damages.is_empty() || self.stopped { code } else { failure::INPUT })
    }
}

/// A progress bar on standard error, for people who wait.
struct Bar {
    possible: bool,
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    fn new() -> Self {
        Self { possible: std::io::stderr().is_terminal(), begun: Instant::now(), bar: None }
    }

    fn show(&mut self, progress: Progress) {
        let is_short = progress.bytes_total.is_some_and(|total| total < PROGRESS_BYTES_MIN);
        if is_short || self.bar.is_none() && self.begun.elapsed() < PROGRESS_AFTER {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(progress.bytes_total, ProgressDrawTarget::stderr_with_hz(5));
            let form = match progress.bytes_total {
                Some(_) => "{wide_bar} {msg}",
                None => "{spinner} {msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(form) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(progress.bytes_read);
        bar.set_message(pace(progress, self.begun.elapsed()));
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far a run has come, how fast it goes on average, and how long the rest takes at that pace.
fn pace(progress: Progress, elapsed: Duration) -> String {
    let (read, seconds) = (progress.bytes_read, elapsed.as_secs_f64().max(1e-3));
    let rate = read as f64 / seconds;
    let rate_text = Bytes(rate as u64);
    match progress.bytes_total {
        Some(total) => {
            let left = total.saturating_sub(read) as f64 / rate.max(1.0);
            format!("{} of {}, {rate_text}/s, {left:.0} s left", Bytes(read), Bytes(total))
        }
        None => format!("{}, {rate_text}/s, {seconds:.0} s", Bytes(read)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_whole_run() {
        let known = Progress { bytes_read: 500_000_000, bytes_total: Some(1_500_000_000), packets: 1 };
        let text = pace(known, Duration::from_secs(2));
        assert_eq!(text, "500 MB of 1.5 GB, 250 MB/s, 4 s left");
        let unknown = Progress { bytes_read: 500_000_000, bytes_total: None, packets: 1 };
        assert_eq!(pace(unknown, Duration::from_secs(2)), "500 MB, 250 MB/s, 2 s");
        let nothing = Progress { bytes_read: 0, bytes_total: Some(0), packets: 0 };
        assert_eq!(pace(nothing, Duration::ZERO), "0 B of 0 B, 0 B/s, 0 s left");
    }
}
