//! Ends processes if the one that started them is killed and the kernel does not end them: they changed their user
//! (`PR_SET_PDEATHSIG` is cleared then, prctl(2)), or their parent ended before them.
//!
//! A separate process that reads the ids of processes and of groups and waits for the end of its input. A word before the end
//! means a normal exit.

use std::{
    ffi::OsString,
    fs,
    io::{self, BufRead, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Command, Stdio},
};

use rustix::process::{Pid, PidfdFlags, Signal, getsid, kill_process, pidfd_open, pidfd_send_signal};

/// The word for a normal exit.
const WELL: &str = "well";
/// The word before the id of a process group.
const GROUP: &str = "group ";
/// How often groups are searched for processes: some may be starting others meanwhile.
const SEARCHES: usize = 3;

/// Runs the watchdog: reads `input` to its end and, without the word for a normal exit, kills what it named.
pub fn guard(input: impl BufRead) {
    let (mut processes, mut groups) = (Vec::new(), Vec::new());
    for line in input.lines() {
        let Ok(line) = line else { break };
        if line == WELL {
            return;
        }
        let (word, is_group) = line.strip_prefix(GROUP).map_or((line.as_str(), false), |rest| (rest, true));
        let Some(number) = word.parse::<i32>().ok().filter(|number| *number > 0).and_then(Pid::from_raw) else {
            continue;
        };
        // A pidfd refers to this process even if its id is reused.
        processes.extend(pidfd_open(number, PidfdFlags::empty()).ok());
        groups.extend(is_group.then_some(number.as_raw_nonzero().get()));
    }
    for process in &processes {
        // It may have ended already.
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
    for _ in 0..SEARCHES {
        for member in members(&groups) {
            let _ = kill_process(member, Signal::KILL);
        }
    }
}

/// The processes of these groups in our session: the id of an ended group may be another session's by now.
fn members(groups: &[i32]) -> Vec<Pid> {
    let own = getsid(None).map_or(0, |session| session.as_raw_nonzero().get());
    let of_group = |number: &i32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // State, parent, group and session follow the name, which may contain any character.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(2);
        let mut field = || fields.next().and_then(|field| field.parse::<i32>().ok());
        let (group, session) = (field(), field());
        session == Some(own) && group.is_some_and(|group| groups.contains(&group))
    };
    if groups.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(of_group).filter_map(Pid::from_raw).collect()
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

    /// Adds a process with the group that it leads.
    ///
    /// # Errors
    /// The watchdog is gone.
    pub fn watch_group(&mut self, number: u32) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{GROUP}{number}"))
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

    #[test]
    fn without_the_word_everything_ends_and_with_it_nothing() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!; exec sleep 60"]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let inner = Lines::new(child.stdout.take().expect("a pipe")).next("the id of the inner process").expect("it");
        guard(format!("group {}\nwell\n", child.id()).as_bytes());
        guard(&b"group x\n-1\n\xff\n0\n"[..]);
        assert_eq!(child.try_wait().expect("a child"), None);
        guard(format!("group {}\n", child.id()).as_bytes());
        assert_eq!(child.wait_in_time("the process").signal(), Some(9));
        let state = || fs::read_to_string(format!("/proc/{inner}/stat")).unwrap_or_default();
        wait_until("the end of the inner process", || state().is_empty() || state().contains(") Z "));
    }
}
