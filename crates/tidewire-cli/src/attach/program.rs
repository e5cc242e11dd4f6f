//! The program of `--exec`: records on its standard input, started again when it ends.

use std::{
    io::{self, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, ioctl_fionbio},
    process::{Pid, Signal, kill_process},
};

use tidewire_sensor::processes::backoff::Backoff;

use crate::{error::CliError, file_limit, generate::stopped};

/// How often a wait looks at signals.
const TICK: Duration = Duration::from_millis(100);
/// How long a program may take to end, first after the end of its input, then after SIGTERM.
const END_TIME: Duration = Duration::from_secs(5);

/// How a program is started, and started again.
pub struct Program {
    command: String,
    back_off: Backoff,
    /// How often it was started again.
    pub restarts: u64,
}

/// A program that runs.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    begun: Instant,
}

impl Program {
    pub fn new(command: &str) -> Self {
        Self { command: command.to_owned(), back_off: Backoff::default(), restarts: 0 }
    }

    pub fn start(&self) -> Result<Running, CliError> {
        let cannot = |error: io::Error| CliError::Usage(format!("'{}' cannot be started: {error}", self.command));
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &self.command]).stdin(Stdio::piped());
        let child = file_limit::without(|| shell.spawn());
        let mut child = child.map_err(cannot)?;
        let input = child.stdin.take();
        if let Some(input) = &input {
            // A full pipe must not keep signals from being noticed.
            ioctl_fionbio(input, true).map_err(|error| cannot(error.into()))?;
        }
        Ok(Running { child, input, begun: Instant::now() })
    }

    /// Waits until the program may be started again; `false`: a signal ended the wait.
    pub fn wait(&mut self, ran: Duration) -> bool {
        let until = Instant::now() + self.back_off.after(ran);
        while Instant::now() < until && !stopped() {
            std::thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
        }
        self.restarts += 1;
        !stopped()
    }

    /// How long the next [`wait`](Self::wait) takes.
    pub fn pause(&self, ran: Duration) -> Duration {
        self.back_off.peek(ran)
    }
}

impl Running {
    /// Writes all of it; `false`: the program no longer reads, or a signal came.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<bool, CliError> {
        let Some(input) = &mut self.input else { return Ok(false) };
        while !bytes.is_empty() {
            match input.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
                    match poll(&mut [PollFd::new(input, PollFlags::OUT)], Some(&timeout)) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(CliError::Output(format!("cannot wait for the program: {error}"))),
                    }
                    if stopped() {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(CliError::Output(format!("cannot write to the program: {error}"))),
            }
        }
        Ok(true)
    }

    /// Whether the program has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub fn ran(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Ends its input and waits for its end: after a signal not for long.
    pub fn finish(mut self) -> Result<ExitStatus, CliError> {
        drop(self.input.take());
        let cannot = |error: io::Error| CliError::Output(format!("cannot wait for the program: {error}"));
        let mut since = None;
        let mut signals = [Signal::TERM, Signal::KILL].into_iter();
        loop {
            if let Some(status) = self.child.try_wait().map_err(cannot)? {
                return Ok(status);
            }
            if stopped() && since.get_or_insert_with(Instant::now).elapsed() > END_TIME {
                since = None;
                if let Some(signal) = signals.next() {
                    let _ = kill_process(Pid::from_child(&self.child), signal);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
