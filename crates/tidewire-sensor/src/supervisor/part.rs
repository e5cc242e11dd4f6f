//! One process of a sensor: started, watched, ended.

use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::status::PartStatus;
use crate::processes::backoff::Backoff;

/// State of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is started as soon as the capture is ready.
    Waiting,
    /// It is started again at this time.
    Paused(Instant),
    /// It runs.
    Running,
    /// It got a signal to end, and is killed at this time.
    Stopping(Instant),
    /// It has ended, and is not started again.
    Ended,
}

/// A process and its history.
#[derive(Debug)]
pub struct Part {
    pub name: String,
    pub state: State,
    pub restarts: u64,
    pub last_exit: Option<String>,
    /// When it ended last, and whether it succeeded.
    pub ended: Option<(Instant, bool)>,
    child: Option<Child>,
    /// Closed when it has ended: those that pass on what it writes see that.
    open: Option<io::PipeWriter>,
    since: Instant,
    backoff: Backoff,
    has_run: bool,
}

impl Part {
    pub fn new(name: String) -> Self {
        Self {
            name,
            state: State::Waiting,
            restarts: 0,
            last_exit: None,
            ended: None,
            child: None,
            open: None,
            since: Instant::now(),
            backoff: Backoff::default(),
            has_run: false,
        }
    }

    /// Its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// A process was started for it.
    pub fn started(&mut self, child: Child, now: Instant) {
        self.restarts += u64::from(self.has_run);
        (self.has_run, self.child, self.since, self.state) = (true, Some(child), now, State::Running);
    }

    /// Keeps this until its process has ended.
    pub fn keep_open(&mut self, open: io::PipeWriter) {
        self.open = Some(open);
    }

    /// It could not be started: it is paused.
    pub fn not_started(&mut self, error: &io::Error, now: Instant) -> Duration {
        self.last_exit = Some(format!("not started: {error}"));
        let wait = self.backoff.after(Duration::ZERO);
        self.state = State::Paused(now + wait);
        wait
    }

    /// It is started again after a while.
    pub fn pause(&mut self, now: Instant) -> Duration {
        let wait = self.backoff.after(self.since.elapsed());
        self.state = State::Paused(now + wait);
        wait
    }

    /// Collects its process if it has ended, with what it left in its group.
    pub fn reap(&mut self, now: Instant) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        let process = Pid::from_child(child);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(process), options), Ok(None)) {
            return None;
        }
        // It is not collected yet, so that the number of the group is still its own.
        let _ = kill_process_group(process, Signal::KILL);
        let status = child.try_wait().ok().flatten()?;
        (self.child, self.open) = (None, None);
        self.last_exit = Some(words(status));
        self.ended = Some((now, status.success()));
        Some(status)
    }

    /// Asks it to end; it is killed after `most`.
    pub fn stop(&mut self, now: Instant, most: Duration) {
        match (&self.child, self.state) {
            (None, _) => self.state = State::Ended,
            (Some(_), State::Stopping(_)) => {}
            (Some(child), _) => {
                let _ = kill_process(Pid::from_child(child), Signal::TERM);
                self.state = State::Stopping(now + most);
            }
        }
    }

    /// Sends it a signal, if it runs.
    pub fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Kills it with its group; it is collected when the kernel says so.
    pub fn kill(&self) {
        if let Some(child) = &self.child {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = kill_process(Pid::from_child(child), Signal::KILL);
        }
    }

    /// When something has to be done about it. `starts`: whether it can be started now.
    pub fn due(&self, starts: bool) -> Option<Instant> {
        match self.state {
            State::Paused(at) if starts => Some(at),
            State::Stopping(at) => Some(at),
            _ => None,
        }
    }

    /// Its status. `starting`: it runs and is not ready.
    pub fn status(&self, starting: bool, queue: Option<&str>) -> PartStatus {
        let state = match self.state {
            State::Waiting => "waiting",
            State::Paused(_) => "paused",
            State::Running if starting => "starting",
            State::Running => "running",
            State::Stopping(_) => "stopping",
            State::Ended => "ended",
        };
        PartStatus {
            name: self.name.clone(),
            state: state.into(),
            process: self.process(),
            seconds: self.child.as_ref().map_or(0.0, |_| self.since.elapsed().as_secs_f64()),
            restarts: self.restarts,
            last_exit: self.last_exit.clone(),
            queue: queue.map(str::to_owned),
        }
    }
}

/// How a process ended.
fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => match Signal::from_named_raw(signal) {
            Some(name) => format!("killed by signal {signal} ({})", signal_name(name)),
            None => format!("killed by signal {signal}"),
        },
        (None, None) => "ended".into(),
    }
}

/// The name of a signal as kill(1) has it.
fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::ABORT => "SIGABRT",
        Signal::BUS => "SIGBUS",
        Signal::FPE => "SIGFPE",
        Signal::ILL => "SIGILL",
        Signal::INT => "SIGINT",
        Signal::KILL => "SIGKILL",
        Signal::PIPE => "SIGPIPE",
        Signal::SEGV => "SIGSEGV",
        Signal::SYS => "SIGSYS",
        Signal::TERM => "SIGTERM",
        _ => "see signal(7)",
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tidewire_live::sys::process;
    use tidewire_testing::wait_until;

    use super::*;

    fn run(script: &str) -> Part {
        let mut part = Part::new("part".into());
        let child = process::start(Command::new("sh").args(["-c", script]), 0, None).expect("a shell");
        part.started(child, Instant::now());
        part
    }

    #[test]
    fn an_end_is_noted_and_restarts_are_counted() {
        let mut part = run("exit 3");
        wait_until("its end", || part.reap(Instant::now()).is_some());
        assert_eq!((part.last_exit.as_deref(), part.restarts), (Some("exit code 3"), 0));
        assert_eq!(part.pause(Instant::now()), crate::processes::backoff::FIRST);
        assert!(part.due(true).is_some() && part.process().is_none());
        assert_eq!(part.due(false), None, "no wake-up for a start that is not possible");
        part.started(Command::new("true").spawn().expect("true"), Instant::now());
        wait_until("its end", || part.reap(Instant::now()).is_some());
        assert_eq!((part.last_exit.as_deref(), part.restarts), (Some("exit code 0"), 1));
    }

    #[test]
    fn the_rest_of_a_group_goes_with_it() {
        let mut part = run("sleep 60 & echo; kill -9 $$");
        let group = part.process().expect("it runs");
        wait_until("its end", || part.reap(Instant::now()).is_some());
        assert_eq!(part.last_exit.as_deref(), Some("killed by signal 9 (SIGKILL)"));
        let group = Pid::from_raw(group as i32).expect("a number");
        // Only zombies that init has not collected may be left for a moment.
        wait_until("an empty group", || {
            let stat = |number: &str| std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            let of_group = |stat: &str| {
                let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
                let fields: Vec<&str> = rest.split_whitespace().take(3).collect();
                fields.get(2) == Some(&group.to_string().as_str()) && fields.first() != Some(&"Z")
            };
            let all = std::fs::read_dir("/proc").expect("processes").flatten();
            all.filter_map(|entry| entry.file_name().into_string().ok()).all(|number| !of_group(&stat(&number)))
        });
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let mut part = run("trap '' TERM; while :; do sleep 0.1; done");
        part.stop(Instant::now(), Duration::from_millis(50));
        assert!(matches!(part.state, State::Stopping(_)));
        std::thread::sleep(Duration::from_millis(100));
        part.kill();
        wait_until("its end", || part.reap(Instant::now()).is_some());
    }
}
