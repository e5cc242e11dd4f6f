//! The instances: started together, signalled once, waited for.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io, mem,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tidewire_live::sys::{
    process::{self, CHILD_CHANGED, STOP_REQUESTED, Signals, TERMINATE},
    shared_counters::{SharedCounters, Slot},
};
use tidewire_sensor::processes::{
    orphans::{self, Owner},
    watchdog::Watchdog,
};

use super::{
    instance::Instance,
    library::Folder,
    program::before,
    run_dir::{COUNTERS, NAMES, RunDir},
    settings::Variables,
    watchdog,
};
use crate::error::{CliError, notify};

/// The program to start, and how.
pub struct Recipe<'a> {
    pub program: &'a Path,
    /// The program's name as given.
    pub name: &'a OsStr,
    pub arguments: &'a [OsString],
    /// Whether `%i` is replaced by the instance's number.
    pub substitute: bool,
    pub count: u32,
    /// Instance i is bound to the i-th of these CPUs; empty: to none.
    pub processors: &'a [usize],
    pub library: &'a Path,
    /// Whether the program may load libpcap by name at run time.
    pub by_name: bool,
    pub variables: &'a Variables,
}

/// Delay before a child that is executing another program is examined again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Number of such attempts before a signal is forwarded.
const SIGNAL_TRIES: u32 = 100;
/// A child whose environment is empty for this long has none, and belongs to no instance.
const UNKNOWN_MAX: Duration = Duration::from_secs(5);
/// An environment that does not name an instance is read again for this long: during execve(2) only its beginning may be
/// readable.
const NO_OWNER_MAX: Duration = Duration::from_millis(200);

/// All instances.
pub struct Instances {
    board: SharedCounters,
    /// Removed with the instances.
    names: Option<Folder>,
    /// Removed after both.
    _place: RunDir,
    pub all: Vec<Instance>,
    signals: Signals,
    watchdog: Watchdog,
    /// Children that belong to no instance: from before this program was executed, or the watchdog.
    strangers: Vec<u32>,
    /// Children whose instance is unknown so far, and since when.
    unknown: BTreeMap<u32, Instant>,
    /// The first instance that failed, and its exit code.
    failed: Option<(usize, u8)>,
}

impl Instances {
    /// Starts all instances, or none.
    pub fn start(recipe: &Recipe<'_>) -> Result<Self, CliError> {
        let input = |what: &str, error: io::Error| CliError::Input(format!("{what}: {error}"));
        let place = RunDir::make().map_err(|error| input("no place for counters", error))?;
        let path = place.path.join(COUNTERS);
        let board = SharedCounters::create(&path, recipe.count as usize)
            .map_err(|error| input("no place for counters", error))?;
        let names = recipe.by_name.then(|| Folder::find(recipe.library, place.path.join(NAMES))).transpose();
        let names = names.map_err(|error| input("no place for the library's names", error))?;
        // Before anything is started, so that no signal is lost.
        let signals = Signals::take().map_err(|error| input("no signals", error))?;
        let mut strangers = orphans::children();
        let watchdog = watchdog::start().map_err(|error| input("no process to watch over the instances", error))?;
        strangers.push(watchdog.number());
        orphans::adopt().map_err(|error| input("programs that become daemons would be lost", error))?;
        let mut instances = Self {
            board,
            names,
            _place: place,
            all: Vec::new(),
            signals,
            watchdog,
            strangers,
            unknown: BTreeMap::new(),
            failed: None,
        };
        for number in 0..recipe.count as usize {
            let processor = recipe.processors.get(number % recipe.processors.len().max(1)).copied();
            let started = process::start(&mut recipe.command(number, &path, instances.names.as_ref()), 0, processor);
            match started {
                Ok(child) => {
                    // Without a watchdog the kernel still ends processes that keep their rights.
                    let _ = instances.watchdog.watch(child.id());
                    instances.all.push(Instance::new(child, processor));
                }
                Err(error) => {
                    instances.send_to_all(TERMINATE);
                    instances.all.iter_mut().for_each(|instance| drop(instance.child.wait()));
                    let what = format!("{}: instance {number} cannot be started", recipe.program.display());
                    return Err(input(&what, error));
                }
            }
        }
        Ok(instances)
    }

    /// Waits until all have ended, and forwards signals; calls `show` periodically.
    pub fn attend(
        &mut self,
        together: bool,
        every: Option<Duration>,
        mut show: impl FnMut(&Self) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut next = every.map(|every| Instant::now() + every);
        let mut was_signalled = false;
        while self.all.iter().any(|instance| instance.ended.is_none()) {
            self.wait(next.map(|next| next.saturating_duration_since(Instant::now())));
            while let Ok(Some(signal)) = self.signals.next() {
                self.signal(signal);
            }
            let ended = self.gather();
            if ended && together && !was_signalled {
                was_signalled = true;
                self.send_to_all(TERMINATE);
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

    /// Waits for a signal; SIGCHLD reports the end of an instance.
    fn wait(&self, most: Option<Duration>) {
        // Instances are checked periodically, in case a signal is missed.
        let limit = if self.unknown.is_empty() { Duration::from_secs(1) } else { LOOK_AGAIN };
        let most = most.unwrap_or(limit).min(limit);
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        // Interrupted or timed out: the caller checks in both cases.
        let _ = poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&most));
    }

    fn signal(&mut self, signal: i32) {
        match signal {
            CHILD_CHANGED => {}
            STOP_REQUESTED => {
                self.send_to_all(signal);
                // On failure the instances are stopped, but this process is not.
                let _ = process::stop_myself();
            }
            signal => self.send_to_all(signal),
        }
    }

    /// Sends a signal to all running instances.
    fn send_to_all(&mut self, signal: i32) {
        for _ in 0..SIGNAL_TRIES {
            self.adopt();
            if self.unknown.is_empty() {
                break;
            }
            thread::sleep(LOOK_AGAIN);
        }
        for (number, instance) in self.all.iter_mut().enumerate().filter(|(_, instance)| instance.ended.is_none()) {
            if let Err(error) = instance.send(signal) {
                notify(format_args!("instance {number} did not get signal {signal}: {error}"));
            }
        }
    }

    /// Whether any process has ended since the last call.
    fn gather(&mut self) -> bool {
        // An ended process may leave others behind, which may have ended as well.
        loop {
            let reaped = self.all.iter_mut().fold(false, |any, instance| instance.reap() | any);
            if !self.adopt() && !reaped {
                break;
            }
        }
        let mut any = false;
        for (number, instance) in self.all.iter_mut().enumerate().filter(|(_, instance)| instance.ended.is_none()) {
            if instance.own.is_some() && !instance.orphans.is_empty() && !instance.is_reported_running {
                instance.is_reported_running = true;
                notify(format_args!("instance {number} continues in the background, as process {}", instance.number()));
            }
            let Some(status) = instance.conclude().filter(|_| self.unknown.is_empty()) else { continue };
            (any, instance.ended) = (true, Some(status));
            let code = code(status);
            if code != 0 && self.failed.is_none() {
                self.failed = Some((number, code));
            }
        }
        any
    }

    /// Adopts processes whose parent has ended; returns whether there were any.
    fn adopt(&mut self) -> bool {
        let mut any = false;
        let before = mem::take(&mut self.unknown);
        for number in orphans::children() {
            let is_known = |instance: &Instance| instance.child.id() == number || instance.orphans.contains(&number);
            if self.strangers.contains(&number) || self.all.iter().any(is_known) {
                continue;
            }
            let heir_of = match orphans::owner(number) {
                Owner::Instance(instance) => Some(instance),
                Owner::Ended => {
                    any = true;
                    continue;
                }
                owner @ (Owner::Unknown | Owner::None) => {
                    let since = before.get(&number).copied().unwrap_or_else(Instant::now);
                    if since.elapsed() < if owner == Owner::None { NO_OWNER_MAX } else { UNKNOWN_MAX } {
                        self.unknown.insert(number, since);
                        continue;
                    }
                    None
                }
                Owner::Hidden => self.all.iter().position(|one| one.own.is_some() && one.orphans.is_empty()),
            };
            match heir_of.and_then(|instance| self.all.get_mut(instance)) {
                Some(instance) => {
                    // The kernel does not end it when this process is killed.
                    let _ = self.watchdog.watch(number);
                    instance.orphans.push(number);
                    any = true;
                }
                None => self.strangers.push(number),
            }
        }
        any
    }

    /// The counts of an instance.
    pub fn slot(&self, number: usize) -> Option<Slot<'_>> {
        self.board.slot(number)
    }

    /// The first instance that failed.
    pub fn failed(&self) -> Option<usize> {
        self.failed.map(|(number, _)| number)
    }

    /// The exit code of the run.
    pub fn code(&self) -> u8 {
        self.failed.map_or(0, |(_, code)| code)
    }
}

impl Drop for Instances {
    fn drop(&mut self) {
        if self.all.iter().any(|instance| instance.ended.is_none()) {
            self.send_to_all(TERMINATE);
        }
    }
}

/// A process's exit code, as in shells.
fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

impl Recipe<'_> {
    fn command(&self, number: usize, board: &Path, names: Option<&Folder>) -> Command {
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
        command.env("LD_PRELOAD", before("LD_PRELOAD", self.library));
        if let Some(names) = names {
            command.env("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", &names.path));
        }
        command.env("TIDEWIRE_INSTANCE", number.to_string()).env("TIDEWIRE_COUNTERS", board);
        command
    }
}

/// Replaces `%i` and `%%` in an argument; other percent signs stay.
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
        let invalid = OsStr::from_bytes(b"\xff%i");
        assert_eq!(numbered(invalid, 0).as_bytes(), b"\xff0");
    }
}
