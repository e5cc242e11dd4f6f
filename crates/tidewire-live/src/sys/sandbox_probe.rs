//! Operations that a confined process must not be able to do, for tests.
//!
//! JUSTIFICATION: neither ptrace(2) nor memory that can be run has a wrapper in the standard library.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, RawFd},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg},
};

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

/// Sends a frame through a socket by each call that could: those that were not refused.
pub(crate) fn send_through(number: RawFd, frame: &[u8]) -> Vec<&'static str> {
    let mut part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
    // SAFETY: the structure is integers and pointers, for which zeroes are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    let mut messages = libc::mmsghdr { msg_hdr: message, msg_len: 0 };
    let (bytes, length) = (frame.as_ptr().cast(), frame.len());
    // SAFETY: every pointer is to the slice, or to a local that says where it is, and none outlives the calls.
    let results = unsafe {
        [
            ("write", libc::write(number, bytes, length) as i64),
            ("writev", libc::writev(number, &raw const part, 1) as i64),
            ("sendto", libc::send(number, bytes, length, 0) as i64),
            ("sendmsg", libc::sendmsg(number, &raw const message, 0) as i64),
            ("sendmmsg", libc::sendmmsg(number, &raw mut messages, 1, 0).into()),
            ("dup", libc::dup(number).into()),
            ("dup3", libc::dup3(number, 900, 0).into()),
            ("fcntl", libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 900).into()),
        ]
    };
    results.into_iter().filter(|(_, result)| *result >= 0).map(|(name, _)| name).collect()
}

/// A raw socket of a family.
pub(crate) fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::socket(family, kind, 0) }.into())
}

/// Sends a new memory file through a Unix socket, with one byte.
pub(crate) fn pass_memory(socket: impl AsFd) -> io::Result<usize> {
    let file = memfd_create("tidewire-probe", MemfdFlags::CLOEXEC)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&files)), "there is space");
    Ok(sendmsg(socket, &[IoSlice::new(b"x")], &mut control, SendFlags::empty())?)
}

/// Receives a message with what comes beside its bytes.
pub(crate) fn receive_message(socket: impl AsFd) -> io::Result<usize> {
    let mut control = RecvAncillaryBuffer::new(&mut []);
    Ok(recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::DONTWAIT)?.bytes)
}
