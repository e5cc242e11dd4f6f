//! Listening sockets with options that the standard library lacks.

use std::{
    io,
    net::IpAddr,
    os::fd::{AsRawFd, OwnedFd},
};

/// Options of a listening socket and of the connections accepted from it.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Urgent data stays in the stream (`SO_OOBINLINE`).
    pub urgent_inline: bool,
    /// Bytes of the receive buffer, which the kernel doubles; 0: the default.
    pub receive_bytes: i32,
    /// Data on a SYN is accepted (`TCP_FASTOPEN`).
    pub fast_open: bool,
    /// Segments must be signed (`TCP_MD5SIG_EXT`). On a kernel without signatures the option is ignored.
    pub signed: Option<Signed>,
}

/// The clients whose segments must be signed, and the key.
#[derive(Clone, Copy, Debug)]
pub struct Signed {
    /// An address in their network.
    pub from: IpAddr,
    /// The network's prefix length.
    pub bits: u8,
    /// At most 80 bytes.
    pub key: &'static [u8],
}

/// `struct tcp_md5sig` (linux/tcp.h): address, flags, length of the prefix, length of the key, interface, key.
fn signature(signed: &Signed) -> [u8; 216] {
    const PREFIX: u8 = 1;
    let mut bytes = [0; 216];
    match signed.from {
        IpAddr::V4(address) => {
            bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            bytes[4..8].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            bytes[8..24].copy_from_slice(&address.octets());
        }
    }
    (bytes[128], bytes[129]) = (PREFIX, signed.bits);
    bytes[130..132].copy_from_slice(&(signed.key.len() as u16).to_ne_bytes());
    bytes[136..136 + signed.key.len()].copy_from_slice(signed.key);
    bytes
}

/// The backlog.
const BACKLOG: i32 = 100_000;

/// Sets the options of a socket that listens already.
///
/// # Errors
/// The error of the kernel.
pub fn apply(socket: OwnedFd, settings: &Settings) -> io::Result<OwnedFd> {
    let set_bytes = |level, name, value: &[u8]| {
        let length = value.len() as libc::socklen_t;
        // SAFETY: the pointer is to bytes of the length given, which live throughout the call.
        match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), length) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let set = |level, name, value: i32| set_bytes(level, name, &value.to_ne_bytes());
    if settings.urgent_inline {
        set(libc::SOL_SOCKET, libc::SO_OOBINLINE, 1)?;
    }
    if settings.receive_bytes > 0 {
        set(libc::SOL_SOCKET, libc::SO_RCVBUF, settings.receive_bytes)?;
    }
    if settings.fast_open {
        set(libc::IPPROTO_TCP, libc::TCP_FASTOPEN, BACKLOG)?;
    }
    if let Some(signed) = &settings.signed {
        const TCP_MD5SIG_EXT: libc::c_int = 32;
        match set_bytes(libc::IPPROTO_TCP, TCP_MD5SIG_EXT, &signature(signed)) {
            Err(error) if error.raw_os_error() != Some(libc::ENOPROTOOPT) => return Err(error),
            _ => {}
        }
    }
    // SAFETY: takes no pointer; a second `listen` only changes the backlog.
    match unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}
