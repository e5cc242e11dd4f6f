//! seccomp (seccomp(2)): only the system calls that a capture in progress makes.

use std::{collections::BTreeMap, os::fd::RawFd};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{connections::Connections, sends};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are allowed whatever their arguments.
const ALLOWED: &[libc::c_long] = &[
    // Memory and threads.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    libc::SYS_capget,
    // Signals, its own process's only: see `kill` below.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_timerfd_settime,
    // Descriptors.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    // Sockets that are open already.
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    // Files: which of them is for Landlock to say.
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_renameat2,
    libc::SYS_renameat,
    libc::SYS_unlinkat,
    libc::SYS_linkat,
    libc::SYS_mkdirat,
    libc::SYS_fchmod,
    libc::SYS_flock,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_copy_file_range,
];

/// Calls that newer machines do without, and the C library of this one still makes.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_mkdir,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_accept,
    libc::SYS_arch_prctl,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// Calls that pass memory to other processes.
const PASSING: &[libc::c_long] = &[libc::SYS_memfd_create, libc::SYS_sendmsg];

/// Calls that connections need besides: making them, and what the C library looks names up with.
const CONNECTING: &[libc::c_long] = &[libc::SYS_connect, libc::SYS_sendmsg, libc::SYS_sendmmsg, libc::SYS_recvmmsg];

/// Commands of bpf(2) that work on descriptors: elements of maps, one or many at a time, and what an object says of itself
/// (include/uapi/linux/bpf.h, `enum bpf_cmd`). None makes or loads anything.
const BPF_COMMANDS: &[u64] = &[1, 2, 3, 4, 15, 21, 24, 25, 26, 27];

/// Requests of ioctl(2): the terminal's (form, size, settings), non-blocking reading, bytes waiting, close on exec, and what
/// netdevice(7) reports of an interface: name, flags, kind, index.
const IOCTLS: &[u64] = &[
    0x5401,          // TCGETS
    0x5402,          // TCSETS
    0x5403,          // TCSETSW
    0x5404,          // TCSETSF
    0x5413,          // TIOCGWINSZ
    0x541b,          // FIONREAD
    0x5421,          // FIONBIO
    0x5451,          // FIOCLEX
    0x8910,          // SIOCGIFNAME
    0x8913,          // SIOCGIFFLAGS
    0x8927,          // SIOCGIFHWADDR, whose answer is the kind of interface, too
    0x8933,          // SIOCGIFINDEX
    0x802c_542a_u64, // TCGETS2
    0x402c_542b_u64, // TCSETS2
    0x402c_542c_u64, // TCSETSW2
    0x402c_542d_u64, // TCSETSF2
];

/// prctl(2): names of threads, the signs that a mapping belongs to an allocator, what there is of capabilities.
const PRCTLS: &[u64] =
    &[libc::PR_SET_NAME as u64, libc::PR_GET_NAME as u64, libc::PR_SET_VMA as u64, libc::PR_CAPBSET_READ as u64];

type Made<T> = Result<T, seccompiler::BackendError>;

fn condition(argument: u8, width: Width, is: Is, value: u64) -> Made<SeccompCondition> {
    SeccompCondition::new(argument, width, is, value)
}

/// Allows a call where one argument has one of these values.
fn with_argument(rules: &mut Rules, call: libc::c_long, argument: u8, values: &[u64]) -> Made<()> {
    let rule = |value: &u64| SeccompRule::new(vec![condition(argument, Width::Dword, Is::Eq, *value)?]);
    rules.insert(call, values.iter().map(rule).collect::<Made<_>>()?);
    Ok(())
}

fn rules(passes_descriptors: bool, connections: &Connections) -> Made<Rules> {
    let mut rules: Rules = ALLOWED.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    if passes_descriptors {
        rules.extend(PASSING.iter().map(|call| (*call, Vec::new())));
        // Else a packet socket could be sent to oneself, and would have a number that may be written to (`sends.rs`).
        rules.remove(&libc::SYS_recvmsg);
    }
    with_argument(&mut rules, libc::SYS_bpf, 0, BPF_COMMANDS)?;
    with_argument(&mut rules, libc::SYS_ioctl, 1, IOCTLS)?;
    with_argument(&mut rules, libc::SYS_prctl, 0, PRCTLS)?;
    // Its own limits may be read: pid 0, nothing new to set.
    let read_limits = vec![condition(0, Width::Dword, Is::Eq, 0)?, condition(2, Width::Qword, Is::Eq, 0)?];
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(read_limits)?]);
    // Memory is never both written and run, and nothing new is run.
    let executable = libc::PROT_EXEC as u64;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let rule = SeccompRule::new(vec![condition(2, Width::Dword, Is::MaskedEq(executable), 0)?])?;
        rules.insert(call, vec![rule]);
    }
    // Threads, no processes.
    let thread = libc::CLONE_THREAD as u64;
    let rule = SeccompRule::new(vec![condition(0, Width::Qword, Is::MaskedEq(thread), thread)?])?;
    rules.insert(libc::SYS_clone, vec![rule]);
    // Questions to the kernel about interfaces (rtnetlink), and pairs of sockets within the process.
    let family = |family: libc::c_int, protocol: libc::c_int| {
        let rule = vec![
            condition(0, Width::Dword, Is::Eq, family as u64)?,
            condition(2, Width::Dword, Is::Eq, protocol as u64)?,
        ];
        SeccompRule::new(rule).map(|rule| vec![rule])
    };
    let mut sockets = family(libc::AF_NETLINK, libc::NETLINK_ROUTE)?;
    if let Connections::To { names, .. } = connections {
        sockets.extend(connecting(*names)?);
        rules.extend(CONNECTING.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_socket, sockets);
    rules.insert(libc::SYS_socketpair, family(libc::AF_UNIX, 0)?);
    // The address decides nothing that is not decided above.
    rules.insert(libc::SYS_bind, Vec::new());
    // Signals to itself: abort(3), a thread that ends another's wait.
    let own = u64::from(std::process::id());
    with_argument(&mut rules, libc::SYS_tgkill, 0, &[own])?;
    with_argument(&mut rules, libc::SYS_kill, 0, &[own])?;
    Ok(rules)
}

/// The sockets of [`Connections::To`]: TCP, packets of Unix sockets and, where names are looked up, UDP. Other protocols over the same
/// families, as MPTCP, are not subject to Landlock's rules.
fn connecting(names: bool) -> Made<Vec<SeccompRule>> {
    const KIND: u64 = 0xf;
    let socket = |family: libc::c_int, kind: libc::c_int, protocol: libc::c_int| {
        SeccompRule::new(vec![
            condition(0, Width::Dword, Is::Eq, family as u64)?,
            condition(1, Width::Dword, Is::MaskedEq(KIND), kind as u64)?,
            condition(2, Width::Dword, Is::Eq, protocol as u64)?,
        ])
    };
    let mut sockets = vec![socket(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0)?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        for protocol in [0, libc::IPPROTO_TCP] {
            sockets.push(socket(family, libc::SOCK_STREAM, protocol)?);
        }
        for protocol in [0, libc::IPPROTO_UDP].into_iter().filter(|_| names) {
            sockets.push(socket(family, libc::SOCK_DGRAM, protocol)?);
        }
    }
    Ok(sockets)
}

fn compiled(rules: Rules, otherwise: SeccompAction, found: SeccompAction) -> Made<BpfProgram> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, otherwise, found, arch)?.try_into()
}

/// Restricts the calling thread, and all that it starts from now on. A call that is not allowed fails with `EPERM`, or
/// with `kill` ends the process. Through `capturing`, descriptors of sockets that frames come from, nothing is sent.
/// `passes_descriptors`: see `Confinement::pass_descriptors`; `connections`: see `Confinement::connect`.
pub(super) fn restrict(
    kill: bool,
    passes_descriptors: bool,
    connections: &Connections,
    capturing: &[RawFd],
) -> Result<(), String> {
    let refusal = if kill { SeccompAction::KillProcess } else { SeccompAction::Errno(libc::EPERM as u32) };
    let mut allowed = rules(passes_descriptors, connections).map_err(|error| error.to_string())?;
    // Its arguments are out of a filter's sight; where it does not exist the C library uses clone(2).
    allowed.insert(libc::SYS_clone3, Vec::new());
    let without = SeccompAction::Errno(libc::ENOSYS as u32);
    let clone3 = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let programs = compiled(clone3, SeccompAction::Allow, without)
        .and_then(|clone3| Ok((clone3, compiled(allowed, refusal, SeccompAction::Allow)?)));
    let (clone3, allowed) = programs.map_err(|error| error.to_string())?;
    // The last forbids to add any more.
    seccompiler::apply_filter(&clone3).map_err(|error| error.to_string())?;
    if !capturing.is_empty() {
        seccompiler::apply_filter(&sends::program(capturing)).map_err(|error| error.to_string())?;
    }
    seccompiler::apply_filter(&allowed).map_err(|error| error.to_string())
}
