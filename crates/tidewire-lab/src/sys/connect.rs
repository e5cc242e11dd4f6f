//! Sockets that connect without waiting, and how far their connections are.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A TCP socket of the calling thread's network namespace that does not block, with urgent data in the stream.
///
/// # Errors
/// The error of the kernel.
pub fn socket(is_ipv6: bool) -> io::Result<TcpStream> {
    let family = if is_ipv6 { libc::AF_INET6 } else { libc::AF_INET };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    let number = checked(unsafe { libc::socket(family, kind, 0) })?;
    // SAFETY: the descriptor was just opened, and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    let on: libc::c_int = 1;
    let (value, length) = ((&raw const on).cast(), size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the pointer is to a local of the length given, which lives throughout the call.
    checked(unsafe { libc::setsockopt(number, libc::SOL_SOCKET, libc::SO_OOBINLINE, value, length) })?;
    Ok(socket.into())
}

/// Sends the SYN of a socket that does not block.
///
/// # Errors
/// The error of the kernel.
pub fn connect(socket: &TcpStream, to: SocketAddr) -> io::Result<()> {
    let (family, port) = (if to.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET }, to.port().to_be_bytes());
    // `struct sockaddr_in` and `sockaddr_in6` (linux/in.h, linux/in6.h).
    let mut bytes = (family as u16).to_ne_bytes().to_vec();
    bytes.extend(port);
    match to {
        SocketAddr::V4(to) => {
            bytes.extend(to.ip().octets());
            bytes.extend([0; 8]);
        }
        SocketAddr::V6(to) => {
            bytes.extend([0; 4]);
            bytes.extend(to.ip().octets());
            bytes.extend([0; 4]);
        }
    }
    // SAFETY: the pointer is to bytes of the length given, which live throughout the call; the kernel copies them.
    let result = unsafe { libc::connect(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len() as libc::socklen_t) };
    match checked(result) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Whether the handshake of a connection was completed; `None`: the socket is closed, which does not show it.
///
/// # Errors
/// The error of the kernel.
pub fn is_open(socket: &TcpStream) -> io::Result<Option<bool>> {
    /// States of `include/net/tcp_states.h`.
    const SYN_SENT: u8 = 2;
    const SYN_RECV: u8 = 3;
    const CLOSE: u8 = 7;
    let (mut state, mut length) = (0_u8, 1 as libc::socklen_t);
    // SAFETY: the pointers are to locals, the first of the length given, which live throughout the call. The state is
    // the first byte of `struct tcp_info`; the kernel copies no more than the length.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut state).cast(),
            &raw mut length,
        )
    })?;
    Ok(match state {
        CLOSE => None,
        state => Some(state != SYN_SENT && state != SYN_RECV),
    })
}
