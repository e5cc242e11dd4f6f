//! What a confined process must not be able to do, for tests that try it.
//!
//! JUSTIFICATION: neither ptrace(2) nor memory that can be run has a wrapper in the standard library.

use std::io;

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the parent trace this process.
pub(crate) fn be_traced() -> io::Result<()> {
    // SAFETY: this request looks at no further argument.
    check(unsafe { libc::ptrace(libc::PTRACE_TRACEME) })
}

/// Attaches to a process.
pub(crate) fn trace(process: u32) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: this request looks at the process's number only.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, process as libc::pid_t, none, none) })
}

/// Maps a page that could be run.
pub(crate) fn map_executable() -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping where the kernel likes; nothing uses it.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Becomes another user and root again.
pub(crate) fn change_user() -> io::Result<()> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 0) })
}

/// A raw socket of a family.
pub(crate) fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::socket(family, kind, 0) }.into())
}
