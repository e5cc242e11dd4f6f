//! The memory of a ring: of blocks (TPACKET_V3), or of slots for one frame each (TPACKET_V2), which are shown as blocks of one.
//!
//! JUSTIFICATION: it is shared with the kernel, which writes there.

use std::{
    io,
    mem::offset_of,
    os::fd::AsFd as _,
    ptr, slice,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use super::RingSocket;
use crate::sys::arena::ArenaRegion;

/// From a frame's header to the end of the address behind it (`TPACKET3_HDRLEN`).
const HEADER_BYTES: usize = libc::TPACKET3_HDRLEN;

/// Where the address begins behind a header, which is aligned (`TPACKET_ALIGN`).
const ADDRESS_AT: usize = size_of::<Header>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// A hardware address, twice: what stands before a VLAN tag.
const ADDRESSES_BYTES: usize = 12;

/// A block that the kernel handed over to the ring that showed it. There is one for each time that it was, and it goes with
/// [`Blocks::release`]: what can be read by it is not the kernel's.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// How many frames it has.
    pub frames: u32,
    /// Where the first one's header is, from the block's beginning.
    pub first: u32,
    /// Whether frames were dropped since the socket's counts were read last (`TP_STATUS_LOSING`).
    pub is_losing: bool,
    /// Where it begins in the ring's memory.
    start: usize,
    /// Which one of the ring it is, and of which mapping of which ring.
    index: u32,
    mapping: u64,
}

/// Mappings of all rings.
static MAPPINGS: AtomicU64 = AtomicU64::new(0);

/// The header of a frame.
pub type Header = libc::tpacket3_hdr;

/// From a slot's beginning to the end of the address behind its header (`TPACKET2_HDRLEN`).
const SLOT_HEADER_BYTES: usize = libc::TPACKET2_HDRLEN;
/// Where the address begins behind the header of a slot.
const SLOT_ADDRESS_AT: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// How a ring's memory is divided.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Blocks,
    /// So many in each piece of memory of this length.
    Slots {
        per_piece: u32,
        piece_bytes: u32,
    },
}

/// The memory of a ring, mapped into its place.
#[derive(Debug)]
pub struct Blocks {
    place: ArenaRegion,
    count: u32,
    block_bytes: u32,
    layout: Layout,
    /// Bytes that are mapped.
    mapped: usize,
    /// The number of this mapping.
    mapping: u64,
    /// The block that the kernel hands over next.
    next: u32,
    /// Blocks handed over and not returned.
    held: u32,
}

impl Blocks {
    /// A ring's place; nothing is mapped there yet.
    ///
    /// # Errors
    /// It does not have the length of so many blocks.
    pub fn new(place: ArenaRegion, count: u32, block_bytes: u32) -> io::Result<Self> {
        if place.len() as u64 != u64::from(count) * u64::from(block_bytes) || count == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the place has another length than the ring"));
        }
        Ok(Self { place, count, block_bytes, layout: Layout::Blocks, mapped: 0, mapping: 0, next: 0, held: 0 })
    }

    /// The place of a ring of slots ([`RingSocket::ring_of_slots`]): each is shown as a block with one frame.
    ///
    /// # Errors
    /// It does not have the length of so many pieces, or no slot fits into one.
    pub fn of_slots(place: ArenaRegion, pieces: u32, piece_bytes: u32, slot_bytes: u32) -> io::Result<Self> {
        let mut ring = Self::new(place, pieces, piece_bytes)?;
        let per_piece = piece_bytes.checked_div(slot_bytes).unwrap_or(0);
        if per_piece == 0 || (slot_bytes as usize) < SLOT_HEADER_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the slots of the ring have no place"));
        }
        ring.layout = Layout::Slots { per_piece, piece_bytes };
        (ring.count, ring.block_bytes) = (pieces.saturating_mul(per_piece), slot_bytes);
        Ok(ring)
    }

    /// Maps the ring of a socket that has one of this shape.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn map(&mut self, socket: &RingSocket) -> io::Result<()> {
        self.place.map(socket.as_fd(), 0)?;
        self.is_mapped();
        Ok(())
    }

    fn is_mapped(&mut self) {
        self.mapped = self.place.len();
        // Blocks of what was mapped before are nothing here.
        self.mapping = MAPPINGS.fetch_add(1, Ordering::Relaxed) + 1;
        (self.next, self.held) = (0, 0);
    }

    /// Memory in place of a socket's ring, for tests that play the kernel.
    #[cfg(test)]
    fn of_memory(&mut self) -> io::Result<()> {
        self.place.allocate()?;
        self.is_mapped();
        Ok(())
    }

    /// Takes the mapping away, without which the kernel keeps socket and memory. No frame may be in use.
    pub fn unmap(&mut self) {
        if self.mapped > 0 && self.place.unmap().is_ok() {
            (self.mapped, self.mapping) = (0, 0);
        }
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Where a block begins in the arena.
    #[must_use]
    #[inline]
    pub fn at(&self, block: &Block) -> usize {
        self.place.at() + block.start
    }

    #[inline]
    fn start(&self, block: u32) -> usize {
        let block = block % self.count;
        match self.layout {
            Layout::Blocks => block as usize * self.block_bytes as usize,
            Layout::Slots { per_piece, piece_bytes } => {
                (block / per_piece) as usize * piece_bytes as usize
                    + (block % per_piece) as usize * self.block_bytes as usize
            }
        }
    }

    /// Bytes before a frame that are its header's.
    #[inline]
    fn header_bytes(&self) -> usize {
        match self.layout {
            Layout::Blocks => HEADER_BYTES,
            Layout::Slots { .. } => SLOT_HEADER_BYTES,
        }
    }

    fn status(&self, block: u32) -> Option<&AtomicU32> {
        if self.mapped == 0 {
            return None;
        }
        let in_block = match self.layout {
            Layout::Blocks => {
                offset_of!(libc::tpacket_block_desc, hdr) + offset_of!(libc::tpacket_hdr_v1, block_status)
            }
            Layout::Slots { .. } => offset_of!(libc::tpacket2_hdr, tp_status),
        };
        let at = self.start(block) + in_block;
        // SAFETY: the block is inside the mapping, which lives as long as `self` and changes only through `&mut self`. The
        // kernel writes the word as a whole; blocks begin at pages and slots at multiples of 16, so it is aligned.
        Some(unsafe { &*self.place.address().add(at).cast::<AtomicU32>() })
    }

    /// Whether the kernel has handed over the block that is so many behind the next one.
    #[must_use]
    #[inline]
    pub fn is_ready(&self, ahead: u32) -> bool {
        let is_there = |status: &AtomicU32| status.load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
        ahead < self.count - self.held && self.status((self.next + ahead) % self.count).is_some_and(is_there)
    }

    /// The next block, if the kernel has handed it over; none while all are held.
    #[must_use]
    #[inline]
    pub fn take(&mut self) -> Option<Block> {
        if !self.is_ready(0) {
            return None;
        }
        let (index, mapping) = (self.next, self.mapping);
        let start = self.start(index);
        let (mut frames, mut first, mut is_losing) = (1, 0, false);
        if matches!(self.layout, Layout::Blocks) {
            let at = start + offset_of!(libc::tpacket_block_desc, hdr);
            // SAFETY: as in `status`; the header is inside the block, and the kernel does not write to it before the block is
            // given back. Every bit pattern is valid.
            let header = unsafe { ptr::read(self.place.address().add(at).cast::<libc::tpacket_hdr_v1>()) };
            (frames, first) = (header.num_pkts, header.offset_to_first_pkt);
            is_losing = header.block_status & libc::TP_STATUS_LOSING != 0;
        }
        self.place.show(start, self.block_bytes as usize);
        (self.next, self.held) = ((index + 1) % self.count, self.held + 1);
        Some(Block { frames, first, is_losing, start, index, mapping })
    }

    /// Gives a block back: the oldest that is held. False for any other one, which stays lost to the kernel.
    #[inline]
    pub fn release(&mut self, block: Block) -> bool {
        let oldest = (self.next + self.count - self.held) % self.count;
        if block.mapping != self.mapping || self.held == 0 || block.index != oldest {
            return false;
        }
        self.place.hide(block.start, self.block_bytes as usize);
        self.held -= 1;
        if let Some(status) = self.status(block.index) {
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        true
    }

    /// The header at this offset of a block that the kernel handed over; `None` outside of it.
    #[must_use]
    #[inline]
    pub fn header(&self, block: &Block, at: u32) -> Option<Header> {
        let at = self.inside(block, at, self.header_bytes())?;
        if matches!(self.layout, Layout::Slots { .. }) {
            // SAFETY: as below.
            let slot = unsafe { ptr::read_unaligned(self.place.address().add(at).cast::<libc::tpacket2_hdr>()) };
            return Some(shown(&slot));
        }
        // SAFETY: inside the mapping. The kernel does not write to a block that it handed over; were it to, the values
        // would be wrong ones, which are checked. Every bit pattern is valid.
        Some(unsafe { ptr::read_unaligned(self.place.address().add(at).cast::<Header>()) })
    }

    /// Where these bytes of a block are in the ring's memory, if they are inside the block, and mapped.
    #[inline]
    fn inside(&self, block: &Block, at: u32, bytes: usize) -> Option<usize> {
        let (at, start) = (at as usize, block.start);
        let is_inside = at + bytes <= self.block_bytes as usize && block.mapping == self.mapping && self.mapped > 0;
        is_inside.then_some(start + at)
    }

    /// Whether these bytes are inside a block, behind a header there.
    #[must_use]
    #[inline]
    pub fn holds(&self, header_at: u32, mac: u16, bytes: u32) -> bool {
        let start = header_at as usize + usize::from(mac);
        usize::from(mac) >= self.header_bytes() && start + bytes as usize <= self.block_bytes as usize
    }

    /// The captured bytes behind a header that was read there; `None` where they are not inside the block.
    #[must_use]
    pub fn bytes(&self, block: &Block, header_at: u32, header: &Header) -> Option<&[u8]> {
        if !self.holds(header_at, header.tp_mac, header.tp_snaplen) {
            return None;
        }
        let at = self.inside(block, header_at, 0)? + usize::from(header.tp_mac);
        // SAFETY: inside the mapping, as was checked, which changes only through `&mut self`. The kernel does not write to a
        // block that it handed over, and this one is not given back while it is borrowed.
        Some(unsafe { slice::from_raw_parts(self.place.address().add(at), header.tp_snaplen as usize) })
    }

    /// The address of the frame behind the header at this offset, as the kernel wrote it.
    #[must_use]
    pub fn address(&self, block: &Block, header_at: u32) -> Option<libc::sockaddr_ll> {
        let behind = match self.layout {
            Layout::Blocks => ADDRESS_AT,
            Layout::Slots { .. } => SLOT_ADDRESS_AT,
        };
        let at = self.inside(block, header_at, behind + size_of::<libc::sockaddr_ll>())? + behind;
        // SAFETY: as in `header`; every bit pattern is valid.
        Some(unsafe { ptr::read_unaligned(self.place.address().add(at).cast()) })
    }

    /// Puts a VLAN tag back where the kernel took it out, into the free bytes before the frame. False where there are none.
    #[inline]
    pub fn insert_tag(&mut self, block: &Block, header_at: u32, mac: u16, tag: [u8; 4]) -> bool {
        let Some(at) = self.inside(block, header_at, 0) else { return false };
        if usize::from(mac) < self.header_bytes() + tag.len() || !self.holds(header_at, mac, ADDRESSES_BYTES as u32) {
            return false;
        }
        let at = at + usize::from(mac);
        // SAFETY: from the tag's room to the end of the addresses is inside the block, as was checked, behind the header.
        // The block is ours until it is given back, and no reader has this frame yet.
        unsafe {
            let frame = self.place.address().add(at);
            ptr::copy(frame, frame.sub(tag.len()), ADDRESSES_BYTES);
            ptr::copy_nonoverlapping(tag.as_ptr(), frame.add(ADDRESSES_BYTES - tag.len()), tag.len());
        }
        true
    }
}

/// A slot's header in the other's words. Nothing follows in its block.
fn shown(slot: &libc::tpacket2_hdr) -> Header {
    Header {
        tp_next_offset: 0,
        tp_sec: slot.tp_sec,
        tp_nsec: slot.tp_nsec,
        tp_snaplen: slot.tp_snaplen,
        tp_len: slot.tp_len,
        tp_status: slot.tp_status,
        tp_mac: slot.tp_mac,
        tp_net: slot.tp_net,
        hv1: libc::tpacket_hdr_variant1 {
            tp_rxhash: 0,
            tp_vlan_tci: slot.tp_vlan_tci.into(),
            tp_vlan_tpid: slot.tp_vlan_tpid,
            tp_padding: 0,
        },
        tp_padding: [0; 8],
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.unmap();
    }
}

#[cfg(test)]
mod tests;
