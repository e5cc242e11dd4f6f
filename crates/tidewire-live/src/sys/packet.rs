//! Packet sockets with a ring of the third version (packet(7), Documentation/networking/packet_mmap.rst).
//!
//! JUSTIFICATION: socket options and shared memory have no wrapper in the standard library.
#![allow(unsafe_code)]

use std::{
    io,
    mem::{size_of, zeroed},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

pub use blocks::{Block, Blocks, Header};

use super::net;
use crate::ClassicInstruction;

mod blocks;

/// Free bytes before each frame beyond what the kernel leaves: room for the VLAN tag that it took out.
pub const HEADROOM_BYTES: u32 = 4;

/// The frame size of `struct tpacket_req3`; in this version it only has to divide a block.
const FRAME_BYTES: u32 = 2048;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A program that decides on frames before they are copied.
#[derive(Clone, Copy, Debug)]
pub enum Attach<'a> {
    /// All are taken.
    Everything,
    /// None is.
    Nothing,
    /// A classic program decides, and how many bytes.
    Classic(&'a [ClassicInstruction]),
    /// A loaded program of the type socket filter.
    Program(BorrowedFd<'a>),
}

/// A packet socket. It receives nothing before it is bound.
#[derive(Debug)]
pub struct RingSocket(OwnedFd);

impl RingSocket {
    /// Opens one in the network namespace of the calling thread.
    ///
    /// # Errors
    /// What the kernel says: the capability CAP_NET_RAW is needed.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(Self(net::out_of_the_way(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?)))
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointer is to a value of the length given, which lives throughout the call.
        check(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, (&raw const *value).cast(), length) })
            .map(drop)
    }

    fn get<T>(&self, level: libc::c_int, name: libc::c_int, mut value: T) -> io::Result<T> {
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointers are to locals, the first of the length that the second says. All callers read plain
        // integers.
        check(unsafe { libc::getsockopt(self.0.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) })?;
        Ok(value)
    }

    /// Gives it a ring of so many blocks. A block that holds frames is handed over when it is full, or this old.
    ///
    /// # Errors
    /// What the kernel says; `OutOfMemory` where the ring is too large.
    pub fn ring(&self, blocks: u32, block_bytes: u32, retire_ms: u32) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as libc::c_int))?;
        self.set(libc::SOL_PACKET, libc::PACKET_RESERVE, &HEADROOM_BYTES)?;
        let request = libc::tpacket_req3 {
            tp_block_size: block_bytes,
            tp_block_nr: blocks,
            tp_frame_size: FRAME_BYTES,
            tp_frame_nr: blocks.saturating_mul(block_bytes / FRAME_BYTES),
            tp_retire_blk_tov: retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        self.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
    }

    /// Gives it a ring of slots, each for a frame that is handed over at once (TPACKET_V2): of so many blocks, with as many
    /// slots as fit.
    ///
    /// # Errors
    /// What the kernel says; `OutOfMemory` where the ring is too large.
    pub fn ring_of_slots(&self, blocks: u32, block_bytes: u32, slot_bytes: u32) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        self.set(libc::SOL_PACKET, libc::PACKET_RESERVE, &HEADROOM_BYTES)?;
        let request = libc::tpacket_req {
            tp_block_size: block_bytes,
            tp_block_nr: blocks,
            tp_frame_size: slot_bytes,
            tp_frame_nr: blocks.saturating_mul(block_bytes / slot_bytes.max(1)),
        };
        self.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
    }

    /// Chooses whose clock frames are stamped by (`SOF_TIMESTAMPING_…`); those without such a stamp have the machine's time.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn stamp(&self, source: u32) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &source.cast_signed())
    }

    /// Keeps as few frames as possible where there is no ring: they are counted, and that is all.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn keep_nothing(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &1_i32)
    }

    /// Chooses the filter, in place of the one before, without a gap.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn filter(&self, attach: Attach<'_>) -> io::Result<()> {
        const NOTHING: &[ClassicInstruction] = &[ClassicInstruction { code: 0x06, jump_true: 0, jump_false: 0, k: 0 }];
        match attach {
            Attach::Everything => match self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0_i32) {
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                result => result,
            },
            Attach::Nothing => self.classic(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, NOTHING),
            Attach::Classic(program) => self.classic(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program),
            Attach::Program(program) => self.set(libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program.as_raw_fd()),
        }
    }

    fn classic(&self, level: libc::c_int, name: libc::c_int, program: &[ClassicInstruction]) -> io::Result<()> {
        let translate = |instruction: &ClassicInstruction| libc::sock_filter {
            code: instruction.code,
            jt: instruction.jump_true,
            jf: instruction.jump_false,
            k: instruction.k,
        };
        let mut program: Vec<_> = program.iter().map(translate).collect();
        let length = program.len().try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
        // The program outlives the call, which copies it.
        self.set(level, name, &libc::sock_fprog { len: length, filter: program.as_mut_ptr() })
    }

    /// Leaves out what the machine itself sends, or not (Linux 4.20). In a group, its flag decides.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ignore_outgoing(&self, ignore: bool) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &i32::from(ignore))
    }

    /// Makes an interface take frames for other machines, for as long as this socket lives.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn promiscuous(&self, index: u32) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: index.try_into().map_err(|_| io::ErrorKind::InvalidInput)?,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Binds to an interface: from now on frames arrive, of every protocol.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the length given, which lives throughout the call.
        check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// The interface that it is bound to; `None` where that is gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bound(&self) -> io::Result<Option<u32>> {
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointers are to locals, the first of the length that the second says.
        check(unsafe { libc::getsockname(self.0.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
        Ok(u32::try_from(address.sll_ifindex).ok().filter(|index| *index > 0))
    }

    /// Joins a fan-out group; `kind` is the mode and its flags.
    ///
    /// # Errors
    /// What the kernel says; `InvalidInput` where the group has other settings.
    pub fn join(&self, group: u16, kind: u16) -> io::Result<()> {
        let value = u32::from(group) | u32::from(kind) << 16;
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &value)
    }

    /// The number of the group that it joined.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn group(&self) -> io::Result<u16> {
        let [low, high, ..] = self.get(libc::SOL_PACKET, libc::PACKET_FANOUT, 0_u32)?.to_le_bytes();
        Ok(u16::from_le_bytes([low, high]))
    }

    /// Gives the group its eBPF program.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn steer(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, &program.as_raw_fd())
    }

    /// Gives the group its classic program.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn steer_classic(&self, program: &[ClassicInstruction]) -> io::Result<()> {
        self.classic(libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, program)
    }

    /// Frames that the filter took and frames of these that found no room, since the last call.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn statistics(&self) -> io::Result<(u32, u32)> {
        let none = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let counts = self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS, none)?;
        Ok((counts.tp_packets, counts.tp_drops))
    }

    /// Takes the socket's pending error, which clears it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let number = self.get(libc::SOL_SOCKET, libc::SO_ERROR, 0_i32)?;
        Ok((number != 0).then(|| io::Error::from_raw_os_error(number)))
    }
}

impl AsFd for RingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests;
