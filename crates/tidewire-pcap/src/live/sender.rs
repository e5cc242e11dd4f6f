//! Sends frames beside AF_XDP captures, which cannot.
//!
//! JUSTIFICATION: packet sockets have no wrapper in the standard library.

use std::{
    ffi::c_void,
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
};

/// A packet socket for sending only, for one interface.
pub struct Sender {
    socket: OwnedFd,
    address: libc::sockaddr_ll,
}

impl Sender {
    /// Opens one for the interface of this index.
    ///
    /// # Errors
    /// `CAP_NET_RAW` is missing, or the process has no more descriptors.
    pub fn open(index: u32) -> io::Result<Self> {
        // SAFETY: no pointers. With no protocol it receives nothing.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = i32::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(Self { socket, address })
    }

    /// Sends a frame; returns the number of bytes, or -1 with `errno`.
    ///
    /// # Safety
    /// There are so many bytes.
    pub unsafe fn send(&self, bytes: *const c_void, length: usize) -> isize {
        let address = (&raw const self.address).cast();
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the bytes are the caller's, and the address is of the length given.
        unsafe { libc::sendto(self.socket.as_raw_fd(), bytes, length, 0, address, size) }
    }
}
