use std::{collections::VecDeque, os::fd::BorrowedFd, time::Duration};

use tidewire_core::Frame;

use crate::Error;

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
    fn collect(&mut self, frames: &mut VecDeque<Frame>, most: usize) -> Result<(), Error>;

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
    /// System calls made for this ring.
    pub calls: u64,
}

impl RingCounts {
    /// Adds another ring's.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.dropped += other.dropped;
        self.failed += other.failed;
        self.calls += other.calls;
    }
}
