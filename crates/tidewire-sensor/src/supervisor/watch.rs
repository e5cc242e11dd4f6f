//! What the parts say, how they end, and what follows from it.

use std::{
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::{Duration, Instant},
};

use tidewire_live::sys::process::{KILL, TERMINATE};

use super::{
    log::{Kind, shown},
    part::State,
    run::{Phase, Supervisor},
};
use crate::{
    config::Restart,
    processes::{orphans, watchdog::Watchdog},
    report::CaptureEvent,
};

/// Exit code of a capture whose configuration is wrong.
const USAGE: u8 = 2;
/// Exit code of the sensor if the capture failed otherwise.
const FAILED: u8 = 3;
/// A capture that says nothing for this long hangs: it reports twice a second.
const SILENCE: Duration = Duration::from_secs(60);
/// An analyzer that ended well so shortly before the capture ended with it: it saw the end of its queue first.
const TOGETHER: Duration = Duration::from_secs(2);

/// A watchdog that was killed is replaced so often at most.
const GUARDED: Duration = Duration::from_secs(1);
/// Inputs that are named in the log.
const INPUTS_MAX: usize = 64;
/// How often a socket is read that nobody writes to any more: far more than it can hold.
const LAST_READS: usize = 16;

/// Whether SIGTERM ended a process, which it does before a capture can answer it.
fn ended_as_asked(status: ExitStatus) -> bool {
    status.signal() == Some(TERMINATE)
}

impl Supervisor<'_> {
    /// Reads the events of the capture.
    pub fn hear(&mut self, now: Instant) {
        let Some(channel) = &mut self.channel else { return };
        let events = channel.events();
        match events {
            Ok(events) => {
                if !events.is_empty() {
                    (self.heard, self.changed) = ((now, false), true);
                }
                events.into_iter().for_each(|event| self.event(event, now));
            }
            Err(what) => {
                self.log(format!("the capture is killed: it sent {}", shown(&what)));
                self.channel = None;
                self.capture.kill();
            }
        }
    }

    fn event(&mut self, event: CaptureEvent, now: Instant) {
        match event {
            CaptureEvent::Ready { inputs } => {
                for input in inputs.iter().take(INPUTS_MAX) {
                    self.log(format!("capture: {}", shown(input)));
                }
                (self.inputs, self.ready) = (inputs, true);
                if !std::mem::replace(&mut self.has_begun, true) {
                    self.notify.ready();
                }
                self.heard = (now, false);
            }
            CaptureEvent::Status(status) => self.figures = status,
            CaptureEvent::Finished(status) => {
                (self.figures, self.finished) = (status, true);
                self.sum_up();
            }
            CaptureEvent::Reader { text } => {
                // No reader has a name with spaces.
                let kind = if text.starts_with("a reader of user ") { Kind::Refusals } else { Kind::Readers };
                self.attended |= kind == Kind::Readers;
                self.log_some(kind, &format!("capture: {}", shown(&text)), now);
            }
            CaptureEvent::Warning { text } => {
                self.log_some(Kind::Warnings, &format!("capture: warning: {}", shown(&text)), now);
            }
            CaptureEvent::Failed { text, hint } => match hint {
                Some(hint) => self.log(format!("capture: {}; {}", shown(&text), shown(&hint))),
                None => self.log(format!("capture: {}", shown(&text))),
            },
        }
    }

    /// Says at the end what was captured, and whether it was for nobody.
    fn sum_up(&self) {
        let (packets, dropped) = (self.figures.packets, self.figures.dropped);
        let queues = &self.figures.queues;
        let records = queues.iter().map(|queue| queue.records).fold(0, u64::saturating_add);
        let shed = queues.iter().map(|queue| queue.shed_records).fold(0, u64::saturating_add);
        self.log(format!("capture: the end: {packets} packets, {dropped} dropped; {records} records, {shed} shed"));
        let attended = self.attended || queues.iter().any(|queue| !queue.readers.is_empty());
        if !self.is_live() && !attended && records > 0 {
            self.log("nobody read the records; with --wait-for 1 the first packet waits for a reader");
        }
    }

    /// Logs what others can cause as often as they like.
    fn log_some(&mut self, kind: Kind, text: &str, now: Instant) {
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
        let parts = self.members.iter().map(|member| &member.part).chain([&self.capture]);
        for process in parts.filter_map(super::part::Part::process) {
            let _ = self.watchdog.watch_session(process);
        }
    }

    /// Collects processes that have ended.
    pub fn gather(&mut self, now: Instant) {
        self.look_at_watchdog(now);
        let before = self.capture.process();
        if let Some(status) = self.capture.reap(now) {
            self.forget(before);
            // Its last words may still be in the socket.
            for _ in 0..LAST_READS {
                self.hear(now);
            }
            self.capture_ended(status, now);
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
        // What parts have left behind is a child of ours.
        let known: Vec<u32> = self.members.iter().filter_map(|member| member.part.process()).collect();
        for child in orphans::children() {
            let is_part = known.contains(&child) || self.capture.process() == Some(child);
            if !is_part && !self.strangers.contains(&child) && orphans::ended(child).is_none() && self.is_left(child) {
                // It is a child of ours, so that its number is still its own.
                let _ = orphans::send(child, KILL);
            }
        }
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
        (self.ready, self.channel, self.changed) = (false, None, true);
        self.directory.remove_queues_socket();
        let how = self.capture.last_exit.clone().unwrap_or_default();
        self.capture.state = State::Ended;
        if self.phase != Phase::Running {
            if !self.finished {
                if ended_as_asked(status) {
                    self.log("the capture ended before it had begun");
                } else {
                    self.log(format!("the capture ended before it had published everything: {how}"));
                    if status.code().is_none() && self.code == 0 {
                        self.code = FAILED;
                    }
                }
            }
            self.begin_reading(now);
        } else if self.finished && status.success() {
            self.begin_reading(now);
        } else if !self.has_begun {
            // What it said is in the log; one that was killed says nothing.
            if status.code().is_none() {
                self.log(format!("the capture did not begin: {how}"));
            }
            self.code = if status.code() == Some(USAGE.into()) { USAGE } else { FAILED };
            self.begin_reading(now);
        } else if self.is_live() {
            let wait = self.capture.pause(now);
            self.log(format!("the capture ended: {how}; started again in {wait:?}"));
            self.wake_together(now);
        } else {
            // From their beginning, files would be published twice.
            self.log(format!("the capture of files ended: {how}; it is not started again"));
            self.code = FAILED;
            self.begin_reading(now);
        }
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
        let (phase, ready, finished) = (self.phase, self.ready, self.finished);
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
        match self.phase {
            Phase::Running => self.act_running(now),
            Phase::Finishing(at) if now >= at => {
                self.log("the capture does not end: it is killed");
                self.capture.kill();
                // Once more, if the kernel needs longer.
                let again = now + Duration::from_secs(1);
                (self.phase, self.capture.state) = (Phase::Finishing(again), State::Stopping(again));
            }
            Phase::Reading(at) if now >= at => self.begin_ending(now),
            _ => {}
        }
        let overdue = self.members.iter().filter(|one| matches!(one.part.state, State::Stopping(at) if now >= at));
        let overdue: Vec<String> = overdue
            .map(|member| {
                member.part.kill();
                member.part.name.clone()
            })
            .collect();
        for name in overdue {
            self.log(format!("{name} does not end: it is killed"));
            let member = self.members.iter_mut().find(|member| member.part.name == name);
            if let Some(member) = member {
                member.part.state = State::Stopping(now + Duration::from_secs(1));
            }
        }
    }

    fn act_running(&mut self, now: Instant) {
        if matches!(self.capture.state, State::Paused(at) if now >= at) {
            self.start_capture(now);
        }
        let (heard, is_reported) = self.heard;
        // Before it is ready, it may take long to bring queues into memory.
        if self.ready && now.duration_since(heard) >= SILENCE && !is_reported {
            self.heard.1 = true;
            if self.is_live() {
                self.log("the capture has said nothing for a minute: it is killed");
                self.capture.kill();
            } else {
                self.log("the capture has said nothing for a minute");
            }
        }
        if !self.ready {
            return;
        }
        let is_due = |state: State| match state {
            State::Waiting => true,
            State::Paused(at) => now >= at,
            _ => false,
        };
        for index in 0..self.members.len() {
            if self.members.get(index).is_some_and(|member| is_due(member.part.state)) {
                self.start_member(index, now);
            }
        }
    }
}
