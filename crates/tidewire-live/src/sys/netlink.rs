//! Netlink sockets: requests about network interfaces, and notifications of changes.
//!
//! JUSTIFICATION: netdevice(7)'s requests (`device.rs`) have no wrapper.
#![allow(unsafe_code)]

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType,
    netlink::{self, SocketAddrNetlink},
};

mod device;

pub use device::{DeviceSocket, RULE_BYTES};

/// A socket of rtnetlink(7) in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct LinkSocket(OwnedFd);

impl LinkSocket {
    /// Opens a socket. With `watch` it receives every change of an interface (`RTMGRP_LINK`), and never blocks.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(watch: bool) -> io::Result<Self> {
        let socket = Self::of(None, if watch { SocketFlags::NONBLOCK } else { SocketFlags::empty() })?;
        let groups = if watch { libc::RTMGRP_LINK as u32 } else { 0 };
        rustix::net::bind(&socket.0, &SocketAddrNetlink::new(0, groups))?;
        Ok(socket)
    }

    /// Opens one of the generic kind (Documentation/userspace-api/netlink/intro-specs.rst), for requests.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn generic() -> io::Result<Self> {
        Self::of(Some(netlink::GENERIC), SocketFlags::empty())
    }

    /// Opens a socket for sock_diag(7) requests.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn sockets() -> io::Result<Self> {
        Self::of(Some(netlink::SOCK_DIAG), SocketFlags::empty())
    }

    /// Of rtnetlink where no protocol is named.
    fn of(kind: Option<Protocol>, flags: SocketFlags) -> io::Result<Self> {
        let flags = flags | SocketFlags::CLOEXEC;
        Ok(Self(rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, kind)?))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&self, request: &[u8]) -> io::Result<()> {
        let sent = rustix::net::send(&self.0, request, SendFlags::empty())?;
        if sent == request.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Receives messages of the kernel into `room`, and says how many bytes.
    ///
    /// # Errors
    /// What the kernel says; `WouldBlock` where there is nothing, `ENOBUFS` where some were lost.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        let (got, _) = rustix::net::recv(&self.0, room, RecvFlags::empty())?;
        Ok(got)
    }
}

impl AsFd for LinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
