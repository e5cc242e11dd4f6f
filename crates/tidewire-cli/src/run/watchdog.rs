//! Ends the instances if `tidewire run` is killed and they gave up the rights with which the kernel would have ended them
//! (`PR_SET_PDEATHSIG` is cleared when a program changes its user, prctl(2)).
//!
//! A separate process that reads the process ids of the instances and waits for the end of its input. A word before the end
//! means a normal exit.

use std::{
    env,
    io::{self, BufRead as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
};

use clap::Args;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::{self, CliError};

/// The word for a normal exit.
const WELL: &str = "well";

/// End the processes whose ids are read, if the input ends without a word
#[derive(Args, Debug)]
pub struct Options {}

/// Runs the watchdog.
pub fn run(_options: &Options) -> Result<u8, CliError> {
    let mut instances = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line == WELL {
            return Ok(error::OK);
        }
        // A pidfd refers to this process even if its id is reused.
        let number = line.parse().ok().and_then(Pid::from_raw);
        instances.extend(number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok()));
    }
    for instance in &instances {
        // It may have ended already.
        let _ = pidfd_send_signal(instance, Signal::KILL);
    }
    Ok(error::OK)
}

/// The watchdog process, in `tidewire run`.
pub struct Watchdog {
    child: Child,
    input: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts it in its own process group, which signals for this one do not reach.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("run-watchdog").process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        Ok(Self { input: child.stdin.take(), child })
    }

    /// Its process id.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// Adds an instance that must not outlive this process.
    pub fn watch(&mut self, number: u32) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{number}"))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(mut input) = self.input.take() {
            // If it is gone already, nothing needs to be written.
            let _ = writeln!(input, "{WELL}");
        }
        let _ = self.child.wait();
    }
}
