//! Who ends the instances when `tidewire run` cannot: it was killed, and they gave up the rights with which the kernel
//! would have told them (`PR_SET_PDEATHSIG` is forgotten when a program changes its user, prctl(2)).
//!
//! A process of its own that reads the instances' numbers and waits for the end of its input. A word before that end says
//! that all is well.

use std::{
    env,
    io::{self, BufRead as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
};

use clap::Args;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::{self, CliError};

/// What is said when nobody is to be ended.
const WELL: &str = "well";

/// End processes whose numbers are read, when the input ends without a word
#[derive(Args, Debug)]
pub struct Options {}

/// Runs the guard.
pub fn run(_options: &Options) -> Result<u8, CliError> {
    let mut instances = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line == WELL {
            return Ok(error::OK);
        }
        // A descriptor stays that process's, whoever gets its number afterwards.
        let number = line.parse().ok().and_then(Pid::from_raw);
        instances.extend(number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok()));
    }
    for instance in &instances {
        // It may have ended by itself.
        let _ = pidfd_send_signal(instance, Signal::KILL);
    }
    Ok(error::OK)
}

/// The guard, as `tidewire run` has it.
pub struct Watchdog {
    child: Child,
    input: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts one, which no signal for this process's group reaches.
    pub fn start() -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("run-watchdog").process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        Ok(Self { input: child.stdin.take(), child })
    }

    /// Its own process.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// An instance that is not to outlive this process.
    pub fn watch(&mut self, number: u32) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{number}"))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(mut input) = self.input.take() {
            // Where it went away before, there is nobody to tell.
            let _ = writeln!(input, "{WELL}");
        }
        let _ = self.child.wait();
    }
}
