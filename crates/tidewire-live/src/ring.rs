//! Rings of frames that the kernel writes and the engine reads in place.
//!
//! A `Ring` notes frames as offsets, and gets their memory back in the same order when the engine is done with them.
//! All rings of a worker lie in one range of addresses (`sys/arena.rs`), so that a batch of frames of several rings is
//! one borrowed slice. The arena gives each ring its own place, and knows for every 64 bytes whether the kernel has
//! handed them over: a batch reads through `Memory` (`tidewire-wire/src/batch.rs`), which gives access to nothing else.
//! A block of a packet ring is a value that owns its release, so that no stale block can be read. `packet/` hands over
//! blocks of 256 KiB when they are full or 5 ms old, and puts VLAN tags that the kernel removed back in place. `xsk/`
//! has one UMEM and fill ring for all sockets on a queue; only frames of several buffers are copied in user space.

use std::{os::fd::BorrowedFd, time::Duration};

use tidewire_wire::{Frame, PacketLoss};

use super::{Membership, TrafficDirection};
use crate::{ClassicInstruction, Error, SettingError};

/// One ring of one worker on one interface: memory that the kernel fills with frames.
///
/// [`collect`](Self::collect) lists frames, whose memory stays unchanged until [`give_back`](Self::give_back) returns it to
/// the kernel, in the same order.
pub trait Ring: Send {
    /// Appends newly arrived frames to `frames`, in the order of arrival; about `most` of them (a ring may finish a block).
    /// Never waits. Offsets ([`Frame::at`]) count from the arena's beginning; [`Frame::interface`] is the ring's interface
    /// number; frame number and clock are left 0.
    ///
    /// # Errors
    /// The interface is gone or down, or the kernel refuses; frames collected before stay valid. A later call tries to
    /// recover.
    fn collect(&mut self, frames: &mut Vec<Frame>, most: usize) -> Result<(), Error>;

    /// Returns the memory of the oldest `count` collected frames to the kernel.
    fn give_back(&mut self, count: usize);

    /// A descriptor that is readable when frames can be collected.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Called before waiting on [`descriptor`](Self::descriptor): whether the ring is empty. A ring that has to wake up the
    /// kernel does so here.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    fn prepare_wait(&mut self) -> Result<bool, Error>;

    /// How long to sleep before waiting on the descriptor: where frames arrive fast but one by one, a wakeup for every few of
    /// them costs more than the frames do. Zero: not at all, as where the kernel itself gathers frames before it wakes the
    /// worker.
    fn rest(&mut self) -> Duration {
        Duration::ZERO
    }

    /// The longest time from a frame's timestamp to its collection, nanoseconds: a block of frames is handed over when it is
    /// full or this old.
    fn delay_ns(&self) -> u64;

    /// Fill level of the ring, in thousandths: frames that wait to be collected or returned. Cheap; called once a round.
    fn level_permille(&self) -> u32 {
        0
    }

    /// Share of the ring that is collected and not yet returned, in thousandths. At 1000 no frame arrives until memory is
    /// returned.
    fn held_permille(&self) -> u32 {
        0
    }

    /// Replaces the filter; `None`: every frame is accepted. Returns how many frames of the old filter may still be collected
    /// without having passed the new one: those that arrived before, in order. A ring may apply the new filter to them itself.
    ///
    /// # Errors
    /// An invalid program, or one that the kernel refuses here; the filter is unchanged.
    fn set_filter(&mut self, program: Option<&[ClassicInstruction]>) -> Result<usize, Error> {
        let _ = program;
        Err(SettingError::FilterFixed.into())
    }

    /// Sets the direction: frames of another direction are not collected any more, even if they arrived before.
    ///
    /// # Errors
    /// This ring does not see frames of this direction; the direction is unchanged.
    fn set_direction(&mut self, direction: TrafficDirection) -> Result<(), Error> {
        let _ = direction;
        Err(SettingError::DirectionFixed.into())
    }

    /// Joins a fan-out group, whose members share frames from now on. A ring cannot leave it.
    ///
    /// # Errors
    /// Groups are not supported here, the group has other settings, or the kernel refuses; the ring is unchanged.
    fn join(&mut self, membership: &Membership) -> Result<(), Error> {
        let _ = membership;
        Err(SettingError::GroupUnsupported.into())
    }

    /// Stops the ring: no frame enters it from now on. Frames in it can still be collected, the last of them after
    /// [`delay_ns`](Self::delay_ns); the counts are final then.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    fn stop(&mut self) -> Result<(), Error>;

    /// Frames that found no room since the last call, as far as the counts were read, by the clock of the frames and by the host's where
    /// both are known: the first states no packets then. (The number of the frame behind them is 0.)
    fn take_losses(&mut self) -> [Option<PacketLoss>; 2] {
        [None; 2]
    }

    /// Counts of the kernel for this ring since it was opened.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    fn counts(&mut self) -> Result<RingCounts, Error>;
}

/// Counts of the kernel for a ring since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingCounts {
    /// Frames put into the ring.
    pub received: u64,
    /// Frames that found no room in it.
    pub dropped: u64,
    /// Frames that could not be put into it for another reason (AF_XDP: no free buffer, too long, invalid descriptor).
    pub failed: u64,
    /// Of those received: what was in the ring when its filter or direction was replaced, and is not wanted any more.
    pub stale: u64,
    /// System calls made for this ring.
    pub calls: u64,
}

impl RingCounts {
    /// Adds another ring's.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.dropped += other.dropped;
        self.failed += other.failed;
        self.stale += other.stale;
        self.calls += other.calls;
    }
}
