//! Asking the kernel about network interfaces, and being told when they change.
//!
//! JUSTIFICATION: neither rtnetlink(7) nor netdevice(7)'s requests have a wrapper in the standard library.
#![allow(unsafe_code)]

use std::{
    io,
    mem::{size_of, zeroed},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

mod device;

pub use device::{DeviceSocket, RULE_BYTES};

/// A socket of rtnetlink(7) in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct LinkSocket(OwnedFd);

impl LinkSocket {
    /// Opens one. With `watch` it is told of every change of an interface (`RTMGRP_LINK`), and never waits.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(watch: bool) -> io::Result<Self> {
        let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | if watch { libc::SOCK_NONBLOCK } else { 0 };
        // SAFETY: takes no pointer.
        let socket = check(unsafe { libc::socket(libc::AF_NETLINK, flags, libc::NETLINK_ROUTE) })?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(socket) });
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut address: libc::sockaddr_nl = unsafe { zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = if watch { libc::RTMGRP_LINK as u32 } else { 0 };
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the length given, which lives throughout the call.
        check(unsafe { libc::bind(socket.0.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(socket)
    }

    /// Opens one of the generic kind (Documentation/userspace-api/netlink/intro-specs.rst), for requests.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn generic() -> io::Result<Self> {
        Self::of(libc::NETLINK_GENERIC)
    }

    /// Opens one that tells of sockets (sock_diag(7)), for requests.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn sockets() -> io::Result<Self> {
        Self::of(libc::NETLINK_SOCK_DIAG)
    }

    fn of(kind: libc::c_int) -> io::Result<Self> {
        let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointer.
        let socket = check(unsafe { libc::socket(libc::AF_NETLINK, flags, kind) })?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(socket) }))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&self, request: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length are those of a slice.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        if sent == request.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Receives messages of the kernel into `room`, and says how many bytes.
    ///
    /// # Errors
    /// What the kernel says; `WouldBlock` where there is nothing, `ENOBUFS` where some were lost.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        // SAFETY: pointer and length are those of a slice.
        let got = unsafe { libc::recv(self.0.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), 0) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }
}

impl AsFd for LinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
