//! The end of a sensor: the capture publishes what it has, analyzers read to the end, then they get SIGTERM, then SIGKILL; then
//! the event processor stores everything, the spooler tries once more to deliver it, and the event processor stores how far it came.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tidewire_live::sys::process::INTERRUPT;

use super::{
    part::{Part, State},
    reporting::{Reporting, Which},
    run::{Phase, Supervisor},
    summary,
};
use crate::{events::report::EventsReport, processes::orphans};

/// Exit code of a capture of files that a signal ended.
const INTERRUPTED: u8 = 130;
/// Signals that come so shortly after the first are the same request: timeout(1) signals a process and its group.
const TOGETHER: Duration = Duration::from_millis(200);
/// Time for the last lines of parts, and for processes that they left behind.
const LAST: Duration = Duration::from_secs(1);

impl Supervisor<'_> {
    /// A signal requests the sensor's end; each further one goes on to the next step at once.
    pub fn stop(&mut self, signal: i32, now: Instant) {
        if self.stop_requested.is_some_and(|first| now.duration_since(first) < TOGETHER) {
            return;
        }
        self.stop_requested.get_or_insert(now);
        self.changed = true;
        let most = self.config.stop;
        self.notify.stopping(most * 6 + LAST * 5);
        match self.phase {
            Phase::Running => {
                let name = if signal == INTERRUPT { "SIGINT" } else { "SIGTERM" };
                self.log(format!("{name}: the capture ends, then the analyzers"));
                if !self.is_live() {
                    self.code = INTERRUPTED;
                }
                self.phase = Phase::Finishing;
                match self.capture.part.process() {
                    Some(_) => self.capture.part.stop(now, most),
                    None => self.begin_reading(now),
                }
                // Those that do not run are not started any more.
                for member in &mut self.members {
                    if member.part.process().is_none() {
                        member.part.state = State::Ended;
                    }
                }
            }
            Phase::Finishing => {
                self.log("again: the capture is killed");
                self.capture.part.kill();
            }
            Phase::Reading(_) => {
                // Over files, what they have not read is missing.
                let reads = self.members.iter().any(|member| member.part.process().is_some());
                if !self.is_live() && reads && self.code == 0 {
                    self.code = INTERRUPTED;
                }
                self.begin_ending(now);
            }
            Phase::Ending => {
                self.log("again: analyzers are killed");
                self.members.iter().for_each(|member| member.part.kill());
            }
            Phase::Storing => self.kill_again(Which::Events, "what it has not acknowledged is not stored"),
            Phase::Delivering => self.kill_again(Which::Spool, "the rest is delivered after the next start"),
            Phase::Closing => self.kill_again(Which::Events, "the last positions of destinations are not stored"),
        }
    }

    fn kill_again(&mut self, which: Which, what: &str) {
        self.log(format!("again: {} is killed; {what}", which.words()));
        if let Some(watched) = self.watched(which) {
            watched.part().kill();
        }
    }

    /// The capture has ended: analyzers read what they have not read.
    pub fn begin_reading(&mut self, now: Instant) {
        self.changed = true;
        self.capture.part.state = State::Ended;
        self.phase = Phase::Reading(now + self.config.stop);
        for member in &mut self.members {
            if member.part.process().is_none() {
                member.part.state = State::Ended;
            }
        }
    }

    /// Sends SIGTERM to the analyzers.
    pub fn begin_ending(&mut self, now: Instant) {
        self.phase = Phase::Ending;
        let most = self.config.stop;
        let running: Vec<&str> = self
            .members
            .iter()
            .filter(|member| member.part.process().is_some())
            .map(|member| member.part.name.as_str())
            .collect();
        if !running.is_empty() {
            self.log(format!("SIGTERM to {}", running.join(", ")));
        }
        self.members.iter_mut().for_each(|member| member.part.stop(now, most));
    }

    /// Goes on where the processes of a step have ended: when the analyzers have, the event processor stores everything; then the
    /// spooler tries once more; then the event processor ends.
    pub fn go_on(&mut self, now: Instant) {
        let is_reading = matches!(self.phase, Phase::Reading(_) | Phase::Ending);
        if is_reading && self.members.iter().all(|member| member.part.process().is_none()) {
            self.phase = Phase::Storing;
            self.changed = true;
            self.stop_helper(Which::Events, now);
        }
        // One that has stored everything and still runs has not got its second SIGTERM yet.
        let is_storing = |part: &Part| part.process().is_some() && part.state != State::Running;
        let stores = self.events.as_ref().is_some_and(|events| is_storing(&events.part));
        if self.phase == Phase::Storing && !stores {
            self.phase = Phase::Delivering;
            self.changed = true;
            self.stop_helper(Which::Spool, now);
        }
        let delivers = self.spool.as_ref().is_some_and(|spool| spool.part.process().is_some());
        if self.phase == Phase::Delivering && !delivers {
            self.phase = Phase::Closing;
            self.changed = true;
            self.stop_helper(Which::Events, now);
        }
    }

    /// Asks the event processor or the spooler to end.
    pub fn stop_helper(&mut self, which: Which, now: Instant) {
        let most = self.config.stop;
        if let Some(watched) = self.watched(which) {
            watched.part_mut().stop(now, most);
        }
    }

    /// Says at the end of a part what it has done.
    pub fn sum_up(&self, which: Which) {
        let lines = match which {
            Which::Capture => {
                let mut lines = summary::of_capture(&self.capture.figures);
                lines.extend(self.capture.totals().map(summary::all_of_capture));
                lines
            }
            Which::Events => {
                let of = |events: &Reporting<EventsReport>| {
                    let mut lines = summary::of_events(&events.figures);
                    lines.extend(events.totals().map(summary::all_of_events));
                    lines
                };
                self.events.iter().flat_map(of).collect()
            }
            Which::Spool => self.spool.iter().flat_map(|spool| summary::of_spool(&spool.figures)).collect(),
        };
        lines.iter().for_each(|line| self.log(format!("{}: {line}", which.name())));
        let queues = &self.capture.figures.queues;
        let is_attended = self.attended || queues.iter().any(|queue| !queue.readers.is_empty());
        let has_records = queues.iter().any(|queue| queue.records > 0);
        if which == Which::Capture && !self.is_live() && !is_attended && has_records {
            self.log("no reader attached; with --wait-for 1 the first packet waits for a reader");
        }
    }

    /// All parts have ended: what they left behind ends, too.
    pub fn end(&mut self) {
        let begun = Instant::now();
        let mut were = 0;
        while begun.elapsed() < LAST {
            let left: Vec<u32> = orphans::children()
                .into_iter()
                .filter(|child| !self.strangers.contains(child) && orphans::ended(*child).is_none())
                .collect();
            if left.is_empty() {
                break;
            }
            were = were.max(left.len());
            for process in left.iter().filter_map(|number| Pid::from_raw(i32::try_from(*number).ok()?)) {
                let _ = kill_process(process, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if were > 0 {
            self.log(format!("{were} processes that parts had left behind were killed"));
        }
        self.lines.finish(LAST);
        self.log.finish(LAST);
    }
}
