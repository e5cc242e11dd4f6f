//! Ends processes if the one that started them is killed and the kernel does not end them: they changed their user
//! (`PR_SET_PDEATHSIG` is cleared then, prctl(2)), or their parent ended before them.
//!
//! A separate process that reads the ids of processes and of sessions and waits for the end of its input. A word before the end
//! means a normal exit.

use std::{
    ffi::OsString,
    fs,
    io::{self, BufRead, Write as _},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Child, ChildStdin, Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal},
};

/// The word for a normal exit.
const WELL: &str = "well";
/// The word before the id of a process that leads a session of its own.
const SESSION: &str = "session ";
/// The word before the id of a process that has ended, with all that was in its session's first group.
const ENDED: &str = "ended ";
/// How often groups are searched for processes: some may be starting others meanwhile.
const SEARCHES: usize = 3;

/// A process that must not outlive the one that named it.
#[derive(Debug)]
struct Watched {
    number: Pid,
    /// Refers to this process even if its id is reused.
    process: Option<OwnedFd>,
    leads: bool,
}

impl Watched {
    fn has_ended(&self) -> bool {
        let Some(process) = &self.process else { return true };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

/// Runs the watchdog: reads `input` to its end and, without the word for a normal exit, kills what it named.
pub fn guard(input: impl BufRead) {
    let mut watched = Vec::new();
    for line in input.lines() {
        let Ok(line) = line else { break };
        if line == WELL {
            return;
        }
        hear(&mut watched, &line);
    }
    for one in &watched {
        // It may have ended already.
        let _ = one.process.as_ref().map(|process| pidfd_send_signal(process, Signal::KILL));
    }
    let leaders: Vec<i32> =
        watched.iter().filter(|one| one.leads).map(|one| one.number.as_raw_nonzero().get()).collect();
    for _ in 0..SEARCHES {
        for member in members(&leaders) {
            let _ = kill_process(member, Signal::KILL);
        }
    }
}

/// Adds the process that a line names, or forgets it.
fn hear(watched: &mut Vec<Watched>, line: &str) {
    let number = |word: &str| word.parse::<i32>().ok().filter(|number| *number > 0).and_then(Pid::from_raw);
    if let Some(ended) = line.strip_prefix(ENDED) {
        let ended = number(ended);
        watched.retain(|one| Some(one.number) != ended);
        return;
    }
    let (word, leads) = line.strip_prefix(SESSION).map_or((line, false), |rest| (rest, true));
    let Some(number) = number(word) else { return };
    // Descriptors are few. Processes of a leader's session are looked for until its end is reported.
    watched.retain(|one| one.leads || !one.has_ended());
    watched.push(Watched { number, process: pidfd_open(number, PidfdFlags::empty()).ok(), leads });
}

/// The processes in the first groups of these sessions. While one is left, the kernel does not reuse their id; and the end of
/// the others was reported.
fn members(leaders: &[i32]) -> Vec<Pid> {
    let is_member = |number: &i32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // State, parent, group and session follow the name, which may contain any character.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(2);
        let mut field = || fields.next().and_then(|field| field.parse::<i32>().ok());
        let (group, session) = (field(), field());
        group == session && group.is_some_and(|group| leaders.contains(&group))
    };
    if leaders.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(is_member).filter_map(Pid::from_raw).collect()
}

/// The watchdog process, for the one that starts it.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    input: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts it in its own process group, which signals for this one do not reach. `command`: what calls [`guard`] with its
    /// standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &[OsString]) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        Ok(Self { input: child.stdin.take(), child })
    }

    /// Its process id.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// Adds a process that must not outlive this one.
    ///
    /// # Errors
    /// The watchdog is gone.
    pub fn watch(&mut self, number: u32) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{number}"))
    }

    /// Adds a process with the session that it leads.
    ///
    /// # Errors
    /// The watchdog is gone.
    pub fn watch_session(&mut self, number: u32) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{SESSION}{number}"))
    }

    /// Forgets a process whose group has ended.
    ///
    /// # Errors
    /// The watchdog is gone.
    pub fn forget(&mut self, number: u32) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{ENDED}{number}"))
    }

    /// Whether it has ended, which it does not do by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
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

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt as _,
        process::{Command, Stdio},
    };

    use tidewire_testing::{Ends as _, Lines, wait_until};

    use super::*;

    /// A leader of a session, and a process that it leaves in its group.
    fn leader() -> (Child, String) {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", "sleep 60 & echo $!; exec sleep 60"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let inner = Lines::new(child.stdout.take().expect("a pipe")).next("the id of the inner process").expect("it");
        (child, inner)
    }

    fn runs(number: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    #[test]
    fn without_the_word_everything_ends_and_with_it_nothing() {
        if let Some(why) = tidewire_testing::missing(&["setsid"]) {
            return tidewire_testing::skip(why);
        }
        let (mut child, inner) = leader();
        guard(format!("session {}\nwell\n", child.id()).as_bytes());
        guard(format!("session {0}\nended {0}\n", child.id()).as_bytes());
        guard(&b"session x\n-1\n\xff\n0\nended\n"[..]);
        assert_eq!(child.try_wait().expect("a child"), None);
        guard(format!("session {}\n", child.id()).as_bytes());
        assert_eq!(child.wait_in_time("the process").signal(), Some(9));
        wait_until("the end of the inner process", || !runs(&inner));
    }

    #[test]
    fn what_a_leader_left_ends_although_it_is_gone() {
        if let Some(why) = tidewire_testing::missing(&["setsid"]) {
            return tidewire_testing::skip(why);
        }
        let (mut child, inner) = leader();
        let mut watched = Vec::new();
        hear(&mut watched, &format!("session {}", child.id()));
        child.kill().expect("it runs");
        child.wait_in_time("the process");
        assert!(runs(&inner));
        guard(format!("session {}\n", child.id()).as_bytes());
        wait_until("the end of the inner process", || !runs(&inner));
    }

    #[test]
    fn processes_that_have_ended_cost_nothing() {
        let mut watched = Vec::new();
        for leads in [false, true] {
            for _ in 0..5 {
                let mut child = Command::new("true").spawn().expect("true");
                hear(&mut watched, &format!("{}{}", if leads { SESSION } else { "" }, child.id()));
                assert!(child.wait_in_time("true").success());
                if leads {
                    hear(&mut watched, &format!("{ENDED}{}", child.id()));
                }
            }
            assert!(watched.len() <= 1, "{watched:?}");
        }
    }
}
