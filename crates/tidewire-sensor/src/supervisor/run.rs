//! The supervisor's state, its beginning, and its loop.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
};
use tidewire_delivery::SpoolReport;
use tidewire_live::sys::process::{self, CHILD_CHANGED, HANG_UP, INTERRUPT, STOP_REQUESTED, Signals, TERMINATE};

use super::{
    directory::Directory,
    error::{Error, system},
    log::{Limits, Log},
    notify::Notify,
    output::Lines,
    part::{Part, State},
    plan::{Plan, plans},
    recipe::Recipe,
    reporting::{Reporting, Watched, Which},
    rereading::Rereading,
    rights,
    status::{SensorStatus, StatusServer, Totals},
};
use crate::{
    config::{CaptureInput, SensorConfig},
    events::report::EventsReport,
    processes::{self, orphans, watchdog::Watchdog},
    report::CaptureEvent,
};

/// Longest sleep: clients of the status socket and the service manager's watchdog are served this often at least.
const TICK: Duration = Duration::from_millis(500);
/// Least time between two reports of the status.
const REPORT: Duration = Duration::from_millis(250);

/// How far a sensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It captures.
    Running,
    /// The capture publishes what it has.
    Finishing,
    /// Analyzers read to the end, until this time.
    Reading(Instant),
    /// They got SIGTERM.
    Ending,
    /// The event processor was stopped: it stores everything.
    Storing,
    /// The spooler was stopped: it tries once more to deliver everything. The event processor notes how far destinations are.
    Delivering,
    /// The event processor was stopped once more: it stores that.
    Closing,
}

/// An analyzer's instance.
#[derive(Debug)]
pub(super) struct Member {
    pub plan: Plan,
    pub part: Part,
    /// It goes when it has ended, and is followed by this one.
    pub leaves: Option<Option<Plan>>,
}

impl Member {
    pub fn new(plan: Plan) -> Self {
        Self { part: Part::new(plan.name.clone()), plan, leaves: None }
    }
}

pub(super) struct Supervisor<'a> {
    pub config: SensorConfig,
    pub recipe: Recipe<'a>,
    pub directory: Directory,
    server: StatusServer,
    signals: Signals,
    pub watchdog: Watchdog,
    /// When the watchdog was started last.
    pub guarded: Instant,
    /// Children that are no part: from before this program was executed, and the watchdog.
    pub strangers: Vec<u32>,
    pub notify: Notify,
    pub lines: Lines,
    pub log: Log,
    pub limits: Limits,
    /// When ended processes were looked for last.
    pub gathered: Instant,
    /// When the first signal requested the end.
    pub stop_requested: Option<Instant>,
    /// Whether a reader ever attached.
    pub attended: bool,
    /// Whether the service manager knows that analyzers can attach.
    pub is_known: bool,
    pub capture: Reporting<CaptureEvent>,
    /// The event processor; `None`: there are no events.
    pub events: Option<Reporting<EventsReport>>,
    /// The spooler; `None`: there is no destination.
    pub spool: Option<Reporting<SpoolReport>>,
    /// The standard outputs of the capture and the event processor, over which they exchange events: kept here, so that the pair
    /// outlives both.
    pub pair: Option<(OwnedFd, OwnedFd)>,
    pub members: Vec<Member>,
    pub phase: Phase,
    pub code: u8,
    pub inputs: Vec<String>,
    pub pending: Vec<String>,
    /// The configuration is being read again.
    pub rereading: Option<Rereading>,
    pub begun: Instant,
    /// When the event processor was started again to recover its store.
    pub recovered: Option<Instant>,
    reported: Option<Instant>,
    /// The status has changed since the last report.
    pub changed: bool,
}

impl<'a> Supervisor<'a> {
    pub fn new(config: SensorConfig, recipe: Recipe<'a>) -> Result<Self, Error> {
        let other = config.analyzers.iter().find_map(|analyzer| Some((analyzer.name.clone(), analyzer.user?.0)));
        let own = rustix::process::geteuid().as_raw();
        if let Some((analyzer, user)) = other.filter(|(_, user)| *user != own && !rights::may_change_user()) {
            return Err(Error::User { analyzer, user });
        }
        processes::hide();
        // Descriptors that we inherited are closed in programs that we start. Older kernels pass them on.
        let _ = process::keep_descriptors();
        let directory = Directory::lock(&config.directory)?;
        let server = StatusServer::bind(&directory.status_socket(), &config.users)
            .map_err(|error| Error::Directory { path: directory.status_socket(), error })?;
        // Before anything is started, so that no signal is lost.
        let signals = Signals::take().map_err(system("no signals"))?;
        // Inheritable capabilities reach the capture, whatever our user.
        tidewire_live::privilege::pass_on_inheritable();
        rights::limit().map_err(|error| system("capabilities cannot be given up")(error.into()))?;
        let mut strangers = orphans::children();
        let watchdog = Watchdog::start(&recipe.watchdog).map_err(system("no process to watch over the parts"))?;
        strangers.push(watchdog.number());
        orphans::adopt().map_err(system("processes that are left behind would be lost"))?;
        let log = Log::new(recipe.log).map_err(system("no thread for the log"))?;
        let members = plans(&config).into_iter().map(Member::new).collect();
        let pair = config.events.as_ref().map(|_| events_pair()).transpose();
        let pair = pair.map_err(system("no socket for events"))?;
        let spool = config.events.as_ref().and(config.spool.as_ref());
        Ok(Self {
            directory,
            server,
            signals,
            watchdog,
            guarded: Instant::now(),
            strangers,
            notify: Notify::from_environment(),
            lines: Lines::default(),
            log,
            limits: Limits::new(Instant::now()),
            gathered: Instant::now(),
            stop_requested: None,
            attended: false,
            is_known: false,
            capture: Reporting::new(Which::Capture),
            events: config.events.as_ref().map(|_| Reporting::new(Which::Events)),
            spool: spool.map(|_| Reporting::new(Which::Spool)),
            pair,
            members,
            phase: Phase::Running,
            code: 0,
            inputs: Vec::new(),
            pending: Vec::new(),
            rereading: None,
            begun: Instant::now(),
            recovered: None,
            reported: None,
            changed: true,
            config,
            recipe,
        })
    }

    pub fn log(&self, text: impl AsRef<str>) {
        self.log.line(text.as_ref());
    }

    pub fn is_live(&self) -> bool {
        matches!(self.config.capture.input, CaptureInput::Interfaces(_))
    }

    /// The parts that report.
    pub fn reporting(&self) -> impl Iterator<Item = (Which, &dyn Watched)> {
        let events = self.events.iter().map(|part| (Which::Events, part as &dyn Watched));
        let spool = self.spool.iter().map(|part| (Which::Spool, part as &dyn Watched));
        std::iter::once((Which::Capture, &self.capture as &dyn Watched)).chain(events).chain(spool)
    }

    /// One of them.
    pub fn watched(&mut self, which: Which) -> Option<&mut dyn Watched> {
        match which {
            Which::Capture => Some(&mut self.capture),
            Which::Events => self.events.as_mut().map(|part| part as &mut dyn Watched),
            Which::Spool => self.spool.as_mut().map(|part| part as &mut dyn Watched),
        }
    }

    /// Runs until all parts have ended.
    pub fn run(mut self) -> Result<u8, Error> {
        self.start_due(Instant::now());
        while !self.is_over() {
            self.wait();
            let mut has_changed = false;
            while let Ok(Some(signal)) = self.signals.next() {
                has_changed |= signal == CHILD_CHANGED;
                self.signal(signal);
            }
            let now = Instant::now();
            self.hear(now);
            self.look_at_rereading(now);
            // Signals of the same number are one if they come together.
            if has_changed || now.duration_since(self.gathered) >= TICK {
                self.gathered = now;
                self.gather(now);
            }
            self.act(now);
            self.report(now);
        }
        self.end();
        Ok(self.code)
    }

    fn is_over(&self) -> bool {
        let is_idle = self.reporting().all(|(_, watched)| watched.part().process().is_none())
            && self.members.iter().all(|one| one.part.process().is_none());
        is_idle && self.phase == Phase::Closing
    }

    /// Sleeps until something is there.
    fn wait(&self) {
        let now = Instant::now();
        let ends = if let Phase::Reading(at) = self.phase { Some(at) } else { None };
        // Only what is acted upon now wakes the loop.
        let is_running = self.phase == Phase::Running;
        let members = self.members.iter().filter_map(|member| member.part.due(is_running && self.capture.ready));
        let reporting = self.reporting().filter_map(|(which, watched)| {
            let starts = match which {
                Which::Capture => is_running,
                Which::Events => !matches!(self.phase, Phase::Storing | Phase::Delivering | Phase::Closing),
                Which::Spool => !matches!(self.phase, Phase::Delivering | Phase::Closing),
            };
            watched.part().due(starts)
        });
        let due = members.chain(reporting).chain(ends).chain(self.notify.due()).min();
        // A change that was not reported is reported soon.
        let tick = if self.changed { REPORT } else { TICK };
        let most = due.map_or(tick, |due| due.saturating_duration_since(now).min(tick));
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        let mut waited =
            vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.server.listener, PollFlags::IN)];
        for (socket, sends) in self.reporting().filter_map(|(_, watched)| watched.socket()) {
            let flags = if sends { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            waited.push(PollFd::from_borrowed_fd(socket, flags));
        }
        waited.extend(self.rereading.iter().map(|rereading| PollFd::new(rereading, PollFlags::IN)));
        waited.extend(self.server.waiting().map(|client| PollFd::new(client, PollFlags::OUT)));
        if poll(&mut waited, Some(&most)).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            TERMINATE | INTERRUPT => self.stop(signal, Instant::now()),
            HANG_UP => self.reload(),
            STOP_REQUESTED => {
                // On failure the sensor goes on.
                let _ = process::stop_myself();
            }
            CHILD_CHANGED => {}
            // The others mean nothing to a sensor.
            _ => {}
        }
    }

    /// Reports the status to the service manager and to clients.
    fn report(&mut self, now: Instant) {
        self.notify.alive(now);
        let is_due = self.reported.is_none_or(|last| now.duration_since(last) >= REPORT);
        if self.changed && is_due {
            (self.changed, self.reported) = (false, Some(now));
            let status = self.status();
            (self.recipe.publish)(&status);
            let line = self.line();
            self.notify.status(line);
        }
        if self.server.accept() {
            let status = self.status();
            self.server.answer(&status);
        }
        self.server.send();
    }

    /// The status.
    fn status(&self) -> SensorStatus {
        let reporting = self.reporting().map(|(_, watched)| watched.part().status(!watched.is_ready(), None));
        let analyzers = self.members.iter().map(|member| member.part.status(false, Some(&member.plan.queue)));
        let state = match self.phase {
            Phase::Running if self.capture.ready => "running",
            Phase::Running => "starting",
            _ => "stopping",
        };
        let [packets, dropped] = self.capture.sums();
        let [events, stored_events] = self.events.as_ref().map(Reporting::sums).unwrap_or_default();
        SensorStatus {
            process: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            state: state.into(),
            seconds: self.begun.elapsed().as_secs_f64(),
            directory: self.config.directory.clone(),
            store: self.config.events.as_ref().map(|events| events.store.clone()),
            metrics: self.recipe.metrics.clone(),
            inputs: self.inputs.clone(),
            pending: self.pending.clone(),
            parts: reporting.chain(analyzers).collect(),
            totals: Totals { packets, dropped, events, stored_events },
            capture: self.capture.figures.clone(),
            figures_age: self.capture.figured.map(|at| at.elapsed().as_secs_f64()),
            events: self.events.as_ref().map(|events| events.figures.clone()),
            spool: self.spool.as_ref().map(|spool| spool.figures.clone()),
        }
    }

    /// The status in a line.
    fn line(&self) -> String {
        let running = self.members.iter().filter(|member| member.part.state == State::Running).count();
        let figures = &self.capture.figures;
        let (packets, dropped, all) = (figures.packets, figures.dropped, self.members.len());
        let state = if self.capture.ready { "capturing" } else { "no capture" };
        let events = self.events.as_ref().map(|events| match &events.figures.failing {
            Some(_) => "; no event can be stored".to_owned(),
            None => format!("; {} events", events.figures.events),
        });
        let events = events.unwrap_or_default();
        format!("{state}: {packets} packets, {dropped} dropped{events}; {running} of {all} analyzers run")
    }
}

/// The two ends over which the capture, which can connect to nothing once it has confined itself, sends its events.
fn events_pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    for end in [&pair.0, &pair.1] {
        // Kernels before 6.16 take descriptors; what is said over it counts, and nothing else.
        let _ = process::refuse_descriptors(end);
    }
    Ok(pair)
}
