//! A run over interfaces, and what goes on beside it.

use std::{cell::RefCell, path::PathBuf, rc::Rc, sync::atomic::Ordering};

use tidewire::{
    Capture, Handler, Outcome, Stop,
    live::{Interfaces, LiveError, LiveReport},
};

use super::{Live, report};
use crate::{
    error::{self, CliError},
    interrupt::{DONE, on_interrupt},
    metrics::Metrics,
    shared_output::SharedOutput,
    terminal,
};

/// Runs a capture from interfaces; what is printed as it comes goes to `sinks`.
pub fn run<H: Handler + Send>(
    capture: Capture<Interfaces<'_>>,
    live: &Live,
    stop: &Stop,
    sinks: &[&SharedOutput],
    writable: &[PathBuf],
    make: impl FnMut(usize) -> H,
) -> Result<Outcome<H>, CliError> {
    let mut is_closed = false;
    let flush = |_: &LiveReport| sinks.iter().for_each(|sink| sink.flush());
    let capture = watched(capture, live, stop, flush, &mut is_closed, writable)?;
    let outcome = capture.run(make);
    DONE.store(true, Ordering::Relaxed);
    for sink in sinks {
        sink.finish()?;
    }
    if is_closed {
        return Err(CliError::ClosedPipe);
    }
    Ok(outcome?)
}

/// What lies before the engine, of a run that has ended.
pub fn report_of<H>(outcome: &Outcome<H>) -> Option<LiveReport> {
    outcome.live.clone()
}

/// What goes on beside a capture from interfaces: privileges are given up before it begins, signals end it, what is to be
/// said is said, figures are shown, and `look` is called with reports. Files may be written below `writable` only.
pub fn watched<'a>(
    capture: Capture<Interfaces<'a>>,
    live: &'a Live,
    stop: &'a Stop,
    mut look: impl FnMut(&LiveReport) + 'a,
    is_closed: &'a mut bool,
    writable: &[PathBuf],
) -> Result<Capture<Interfaces<'a>>, CliError> {
    // Bound with the privileges that there still are; the thread begins without them.
    let metrics = live.metrics.as_deref().map(Metrics::bind).transpose()?;
    let metrics = Rc::new(RefCell::new(metrics));
    let shown = Rc::clone(&metrics);
    let confinement = live.confinement(writable);
    let capture = capture.before_start(move |interfaces| {
        if !live.quiet {
            report::say_engines(interfaces);
        }
        report::say_down(interfaces);
        // Before any thread is started, that of signals too: what a thread has, it keeps.
        if let Some(confinement) = confinement {
            confinement.confine()?.missing.iter().for_each(error::notify);
        }
        begin(stop, metrics.borrow_mut().as_mut(), live.quiet)
            .map_err(|failure| LiveError::Callback(failure.to_string().into()))
    });
    let capture = capture.on_trouble(report::say_trouble).on_event(report::say_event);
    Ok(capture.on_report(move |report| {
        if let Some(metrics) = &*shown.borrow() {
            metrics.publish(report);
        }
        look(report);
        // Nothing may be printed for long: whoever has seen enough is noticed all the same.
        if terminal::is_closed() {
            *is_closed = true;
            stop.stop();
        }
    }))
}

/// Starts the threads that stand beside a capture. Until now a signal ended the program: nothing had been gathered.
fn begin(stop: &Stop, metrics: Option<&mut Metrics>, quiet: bool) -> Result<(), CliError> {
    on_interrupt(stop, true)?;
    let Some(metrics) = metrics else { return Ok(()) };
    metrics.start()?;
    if !quiet {
        error::notify(format_args!("metrics are served at http://{}/metrics", metrics.address()));
    }
    Ok(())
}
