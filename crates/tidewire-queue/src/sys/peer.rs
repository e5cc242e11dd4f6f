//! Who is at the other end of a Unix socket.
//!
//! JUSTIFICATION: `SO_PEERCRED` states process 0 for one outside of this process's namespace; rustix's type for it has no such value.

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
