//! Sending whole frames, many in a system call, past the queueing discipline.
//!
//! JUSTIFICATION: `sendmmsg(2)` and the addresses of packet sockets have no safe wrapper.

use std::{
    io,
    mem::{size_of, zeroed},
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Most frames of a system call.
pub const FRAMES_MAX: usize = 256;

/// A packet socket that only sends.
#[derive(Debug)]
pub struct Transmitter {
    socket: OwnedFd,
}

impl Transmitter {
    /// Opens one on the interface of this index, in the calling thread's namespace. What it sends goes straight to the
    /// driver (`PACKET_QDISC_BYPASS`) where the kernel lets it.
    ///
    /// # Errors
    /// What the kernel says: CAP_NET_RAW is needed.
    pub fn open(index: u32) -> io::Result<Self> {
        const PACKET_QDISC_BYPASS: i32 = 20;
        // Without a protocol nothing is received.
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let yes = 1_i32;
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the pointer is to a value of the length given, which lives throughout the call. Failure only costs speed.
        unsafe {
            let to = (&raw const yes).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, PACKET_QDISC_BYPASS, to, length)
        };
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index.cast_signed();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the length given, which lives throughout the call.
        if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket })
    }

    /// Sends frames, in order, the first [`FRAMES_MAX`] of them, and returns how many the driver took.
    ///
    /// # Errors
    /// The first of them was refused; nothing was sent. `OutOfMemory` or `WouldBlock`: there is no room just now.
    pub fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        let frames = frames.get(..FRAMES_MAX).unwrap_or(frames);
        // SAFETY: the structures are integers and pointers, for which zeroes are valid.
        let (mut pieces, mut messages): ([libc::iovec; FRAMES_MAX], [libc::mmsghdr; FRAMES_MAX]) = unsafe { zeroed() };
        for ((piece, message), frame) in pieces.iter_mut().zip(&mut messages).zip(frames) {
            *piece = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            message.msg_hdr.msg_iov = &raw mut *piece;
            message.msg_hdr.msg_iovlen = 1;
        }
        let count = frames.len() as libc::c_uint;
        // SAFETY: as many messages as `count` says were filled in, each with one piece; pieces and frames live throughout
        // the call, which only reads them.
        let sent = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}
