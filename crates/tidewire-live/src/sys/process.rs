//! Processes that belong together: started so that none outlives the one that started them, each on its processor, and the
//! signals that they are to get.
//!
//! JUSTIFICATION: what a child does before it becomes another program, and signals as things to read, have no safe wrapper
//! in the standard library.
#![allow(unsafe_code)]

use std::{
    io,
    mem::{size_of, zeroed},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command},
};

use rustix::{
    io::Errno,
    process::{
        Gid, Pid, Signal, Uid, getpid, getppid, kill_process, set_parent_process_death_signal, setpriority_process,
        setsid,
    },
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
        set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};

pub use super::wait::processors;
use super::wait::stay_on;

/// `SIGCHLD`: a process that was started changed its state.
pub const CHILD_CHANGED: i32 = libc::SIGCHLD;
/// `SIGTSTP`: Ctrl-Z.
pub const STOP_REQUESTED: i32 = libc::SIGTSTP;
/// `SIGCONT`: go on after a stop.
pub const GO_ON: i32 = libc::SIGCONT;
/// `SIGTERM`.
pub const TERMINATE: i32 = libc::SIGTERM;
/// `SIGINT`: Ctrl-C.
pub const INTERRUPT: i32 = libc::SIGINT;
/// `SIGHUP`: the terminal is gone, or services read their configuration again.
pub const HANG_UP: i32 = libc::SIGHUP;
/// `SIGKILL`.
pub const KILL: i32 = libc::SIGKILL;

/// Signals that a process group gets from a terminal or a user, and that its leader passes on.
pub const PASSED_ON: &[i32] = &[
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGALRM,
    libc::SIGTSTP,
    libc::SIGCONT,
];

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Starts a program in a process group of its own (`group` 0) or in that of another one; where `cpu` is given, on that
/// processor only. It is killed when the calling thread ends, whatever the reason (`PR_SET_PDEATHSIG`).
///
/// # Errors
/// What the system says: the program cannot be started, there is no such processor or group.
pub fn start(command: &mut Command, group: i32, cpu: Option<usize>) -> io::Result<Child> {
    start_with(command, group, cpu, &Rights::default())
}

/// Rights of a program that is started. The default changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Its user and group; other groups are given up.
    pub user: Option<(u32, u32)>,
    /// Its nice value, -20 to 19; 0: that of this process.
    pub nice: i32,
    /// It has no capabilities and cannot get any (`no_new_privs`). From Linux 6.12 on it can send signals to itself and its
    /// children only, and trace no other process, whatever its user is.
    pub plain: bool,
    /// It reads and writes disks only while no other process does (`IOPRIO_CLASS_IDLE`, ioprio_set(2)), where the I/O scheduler has that.
    pub idle_io: bool,
}

impl Rights {
    /// Between fork and exec: system calls only.
    fn apply(&self) -> io::Result<()> {
        if self.nice != 0 {
            setpriority_process(None, self.nice)?;
        }
        if self.idle_io {
            be_idle();
        }
        if self.plain && self.user.is_none() {
            // Refused without CAP_SETGID: then they stay.
            let _ = set_thread_groups(&[]);
        }
        if let Some((user, group)) = self.user {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
        }
        if self.plain {
            // Kernels before 4.3 have no ambient set.
            let _ = clear_ambient_capability_set();
            let none = CapabilitySet::empty();
            set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
            set_no_new_privs(true)?;
            keep_signals_inside();
        }
        Ok(())
    }
}

/// `struct landlock_ruleset_attr` (include/uapi/linux/landlock.h).
#[repr(C)]
struct LandlockRules {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// `LANDLOCK_SCOPE_SIGNAL`.
const LANDLOCK_SCOPE_SIGNAL: u64 = 1 << 1;

/// Keeps this process, and those that it starts, from sending signals to others: with the same user it could end them. Needs
/// `no_new_privs`. Between fork and exec: system calls only. Kernels before 6.12 have no such scope, and others may be built
/// without Landlock: then nothing changes.
fn keep_signals_inside() {
    let rules = LandlockRules { handled_access_fs: 0, handled_access_net: 0, scoped: LANDLOCK_SCOPE_SIGNAL };
    // SAFETY: the pointer is to a structure of this size, which the kernel only reads.
    let rules = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size_of::<LandlockRules>(), 0_u32)
    };
    if let Ok(rules) = libc::c_int::try_from(rules)
        && rules >= 0
    {
        // SAFETY: the call takes integers only; the descriptor is this process's own, and no other code closes it.
        unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, rules, 0_u32);
            libc::close(rules);
        }
    }
}

/// `IOPRIO_WHO_PROCESS`, and `IOPRIO_CLASS_IDLE` shifted to its place (include/uapi/linux/ioprio.h).
const WHO_PROCESS: libc::c_int = 1;
const CLASS_IDLE: libc::c_int = 3 << 13;

/// Gives the calling process the idle I/O class. It is for the sake of others: where the kernel refuses, it goes on without.
fn be_idle() {
    // SAFETY: the call takes numbers only, and sets a number of the calling process.
    let _ = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE) };
}

/// As [`start`], with other rights than this process has.
///
/// # Errors
/// As [`start`], and where this process may not give these rights.
pub fn start_with(command: &mut Command, group: i32, cpu: Option<usize>, rights: &Rights) -> io::Result<Child> {
    command.process_group(group);
    spawn(command, false, cpu, rights)
}

/// As [`start_with`], in a session of its own: it has no terminal, and leads a process group.
///
/// # Errors
/// As [`start_with`].
pub fn start_apart(command: &mut Command, cpu: Option<usize>, rights: &Rights) -> io::Result<Child> {
    spawn(command, true, cpu, rights)
}

fn spawn(command: &mut Command, apart: bool, cpu: Option<usize>, rights: &Rights) -> io::Result<Child> {
    let parent = getpid();
    let rights = *rights;
    let prepare = move || {
        if apart {
            setsid()?;
        }
        // First: a change of the user clears the signal that follows.
        rights.apply()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // It ended before the request.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // The signals that this process reads from a descriptor are unblocked for the program.
        mask(libc::SIG_UNBLOCK)?;
        cpu.map_or(Ok(()), stay_on)
    };
    // SAFETY: the closure makes system calls only; it takes no lock and no memory, so that it may run between fork and exec.
    unsafe { command.pre_exec(prepare) }.spawn()
}

/// Keeps every descriptor but the standard ones from programs that are started, also those that this process inherited.
///
/// # Errors
/// The kernel is older than 5.11.
pub fn keep_descriptors() -> io::Result<()> {
    let (first, last): (libc::c_uint, libc::c_uint) = (3, libc::c_uint::MAX);
    // SAFETY: no descriptor is closed: they are marked to be closed by execve(2).
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `CLOSE_RANGE_CLOEXEC` (close_range(2)).
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 1 << 2;
/// `SO_PASSRIGHTS` (include/uapi/asm-generic/socket.h).
const SO_PASSRIGHTS: libc::c_int = 83;

/// Refuses descriptors that peers send over a Unix socket, and over those that it accepts: their `sendmsg` fails with EPERM.
///
/// # Errors
/// The kernel is older than 6.16.
pub fn refuse_descriptors(socket: impl AsFd) -> io::Result<()> {
    let off: libc::c_int = 0;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the pointer is to an integer of this size, which the kernel only reads.
    check(unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Blocks or unblocks the signals that are passed on, and says which these are: those that this process does not ignore.
fn mask(how: libc::c_int) -> io::Result<libc::sigset_t> {
    // SAFETY: the structure is plain integers, for which zeroes are valid.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: the pointer is to a set, which is initialised.
    check(unsafe { libc::sigemptyset(&raw mut set) })?;
    for signal in PASSED_ON.iter().chain(&[CHILD_CHANGED]).filter(|signal| !is_ignored(**signal)) {
        // SAFETY: the pointer is to an initialised set.
        check(unsafe { libc::sigaddset(&raw mut set, *signal) })?;
    }
    // SAFETY: the pointer is to an initialised set; the pointer for the old one may be null.
    let failed = unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
    if failed == 0 { Ok(set) } else { Err(io::Error::from_raw_os_error(failed)) }
}

/// Sends a signal to a child. After it was waited for nothing is sent: the number may belong to another process.
///
/// # Errors
/// What the kernel says.
pub fn send(child: &mut Child, signal: i32) -> io::Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    // It was not waited for, so that its number is still its own.
    Ok(kill_process(Pid::from_child(child), signal)?)
}

/// Stops the calling process, as Ctrl-Z would, until it is continued.
///
/// # Errors
/// What the kernel says.
pub fn stop_myself() -> io::Result<()> {
    Ok(kill_process(getpid(), Signal::STOP)?)
}

/// Signals as something to read. Threads that are started later do not get them either; programs that are started do.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// From now on [`PASSED_ON`] and [`CHILD_CHANGED`] are read here and do nothing else. Those that the process ignores
    /// (`nohup`) stay ignored.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take() -> io::Result<Self> {
        let set = mask(libc::SIG_BLOCK)?;
        // SAFETY: the pointer is to an initialised set.
        let made = check(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the descriptor was just made and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(made) }))
    }

    /// The next signal that arrived, if any.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn next(&self) -> io::Result<Option<i32>> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.0, &mut info) {
            // The number of the signal comes first (signalfd(2)).
            Ok(got) if got == info.len() => Ok(info.first_chunk().map(|number| i32::from_ne_bytes(*number))),
            Ok(_) | Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether this process inherited an ignored signal.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: the structure is plain integers and a function that is not called, for which zeroes are valid.
    let mut action: libc::sigaction = unsafe { zeroed() };
    // SAFETY: nothing is set; the pointer is to a structure for the answer.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{process::Stdio, thread, time::Duration};

    use tidewire_testing::{Ends as _, Lines};

    use super::*;

    #[test]
    fn a_child_is_pinned_and_gets_its_signal() {
        let cpu = *processors().unwrap().last().unwrap();
        let mut command = Command::new("sh");
        let script =
            "grep Cpus_allowed_list /proc/self/status; trap 'echo got; exit 7' USR1; while :; do sleep 0.05; done";
        let mut child = start(command.args(["-c", script]).stdout(Stdio::piped()), 0, Some(cpu)).unwrap();
        let lines = Lines::new(child.stdout.take().unwrap());
        assert_eq!(lines.next("its processors"), Some(format!("Cpus_allowed_list:\t{cpu}")));
        thread::sleep(Duration::from_millis(100));
        send(&mut child, libc::SIGUSR1).unwrap();
        assert_eq!(child.wait_in_time("the process").code(), Some(7));
        send(&mut child, libc::SIGUSR1).unwrap();
    }

    #[test]
    fn signals_that_are_read_here_still_reach_children() {
        let signals = Signals::take().unwrap();
        let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
        let mut child = start(Command::new("sh").args(["-c", script]).stdout(Stdio::piped()), 0, None).unwrap();
        Lines::new(child.stdout.take().unwrap()).until("ready");
        send(&mut child, TERMINATE).unwrap();
        assert_eq!(child.wait_in_time("the process").code(), Some(9));
        assert!(matches!(signals.next(), Ok(None | Some(CHILD_CHANGED))));
    }

    /// A plain child of the same user cannot end the process that started it.
    #[test]
    fn a_plain_child_signals_its_own_processes_only() {
        let kill = |rights: &Rights| {
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 60 & kill -0 $! && kill $! && kill -0 $PPID"]).stderr(Stdio::null());
            let child = start_with(&mut command, 0, None, rights).unwrap();
            child.output_in_time("the process").status.success()
        };
        assert!(kill(&Rights::default()));
        let has_scope = landlock_version() >= 6;
        if !has_scope {
            return tidewire_testing::skip("this kernel's Landlock has no scope of signals");
        }
        assert!(!kill(&Rights { plain: true, ..Rights::default() }));
    }

    /// The version of the kernel's interface; 0 or less: there is none.
    fn landlock_version() -> libc::c_long {
        let no_rules = std::ptr::null::<LandlockRules>();
        // SAFETY: with this flag the kernel reads nothing, and answers with a number.
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, no_rules, 0_usize, 1_u32) }
    }

    #[test]
    fn a_child_has_the_rights_that_it_was_given() {
        let shown = |rights: &Rights| {
            let mut command = Command::new("cat");
            command.arg("/proc/self/status").stdout(Stdio::piped());
            start_with(&mut command, 0, None, rights).map(|child| {
                let output = child.output_in_time("the process");
                String::from_utf8_lossy(&output.stdout).into_owned()
            })
        };
        let plain = shown(&Rights { plain: true, nice: 3, ..Rights::default() }).unwrap();
        assert!(plain.contains("NoNewPrivs:\t1") && plain.contains("CapPrm:\t0000000000000000"), "{plain}");
        let mut idle = Command::new("sh");
        idle.args(["-c", "ionice -p $$"]).stdout(Stdio::piped());
        let rights = Rights { idle_io: true, ..Rights::default() };
        let idle = start_with(&mut idle, 0, None, &rights).unwrap().output_in_time("the process");
        assert_eq!(String::from_utf8_lossy(&idle.stdout), "idle\n");
        let other = Rights { user: Some((65_534, 65_533)), plain: true, ..Rights::default() };
        let is_root = || if rustix::process::geteuid().is_root() { Ok(()) } else { Err(io::Error::other("not root")) };
        if let Err(why) = tidewire_testing::privileged(is_root) {
            return tidewire_testing::skip(why);
        }
        // Groups go with the same user, too.
        let mut outer = Command::new("cat");
        outer.arg("/proc/self/status").stdout(Stdio::piped());
        let with_groups = thread::spawn(move || {
            set_thread_groups(&[Gid::from_raw(4711)]).unwrap();
            let rights = Rights { plain: true, ..Rights::default() };
            let child = start_with(&mut outer, 0, None, &rights).unwrap();
            String::from_utf8_lossy(&child.output_in_time("the process").stdout).into_owned()
        });
        let with_groups = with_groups.join().unwrap();
        assert!(with_groups.contains("Groups:\t ") && !with_groups.contains("4711"), "{with_groups}");
        let other = shown(&other).unwrap();
        for line in ["Uid:\t65534\t65534", "Gid:\t65533\t65533", "Groups:\t ", "CapEff:\t0000000000000000"] {
            assert!(other.contains(line), "{line}: {other}");
        }
    }

    #[test]
    fn a_child_has_a_session_of_its_own() {
        let mut command = Command::new("cat");
        command.arg("/proc/self/stat").stdout(Stdio::piped());
        let child = start_apart(&mut command, None, &Rights::default()).unwrap();
        let own = child.id().to_string();
        let stat = String::from_utf8_lossy(&child.output_in_time("the process").stdout).into_owned();
        // Group, session and terminal are the third to the fifth field after the name.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(2).take(3).collect();
        assert_eq!(fields, [own.as_str(), own.as_str(), "0"]);
    }

    #[test]
    fn a_child_goes_with_the_thread_that_started_it() {
        let begin = || start(Command::new("sleep").arg("60"), 0, None).unwrap();
        let mut child = thread::spawn(begin).join().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&child.wait_in_time("the process")),
            Some(libc::SIGKILL)
        );
        assert!(start(&mut Command::new("true"), 0, Some(1 << 20)).is_err());
    }
}
