//! One worker's rings, polled fairly and merged by time.
//!
//! In each round every ring may add 512 frames, so that a busy interface does not starve a quiet one. Frames are passed
//! on in order of time, up to the time that every ring has reached; a silent ring delays the others by 10 ms at most.
//! Frames that are late all the same are counted. Numbers of several workers interleave, so that ids stay unique.

use std::{
    os::fd::BorrowedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use tidewire_core::Shunt;
use tidewire_wire::{Batch, Frame, Memory, PacketClock, PacketLoss, Timestamp};

use super::{Membership, Ring, RingCounts, TrafficDirection};
use crate::{
    ClassicInstruction, Error,
    sys::{
        arena::{Arena, View},
        wait,
    },
};

mod ring_cursor;
mod ring_merge;
mod stale_frames;

use ring_cursor::{RETRY, RingCursor};
use stale_frames::StaleVerdict;

/// Frames that one ring may add in a round: small enough that no ring waits long for its turn, large enough that the round
/// itself costs nothing.
const ROUND_FRAMES: usize = 512;

/// Frames of a round, at least.
const ROUND_FRAMES_MIN: usize = 16;

/// How long a round should take at most. A handler that needs longer gets fewer frames at once: memory is returned, and the
/// level that measures overload is checked, between rounds only.
const ROUND_TIME: Duration = Duration::from_millis(1);

/// The rings of one worker.
pub struct Worker {
    arena: Arc<Arena>,
    /// The same, to be read as far as rings hold frames there.
    view: View,
    cursors: Vec<RingCursor>,
    /// Delivered and not released.
    batch: Vec<Frame>,
    /// Memory for frames that a ring notes.
    fresh: Vec<Frame>,
    /// Frames that one ring may add in the next round.
    round_frames: usize,
    /// This worker's index and how many there are: numbers of frames are unique among them.
    place: (u64, u64),
    frames: u64,
    clock: PacketClock,
    /// Latest timestamp of a frame that was handed over, outliers left out.
    latest: Timestamp,
    window_ns: u64,
    /// Frames handed over after one with a later timestamp.
    late: u64,
    /// Whether the rings were stopped.
    draining: bool,
    troubles: Vec<Error>,
    calls: u64,
    shunt: Option<Box<dyn Shunt>>,
    stale_verdict: StaleVerdict,
    /// Frames of the old filter that the new one rejected.
    stale: u64,
}

impl Worker {
    /// Worker `place.0` of `place.1`, with its rings; all of them lie in `arena`. Frames of several rings are merged by
    /// time within `window`.
    #[must_use]
    pub fn new(arena: Arc<Arena>, rings: Vec<Box<dyn Ring>>, place: (usize, usize), window: Duration) -> Self {
        Self {
            view: View::new(&arena),
            arena,
            cursors: rings.into_iter().map(RingCursor::new).collect(),
            batch: Vec::new(),
            fresh: Vec::new(),
            round_frames: ROUND_FRAMES,
            place: (place.0 as u64, place.1.max(1) as u64),
            frames: 0,
            clock: PacketClock::default(),
            latest: Timestamp::UNIX_EPOCH,
            window_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
            late: 0,
            draining: false,
            troubles: Vec::new(),
            calls: 0,
            shunt: None,
            stale_verdict: StaleVerdict::Keep,
            stale: 0,
        }
    }

    /// Sets the shunt, which cuts directions off before these rings.
    pub fn set_shunt(&mut self, shunt: Box<dyn Shunt>) {
        self.shunt = Some(shunt);
    }

    /// The shunt, which cuts directions off before these rings: for the engine that processes their frames.
    pub fn take_shunt(&mut self) -> Option<Box<dyn Shunt>> {
        self.shunt.take()
    }

    /// Delivers the frames that have arrived as one batch, then returns their memory to the kernel. Waits at most `most` for
    /// the first. Returns the number of frames.
    pub fn poll(&mut self, most: Duration, take: impl FnOnce(&Batch<'_>)) -> usize {
        self.poll_with_losses(most, |batch, _| take(batch))
    }

    /// The same with what the rings lost, which is known before the frames behind it are delivered.
    pub fn poll_with_losses(&mut self, most: Duration, take: impl FnOnce(&Batch<'_>, &[PacketLoss])) -> usize {
        self.take_in(self.round_frames, self.round_frames * self.cursors.len());
        if self.batch.is_empty() {
            if !most.is_zero() {
                self.wait(most);
            }
            // Returns frames that a new filter rejects.
            self.release();
            return 0;
        }
        let frames = self.batch.len();
        let begun = Instant::now();
        let losses = self.take_losses();
        take(&Batch::new(Memory::of(&self.view), &self.batch), &losses);
        self.round_frames = round(self.round_frames, frames, begun.elapsed());
        self.release();
        frames
    }

    /// Losses of the rings since the last call, as far as their counts were read.
    pub fn take_losses(&mut self) -> Vec<PacketLoss> {
        self.cursors.iter_mut().flat_map(|cursor| cursor.ring.take_losses()).flatten().collect()
    }

    /// Adds about `most` frames that have arrived to the batch, and returns how many. Returns no memory and never waits.
    ///
    /// Where rings are full of frames of the batch ([`held_permille`](Self::held_permille)) nothing more arrives, and where
    /// this adds nothing to a batch that has some, it may be for that: release it before waiting for more.
    pub fn gather(&mut self, most: usize) -> usize {
        let before = self.batch.len();
        self.take_in(most.div_ceil(self.cursors.len().max(1)), most);
        self.batch.len() - before
    }

    /// The frames that were gathered and not released, in order of time unless a ring was late.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        Batch::new(Memory::of(&self.view), &self.batch)
    }

    /// How long to sleep before asking to be woken up, as the rings see it ([`Ring::rest`]): where frames come fast but one by
    /// one, waking up for each few costs more than they do.
    pub fn rest(&mut self) -> Duration {
        self.cursors.iter_mut().map(|cursor| cursor.ring.rest()).max().unwrap_or_default()
    }

    /// The memory that batches lie in.
    #[must_use]
    pub fn arena(&self) -> Arc<Arena> {
        Arc::clone(&self.arena)
    }

    /// Whether a ring is in error, because its interface is down or gone; it is tried again now and then.
    #[must_use]
    pub fn is_troubled(&self) -> bool {
        self.cursors.iter().any(|cursor| cursor.retry.is_some())
    }

    /// Returns the memory of the whole batch.
    pub fn release(&mut self) {
        self.batch.clear();
        for cursor in &mut self.cursors {
            match std::mem::take(&mut cursor.taken) {
                0 => {}
                taken => cursor.ring.give_back(taken),
            }
        }
    }

    /// Moves the batch to `frames`, replacing its contents, and begins the next one. Its memory is returned by
    /// [`release_cut`](Self::release_cut), before anything that was gathered later: rings get their memory back in order.
    pub fn cut(&mut self, frames: &mut Vec<Frame>) {
        frames.clear();
        std::mem::swap(frames, &mut self.batch);
        for cursor in &mut self.cursors {
            cursor.cut.push_back(std::mem::take(&mut cursor.taken));
        }
    }

    /// Returns the memory of the oldest batch that was cut off.
    pub fn release_cut(&mut self) {
        for cursor in &mut self.cursors {
            match cursor.cut.pop_front() {
                None | Some(0) => {}
                Some(taken) => cursor.ring.give_back(taken),
            }
        }
    }

    /// Whether memory of batches that were cut off is outstanding.
    #[must_use]
    pub fn has_cuts(&self) -> bool {
        self.cursors.iter().any(|cursor| !cursor.cut.is_empty())
    }

    /// How much of the fullest ring is held by frames that were collected and not released, in thousandths. At 1000 nothing
    /// more arrives there.
    #[must_use]
    pub fn held_permille(&self) -> u32 {
        self.cursors.iter().map(|cursor| cursor.ring.held_permille()).max().unwrap_or(0)
    }

    /// Descriptors that are readable when frames may be gathered, one for each ring. A packet socket's is also readable while
    /// frames of its newest block are held, and that of a ring in error always.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.cursors.iter().map(|cursor| cursor.ring.descriptor())
    }

    /// To be called before waiting for [`descriptors`](Self::descriptors): whether no frame is known to be waiting. Frames may
    /// still wait for other rings' earlier ones: see [`waits`](Self::waits).
    pub fn prepare_wait(&mut self) -> bool {
        let mut is_empty = true;
        for cursor in &mut self.cursors {
            match cursor.ring.prepare_wait() {
                Ok(nothing) => is_empty &= nothing,
                Err(error) => {
                    if cursor.retry.is_none() {
                        self.troubles.push(error);
                        cursor.retry = Some(Instant::now() + RETRY);
                    }
                }
            }
        }
        is_empty
    }

    /// Whether frames are held back to be put in order with others; they come at the latest after the merge window.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.cursors.iter().any(|cursor| !cursor.waiting.is_empty())
    }

    /// Replaces the filter of all rings; `None`: every frame is accepted. Gathered frames stay. Frames that arrived before are
    /// gathered only if the new filter accepts them, too; none of them if it reads more than their bytes.
    ///
    /// # Errors
    /// An invalid program, or one that the kernel refuses: the first ring's filter is unchanged.
    pub fn set_filter(&mut self, program: Option<&[ClassicInstruction]>) -> Result<(), Error> {
        let checked = program.map(tidewire_filter::check).transpose()?;
        for cursor in &mut self.cursors {
            cursor.stale = cursor.waiting.len() + cursor.ring.set_filter(program)?;
        }
        self.stale_verdict = match checked {
            None => StaleVerdict::Keep,
            Some(program) if program.asks() => StaleVerdict::Drop,
            Some(program) => StaleVerdict::Ask(program),
        };
        Ok(())
    }

    /// Lets all rings join a group, each on its interface: the members share frames that arrive from now on. Frames in the
    /// rings stay. A ring cannot leave its group.
    ///
    /// # Errors
    /// A ring cannot join a group of this kind, or the group has other settings: the first ring is unchanged.
    pub fn join(&mut self, membership: &Membership) -> Result<(), Error> {
        self.cursors.iter_mut().try_for_each(|cursor| cursor.ring.join(membership))
    }

    /// Sets the direction of all rings. Gathered frames stay.
    ///
    /// # Errors
    /// A ring does not see frames of this direction: the first ring's direction is unchanged.
    pub fn set_direction(&mut self, direction: TrafficDirection) -> Result<(), Error> {
        for cursor in &mut self.cursors {
            cursor.ring.set_direction(direction)?;
            cursor.stale = cursor.stale.max(cursor.waiting.len());
        }
        if self.waits() {
            self.stale_verdict = StaleVerdict::Drop;
        }
        Ok(())
    }

    /// The time up to which every frame that arrived has been delivered: timers can use it while no frame arrives.
    #[must_use]
    pub fn quiet_until(&self) -> Timestamp {
        let delay = self.cursors.iter().map(|cursor| cursor.ring.delay_ns()).max().unwrap_or(0);
        Timestamp::from_nanos(wait::now_ns().saturating_sub(delay + self.window_ns))
    }

    /// Stops the rings: no frame enters them from now on. [`poll`](Self::poll) still delivers the frames in them, without
    /// waiting for other rings.
    pub fn stop(&mut self) {
        self.draining = true;
        for cursor in &mut self.cursors {
            if let Err(error) = cursor.ring.stop() {
                self.troubles.push(error);
            }
        }
    }

    /// How long after [`stop`](Self::stop) a ring may still show frames.
    #[must_use]
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.cursors.iter().map(|cursor| cursor.ring.delay_ns()).max().unwrap_or(0))
    }

    /// Errors since the last call: interfaces that are gone or down. Each is reported once until it works again.
    pub fn troubles(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.troubles)
    }

    /// The kernel's counters over all rings, and the number of system calls, waits included.
    ///
    /// # Errors
    /// A ring's.
    pub fn counts(&mut self) -> Result<RingCounts, Error> {
        let mut sum = RingCounts { calls: self.calls, stale: self.stale, ..RingCounts::default() };
        for cursor in &mut self.cursors {
            sum.add(&cursor.ring.counts()?);
        }
        Ok(sum)
    }

    /// How full the fullest ring is, in thousandths.
    #[must_use]
    pub fn level_permille(&self) -> u32 {
        self.cursors.iter().map(|cursor| cursor.ring.level_permille()).max().unwrap_or(0)
    }

    /// Frames handed over so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Frames handed over after one with a later timestamp: another ring was later than the window.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    fn wait(&mut self, most: Duration) {
        let mut most = most;
        let rest = self.rest().min(most);
        if !rest.is_zero() {
            self.calls += 1;
            std::thread::sleep(rest);
            return;
        }
        if self.waits() {
            most = most.min(Duration::from_millis(1));
        }
        if !self.prepare_wait() {
            return;
        }
        let mut descriptors = Vec::with_capacity(self.cursors.len());
        // A ring in error is always readable, and so is a packet ring with frames that were not returned.
        for cursor in self.cursors.iter().filter(|cursor| cursor.retry.is_none() && cursor.waiting.is_empty()) {
            descriptors.push(cursor.ring.descriptor());
        }
        if descriptors.len() < self.cursors.len() {
            most = most.min(RETRY);
        }
        self.calls += 1;
        let _ = wait::readable(&descriptors, most);
    }
}

/// How many frames the next round has, after one of `frames` that took so long.
fn round(now: usize, frames: usize, took: Duration) -> usize {
    if took <= ROUND_TIME {
        return (now * 2).min(ROUND_FRAMES);
    }
    let fit = frames as u128 * ROUND_TIME.as_nanos() / took.as_nanos();
    usize::try_from(fit).unwrap_or(ROUND_FRAMES).clamp(ROUND_FRAMES_MIN, ROUND_FRAMES)
}

#[cfg(test)]
mod tests;
