//! Network namespaces and packet sockets.
//!
//! JUSTIFICATION: some options of sockets, and the addresses of packet sockets, have no safe wrapper.
#![allow(unsafe_code)]

use std::{
    ffi::CString,
    io,
    mem::{size_of, zeroed},
    num::NonZeroU32,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, fcntl_dupfd_cloexec},
    net::{
        AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
        sockopt::{set_socket_linger, set_socket_recv_buffer_size_force},
    },
    process::{Resource, getrlimit},
};

/// Where the numbers of sockets that frames come from begin: half of those that a process may have by default, and of
/// those that select(2) takes (`FD_SETSIZE`).
const CAPTURING_NUMBERS: u64 = 512;

/// Moves the calling thread into a network namespace of its own. It goes away with the thread, its children and its
/// sockets.
///
/// # Errors
/// What the kernel says: root is needed.
pub fn own_namespace() -> io::Result<()> {
    // SAFETY: takes no pointer; only the calling thread's namespace changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// The family of the socket with this number (`SO_DOMAIN`).
///
/// # Errors
/// What the kernel says: `ENOTSOCK`, or `EBADF` where nothing has this number.
pub fn socket_family(number: RawFd) -> io::Result<libc::c_int> {
    let (mut family, mut length) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the pointers are to locals, the first of the length that the second says. What is no socket is refused.
    check(unsafe {
        libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_DOMAIN, (&raw mut family).cast(), &raw mut length)
    })?;
    Ok(family)
}

/// The first number of a socket that frames come from, where the process may have so many descriptors.
#[must_use]
pub fn first_capturing_number(allowed: u64) -> u64 {
    (allowed / 2).min(CAPTURING_NUMBERS)
}

/// The same socket under a number from [`first_capturing_number`] on.
///
/// What is confined may not write to the numbers that frames come from (`privilege/sends.rs`), and the kernel gives what is
/// opened next the lowest number that is free: so that no output gets one of theirs when an interface is gone. Where there
/// is no such number the socket keeps its own.
pub(crate) fn out_of_the_way(socket: OwnedFd) -> OwnedFd {
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    fcntl_dupfd_cloexec(&socket, first_capturing_number(allowed) as RawFd).unwrap_or(socket)
}

/// The calling thread's number, as `ip link set … netns` takes it.
#[must_use]
pub fn thread_number() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn set_option<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer is to a value of the length given, which lives throughout the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast(), length) }).map(drop)
}

/// Lets a UDP socket take IPv6 datagrams without checksum.
///
/// # Errors
/// What the kernel says.
pub fn accept_no_checksum(socket: OwnedFd) -> io::Result<OwnedFd> {
    const UDP_NO_CHECK6_RX: libc::c_int = 102;
    set_option(&socket, libc::SOL_UDP, UDP_NO_CHECK6_RX, &1_i32)?;
    Ok(socket)
}

/// Gives a socket room for this many bytes of packets, beyond what is usually allowed.
///
/// # Errors
/// What the kernel says.
pub fn grow_buffer(socket: OwnedFd, bytes: i32) -> io::Result<OwnedFd> {
    set_socket_recv_buffer_size_force(&socket, usize::try_from(bytes).unwrap_or(0))?;
    Ok(socket)
}

/// Makes closing a TCP connection reset it, so that nothing of it lingers.
///
/// # Errors
/// What the kernel says.
pub fn reset_on_close(socket: OwnedFd) -> io::Result<OwnedFd> {
    set_socket_linger(&socket, Some(Duration::ZERO))?;
    Ok(socket)
}

/// A raw IP socket for one protocol.
///
/// # Errors
/// What the kernel says: root is needed.
pub fn raw_socket(is_ipv6: bool, protocol: u8) -> io::Result<OwnedFd> {
    let family = if is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let protocol = NonZeroU32::new(protocol.into()).map(Protocol::from_raw);
    Ok(socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?)
}

/// A packet socket on one interface: whole frames in and out.
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Opens one. Frames that it sends itself are not seen by it; without that the kernel would make copies of them,
    /// and treat a segment that has a copy differently from one that has not.
    ///
    /// # Errors
    /// What the kernel says: root is needed.
    pub fn open(interface: &str) -> io::Result<Self> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // Without a protocol, nothing is received before it is bound.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        set_socket_recv_buffer_size_force(&socket, 64 << 20)?;
        let name = CString::new(interface)?;
        // SAFETY: the name is a string that ends with a zero and lives throughout the call.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the length given, which lives throughout the call.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(Self(socket))
    }

    /// Joins a fan-out group whose members are chosen by an eBPF program.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn join_fanout(&self, group: u16, program: i32) -> io::Result<()> {
        const PACKET_FANOUT_EBPF: i32 = 7;
        const PACKET_FANOUT_DATA: i32 = 22;
        let group = i32::from(group) | PACKET_FANOUT_EBPF << 16;
        set_option(&self.0, libc::SOL_PACKET, libc::PACKET_FANOUT, &group)?;
        set_option(&self.0, libc::SOL_PACKET, PACKET_FANOUT_DATA, &program)
    }

    /// Takes no frames from now on, or those that an eBPF program takes.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn filter(&self, program: Option<i32>) -> io::Result<()> {
        if let Some(program) = program {
            return set_option(&self.0, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program);
        }
        let mut nothing = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
        let filter = libc::sock_fprog { len: 1, filter: &raw mut nothing };
        // The filter outlives the call, which copies it.
        set_option(&self.0, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        let sent = send(&self.0, frame, SendFlags::empty())?;
        if sent == frame.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// The next frame, or `None` when there is none within this time.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn receive(&self, wait_ms: i32) -> io::Result<Option<Vec<u8>>> {
        let mut frame = vec![0; 1 << 16];
        loop {
            match recv(&self.0, frame.as_mut_slice(), RecvFlags::empty()) {
                Ok((got, _)) => {
                    frame.truncate(got);
                    return Ok(Some(frame));
                }
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error.into()),
            }
            let most = u64::try_from(wait_ms)
                .ok()
                .map(|most| Timespec { tv_sec: (most / 1000) as i64, tv_nsec: (most % 1000 * 1_000_000) as i64 });
            if wait_ms == 0 || poll(&mut [PollFd::new(&self.0, PollFlags::IN)], most.as_ref())? == 0 {
                return Ok(None);
            }
        }
    }
}
