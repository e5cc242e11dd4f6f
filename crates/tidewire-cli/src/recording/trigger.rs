//! Triggers from outside: SIGUSR1, and a control socket to which `tidewire record trigger` connects.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};
use tidewire_recorder::Trigger;

use super::options::TriggerOptions;
use crate::{
    error::{self, CliError, notify},
    output::Out,
};

const REQUEST: &str = "trigger";
/// Bytes of a request at most.
const REQUEST_BYTES_MAX: u64 = 64;
/// Bytes of a line of standard input that are held at once.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// A client that says nothing is left.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps SIGUSR1 from ending the process, in this thread and those that it starts.
pub fn ignore_signal() {
    let _ = SigSet::from(Signal::SIGUSR1).thread_block();
}

/// What fires the triggers of a recording. Threads begin once privileges are dropped.
pub struct Outside {
    trigger: Arc<Trigger>,
    listener: Option<UnixListener>,
}

impl Outside {
    /// Binds the socket, and keeps SIGUSR1 from ending the process.
    pub fn open(trigger: &Arc<Trigger>, control: Option<&Path>) -> Result<Self, CliError> {
        ignore_signal();
        let listener = control.map(bind).transpose()?;
        Ok(Self { trigger: Arc::clone(trigger), listener })
    }

    /// Starts to listen.
    pub fn start(self) {
        let (signals, trigger) = (SigSet::from(Signal::SIGUSR1), Arc::clone(&self.trigger));
        let wait = move || {
            while signals.wait().is_ok() {
                trigger.fire();
            }
        };
        let serve = move |listener: UnixListener| {
            for client in listener.incoming().flatten() {
                let _ = answer(&client, &self.trigger);
            }
        };
        let mut all = vec![thread::Builder::new().name("signals".into()).spawn(wait)];
        all.extend(
            self.listener.map(|listener| thread::Builder::new().name("control".into()).spawn(move || serve(listener))),
        );
        for failed in all.into_iter().filter_map(Result::err) {
            notify(format_args!("no thread for triggers: {failed}"));
        }
    }
}

fn bind(path: &Path) -> Result<UnixListener, CliError> {
    let failed = |error: io::Error| CliError::Output(format!("{}: cannot listen: {error}", path.display()));
    // One that a recorder left, and no process answers.
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

fn answer(client: &UnixStream, trigger: &Trigger) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(client.take(REQUEST_BYTES_MAX)).read_line(&mut line)?;
    let mut client = client;
    if line.trim_end() == REQUEST {
        trigger.fire();
        client.write_all(b"recording\n")
    } else {
        client.write_all(b"unknown request; expected: trigger\n")
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
        // What a line says does not matter, nor how long it is.
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
    let failed = |error: io::Error| CliError::Input(format!("{path}: no recorder answers: {error}"));
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.write_all(format!("{REQUEST}\n").as_bytes()).map_err(failed)?;
    let mut said = String::new();
    stream.take(REQUEST_BYTES_MAX).read_to_string(&mut said).map_err(failed)?;
    let mut out = Out::stdout();
    out.line(said.trim_end())?;
    out.flush()?;
    Ok(if said.starts_with("recording") { error::OK } else { error::INPUT })
}
