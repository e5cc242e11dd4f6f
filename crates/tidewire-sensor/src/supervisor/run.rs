//! The supervisor's state, its beginning, and its loop.

use std::{
    env,
    io::PipeWriter,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tidewire_live::sys::process::{self, CHILD_CHANGED, HANG_UP, INTERRUPT, Rights, STOP_ASKED, Signals, TERMINATE};

use super::{
    channel::Channel,
    directory::Directory,
    error::{Error, system},
    log::{Limits, Log},
    notify::{Notify, VARIABLES},
    output::{Lines, To},
    part::{Part, State},
    plan::{self, Plan, environment, plans},
    recipe::Recipe,
    rights,
    status::{SensorStatus, StatusServer},
};
use crate::{
    QUEUES_SOCKET,
    config::{CaptureInput, SensorConfig},
    processes::{self, orphans, watchdog::Watchdog},
    report::CaptureStatus,
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
    /// The capture publishes what it has; it is killed at this time.
    Finishing(Instant),
    /// Analyzers read to the end, until this time.
    Reading(Instant),
    /// They were asked to end.
    Ending,
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
    /// When a signal asked for the end.
    pub asked: Option<Instant>,
    /// Whether a reader ever attached.
    pub attended: bool,
    pub capture: Part,
    pub channel: Option<Channel>,
    /// Whether analyzers can attach.
    pub ready: bool,
    /// Whether it ever was.
    pub has_begun: bool,
    /// Whether the capture has published everything.
    pub finished: bool,
    /// When the capture said something last, and whether its silence was reported.
    pub heard: (Instant, bool),
    pub members: Vec<Member>,
    pub phase: Phase,
    pub code: u8,
    pub inputs: Vec<String>,
    pub pending: Vec<String>,
    pub figures: CaptureStatus,
    begun: Instant,
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
        // What we inherited is nobody else's business. Older kernels pass it on.
        let _ = process::keep_descriptors();
        let directory = Directory::lock(&config.directory)?;
        let server = StatusServer::bind(&directory.status_socket(), &config.users)
            .map_err(|error| Error::Directory { path: directory.status_socket(), error })?;
        // Before anything is started, so that no signal is lost.
        let signals = Signals::take().map_err(system("no signals"))?;
        // What may be passed on reaches the capture, whatever our user.
        tidewire_live::privilege::pass_on_inheritable();
        rights::limit().map_err(|error| system("capabilities cannot be given up")(error.into()))?;
        let mut strangers = orphans::children();
        let watchdog = Watchdog::start(&recipe.watchdog).map_err(system("no process to watch over the parts"))?;
        strangers.push(watchdog.number());
        orphans::adopt().map_err(system("processes that are left behind would be lost"))?;
        let log = Log::new(recipe.log).map_err(system("no thread for the log"))?;
        let members = plans(&config).into_iter().map(Member::new).collect();
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
            asked: None,
            attended: false,
            capture: Part::new("capture".into()),
            channel: None,
            ready: false,
            has_begun: false,
            finished: false,
            heard: (Instant::now(), false),
            members,
            phase: Phase::Running,
            code: 0,
            inputs: Vec::new(),
            pending: Vec::new(),
            figures: CaptureStatus::default(),
            begun: Instant::now(),
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

    /// Runs until all parts have ended.
    pub fn run(mut self) -> Result<u8, Error> {
        self.start_capture(Instant::now());
        while !self.is_over() {
            self.wait();
            let mut has_changed = false;
            while let Ok(Some(signal)) = self.signals.next() {
                has_changed |= signal == CHILD_CHANGED;
                self.signal(signal);
            }
            let now = Instant::now();
            self.hear(now);
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
        let is_idle = self.capture.process().is_none() && self.members.iter().all(|one| one.part.process().is_none());
        is_idle && self.phase != Phase::Running
    }

    /// Sleeps until something is there.
    fn wait(&self) {
        let now = Instant::now();
        let ends = match self.phase {
            Phase::Finishing(at) | Phase::Reading(at) => Some(at),
            Phase::Running | Phase::Ending => None,
        };
        // Only what is acted upon now: for anything else nobody wakes.
        let is_running = self.phase == Phase::Running;
        let members = self.members.iter().filter_map(|member| member.part.due(is_running && self.ready));
        let due = members.chain(self.capture.due(is_running)).chain(ends).chain(self.notify.due()).min();
        // A change that was not reported is reported soon.
        let tick = if self.changed { REPORT } else { TICK };
        let most = due.map_or(tick, |due| due.saturating_duration_since(now).min(tick));
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        let mut waited =
            vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.server.listener, PollFlags::IN)];
        waited.extend(self.channel.iter().filter(|one| one.is_open()).map(|one| PollFd::new(one, PollFlags::IN)));
        let sends = self.channel.iter().filter(|one| one.is_sending());
        waited.extend(sends.map(|one| PollFd::new(one, PollFlags::OUT)));
        waited.extend(self.server.waiting().map(|client| PollFd::new(client, PollFlags::OUT)));
        if poll(&mut waited, Some(&most)).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            TERMINATE | INTERRUPT => self.stop(signal, Instant::now()),
            HANG_UP => self.reload(),
            STOP_ASKED => {
                // On failure the sensor goes on.
                let _ = process::stop_myself();
            }
            CHILD_CHANGED => {}
            // The others mean nothing to a sensor.
            _ => {}
        }
    }

    /// Starts the capture, or pauses it.
    pub fn start_capture(&mut self, now: Instant) {
        (self.ready, self.finished, self.heard) = (false, false, (now, false));
        self.changed = true;
        match self.spawn_capture(now) {
            Ok(()) => {}
            Err(error) => {
                let wait = self.capture.not_started(&error, now);
                self.log(format!("the capture cannot be started: {error}; tried again in {wait:?}"));
            }
        }
    }

    fn spawn_capture(&mut self, now: Instant) -> std::io::Result<()> {
        let (mut channel, theirs) = Channel::pair()?;
        channel.configure(&self.config)?;
        let Some((program, arguments)) = self.recipe.capture.split_first() else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (child, open) = self.begin(command, Rights::default(), "capture")?;
        self.capture.started(child, now);
        self.capture.keep_open(open);
        self.channel = Some(channel);
        Ok(())
    }

    /// Starts an analyzer, or pauses it.
    pub fn start_member(&mut self, index: usize, now: Instant) {
        let Some(member) = self.members.get(index) else { return };
        let (plan, socket) = (member.plan.clone(), self.config.directory.join(QUEUES_SOCKET));
        let Some((program, arguments)) = plan.analyzer.command.split_first() else { return };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if plan.analyzer.user.is_some_and(|(user, _)| user != rustix::process::geteuid().as_raw()) {
            command.env_clear().envs(plan::of_another_user(&plan));
        }
        command.env_remove("TIDEWIRE_GROUP").envs(environment(&plan, &socket));
        let rights = Rights { user: plan.analyzer.user, nice: plan.analyzer.nice, plain: true };
        let started = self.begin(command, rights, &plan.name);
        self.changed = true;
        let Some(member) = self.members.get_mut(index) else { return };
        match started {
            Ok((child, open)) => {
                member.part.started(child, now);
                member.part.keep_open(open);
            }
            Err(error) => {
                let wait = member.part.not_started(&error, now);
                self.log(format!("{}: {program} cannot be started: {error}; tried again in {wait:?}", plan.name));
            }
        }
    }

    /// Starts a process in a session of its own, and passes on what it writes until the end that is returned is closed.
    fn begin(&mut self, mut command: Command, rights: Rights, name: &str) -> std::io::Result<(Child, PipeWriter)> {
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        let (ended, open) = std::io::pipe()?;
        let ended = [ended.try_clone()?, ended];
        let mut child = process::start_apart(&mut command, None, &rights)?;
        // One that has ended is replaced, and learns of all parts then.
        let _ = self.watchdog.watch_session(child.id());
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let [of_output, of_errors] = ended.map(Into::into);
        let passed = output.map_or(Ok(()), |pipe| self.lines.pass_on(name, pipe, of_output, To::Output));
        let passed = passed.and(errors.map_or(Ok(()), |pipe| self.lines.pass_on(name, pipe, of_errors, To::Errors)));
        if let Err(error) = passed {
            self.log(format!("{name}: what it writes is lost: {error}"));
        }
        Ok((child, open))
    }

    /// Reports the status to whoever asks.
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
        let capture = self.capture.status(!self.ready, None);
        let analyzers = self.members.iter().map(|member| member.part.status(false, Some(&member.plan.queue)));
        let state = match self.phase {
            Phase::Running if self.ready => "running",
            Phase::Running => "starting",
            _ => "stopping",
        };
        SensorStatus {
            process: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            state: state.into(),
            seconds: self.begun.elapsed().as_secs_f64(),
            directory: self.config.directory.clone(),
            metrics: self.recipe.metrics.clone(),
            inputs: self.inputs.clone(),
            pending: self.pending.clone(),
            parts: std::iter::once(capture).chain(analyzers).collect(),
            capture: self.figures.clone(),
        }
    }

    /// The status in a line.
    fn line(&self) -> String {
        let running = self.members.iter().filter(|member| member.part.state == State::Running).count();
        let (packets, dropped, all) = (self.figures.packets, self.figures.dropped, self.members.len());
        let state = if self.ready { "capturing" } else { "no capture" };
        format!("{state}: {packets} packets, {dropped} dropped; {running} of {all} analyzers run")
    }
}
