use std::{
    cell::Cell,
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::Instant,
};

use tidewire_wire::{Frame, LinkType, PacketLoss, Timestamp};

use super::{
    checksum,
    cross_process_group::membership_part,
    group::Members,
    slot::Slot,
    socket_setup::Steering,
    stale_frames::{StaleFrames, VLAN_TPID},
};
use crate::{
    ClassicInstruction, Error, Membership, Ring, RingCounts, SettingError, TrafficDirection,
    sys::{
        packet::{Attach, Block, Blocks, Header, RingSocket},
        wait,
    },
};

mod recovery;

/// Empty calls of `collect` in a row before the socket is checked for errors. A socket in error is readable, so that the calls
/// follow each other without waiting.
const EMPTY_MAX: u32 = 64;

/// A block whose frames were collected.
#[derive(Debug)]
struct Held {
    block: Block,
    /// Frames collected and not returned.
    frames: usize,
    /// Whether all of its frames were collected.
    complete: bool,
}

/// Why no frames arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    /// The interface is switched off. The socket continues by itself when it is switched on.
    Down,
    /// The interface is gone; one of the same name may appear.
    Gone,
}

/// Properties of the frames of an interface.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pub name: String,
    pub link: LinkType,
    /// [`Frame::interface`]
    pub number: u16,
    /// Captured bytes of a frame, at most.
    pub snap_bytes: u32,
    /// How old a frame may be when it is handed over, nanoseconds.
    pub delay_ns: u64,
    /// See [`checksum::is_checked`].
    pub checksums_are_checked: bool,
}

/// A packet socket's ring: blocks of frames that the kernel fills and that are read in place.
#[derive(Debug)]
pub struct PacketRing {
    socket: Arc<RingSocket>,
    blocks: Blocks,
    marks: Marks,
    /// The sockets of the interface, and which of them this is.
    members: Arc<Members>,
    member: usize,
    /// Blocks with collected frames that were not all returned, in order.
    held: VecDeque<Held>,
    /// Frames of the last block that are not yet collected, and the offset of the next header.
    left: u32,
    at: u32,
    /// Blocks behind these that are known to be full.
    ahead: Cell<u32>,
    counts: RingCounts,
    /// Frames that were dropped and are not reported yet: by times of frames, which may be those of a card's clock, and of readings.
    losses: [Option<PacketLoss>; 2],
    /// When the counts were read last.
    counted_ns: u64,
    /// The time of the last block's first frame.
    block_ns: u64,
    stale: StaleFrames,
    empty: u32,
    outage: Option<(Outage, Instant)>,
    /// The ring was stopped.
    stopped: bool,
    /// The ring was released because its interface is gone; `socket` is unbound.
    released: bool,
    /// Where it waits for an interface that appears.
    slot: Option<Arc<Slot>>,
}

impl PacketRing {
    pub(super) fn new(
        socket: Arc<RingSocket>,
        mut blocks: Blocks,
        marks: Marks,
        members: Arc<Members>,
        member: usize,
    ) -> io::Result<Self> {
        blocks.map(&socket)?;
        Ok(Self::with(socket, blocks, marks, members, member))
    }

    /// A ring that waits for an interface; it has no memory yet. `socket` is bound to none.
    pub(super) fn waiting(
        socket: Arc<RingSocket>,
        blocks: Blocks,
        marks: Marks,
        members: Arc<Members>,
        member: usize,
        slot: Arc<Slot>,
    ) -> Self {
        let mut ring = Self::with(socket, blocks, marks, members, member);
        (ring.outage, ring.released, ring.slot) = (Some((Outage::Gone, Instant::now())), true, Some(slot));
        ring
    }

    fn with(socket: Arc<RingSocket>, blocks: Blocks, marks: Marks, members: Arc<Members>, member: usize) -> Self {
        Self {
            socket,
            blocks,
            marks,
            members,
            member,
            held: VecDeque::new(),
            left: 0,
            at: 0,
            ahead: Cell::new(0),
            counts: RingCounts::default(),
            losses: [None; 2],
            counted_ns: wait::now_ns(),
            block_ns: 0,
            stale: StaleFrames::default(),
            empty: 0,
            outage: None,
            stopped: false,
            released: false,
            slot: None,
        }
    }

    /// Whether it waits for an interface that has not appeared yet.
    fn is_vacant(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| !slot.is_occupied())
    }

    /// Advances to the next block if the last one was read. Whether a frame is available.
    fn has_frame(&mut self) -> bool {
        while self.left == 0 {
            let Some(block) = self.blocks.take() else { return false };
            (self.left, self.at) = (block.frames, block.first);
            self.ahead.set(self.ahead.get().saturating_sub(1));
            self.stale.begin_block();
            let first = self.blocks.header(&block, block.first);
            let at_ns = first.map_or(self.block_ns, |header| timestamp_ns(&header));
            if block.is_losing {
                // Before its frames are processed: holes between them and those before have this cause.
                // (What was lost may have been counted with an earlier block already.)
                note_loss(&mut self.losses[0], (self.block_ns, at_ns), self.marks.number, 0);
                // Errors are reported by `counts`, which reads the same.
                let _ = self.count();
            }
            self.block_ns = at_ns;
            self.held.push_back(Held { frames: 0, complete: block.frames == 0, block });
        }
        true
    }

    /// Collects frames, and returns how many.
    fn note(&mut self, frames: &mut Vec<Frame>, most: usize) -> usize {
        let before = frames.len();
        while frames.len() - before < most && self.has_frame() {
            let noted = frames.len();
            self.note_of_block(frames, before + most);
            if let Some(held) = self.held.back_mut() {
                held.frames += frames.len() - noted;
                held.complete = self.left == 0;
            }
        }
        self.release();
        frames.len() - before
    }

    /// Collects frames of the last block until `most` are there, or it is read.
    fn note_of_block(&mut self, frames: &mut Vec<Frame>, most: usize) {
        let has_stale = !self.stale.is_over();
        let (mut at, mut left) = (self.at, self.left);
        let Some(Held { block, .. }) = self.held.back() else { return };
        while left > 0 && frames.len() < most {
            left -= 1;
            let Some(header) = self.blocks.header(block, at) else {
                self.counts.failed += 1 + u64::from(std::mem::take(&mut left));
                break;
            };
            if has_stale && !is_wanted(&self.stale, &self.blocks, block, at, self.marks.link) {
                self.counts.stale += 1;
            } else if let Some(frame) = frame(&mut self.blocks, &self.marks, block, at, header) {
                frames.push(frame);
            } else {
                self.counts.failed += 1;
            }
            match header.tp_next_offset {
                // The chain ends early: the rest of the block's frames cannot be found.
                0 => self.counts.failed += u64::from(std::mem::take(&mut left)),
                next => at = at.saturating_add(next),
            }
        }
        (self.at, self.left) = (at, left);
    }

    /// Returns the oldest blocks whose frames were all returned.
    fn release(&mut self) {
        while self.held.front().is_some_and(|held| held.complete && held.frames == 0)
            && let Some(held) = self.held.pop_front()
        {
            self.blocks.release(held.block);
        }
    }

    fn kernel(&self, doing: &str, source: io::Error) -> Error {
        Error::kernel(format!("{}: {doing}", self.marks.name), source)
    }

    /// Reads the socket's counts.
    fn count(&mut self) -> Result<(), Error> {
        self.counts.calls += 1;
        let begun_ns = wait::now_ns();
        let counted = self.socket.statistics();
        let (all, dropped) = counted.map_err(|error| self.kernel("reading the socket's counts", error))?;
        self.counts.received += u64::from(all.saturating_sub(dropped));
        self.counts.dropped += u64::from(dropped);
        if dropped > 0 {
            note_loss(&mut self.losses[1], (self.counted_ns, wait::now_ns()), self.marks.number, dropped);
        }
        self.counted_ns = begun_ns;
        Ok(())
    }
}

/// Adds packets that were lost between two times to those that are not reported yet.
fn note_loss(loss: &mut Option<PacketLoss>, (since_ns, until_ns): (u64, u64), interface: u16, packets: u32) {
    let (since, until) = (Timestamp::from_nanos(since_ns), Timestamp::from_nanos(until_ns));
    let loss = loss.get_or_insert(PacketLoss::between(interface, since, until, 0));
    loss.since = loss.since.min(since);
    loss.timestamp = loss.timestamp.max(until);
    loss.packets += u64::from(packets);
}

fn timestamp_ns(header: &Header) -> u64 {
    u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec)
}

// Both read the header themselves: a borrowed header would be kept in memory for every frame.
#[cold]
fn is_wanted(stale: &StaleFrames, blocks: &Blocks, block: &Block, at: u32, link: LinkType) -> bool {
    let Some(header) = blocks.header(block, at) else { return true };
    stale.takes(blocks, block, at, &header, link)
}

#[cold]
fn restore(blocks: &mut Blocks, block: &Block, at: u32) -> bool {
    let Some(header) = blocks.header(block, at) else { return false };
    let says_which = header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let tpid = if says_which { header.hv1.tp_vlan_tpid } else { VLAN_TPID };
    let ([a, b], [.., c, d]) = (tpid.to_be_bytes(), header.hv1.tp_vlan_tci.to_be_bytes());
    // The addresses must have been captured, without which there is no place for a tag.
    header.tp_snaplen >= 12 && blocks.insert_tag(block, at, header.tp_mac, [a, b, c, d])
}

/// The frame behind a header, with the tag that the kernel took out.
#[inline]
fn frame(blocks: &mut Blocks, marks: &Marks, block: &Block, at: u32, header: Header) -> Option<Frame> {
    if !blocks.holds(at, header.tp_mac, header.tp_snaplen) {
        return None;
    }
    let mut start = blocks.at(block) + at as usize + usize::from(header.tp_mac);
    let (mut captured, mut wire) = (header.tp_snaplen, header.tp_len);
    if header.tp_status & libc::TP_STATUS_VLAN_VALID != 0 && restore(blocks, block, at) {
        start -= 4;
        captured += 4;
        wire += 4;
    }
    Some(
        Frame::new(marks.link, Timestamp::from_nanos(timestamp_ns(&header)))
            .with_number(0)
            .with_place(u32::try_from(start).ok()?, captured.min(marks.snap_bytes))
            .with_wire_bytes(wire)
            .with_interface(marks.number)
            .with_clock(Timestamp::from_nanos(0))
            .with_checksum(checksum::status(header.tp_status, marks.checksums_are_checked)),
    )
}

impl Ring for PacketRing {
    fn collect(&mut self, frames: &mut Vec<Frame>, most: usize) -> Result<(), Error> {
        if self.released && self.is_vacant() {
            return Ok(());
        }
        if self.note(frames, most) > 0 {
            self.empty = 0;
            return Ok(());
        }
        if let Some((outage, since)) = self.outage {
            return self.recover(outage, since);
        }
        self.empty += 1;
        if self.empty >= EMPTY_MAX { self.check() } else { Ok(()) }
    }

    fn give_back(&mut self, count: usize) {
        let mut count = count;
        for held in &mut self.held {
            let given = count.min(held.frames);
            held.frames -= given;
            count -= given;
            if count == 0 {
                break;
            }
        }
        self.release();
    }

    /// Also readable while frames of the newest block are held: the kernel checks only that block's state.
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn prepare_wait(&mut self) -> Result<bool, Error> {
        if self.left > 0 {
            return Ok(false);
        }
        if self.outage.is_some() {
            return if self.is_vacant() { Ok(true) } else { Err(self.outage_error()) };
        }
        Ok(!self.blocks.is_ready(0))
    }

    fn delay_ns(&self) -> u64 {
        self.marks.delay_ns
    }

    fn set_filter(&mut self, program: Option<&[ClassicInstruction]>) -> Result<usize, Error> {
        self.counts.calls += 1;
        if !self.stopped {
            self.members.set_filter(self.member, program)?;
        }
        self.stale.set_filter(program, self.blocks.count()).map(|()| 0)
    }

    fn set_direction(&mut self, direction: TrafficDirection) -> Result<(), Error> {
        self.counts.calls += 1;
        if !self.stopped {
            self.members.set_direction(self.member, direction)?;
        }
        self.stale.set_direction(direction, self.blocks.count());
        Ok(())
    }

    fn join(&mut self, membership: &Membership) -> Result<(), Error> {
        self.counts.calls += 3;
        let part = membership_part(membership)?;
        if matches!(part.join.steering, Some(Steering::Program { .. })) && self.marks.link != LinkType::ETHERNET {
            return Err(SettingError::SteeringNeedsEthernet { interface: self.marks.name.clone() }.into());
        }
        self.members.join(self.member, &part.join, part.last()?).map(drop)
    }

    fn held_permille(&self) -> u32 {
        (self.held.len() as u32).saturating_mul(1000) / self.blocks.count()
    }

    fn level_permille(&self) -> u32 {
        if self.released {
            return 0;
        }
        // Blocks are filled in order: those found full last time still are.
        let (count, held) = (self.blocks.count(), self.held.len() as u32);
        let mut ahead = self.ahead.get();
        while self.blocks.is_ready(ahead) {
            ahead += 1;
        }
        self.ahead.set(ahead);
        (held + ahead).saturating_mul(1000) / count
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.stopped = true;
        self.counts.calls += 1;
        self.socket.filter(Attach::Nothing).map_err(|error| self.kernel("stopping", error))
    }

    fn counts(&mut self) -> Result<RingCounts, Error> {
        if !self.released {
            self.count()?;
        }
        Ok(self.counts)
    }

    fn take_losses(&mut self) -> [Option<PacketLoss>; 2] {
        self.losses.each_mut().map(Option::take)
    }
}
