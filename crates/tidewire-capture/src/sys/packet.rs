//! Packet sockets with a ring of the third version (packet(7), Documentation/networking/packet_mmap.rst).
//!
//! JUSTIFICATION: socket options and shared memory have no wrapper in the standard library.
#![allow(unsafe_code)]

use std::{
    io,
    mem::{offset_of, size_of, zeroed},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use super::arena::Place;
use crate::ClassicInstruction;

/// Free bytes before each frame beyond what the kernel leaves: room for the VLAN tag that it took out.
pub const HEADROOM_BYTES: u32 = 4;

/// What `struct tpacket_req3` wants to know of frames; in this version it only has to divide a block.
const FRAME_BYTES: u32 = 2048;

/// From a frame's header to the end of the address behind it (`TPACKET3_HDRLEN`).
const HEADER_BYTES: usize = libc::TPACKET3_HDRLEN;

/// A hardware address, twice: what stands before a VLAN tag.
const ADDRESSES_BYTES: usize = 12;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// What becomes of frames before they are copied.
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
        let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes no pointer.
        let socket = check(unsafe { libc::socket(libc::AF_PACKET, flags, 0) })?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(socket) }))
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointer is to a value of the length given, which lives throughout the call.
        check(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, (&raw const *value).cast(), length) })
            .map(drop)
    }

    fn get<T>(&self, level: libc::c_int, name: libc::c_int, mut value: T) -> io::Result<T> {
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointers are to locals, the first of the length that the second says. Only plain integers are asked
        // for here.
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

    /// Leaves out what the machine itself sends (Linux 4.20). In a group, its flag decides.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ignore_outgoing(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)
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

    /// The error that the socket is in, which is none afterwards.
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

/// A block that the kernel handed over.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// How many frames it has.
    pub frames: u32,
    /// Where the first one's header is, from the block's beginning.
    pub first: u32,
}

/// What a frame's header says.
pub type Header = libc::tpacket3_hdr;

/// The memory of a ring, mapped into its place.
#[derive(Debug)]
pub struct Blocks {
    place: Place,
    count: u32,
    block_bytes: u32,
    mapped: bool,
}

impl Blocks {
    /// A ring's place; nothing is mapped there yet.
    ///
    /// # Errors
    /// It does not have the length of so many blocks.
    pub fn new(place: Place, count: u32, block_bytes: u32) -> io::Result<Self> {
        if place.len() as u64 != u64::from(count) * u64::from(block_bytes) || count == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the place has another length than the ring"));
        }
        Ok(Self { place, count, block_bytes, mapped: false })
    }

    /// Maps the ring of a socket that has one of this shape.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn map(&mut self, socket: &RingSocket) -> io::Result<()> {
        self.place.map(socket.as_fd(), 0)?;
        self.mapped = true;
        Ok(())
    }

    /// Takes the mapping away, without which the kernel keeps socket and memory. No frame may be in use.
    pub fn unmap(&mut self) {
        if self.mapped {
            self.mapped = self.place.unmap().is_err();
        }
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Where a block begins in the arena.
    #[must_use]
    pub fn at(&self, block: u32) -> usize {
        self.place.at() + self.start(block)
    }

    fn start(&self, block: u32) -> usize {
        (block % self.count) as usize * self.block_bytes as usize
    }

    fn status(&self, block: u32) -> Option<&AtomicU32> {
        if !self.mapped {
            return None;
        }
        let at = self.start(block)
            + offset_of!(libc::tpacket_block_desc, hdr)
            + offset_of!(libc::tpacket_hdr_v1, block_status);
        // SAFETY: the block is inside the mapping, which lives as long as `self` and changes only through `&mut self`. The
        // kernel writes the word as a whole; blocks begin at pages, so it is aligned.
        Some(unsafe { &*self.place.address().add(at).cast::<AtomicU32>() })
    }

    /// Whether the kernel has handed this block over.
    #[must_use]
    #[inline]
    pub fn is_ready(&self, block: u32) -> bool {
        self.status(block).is_some_and(|status| status.load(Ordering::Acquire) & libc::TP_STATUS_USER != 0)
    }

    /// The block, if the kernel has handed it over.
    #[must_use]
    #[inline]
    pub fn ready(&self, block: u32) -> Option<Block> {
        if !self.is_ready(block) {
            return None;
        }
        let at = self.start(block) + offset_of!(libc::tpacket_block_desc, hdr);
        // SAFETY: as in `status`; the header is inside the block, and the kernel does not write to it before the block is
        // given back. Every bit pattern is valid.
        let header = unsafe { ptr::read(self.place.address().add(at).cast::<libc::tpacket_hdr_v1>()) };
        Some(Block { frames: header.num_pkts, first: header.offset_to_first_pkt })
    }

    /// Gives a block back.
    #[inline]
    pub fn release(&mut self, block: u32) {
        if let Some(status) = self.status(block) {
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
    }

    /// The header at this offset of a block that the kernel handed over; `None` outside of it.
    #[must_use]
    #[inline]
    pub fn header(&self, block: u32, at: u32) -> Option<Header> {
        let end = (at as usize).checked_add(HEADER_BYTES)?;
        if !self.mapped || end > self.block_bytes as usize {
            return None;
        }
        let at = self.start(block) + at as usize;
        // SAFETY: inside the mapping. The kernel does not write to a block that it handed over; were it to, the values
        // would be wrong ones, which are checked. Every bit pattern is valid.
        Some(unsafe { ptr::read_unaligned(self.place.address().add(at).cast::<Header>()) })
    }

    /// Whether these bytes are inside a block, behind a header there.
    #[must_use]
    #[inline]
    pub fn holds(&self, header_at: u32, mac: u16, bytes: u32) -> bool {
        let start = header_at as usize + usize::from(mac);
        usize::from(mac) >= HEADER_BYTES && start + bytes as usize <= self.block_bytes as usize
    }

    /// Puts a VLAN tag back where the kernel took it out, into the free bytes before the frame. False where there are none.
    #[inline]
    pub fn insert_tag(&mut self, block: u32, header_at: u32, mac: u16, tag: [u8; 4]) -> bool {
        if !self.mapped
            || usize::from(mac) < HEADER_BYTES + tag.len()
            || !self.holds(header_at, mac, ADDRESSES_BYTES as u32)
        {
            return false;
        }
        let at = self.start(block) + header_at as usize + usize::from(mac);
        // SAFETY: from the tag's room to the end of the addresses is inside the block, as was checked, behind the header.
        // The block is ours until it is given back, and nobody has been told of this frame yet.
        unsafe {
            let frame = self.place.address().add(at);
            ptr::copy(frame, frame.sub(tag.len()), ADDRESSES_BYTES);
            ptr::copy_nonoverlapping(tag.as_ptr(), frame.add(ADDRESSES_BYTES - tag.len()), tag.len());
        }
        true
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.unmap();
    }
}

#[cfg(test)]
mod tests;
