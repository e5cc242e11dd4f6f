//! Triggers from outside: SIGUSR1, and a control socket to which `tidewire record trigger` connects.

use std::{
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
    sync::Arc,
    thread,
};

use nix::sys::signal::{SigSet, Signal};
use tidewire_recorder::{Control, Trigger, fire as fire_at};

use super::options::TriggerOptions;
use crate::{
    error::{self, CliError, notify},
    output::Out,
};

/// Bytes of a line of standard input that are held at once.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// Keeps SIGUSR1 from ending the process, in this thread and those that it starts.
pub fn ignore_signal() {
    let _ = SigSet::from(Signal::SIGUSR1).thread_block();
}

/// Sources that fire the triggers of a recording. Threads begin once privileges are dropped.
pub struct Outside {
    trigger: Arc<Trigger>,
    control: Option<Control>,
}

impl Outside {
    /// Binds the socket, and keeps SIGUSR1 from ending the process.
    pub fn open(trigger: &Arc<Trigger>, control: Option<&Path>) -> Result<Self, CliError> {
        ignore_signal();
        let bind = |path: &Path| {
            let failed = |error| CliError::Output(format!("{}: cannot listen: {error}", path.display()));
            Control::bind(path).map_err(failed)
        };
        Ok(Self { trigger: Arc::clone(trigger), control: control.map(bind).transpose()? })
    }

    /// Starts to listen.
    pub fn start(self) {
        let (signals, trigger) = (SigSet::from(Signal::SIGUSR1), Arc::clone(&self.trigger));
        let wait = move || {
            while signals.wait().is_ok() {
                trigger.fire();
            }
        };
        let signals = thread::Builder::new().name("signals".into()).spawn(wait).map(drop);
        let control = self.control.map_or(Ok(()), |control| control.start(&self.trigger));
        for failed in [signals, control].into_iter().filter_map(Result::err) {
            notify(format_args!("no thread for triggers: {failed}"));
        }
    }
}

/// `tidewire record trigger SOCKET`, and with `-` behind it: once for each line of standard input.
pub fn fire(options: &TriggerOptions) -> Result<u8, CliError> {
    if options.lines.is_none() {
        return fire_once(&options.socket);
    }
    let mut code = error::OK;
    let mut lines = BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        // Neither the content of a line matters, nor its length.
        let read = io::Read::by_ref(&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.map_err(|failed| CliError::Input(format!("standard input: {failed}")))? == 0 {
            return Ok(code);
        }
        if line.ends_with(b"\n") {
            code = fire_once(&options.socket)?;
        }
    }
}

fn fire_once(path: &str) -> Result<u8, CliError> {
    let answer = fire_at(Path::new(path));
    let (said, has_fired) = answer.map_err(|error| CliError::Input(format!("{path}: no recorder answers: {error}")))?;
    let mut out = Out::stdout();
    out.line(&said)?;
    out.flush()?;
    Ok(if has_fired { error::OK } else { error::INPUT })
}
