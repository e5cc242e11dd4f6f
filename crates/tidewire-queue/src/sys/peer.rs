//! Who is at the other end of a Unix socket, and what it may send.
//!
//! JUSTIFICATION: rustix does not know `SO_PASSRIGHTS`; `SO_PEERCRED` states process 0 for one outside of this process's namespace; rustix's type for it has no such value.

use std::{
    io, mem,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// Process and user of who connected to this socket, as they were then. Process 0: it has no number in this process's namespace.
///
/// # Errors
/// What the kernel says.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<(i32, u32)> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let size = mem::size_of::<libc::ucred>() as libc::socklen_t;
    let mut length = size;
    // SAFETY: the kernel writes at most `length` bytes to the structure, and the length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if length != size {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((credentials.pid, credentials.uid))
}

/// `SO_PASSRIGHTS` of `asm-generic/socket.h`.
const SO_PASSRIGHTS: libc::c_int = 83;

/// Has the kernel refuse descriptors that others send to this socket, or to those that connect to it from now on (Linux 6.16).
/// Closing one may take as long as its sender likes: a connection with `SO_LINGER`.
///
/// # Errors
/// `ENOPROTOOPT`: an older kernel.
pub fn refuse_descriptors(socket: BorrowedFd<'_>) -> io::Result<()> {
    let (no, size) = (0 as libc::c_int, mem::size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the kernel reads `size` bytes of `no`.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const no).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
