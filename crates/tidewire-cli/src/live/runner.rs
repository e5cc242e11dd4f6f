//! Runs a capture from interfaces with its signals, privileges, metrics and messages.

use std::{cell::RefCell, path::PathBuf, rc::Rc};

use tidewire::{
    Capture, Handler, Outcome, Stop,
    live::{Interfaces, LiveError, LiveReport},
};
use tidewire_filter::Filter;

use super::{Live, status};
use crate::{
    error::{self, CliError},
    interrupt::on_interrupt,
    live_report,
    metrics::{Family, Metrics},
    outputs::Outputs,
    progress,
    status_line::StatusLine,
    terminal,
};

/// Runs a capture from interfaces; records are printed to `sinks` as they come.
pub fn run<H: Handler + Send>(
    capture: Capture<Interfaces<'_>>,
    live: &Live,
    stop: &Stop,
    outputs: Outputs<'_>,
    writable: &[PathBuf],
    make: impl FnMut(usize) -> H,
) -> Result<Outcome<H>, CliError> {
    let mut is_closed = false;
    let mut line = StatusLine::below_records();
    let mut named = 0;
    let flush = |report: &LiveReport| {
        if let (Some(packets), true) = (outputs.packets, report.interfaces.len() > named) {
            // Interfaces that appeared.
            named = report.interfaces.len();
            packets.set_names(report.interfaces.iter().map(|interface| interface.name.clone()).collect());
        }
        outputs.report(report);
        outputs.flush();
        status::show(&mut line, report);
    };
    let opened = |names| outputs.packets.iter().for_each(|packets| packets.set_names(Vec::clone(&names)));
    let ports = outputs.exports.map(|exports| exports.ports()).unwrap_or_default();
    let watching = Watching { opened, look: flush, families: Vec::new, ports };
    let capture = watched_with(capture, live, stop, watching, &mut is_closed, writable)?;
    let outcome = capture.run(make);
    progress::remove();
    outputs.finish()?;
    Ok(outcome?)
}

/// The counters before the engine, of a run that has ended.
pub fn report_of<H>(outcome: &Outcome<H>) -> Option<LiveReport> {
    outcome.live.clone()
}

/// Prepares a capture: drops privileges before it starts, ends it on signals, prints messages, publishes metrics, and calls
/// `look` with reports. Files may be written only below `writable`.
pub fn watched<'a>(
    capture: Capture<Interfaces<'a>>,
    live: &'a Live,
    stop: &'a Stop,
    look: impl FnMut(&LiveReport) + 'a,
    is_closed: &'a mut bool,
    writable: &[PathBuf],
) -> Result<Capture<Interfaces<'a>>, CliError> {
    let watching = Watching { opened: |_| {}, look, families: Vec::new, ports: Vec::new() };
    watched_with(capture, live, stop, watching, is_closed, writable)
}

/// Calls of a capture.
pub struct Watching<O, L, F> {
    /// The interfaces are open: their names.
    pub opened: O,
    /// A report.
    pub look: L,
    /// Metrics beside those of the capture.
    pub families: F,
    /// Ports of TCP that are connected to again.
    pub ports: Vec<u16>,
}

/// As [`watched`], with more calls.
pub fn watched_with<'a>(
    capture: Capture<Interfaces<'a>>,
    live: &'a Live,
    stop: &'a Stop,
    watching: Watching<impl FnOnce(Vec<String>) + 'a, impl FnMut(&LiveReport) + 'a, impl Fn() -> Vec<Family> + 'a>,
    is_closed: &'a mut bool,
    writable: &[PathBuf],
) -> Result<Capture<Interfaces<'a>>, CliError> {
    let Watching { opened, mut look, families, ports } = watching;
    // Binds with the initial privileges; the thread starts without them.
    let metrics = live.metrics.as_deref().map(Metrics::bind).transpose()?;
    let metrics = Rc::new(RefCell::new(metrics));
    let shown = Rc::clone(&metrics);
    let unseen = capture.expression().and_then(|expression| Filter::new(expression).ok()).map(|filter| filter.unseen());
    let confinement = live.confinement(writable, ports);
    let capture = capture.before_start(move |interfaces| {
        opened(interfaces.iter().map(|interface| interface.name.clone()).collect());
        // Before any thread starts, including that of signals: a thread keeps its privileges.
        let confined = confinement.map(|confinement| confinement.confine()).transpose()?;
        let failed = |failure: CliError| LiveError::Callback(failure.to_string().into());
        // Who reads what follows may send a signal.
        on_interrupt(stop, true).map_err(failed)?;
        if !live.quiet {
            live_report::say_engines(interfaces);
            live_report::say_unseen(unseen.unwrap_or_default());
        }
        live_report::say_down(interfaces);
        confined.iter().flat_map(|confined| &confined.missing).for_each(error::notify);
        serve(metrics.borrow_mut().as_mut(), live.quiet).map_err(failed)
    });
    let capture = capture.on_trouble(live_report::say_trouble).on_event(live_report::say_event);
    Ok(capture.on_report(move |report| {
        if let Some(metrics) = &*shown.borrow() {
            metrics.publish(report, families());
        }
        look(report);
        // There may be no output for long: detects a closed pipe anyway.
        if terminal::is_closed() {
            *is_closed = true;
            stop.stop();
        }
    }))
}

/// Begins to serve metrics.
fn serve(metrics: Option<&mut Metrics>, quiet: bool) -> Result<(), CliError> {
    let Some(metrics) = metrics else { return Ok(()) };
    metrics.start()?;
    if !quiet {
        error::notify(format_args!("serving OpenMetrics at http://{}/metrics", metrics.address()));
    }
    Ok(())
}
