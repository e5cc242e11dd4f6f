use std::{os::fd::BorrowedFd, time::Duration};

use tidewire_wire::Frame;

use super::{Membership, TrafficDirection};
use crate::{ClassicInstruction, Error, SettingError};

/// One ring of one worker on one interface: memory that the kernel fills with frames.
///
/// Frames are noted by [`collect`](Self::collect), stay as they are while they are noted, and go back to the kernel by
/// [`give_back`](Self::give_back), in the same order.
pub trait Ring: Send {
    /// Notes frames that arrived and were not noted before, in the order of arrival, at the end of `frames`; about `most`
    /// of them (a ring may finish what it began). Never waits. Offsets ([`Frame::at`]) count from the arena's beginning;
    /// [`Frame::interface`] is what the ring was given; number and clock are left 0.
    ///
    /// # Errors
    /// The interface is gone or down, or the kernel refuses; frames noted before stay valid. Called again later, a ring
    /// tries to go on.
    fn collect(&mut self, frames: &mut Vec<Frame>, most: usize) -> Result<(), Error>;

    /// The oldest `count` frames that were noted are done with; their memory may be filled again.
    fn give_back(&mut self, count: usize);

    /// What becomes readable when there is something to collect.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Called before waiting on [`descriptor`](Self::descriptor): whether there is nothing to collect. A ring that has to
    /// wake the kernel up does it here.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    fn prepare_wait(&mut self) -> Result<bool, Error>;

    /// How long to sleep before asking to be woken up: where frames come one by one but fast, waking up for each few of them
    /// costs more than they do. Zero: not at all, as where the kernel itself gathers frames before it wakes anyone up.
    fn rest(&mut self) -> Duration {
        Duration::ZERO
    }

    /// How long after a frame's timestamp it may still take until `collect` notes it, nanoseconds: a block of frames is
    /// handed over when it is full or this old.
    fn delay_ns(&self) -> u64;

    /// How full the ring is, in thousandths: what waits to be collected or given back. Cheap; called once a round.
    fn level_permille(&self) -> u32 {
        0
    }

    /// How much of the ring is noted and not given back, in thousandths. At 1000 nothing more arrives before something is
    /// given back.
    fn held_permille(&self) -> u32 {
        0
    }

    /// Replaces the filter; `None`: every frame is taken. Returns how many frames may be noted from now on that the old filter
    /// took and that were not asked of the new one: those that arrived before, in order. A ring may ask it itself.
    ///
    /// # Errors
    /// What is no program, or one that the kernel does not take here; the filter is as it was.
    fn set_filter(&mut self, program: Option<&[ClassicInstruction]>) -> Result<usize, Error> {
        let _ = program;
        Err(SettingError::FilterFixed.into())
    }

    /// Chooses the direction: no frame of another one is noted from now on, even if it arrived before.
    ///
    /// # Errors
    /// Frames of this direction are not seen here; the direction is as it was.
    fn set_direction(&mut self, direction: TrafficDirection) -> Result<(), Error> {
        let _ = direction;
        Err(SettingError::DirectionFixed.into())
    }

    /// Joins a group: from now on, frames are shared with its other members. A ring cannot leave it.
    ///
    /// # Errors
    /// There are no groups of this kind here, the group has other settings, or the kernel refuses; the ring is as it was.
    fn join(&mut self, membership: &Membership) -> Result<(), Error> {
        let _ = membership;
        Err(SettingError::GroupUnsupported.into())
    }

    /// No frame enters the ring from now on. What is in it can still be collected, the last of it after
    /// [`delay_ns`](Self::delay_ns); the counts are final then.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    fn stop(&mut self) -> Result<(), Error>;

    /// What the kernel counted for this ring since it was opened.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    fn counts(&mut self) -> Result<RingCounts, Error>;
}

/// What the kernel counted for a ring since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
