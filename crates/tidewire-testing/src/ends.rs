//! Waits with a time limit.

use std::{
    io::{self, Read},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait of a test, on a slow and busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Interval of polling: short at first, since most programs end at once.
fn tick(begun: Instant) -> Duration {
    (begun.elapsed() / 4).clamp(Duration::from_micros(100), Duration::from_millis(5))
}

/// Sends a signal to a child process; nothing happens if it has ended.
pub fn signal(child: &Child, signal: Signal) {
    let _ = kill_process(Pid::from_child(child), signal);
}

/// Waits until a condition holds.
///
/// # Panics
/// The condition does not hold within [`PATIENCE`]; the message names `what`.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Lets time pass in which something that must not happen would happen: where no condition can be awaited.
pub fn let_pass(time: Duration) {
    thread::sleep(time);
}

/// Joins a thread that must end.
///
/// # Panics
/// It does not end within [`PATIENCE`]; and panics of the thread are passed on.
pub fn join_in_time<T>(what: &str, thread: thread::JoinHandle<T>) -> T {
    wait_until(&format!("the end of {what}"), || thread.is_finished());
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Waits for child processes.
pub trait Ends {
    /// Waits for its status.
    ///
    /// # Panics
    /// It does not end within [`PATIENCE`]: it is killed, and the message names `what`.
    fn wait_in_time(&mut self, what: &str) -> ExitStatus;

    /// Waits for its status and its output.
    ///
    /// # Panics
    /// As [`wait_in_time`](Self::wait_in_time), with its output.
    fn output_in_time(self, what: &str) -> Output;
}

impl Ends for Child {
    fn wait_in_time(&mut self, what: &str) -> ExitStatus {
        ended(self, PATIENCE).unwrap_or_else(|| panic!("it does not end within {PATIENCE:?}: {what}"))
    }

    fn output_in_time(mut self, what: &str) -> Output {
        output(&mut self, PATIENCE)
            .unwrap_or_else(|so_far| panic!("it does not end within {PATIENCE:?}: {what}{so_far}"))
    }
}

/// Runs commands to their end.
pub trait InTime {
    /// As [`Command::output`], within [`PATIENCE`].
    ///
    /// # Errors
    /// It cannot be started.
    ///
    /// # Panics
    /// It does not end: it is killed, and the message has its output.
    fn run_in_time(&mut self) -> io::Result<Output> {
        self.run_within(PATIENCE)
    }

    /// As `run_in_time`, within `most`.
    ///
    /// # Errors
    /// As [`run_in_time`](Self::run_in_time).
    fn run_within(&mut self, most: Duration) -> io::Result<Output>;

    /// As [`Command::status`], within [`PATIENCE`].
    ///
    /// # Errors
    /// As [`run_in_time`](Self::run_in_time).
    fn status_in_time(&mut self) -> io::Result<ExitStatus>;
}

impl InTime for Command {
    fn run_within(&mut self, most: Duration) -> io::Result<Output> {
        // As `Command::output`: standard input is empty unless it was set.
        let mut child = self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        Ok(output(&mut child, most).unwrap_or_else(|so_far| panic!("{self:?} does not end within {most:?}{so_far}")))
    }

    fn status_in_time(&mut self) -> io::Result<ExitStatus> {
        let mut child = self.spawn()?;
        Ok(ended(&mut child, PATIENCE).unwrap_or_else(|| panic!("{self:?} does not end within {PATIENCE:?}")))
    }
}

/// Its status; `None` if it had to be killed.
fn ended(child: &mut Child, most: Duration) -> Option<ExitStatus> {
    drop(child.stdin.take());
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the status of a child") {
            return Some(status);
        }
        if begun.elapsed() > most {
            let _ = child.kill();
            return None;
        }
        thread::sleep(tick(begun));
    }
}

/// The output until the pipes are closed and it has ended, or what arrived so far.
fn output(child: &mut Child, most: Duration) -> Result<Output, String> {
    let begun = Instant::now();
    let out = child.stdout.take().map(gather);
    let errors = child.stderr.take().map(gather);
    let status = ended(child, most);
    // Its children may hold the pipes for longer.
    let rest = |reader: Option<Gathered>| reader.map(|reader| reader.rest(begun, most)).unwrap_or(Ok(Vec::new()));
    let (out, errors) = (rest(out), rest(errors));
    match (status, out, errors) {
        (Some(status), Ok(stdout), Ok(stderr)) => Ok(Output { status, stdout, stderr }),
        (status, out, errors) => {
            let text = |bytes: Result<Vec<u8>, Vec<u8>>| {
                String::from_utf8_lossy(&bytes.unwrap_or_else(|so_far| so_far)).into_owned()
            };
            let held = if status.is_some() { " (it has ended, and something holds its pipes)" } else { "" };
            Err(format!("{held}; it wrote: {}{}", text(out), text(errors)))
        }
    }
}

/// Output of a pipe, collected by a thread.
struct Gathered {
    thread: thread::JoinHandle<()>,
    bytes: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
}

fn gather(mut pipe: impl Read + Send + 'static) -> Gathered {
    let bytes: std::sync::Arc<std::sync::Mutex<Vec<u8>>> = std::sync::Arc::default();
    let into = std::sync::Arc::clone(&bytes);
    let thread = thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(count @ 1..) = pipe.read(&mut piece) {
            into.lock().expect("no holder panics").extend(&piece[..count]);
        }
    });
    Gathered { thread, bytes }
}

impl Gathered {
    /// All output, or what arrived in time.
    fn rest(self, begun: Instant, most: Duration) -> Result<Vec<u8>, Vec<u8>> {
        while !self.thread.is_finished() && begun.elapsed() < most {
            thread::sleep(tick(begun));
        }
        let is_all = self.thread.is_finished();
        let bytes = std::mem::take(&mut *self.bytes.lock().expect("no holder panics"));
        if is_all { Ok(bytes) } else { Err(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn all_that_was_written_comes_with_the_status() {
        let script = "head -c 300000 /dev/zero; echo no >&2; exit 3";
        let output = Command::new("sh").args(["-c", script]).run_in_time().expect("a shell");
        assert_eq!((output.stdout.len(), output.stderr.as_slice()), (300_000, &b"no\n"[..]));
        assert_eq!(output.status.code(), Some(3));
        assert!(Command::new("no-such-program").run_in_time().is_err());
    }

    #[test]
    fn what_does_not_end_is_killed_and_said() {
        let begun = Instant::now();
        for script in ["echo begun; exec sleep 1000", "echo begun; sleep 5 &"] {
            let run = || Command::new("sh").args(["-c", script]).run_within(Duration::from_millis(300));
            let panic = std::panic::catch_unwind(run).expect_err("it goes on");
            let text = panic.downcast_ref::<String>().expect("a message");
            assert!(text.contains(script) && text.contains("it wrote: begun"), "{text}");
        }
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_signal_arrives() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
        signal(&child, Signal::TERM);
        assert_eq!(child.wait_in_time("sleep").signal(), Some(15));
    }
}
