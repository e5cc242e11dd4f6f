//! Handles the reports and the ends of parts.

use std::{
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

use tidewire_live::sys::process::{KILL, TERMINATE};

use super::{
    log::LineKind,
    part::State,
    reporting::{Said, Silence, Watched as _, Which},
    run::{Phase, Supervisor},
};
use crate::{
    EVENTS_SOCKET, QUEUES_SOCKET, RECORD_SOCKET,
    config::Restart,
    processes::{orphans, watchdog::Watchdog},
};

/// Exit code of a capture whose configuration is wrong.
const USAGE: u8 = 2;
/// Exit code of the sensor if the capture failed otherwise.
const FAILED: u8 = 3;
/// An analyzer that ended well so shortly before the capture ended with it: it saw the end of its queue first.
const TOGETHER: Duration = Duration::from_secs(2);

/// A watchdog that was killed is replaced so often at most.
const GUARDED: Duration = Duration::from_secs(1);
/// How often a socket without a writer is read: far more than it can hold.
const LAST_READS: usize = 16;

/// Whether SIGTERM ended a process, which it does before a capture can answer it.
fn ended_by_sigterm(status: ExitStatus) -> bool {
    status.signal() == Some(TERMINATE)
}

impl Supervisor<'_> {
    /// Reads what all parts report.
    pub fn hear(&mut self, now: Instant) {
        for which in [Which::Events, Which::Capture, Which::Spool] {
            let said = self.watched(which).map(|watched| watched.hear(now)).unwrap_or_default();
            self.changed |= !said.is_empty();
            for said in said {
                self.said(which, said, now);
            }
        }
    }

    fn said(&mut self, which: Which, said: Said, now: Instant) {
        let name = which.name();
        match said {
            Said::Figures => {}
            Said::Ready(lines) => {
                lines.iter().for_each(|line| self.log(format!("{name}: {line}")));
                if which == Which::Capture {
                    self.inputs = lines;
                    if !std::mem::replace(&mut self.is_known, true) {
                        self.notify.ready();
                    }
                }
            }
            Said::Line(kind, text) => {
                self.attended |= kind == LineKind::Readers;
                self.log_some(kind, &format!("{name}: {text}"), now);
            }
            Said::Trigger => self.trigger_recording(),
            Said::Waits => {
                self.sum_up(which);
                // Its help is not needed: it was stopped in order to be started again.
                if !matches!(self.phase, Phase::Storing | Phase::Delivering) {
                    self.stop_helper(which, now);
                }
            }
            Said::Damaged(text) => {
                self.log(format!("{name}: {text}; the event processor is started again, which recovers the store"));
                self.recover(now);
            }
            Said::Finished => self.sum_up(which),
            Said::Failed(text) => self.log(format!("{name}: {text}")),
            Said::Unfinished(text) => {
                self.sum_up(which);
                self.log(format!("{name}: {text}"));
                // One that is started again gets it from those that sent it.
                if self.phase != Phase::Running && self.code == 0 {
                    self.code = FAILED;
                }
            }
            Said::Rubbish(what) => self.log(format!("{} is killed: it sent {what}", which.words())),
        }
    }

    /// Fires the trigger of the recording. A capture that does not answer is started again, and has nothing that waits then.
    fn trigger_recording(&mut self) {
        let socket = self.config.directory.join(RECORD_SOCKET);
        // The answer may take long, and is not waited for.
        let fire = move || drop(tidewire_recorder::fire(&socket));
        if let Err(error) = thread::Builder::new().name("trigger".into()).spawn(fire) {
            self.log(format!("the recording is not triggered: {error}"));
        }
    }

    /// Logs what others can cause as often as they like.
    fn log_some(&mut self, kind: LineKind, text: &str, now: Instant) {
        self.log_left_out(now);
        if self.limits.admit(kind, now) {
            self.log(text);
        }
    }

    fn log_left_out(&mut self, now: Instant) {
        for (kind, count) in self.limits.left_out(now) {
            self.log(format!("{count} more lines {} were left out", kind.words()));
        }
    }

    /// Replaces a watchdog that was killed.
    fn look_at_watchdog(&mut self, now: Instant) {
        if now.duration_since(self.guarded) < GUARDED || !self.watchdog.has_ended() {
            return;
        }
        self.guarded = now;
        match Watchdog::start(&self.recipe.watchdog) {
            Ok(watchdog) => {
                let old = std::mem::replace(&mut self.watchdog, watchdog);
                self.strangers.retain(|stranger| *stranger != old.number());
                self.strangers.push(self.watchdog.number());
                self.log("the watchdog has ended: there is another one");
            }
            Err(error) => self.log(format!("the watchdog has ended, and cannot be started again: {error}")),
        }
        for process in self.processes() {
            let _ = self.watchdog.watch_session(process);
        }
    }

    /// Collects processes that have ended.
    pub fn gather(&mut self, now: Instant) {
        self.look_at_watchdog(now);
        for which in [Which::Events, Which::Capture, Which::Spool] {
            let Some(watched) = self.watched(which) else { continue };
            let before = watched.part().process();
            let Some(status) = watched.part_mut().reap(now) else { continue };
            self.forget(before);
            // Its last words may still be in the socket.
            for _ in 0..LAST_READS {
                self.hear(now);
            }
            self.changed = true;
            match which {
                Which::Capture => self.capture_ended(status, now),
                _ => self.helper_ended(which, status, now),
            }
        }
        for index in 0..self.members.len() {
            let before = self.members.get(index).and_then(|member| member.part.process());
            let reaped = self.members.get_mut(index).and_then(|member| member.part.reap(now));
            if let Some(status) = reaped {
                self.forget(before);
                self.member_ended(index, status, now);
            }
        }
        self.members.retain(|member| !(member.leaves.is_some() && member.part.process().is_none()));
        // Processes that parts have left behind are children of ours.
        let known = self.processes();
        for child in orphans::children() {
            if !known.contains(&child)
                && !self.strangers.contains(&child)
                && orphans::ended(child).is_none()
                && self.is_left(child)
            {
                // It is a child of ours, so that its number is still its own.
                let _ = orphans::send(child, KILL);
            }
        }
    }

    /// The processes of all parts.
    fn processes(&self) -> Vec<u32> {
        let reporting = self.reporting().filter_map(|(_, watched)| watched.part().process());
        reporting.chain(self.members.iter().filter_map(|member| member.part.process())).collect()
    }

    /// Whether an analyzer that has ended left this process, which is a child of ours now.
    fn is_left(&self, child: u32) -> bool {
        let Some(left) = orphans::Origin::of(child) else { return false };
        let runs = |process: Option<u32>| process.is_some_and(|process| process == left.session);
        if self.members.iter().any(|member| runs(member.part.process())) {
            return false;
        }
        let Some(name) = left.variable("TIDEWIRE_NAME") else { return false };
        let of = self.members.iter().find(|member| member.part.name == name);
        // Its successor has the same name, and may have left it on purpose.
        let successor = of.and_then(|member| orphans::Origin::of(member.part.process()?));
        successor.is_none_or(|successor| left.begun < successor.begun)
    }

    fn forget(&mut self, process: Option<u32>) {
        if let Some(process) = process {
            let _ = self.watchdog.forget(process);
        }
    }

    fn capture_ended(&mut self, status: ExitStatus, now: Instant) {
        self.capture.ended();
        self.directory.remove(QUEUES_SOCKET);
        self.directory.remove(RECORD_SOCKET);
        let how = self.capture.part.last_exit.clone().unwrap_or_default();
        self.capture.part.state = State::Ended;
        if self.phase != Phase::Running {
            if !self.capture.finished {
                if ended_by_sigterm(status) {
                    self.log("the capture ended before it had begun");
                } else {
                    self.log(format!(
                        "the capture ended before it had published everything: {how}; its last figures follow"
                    ));
                    self.sum_up(Which::Capture);
                    if status.code().is_none() && self.code == 0 {
                        self.code = FAILED;
                    }
                }
            }
            self.begin_reading(now);
        } else if self.capture.finished && status.success() {
            self.begin_reading(now);
        } else if !self.capture.has_begun {
            // Its report is in the log; a killed one sends none.
            if status.code().is_none() {
                self.log(format!("the capture did not begin: {how}"));
            }
            self.code = if status.code() == Some(USAGE.into()) { USAGE } else { FAILED };
            self.begin_reading(now);
        } else if self.is_live() {
            let wait = self.capture.part.pause(now);
            let (packets, dropped) = (self.capture.figures.packets, self.capture.figures.dropped);
            let figures = format!("{packets} packets and {dropped} dropped in its last report");
            self.log(format!("the capture ended: {how}; started again in {wait:?} ({figures})"));
            self.wake_together(now);
        } else {
            // From their beginning, files would be published twice.
            self.log(format!("the capture of files ended: {how}; it is not started again"));
            self.code = FAILED;
            self.begin_reading(now);
        }
    }

    /// The event processor or the spooler has ended: it is started again as long as it is needed.
    fn helper_ended(&mut self, which: Which, status: ExitStatus, now: Instant) {
        let is_needed = match which {
            Which::Spool => !matches!(self.phase, Phase::Delivering | Phase::Closing),
            _ => !matches!(self.phase, Phase::Storing | Phase::Delivering | Phase::Closing),
        };
        let is_wanted = which != Which::Spool || self.config.spool.is_some();
        if which == Which::Events {
            self.directory.remove(EVENTS_SOCKET);
        }
        let Some(watched) = self.watched(which) else { return };
        watched.ended();
        let how = watched.part().last_exit.clone().unwrap_or_default();
        let what = which.words();
        let text = if !is_wanted {
            watched.part_mut().state = State::Ended;
            format!("{what} ended: {how}; there is no destination any more")
        } else if let Some(why) = watched.takes_again().filter(|_| is_needed) {
            watched.part_mut().state = State::Waiting;
            format!("{what} ended: {how}; started {why}")
        } else if is_needed && status.code() == Some(USAGE.into()) {
            // With the same settings it would end in the same way.
            watched.part_mut().state = State::Ended;
            format!("{what} ended: {how}; it is not started again before its settings change (SIGHUP reads them)")
        } else if is_needed {
            let wait = watched.part_mut().pause(now);
            format!("{what} ended: {how}; started again in {wait:?}")
        } else {
            watched.part_mut().state = State::Ended;
            format!("{what} ended: {how}")
        };
        if !is_wanted {
            self.spool = None;
        }
        self.log(text);
    }

    /// Analyzers that ended with the capture are started with its successor.
    fn wake_together(&mut self, now: Instant) {
        let mut woken = Vec::new();
        for member in &mut self.members {
            let ended = member.part.ended.is_some_and(|(at, _)| now.duration_since(at) <= TOGETHER);
            if ended && member.part.state == State::Ended && member.plan.analyzer.restart != Restart::Never {
                member.part.state = State::Waiting;
                woken.push(member.part.name.clone());
            }
        }
        if !woken.is_empty() {
            self.log(format!("started with the next capture: {}", woken.join(", ")));
        }
    }

    fn member_ended(&mut self, index: usize, status: ExitStatus, now: Instant) {
        self.changed = true;
        let (phase, ready, finished) = (self.phase, self.capture.ready, self.capture.finished);
        let Some(member) = self.members.get_mut(index) else { return };
        let (part, restart) = (&mut member.part, member.plan.analyzer.restart);
        let name = part.name.clone();
        let how = part.last_exit.clone().unwrap_or_default();
        let again = restart == Restart::Always || restart == Restart::OnFailure && !status.success();
        if let Some(next) = member.leaves.take() {
            part.state = State::Ended;
            let follows = match next {
                Some(plan) => {
                    *member = super::run::Member::new(plan);
                    "started with its new configuration"
                }
                None => {
                    member.leaves = Some(None);
                    "it is not configured any more"
                }
            };
            self.log(format!("{name} ended: {how}; {follows}"));
            return;
        }
        let text = if phase != Phase::Running {
            part.state = State::Ended;
            format!("{name} ended: {how}")
        } else if !ready && restart != Restart::Never {
            part.state = State::Waiting;
            format!("{name} ended with the capture: {how}; started with the next one")
        } else if again {
            let wait = part.pause(now);
            format!("{name} ended: {how}; started again in {wait:?}")
        } else if finished && status.success() {
            // The end of the input was the end of its queue.
            part.state = State::Ended;
            format!("{name} ended: {how}")
        } else {
            part.state = State::Ended;
            let rule = if restart == Restart::Never { "never" } else { "on-failure" };
            format!("{name} ended: {how}; it is not started again (restart = \"{rule}\")")
        };
        self.log(text);
    }

    /// Does what is due.
    pub fn act(&mut self, now: Instant) {
        self.log_left_out(now);
        if let Phase::Reading(at) = self.phase
            && now >= at
        {
            self.begin_ending(now);
        }
        self.go_on(now);
        self.kill_overdue(now);
        for which in [Which::Events, Which::Capture, Which::Spool] {
            self.look_for_silence(which, now);
        }
        self.start_due(now);
    }

    /// Kills parts that did not end in their time.
    fn kill_overdue(&mut self, now: Instant) {
        // Once more, if the kernel needs longer.
        let again = State::Stopping(now + Duration::from_secs(1));
        let is_overdue = |state: State| matches!(state, State::Stopping(at) if now >= at);
        let mut overdue = Vec::new();
        for member in self.members.iter_mut().filter(|one| is_overdue(one.part.state)) {
            member.part.kill();
            member.part.state = again;
            overdue.push(member.part.name.clone());
        }
        for which in [Which::Capture, Which::Events, Which::Spool] {
            let Some(watched) = self.watched(which) else { continue };
            if is_overdue(watched.part().state) {
                watched.part().kill();
                watched.part_mut().state = again;
                overdue.push(which.words().to_owned());
            }
        }
        for name in overdue {
            self.log(format!("{name} does not end: it is killed"));
        }
    }

    /// A part that hangs is killed, and started again. That of files is not: they would be published twice.
    fn look_for_silence(&mut self, which: Which, now: Instant) {
        let is_killed = which != Which::Capture || self.is_live();
        let Some(watched) = self.watched(which) else { return };
        match watched.silence(now) {
            Some(Silence::Hangs) if is_killed => {
                watched.part().kill();
                self.log(format!("{} has said nothing for a minute: it is killed", which.words()));
            }
            Some(Silence::Hangs) => self.log(format!("{} has said nothing for a minute", which.words())),
            Some(Silence::Quiet) => {
                let then = if is_killed { "; after a minute it is killed" } else { "" };
                self.log(format!("{} has said nothing for 5 s{then}", which.words()));
            }
            Some(Silence::None) | None => {}
        }
    }
}
