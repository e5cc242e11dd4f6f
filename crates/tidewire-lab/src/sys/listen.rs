//! Listening sockets with settings that the standard library has no names for.

use std::{
    io,
    mem::size_of,
    os::fd::{AsRawFd, OwnedFd},
};

/// How a listening socket, and what is accepted from it, behaves.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Urgent data stays in the stream (`SO_OOBINLINE`).
    pub urgent_inline: bool,
    /// Bytes of the receive buffer, which the kernel doubles; 0: as usual.
    pub receive_bytes: i32,
    /// Data on a SYN is taken (`TCP_FASTOPEN`).
    pub fast_open: bool,
}

/// Connections that wait to be accepted.
const BACKLOG: i32 = 100_000;

/// Applies settings to a socket that listens already.
///
/// # Errors
/// What the kernel says.
pub fn apply(socket: OwnedFd, settings: &Settings) -> io::Result<OwnedFd> {
    let set = |level, name, value: i32| {
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the pointer is to an integer of the length given, which lives throughout the call.
        match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    if settings.urgent_inline {
        set(libc::SOL_SOCKET, libc::SO_OOBINLINE, 1)?;
    }
    if settings.receive_bytes > 0 {
        set(libc::SOL_SOCKET, libc::SO_RCVBUF, settings.receive_bytes)?;
    }
    if settings.fast_open {
        set(libc::IPPROTO_TCP, libc::TCP_FASTOPEN, BACKLOG)?;
    }
    // SAFETY: takes no pointer; to listen once more changes the backlog alone.
    match unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}
