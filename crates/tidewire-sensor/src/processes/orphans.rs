//! Processes that outlive their instance's first process: daemons, and others that a program leaves running.
//!
//! Linux makes an orphaned process a child of the nearest ancestor that is a subreaper (`PR_SET_CHILD_SUBREAPER`, prctl(2)). So
//! orphans become children of the process that called [`adopt`], which waits for them and forwards signals to them as to those
//! that it started. Their environment names their instance.

use std::{fs, io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

/// The variable with an instance's number.
pub const INSTANCE: &str = "TIDEWIRE_INSTANCE";

/// Makes this process the subreaper of its descendants.
///
/// # Errors
/// What the kernel says.
pub fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The children of this process, including zombies.
#[must_use]
pub fn children() -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => found.extend(list.split_whitespace().filter_map(|word| word.parse::<u32>().ok())),
            // The kernel lacks CONFIG_PROC_CHILDREN.
            Err(_) => return looked_for(),
        }
    }
    found
}

/// Finds the children among all processes, by their parent.
fn looked_for() -> Vec<u32> {
    let own = std::process::id().to_string();
    let is_child = |number: &u32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // State and parent follow the name, which may contain any character.
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(own.as_str())
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_child).collect()
}

/// The owner of a process.
#[derive(Debug, PartialEq, Eq)]
pub enum Owner {
    /// The instance of this number.
    Instance(usize),
    /// Not our descendant: it was not started by an instance.
    None,
    /// Its environment cannot be read.
    Hidden,
    /// Its environment is empty, as for a moment during execve(2), or when it ends: retry.
    Unknown,
    /// It has ended and was waited for, so that its owner is unknown.
    Ended,
}

/// The owner of a child, by its initial environment.
#[must_use]
pub fn owner(number: u32) -> Owner {
    if ended(number).is_some() {
        return Owner::Ended;
    }
    match fs::read(format!("/proc/{number}/environ")) {
        Ok(bytes) if bytes.is_empty() => Owner::Unknown,
        Ok(bytes) => of(&bytes),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Owner::Hidden,
        // It is about to end, and may leave children of ours.
        Err(_) => Owner::Unknown,
    }
}

fn of(environment: &[u8]) -> Owner {
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| entry.strip_prefix(INSTANCE.as_bytes())?.strip_prefix(b"="));
    let number = value.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    number.map_or(Owner::None, Owner::Instance)
}

/// Where a process comes from.
#[derive(Debug)]
pub struct Origin {
    /// Its session.
    pub session: u32,
    /// When it began, in clock ticks.
    pub begun: u64,
    environment: Vec<u8>,
}

impl Origin {
    /// Of a process; `None`: it has ended.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // State, parent, group and session follow the name, which may contain any character; the time is the 20th.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        Some(Self { session: fields.get(3)?.parse().ok()?, begun: fields.get(19)?.parse().ok()?, environment })
    }

    /// A variable of its initial environment; `None` also where we may not read it.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        let mut entries = self.environment.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        std::str::from_utf8(value).ok()
    }
}

/// The exit status of a child, if it has ended; then it is reaped.
#[must_use]
pub fn ended(number: u32) -> Option<ExitStatus> {
    let pid = Pid::from_raw(i32::try_from(number).ok()?)?;
    match waitpid(Some(pid), WaitOptions::NOHANG) {
        Ok(None) => None,
        Ok(Some((_, status))) => Some(ExitStatus::from_raw(status.as_raw())),
        // Not our descendant.
        Err(_) => Some(ExitStatus::default()),
    }
}

/// Sends a signal to a child that was not reaped.
///
/// # Errors
/// What the kernel says.
pub fn send(number: u32, signal: i32) -> io::Result<()> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    match (pid, Signal::from_named_raw(signal)) {
        (Some(pid), Some(signal)) => Ok(kill_process(pid, signal)?),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tidewire_testing::Ends as _;

    use super::*;

    #[test]
    fn environments_name_the_instance() {
        assert_eq!(of(b"A=1\0TIDEWIRE_INSTANCE=12\0B=2\0"), Owner::Instance(12));
        for none in
            [&b""[..], b"TIDEWIRE_INSTANCES=3\0", b"XTIDEWIRE_INSTANCE=3\0", b"TIDEWIRE_INSTANCE=x\0", b"\xff\0"]
        {
            assert_eq!(of(none), Owner::None);
        }
        assert_eq!(owner(u32::MAX >> 1), Owner::Ended, "no child");
    }

    #[test]
    fn children_are_found_in_two_ways() {
        let mut child = Command::new("sleep").arg("60").env(INSTANCE, "7").spawn().unwrap();
        assert!(children().contains(&child.id()));
        assert!(looked_for().contains(&child.id()));
        // Between fork and exec it has our environment.
        let is_found = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            owner(child.id()) == Owner::Instance(7)
        });
        assert!(is_found);
        assert_eq!(ended(child.id()), None);
        send(child.id(), 9).unwrap();
        assert!(send(child.id(), 0).is_err());
        assert_eq!(child.wait_in_time("the process").signal(), Some(9));
        assert_eq!(owner(child.id()), Owner::Ended);
    }
}
