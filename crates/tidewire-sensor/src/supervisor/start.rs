//! How parts are started: the event processor first, then the capture, then the spooler and the analyzers.

use std::{
    ffi::OsString,
    io::{self, PipeWriter},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde::Serialize;
use tidewire_live::sys::process::{self, Rights};

use super::{
    channel::Channel,
    hear::Reports,
    notify::VARIABLES,
    output::To,
    part::State,
    plan::{self, environment},
    reporting::{Started, Which},
    run::{Phase, Supervisor},
};
use crate::{EVENTS_SOCKET, QUEUES_SOCKET};

/// How long the capture of interfaces waits for an event processor that is slow: its store may be large, and is checked as a whole.
const EVENTS_TIME: Duration = Duration::from_secs(10);

impl Supervisor<'_> {
    /// Starts what is due and may run now.
    pub fn start_due(&mut self, now: Instant) {
        let is_due = |state: State| match state {
            State::Waiting => true,
            State::Paused(at) => now >= at,
            _ => false,
        };
        // While events are emitted or delivered, these two are needed.
        let emits = matches!(self.phase, Phase::Running | Phase::Finishing | Phase::Reading(_) | Phase::Ending);
        if emits && self.events.as_ref().is_some_and(|events| is_due(events.part.state)) {
            self.start(Which::Events, now);
        }
        let has_store = self.events.as_ref().is_some_and(|events| events.has_begun);
        let delivers = emits || self.phase == Phase::Storing;
        if delivers && has_store && self.spool.as_ref().is_some_and(|spool| is_due(spool.part.state)) {
            self.start(Which::Spool, now);
        }
        if self.phase != Phase::Running {
            return;
        }
        if is_due(self.capture.part.state) && !self.waits_for_events(now) {
            self.start(Which::Capture, now);
        }
        if !self.capture.ready || self.waits_for_events(now) {
            return;
        }
        for index in 0..self.members.len() {
            if self.members.get(index).is_some_and(|member| is_due(member.part.state)) {
                self.start_member(index, now);
            }
        }
    }

    /// Whether the first events have to wait for the event processor: those of the first packets are not to be refused. A store
    /// that fails delays no start; files have time.
    fn waits_for_events(&self, now: Instant) -> bool {
        let Some(events) = &self.events else { return false };
        let has_failed = events.part.ended.is_some() || events.part.last_exit.is_some();
        let is_late = self.is_live() && now.saturating_duration_since(self.begun) >= EVENTS_TIME;
        !events.has_begun && !has_failed && !is_late
    }

    /// Starts a part that reports, or pauses it.
    fn start(&mut self, which: Which, now: Instant) {
        self.changed = true;
        let failed = match which {
            Which::Capture => {
                let output = self.pair.as_ref().map(|(ours, _)| ours.try_clone()).transpose();
                let (command, config) = (self.recipe.capture.clone(), self.config.clone());
                // A capture of files is started once.
                let ends = output.map(|output| (self.recipe.input.take(), output));
                let started = ends.and_then(|ends| self.spawn(which, &command, &config, Rights::default(), ends));
                self.capture.started(started, now)
            }
            Which::Events => {
                let Some(settings) = plan::events_settings(&self.config) else { return };
                let output = self.pair.as_ref().map(|(_, theirs)| theirs.try_clone()).transpose();
                let rights = Rights { plain: true, nice: settings.nice, ..Rights::default() };
                let command = self.recipe.events.clone();
                let started = output.and_then(|output| self.spawn(which, &command, &settings, rights, (None, output)));
                let Some(events) = &mut self.events else { return };
                events.started(started, now)
            }
            Which::Spool => {
                let Some(settings) = plan::spool_settings(&self.config) else { return };
                let rights = Rights { plain: true, nice: settings.nice, idle_io: true, ..Rights::default() };
                let command = self.recipe.spool.clone();
                let started = self.spawn(which, &command, &settings, rights, (None, None));
                let Some(spool) = &mut self.spool else { return };
                spool.started(started, now)
            }
        };
        if let Err((error, wait)) = failed {
            self.log(format!("{} cannot be started: {error}; tried again in {wait:?}", which.words()));
        }
    }

    /// Starts the process of a part that reports. `input`: its standard input, once it has its settings; `output`: its standard
    /// output, instead of lines for the log.
    fn spawn<R: Reports>(
        &mut self,
        which: Which,
        command: &[OsString],
        settings: &impl Serialize,
        rights: Rights,
        (input, output): (Option<OwnedFd>, Option<OwnedFd>),
    ) -> io::Result<Started<R>> {
        let (mut channel, theirs) = Channel::pair()?;
        channel.configure(settings, input)?;
        let Some((program, arguments)) = command.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(theirs).stderr(Stdio::piped());
        command.stdout(output.map_or_else(Stdio::piped, Stdio::from));
        let (child, open) = self.begin(command, rights, which.name())?;
        Ok(Started { child, open, channel })
    }

    /// Starts an analyzer, or pauses it.
    fn start_member(&mut self, index: usize, now: Instant) {
        let Some(member) = self.members.get(index) else { return };
        let (plan, directory) = (member.plan.clone(), &self.config.directory);
        let Some((program, arguments)) = plan.analyzer.command.split_first() else { return };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if plan.analyzer.user.is_some_and(|(user, _)| user != rustix::process::geteuid().as_raw()) {
            command.env_clear().envs(plan::of_another_user(&plan));
        }
        let events = self.config.events.as_ref().map(|_| directory.join(EVENTS_SOCKET));
        command.env_remove("TIDEWIRE_GROUP").env_remove("TIDEWIRE_EVENTS");
        command.envs(environment(&plan, &directory.join(QUEUES_SOCKET), events.as_deref()));
        let rights = Rights { user: plan.analyzer.user, nice: plan.analyzer.nice, plain: true, ..Rights::default() };
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
    fn begin(&mut self, mut command: Command, rights: Rights, name: &str) -> io::Result<(Child, PipeWriter)> {
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        let (ended, open) = io::pipe()?;
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
}
