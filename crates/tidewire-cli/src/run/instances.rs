//! The instances: started together, told every signal once, waited for.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tidewire_capture::sys::{
    board::{Board, Slot},
    process::{self, CHILD_CHANGED, STOP_ASKED, Signals, TERMINATE},
};

use super::{guard::Guard, program::preload, settings::Variables};
use crate::failure::{Failure, say};

/// What is started, and how.
pub struct Recipe<'a> {
    pub program: &'a Path,
    /// The program's name as it was given.
    pub name: &'a OsStr,
    pub arguments: &'a [OsString],
    /// Whether `%i` is the instance's number.
    pub substitute: bool,
    pub count: u32,
    /// Instance i stays on the i-th of these; empty: anywhere.
    pub processors: &'a [usize],
    pub library: &'a Path,
    pub variables: &'a Variables,
}

/// One of them.
pub struct Instance {
    child: Child,
    pub processor: Option<usize>,
    pub ended: Option<ExitStatus>,
}

impl Instance {
    pub fn number(&self) -> u32 {
        self.child.id()
    }
}

/// All of them.
pub struct Instances {
    board: Board,
    pub all: Vec<Instance>,
    signals: Signals,
    guard: Guard,
    /// The first that failed, and its code.
    failed: Option<(usize, u8)>,
}

impl Instances {
    /// Starts all, or none.
    pub fn start(recipe: &Recipe<'_>) -> Result<Self, Failure> {
        let input = |what: &str, error: io::Error| Failure::Input(format!("{what}: {error}"));
        let (board, path) = board(recipe.count as usize).map_err(|error| input("no place for counters", error))?;
        // Before anything is started: no signal is lost in between.
        let signals = Signals::take().map_err(|error| input("no signals", error))?;
        let guard = Guard::start().map_err(|error| input("no process to watch over the instances", error))?;
        let mut instances = Self { board, all: Vec::new(), signals, guard, failed: None };
        for number in 0..recipe.count as usize {
            let processor = recipe.processors.get(number % recipe.processors.len().max(1)).copied();
            let started = process::start(&mut recipe.command(number, &path), 0, processor);
            match started {
                Ok(child) => {
                    // Without a guard the kernel still ends what keeps its rights.
                    let _ = instances.guard.watch(child.id());
                    instances.all.push(Instance { child, processor, ended: None });
                }
                Err(error) => {
                    instances.tell(TERMINATE);
                    instances.all.iter_mut().for_each(|instance| drop(instance.child.wait()));
                    let what = format!("{}: instance {number} cannot be started", recipe.program.display());
                    return Err(input(&what, error));
                }
            }
        }
        Ok(instances)
    }

    /// Waits until all have ended, and passes signals on; `show` is called every so often.
    pub fn attend(
        &mut self,
        together: bool,
        every: Option<Duration>,
        mut show: impl FnMut(&Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut next = every.map(|every| Instant::now() + every);
        let mut was_told = false;
        while self.all.iter().any(|instance| instance.ended.is_none()) {
            self.wait(next.map(|next| next.saturating_duration_since(Instant::now())));
            while let Ok(Some(signal)) = self.signals.next() {
                self.signal(signal);
            }
            let ended = self.gather();
            if ended && together && !was_told {
                was_told = true;
                self.tell(TERMINATE);
            }
            if let (Some(at), Some(every)) = (next, every)
                && Instant::now() >= at
            {
                next = Some(Instant::now() + every);
                show(self)?;
            }
        }
        Ok(())
    }

    /// Waits for a signal, the end of an instance being one.
    fn wait(&self, most: Option<Duration>) {
        // Should a signal be missed, the instances are looked at anyway.
        let most = most.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(1));
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        // Interrupted, or nothing came: either way the caller looks.
        let _ = poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&most));
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            CHILD_CHANGED => {}
            STOP_ASKED => {
                self.tell(signal);
                // Nobody would notice if it failed: then the instances are stopped, and this is not.
                let _ = process::stop_myself();
            }
            signal => self.tell(signal),
        }
    }

    /// Sends a signal to all that run.
    fn tell(&mut self, signal: i32) {
        for (number, instance) in self.all.iter_mut().enumerate().filter(|(_, instance)| instance.ended.is_none()) {
            if let Err(error) = process::send(&mut instance.child, signal) {
                say(format_args!("instance {number} did not get signal {signal}: {error}"));
            }
        }
    }

    /// Whether any has ended since.
    fn gather(&mut self) -> bool {
        let mut any = false;
        for (number, instance) in self.all.iter_mut().enumerate().filter(|(_, instance)| instance.ended.is_none()) {
            let Ok(Some(status)) = instance.child.try_wait() else { continue };
            (any, instance.ended) = (true, Some(status));
            let code = code(status);
            if code != 0 && self.failed.is_none() {
                self.failed = Some((number, code));
            }
        }
        any
    }

    /// What an instance counted.
    pub fn slot(&self, number: usize) -> Option<Slot<'_>> {
        self.board.slot(number)
    }

    /// Which instance failed first.
    pub fn failed(&self) -> Option<usize> {
        self.failed.map(|(number, _)| number)
    }

    /// The exit code of all.
    pub fn code(&self) -> u8 {
        self.failed.map_or(0, |(_, code)| code)
    }
}

impl Drop for Instances {
    fn drop(&mut self) {
        if self.all.iter().any(|instance| instance.ended.is_none()) {
            self.tell(TERMINATE);
        }
    }
}

/// A process's exit code, as shells have it.
fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// A board that nobody else has, where memory is shared.
fn board(slots: usize) -> io::Result<(Board, PathBuf)> {
    let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let mut result = Err(io::ErrorKind::NotFound.into());
    for folder in own.into_iter().chain([PathBuf::from("/dev/shm"), env::temp_dir()]) {
        sweep(&folder);
        let path = folder.join(format!("{PREFIX}{}", std::process::id()));
        result = Board::create(&path, slots).map(|board| (board, path));
        if result.is_ok() {
            break;
        }
    }
    result
}

/// What boards' names begin with; the number of the process follows.
const PREFIX: &str = "tidewire-run-";

/// Takes away what runs that were killed have left, as far as they were ours.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|number| number.parse::<u32>().ok());
        if number.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            // Somebody else's stays.
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Recipe<'_> {
    fn command(&self, number: usize, board: &Path) -> Command {
        let mut command = Command::new(self.program);
        let arguments = self
            .arguments
            .iter()
            .map(|argument| if self.substitute { numbered(argument, number) } else { argument.clone() });
        command.arg0(self.name).args(arguments).stdin(Stdio::null());
        for (name, value) in self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("LD_PRELOAD", preload(self.library));
        command.env("TIDEWIRE_INSTANCE", number.to_string()).env("TIDEWIRE_COUNTERS", board);
        command
    }
}

/// An argument with `%i` and `%%` replaced; any other percent sign stays.
fn numbered(argument: &OsStr, number: usize) -> OsString {
    let mut out = Vec::new();
    let mut bytes = argument.as_bytes().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'%', Some(b'i')) => out.extend_from_slice(number.to_string().as_bytes()),
            (b'%', Some(b'%')) => out.push(b'%'),
            _ => {
                out.push(byte);
                continue;
            }
        }
        bytes.next();
    }
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_they_are_wanted() {
        for (argument, expected) in [
            ("out-%i.pcap", "out-12.pcap"),
            ("%i%i", "1212"),
            ("%%i", "%i"),
            ("%%%i", "%12"),
            ("%H:%M-%", "%H:%M-%"),
            ("100%", "100%"),
            ("", ""),
        ] {
            assert_eq!(numbered(OsStr::new(argument), 12), expected, "{argument}");
        }
        let odd = OsStr::from_bytes(b"\xff%i");
        assert_eq!(numbered(odd, 0).as_bytes(), b"\xff0");
    }
}
