use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tidewire_wire::{Frame, LinkType, PacketLoss, Timestamp};

use super::{attachment::AttachedProgram, linearize_buffer::LinearizeBuffer, losses::Losses, slot::FilterSlot};
use crate::{
    ClassicInstruction, Error, InterfaceProblem, Ring, RingCounts, SettingError, TrafficDirection,
    sys::{
        arena::ArenaRegion,
        bpf::{self, Map},
        wait,
        xsk::{self, FillRing, RxRing, Statistics, XskSocket},
    },
};

/// Returned buffers above which the worker waits for the fill ring's lock.
const RETURNED_MAX: usize = 1024;
/// Empty calls of `collect` in a row after which the socket is checked for errors.
const EMPTY_MAX: u32 = 4096;

/// Most frames a second at 10 Gbit/s: a rest must not overflow the ring at this rate.
const FRAMES_PER_SECOND_MAX: u64 = 14_880_952;
/// The longest rest, far below the delivery limit of 10 ms, and the shortest worth a sleep.
const REST_MAX: Duration = Duration::from_micros(500);
const REST_MIN: Duration = Duration::from_micros(50);
/// Least frames since the last rest; with fewer, wakeups are cheap enough.
const REST_FRAMES_MIN: u64 = 4;
/// The greatest age of a plausible time stamp, nanoseconds.
const STAMP_AGE_MAX_NS: u64 = 60_000_000_000;
/// Longest duration of a driver's round, after which its frames are visible, nanoseconds.
const ROUND_NS: u64 = 1_000_000;

/// Both clocks at one time.
#[derive(Clone, Copy)]
struct Now {
    real_ns: u64,
    monotonic_ns: u64,
}

/// Properties of a ring.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pub(super) interface: String,
    /// The interface's number in the capture.
    pub(super) number: u16,
    /// The socket's place in the map of sockets.
    pub(super) slot: u32,
    pub(super) snap_bytes: u32,
    /// System calls run the driver.
    pub(super) busy_poll: bool,
    /// The kernel's program writes when a frame arrived before its first byte.
    pub(super) stamped: bool,
}

/// An AF_XDP socket's receive ring, of one worker on one receive queue.
///
/// Frames lie where the kernel or the driver put them; those that came in several buffers are copied together. The memory
/// and the fill ring are shared with the other workers' sockets on the same queue.
///
/// AF_XDP does not say when a frame arrived: see [`XskPlan::stamped`](super::XskPlan::stamped).
#[derive(Debug)]
pub struct XskRing {
    pub(super) socket: Arc<XskSocket>,
    pub(super) rx: RxRing,
    pub(super) fill: Arc<Mutex<FillRing>>,
    pub(super) memory: ArenaRegion,
    pub(super) linearize: LinearizeBuffer,
    pub(super) sockets: Arc<Map>,
    /// Where the filter can be replaced.
    pub(super) slot: Option<Arc<FilterSlot>>,
    /// The attachment, for interfaces that are recreated.
    pub(super) attachment: Option<Arc<AttachedProgram>>,
    pub(super) marks: Marks,
    /// Buffers that are not yet in the fill ring.
    pub(super) returned: Vec<u64>,
    pub(super) state: State,
}

/// The ring's mutable state.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Frames noted so far.
    noted: u64,
    /// The latest timestamp given.
    latest_ns: u64,
    /// Calls of `collect` in a row that found nothing.
    pub(super) empty: u32,
    /// Frames noted when it was last waited, and when it was last rested.
    waited_at: u64,
    rested_at: u64,
    calls: u64,
    pub(super) gone: bool,
    pub(super) stopped: bool,
    /// The interface's number.
    pub(super) index: u32,
    /// Counts of the interfaces before this one.
    pub(super) before: RingCounts,
    pub(super) losses: Losses,
}

impl State {
    /// Of a ring on the interface of this number.
    pub(super) fn on(index: u32) -> Self {
        Self { index, ..Self::default() }
    }
}

impl XskRing {
    /// Whether the driver writes into the ring's memory itself (zero-copy).
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn is_zero_copy(&self) -> Result<bool, Error> {
        self.socket.is_zero_copy().map_err(|source| self.failed("reading the socket's options", source))
    }

    /// How often no buffer was free, on this ring's receive queue: the sockets there share this count. Where the kernel
    /// copies, each is a frame that is counted as failed, too; where the driver writes into our memory, it drops them
    /// itself and counts them as its own.
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn buffers_missing(&self) -> Result<u64, Error> {
        Ok(self.statistics()?.fill_empty)
    }

    fn statistics(&self) -> Result<Statistics, Error> {
        self.socket.statistics().map_err(|source| self.failed("reading the socket's counts", source))
    }

    fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::kernel(format!("{}: {what}", self.marks.interface), source)
    }

    fn gone(&self) -> Error {
        let problem = if self.attachment.is_some() { InterfaceProblem::Gone } else { InterfaceProblem::GoneForGood };
        Error::Interface { interface: self.marks.interface.clone(), problem }
    }

    /// Notes whether the interface is gone.
    fn look_for_trouble(&mut self) -> Result<(), Error> {
        self.state.calls += 1;
        self.state.gone |= self.socket.error().is_err();
        if self.state.gone { Err(self.gone()) } else { Ok(()) }
    }

    /// One frame: its descriptors and bytes. `None` where its end is not there yet.
    fn measure(&self, from: u32) -> Option<(u32, usize)> {
        let (mut parts, mut bytes) = (0, 0);
        loop {
            let part = self.rx.peek(from + parts)?;
            (parts, bytes) = (parts + 1, bytes + part.bytes as usize);
            if !part.goes_on() {
                return Some((parts, bytes));
            }
        }
    }

    /// Puts a frame of several buffers together; its offset in the arena and how much of it is there, or `None` where there
    /// is no room now.
    fn gather(&mut self, parts: u32, bytes: usize) -> Option<(usize, usize)> {
        let captured = bytes.min(self.marks.snap_bytes as usize).min(self.linearize.frame_bytes_max());
        let at = self.linearize.take(captured)?;
        let mut done = 0;
        for index in 0..parts {
            let Some(part) = self.rx.peek(index) else { break };
            let length = (part.bytes as usize).min(captured - done);
            if !self.linearize.put((&self.memory, part.at as usize), at + done, length) {
                break;
            }
            done += length;
        }
        self.linearize.show(at, done);
        Some((self.linearize.in_arena(at), done))
    }

    /// Puts buffers back into the fill ring; where another worker is about to do the same, later, unless there are many.
    fn refill(&mut self, must: bool) -> bool {
        if self.returned.is_empty() {
            return false;
        }
        let fill: Option<MutexGuard<'_, FillRing>> = if must || self.returned.len() > RETURNED_MAX {
            Some(self.fill.lock().unwrap_or_else(PoisonError::into_inner))
        } else {
            self.fill.try_lock().ok()
        };
        let Some(mut fill) = fill else { return false };
        // It has room for all buffers that there are.
        let given = fill.push(&self.returned);
        let wants_wakeup = fill.wants_wakeup();
        drop(fill);
        self.returned.drain(..given);
        wants_wakeup
    }

    fn wake(&mut self) {
        self.state.calls += 1;
        self.socket.wake();
    }

    /// When a frame arrived whose first byte is there in our memory.
    fn timestamp(&mut self, at: usize, now: Now) -> u64 {
        // The driver may have no room for a stamp: a stale value must not be read as one.
        let place = at.checked_sub(8).filter(|_| self.marks.stamped);
        let stamp = place.and_then(|at| xsk::take_number(&mut self.memory, at)).filter(|stamp| *stamp != 0);
        // A stamp outside of the last minute is invalid.
        let age_ns = stamp.map_or(0, |stamp| now.monotonic_ns.saturating_sub(stamp));
        let time_ns = now.real_ns.saturating_sub(if age_ns < STAMP_AGE_MAX_NS { age_ns } else { 0 });
        self.state.latest_ns = self.state.latest_ns.max(time_ns);
        self.state.latest_ns
    }

    fn note(&mut self, frames: &mut Vec<Frame>, most: usize) {
        let mut noted = 0;
        let mut now = None;
        while noted < most {
            let Some((parts, bytes)) = self.measure(0) else { break };
            let Some(first) = self.rx.peek(0) else { break };
            let snapped = bytes.min(self.marks.snap_bytes as usize);
            let whole = (self.memory.at() + first.at as usize, snapped);
            let Some((at, captured)) = (if parts == 1 { Some(whole) } else { self.gather(parts, bytes) }) else {
                break;
            };
            let now = *now.get_or_insert_with(|| {
                let (real_ns, monotonic_ns) = wait::both_clocks();
                Now { real_ns, monotonic_ns }
            });
            let timestamp_ns = self.timestamp(first.at as usize, now);
            if parts == 1 {
                self.memory.show(first.at as usize, first.bytes as usize);
            }
            frames.push(
                Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(timestamp_ns))
                    .with_number(0)
                    .with_place(at as u32, captured as u32)
                    .with_wire_bytes(bytes as u32)
                    .with_interface(self.marks.number)
                    .with_clock(Timestamp::from_nanos(0)),
            );
            self.rx.advance(parts);
            noted += 1;
        }
        self.state.noted += noted as u64;
    }

    /// Drops and failures that the kernel counted, on earlier interfaces as well; received frames are not among them.
    pub(super) fn counted(&mut self) -> Result<RingCounts, Error> {
        let kernel = self.count_losses()?;
        let before = self.state.before;
        Ok(RingCounts {
            dropped: before.dropped + kernel.ring_full,
            failed: before.failed + kernel.dropped + kernel.invalid,
            calls: self.state.calls,
            ..RingCounts::default()
        })
    }

    /// Reads the kernel's counts, and notes frames that were lost since the last time.
    fn count_losses(&mut self) -> Result<Statistics, Error> {
        self.state.calls += 1;
        let kernel = self.statistics()?;
        if self.state.losses.is_zero_copy.is_none() {
            self.state.calls += 1;
            self.state.losses.is_zero_copy = self.is_zero_copy().ok();
        }
        // Losses of a ring that was full lie behind the last frame that was collected, or before it: the clock may be far ahead of both.
        let at_ns = if self.state.latest_ns == 0 { wait::now_ns() } else { self.state.latest_ns };
        let now = (at_ns, wait::monotonic_ns());
        // Of frames in several buffers fewer are there: the last one is passed later.
        let noted = self.state.noted;
        let last = noted + u64::from(self.rx.available());
        self.state.losses.add(&kernel, self.marks.number, now, (noted, last));
        Ok(kernel)
    }

    /// The same with frames that were just noted, if it is due: so a loss is known before the frames behind it are delivered.
    fn look_for_losses(&mut self) {
        if self.state.losses.is_due(self.level_permille(), wait::monotonic_ns()) {
            // Errors are reported by `counts`, which reads the same.
            let _ = self.count_losses();
        }
        let State { noted, latest_ns, ref mut losses, .. } = self.state;
        losses.pass(noted, self.marks.number, latest_ns);
    }

    /// Frames that the kernel put into the ring and that were not noted.
    fn waiting(&mut self) -> u64 {
        let available = self.rx.available();
        let ends = |index: &u32| self.rx.peek(*index).is_some_and(|part| !part.goes_on());
        (0..available).filter(ends).count() as u64
    }
}

impl Ring for XskRing {
    fn collect(&mut self, frames: &mut Vec<Frame>, most: usize) -> Result<(), Error> {
        let mut wants_wakeup = self.refill(false);
        let mut available = self.rx.available();
        if available == 0 {
            if self.marks.busy_poll && !self.state.gone {
                self.wake();
                wants_wakeup = false;
                available = self.rx.available();
            }
            self.state.empty = self.state.empty.saturating_add(u32::from(available == 0));
        }
        if wants_wakeup {
            self.wake();
        }
        if available > 0 {
            self.state.empty = 0;
            self.note(frames, most);
            self.look_for_losses();
            return Ok(());
        }
        if self.state.losses.is_unread(self.state.noted) {
            self.look_for_losses();
        }
        if self.state.gone {
            return if self.reattach()? { Ok(()) } else { Err(self.gone()) };
        }
        if self.state.empty >= EMPTY_MAX {
            self.state.empty = 0;
            return self.look_for_trouble();
        }
        Ok(())
    }

    fn give_back(&mut self, count: usize) {
        let mut parts = 0;
        for _ in 0..count {
            let mut several = false;
            while let Some(part) = self.rx.held(parts) {
                // The kernel may write there from now on.
                self.memory.hide(part.at as usize, part.bytes as usize);
                self.returned.push(part.at);
                parts += 1;
                if !part.goes_on() {
                    break;
                }
                several = true;
            }
            if several {
                self.linearize.give_back();
            }
        }
        // Buffers first: a socket whose ring is full then holds no more than its share of them.
        let wants_wakeup = self.refill(false);
        self.rx.release(parts);
        if wants_wakeup {
            self.wake();
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn prepare_wait(&mut self) -> Result<bool, Error> {
        if self.refill(true) {
            self.wake();
        }
        if self.rx.available() > 0 {
            return Ok(false);
        }
        if self.state.losses.is_unread(self.state.noted) {
            // Nothing may come for long, and then this would be late.
            let _ = self.count_losses();
        }
        // A socket in error wakes up at once, unless frames arrived in between.
        if self.state.waited_at == self.state.noted {
            self.look_for_trouble()?;
        }
        self.state.waited_at = self.state.noted;
        Ok(true)
    }

    fn rest(&mut self) -> Duration {
        let frames = self.state.noted - self.state.rested_at;
        self.state.rested_at = self.state.noted;
        // A quarter of the time in which frames fill the ring, however fast they come.
        let fills_ns = u64::from(self.rx.entries()) * 1_000_000_000 / FRAMES_PER_SECOND_MAX;
        let rest = Duration::from_nanos(fills_ns / 4).min(REST_MAX);
        if frames < REST_FRAMES_MIN || rest < REST_MIN || self.marks.busy_poll { Duration::ZERO } else { rest }
    }

    /// Nothing, where timestamps are given when frames are collected.
    fn delay_ns(&self) -> u64 {
        if self.marks.stamped { ROUND_NS } else { 0 }
    }

    fn level_permille(&self) -> u32 {
        let used = u64::from(self.rx.used());
        u32::try_from(used * 1000 / u64::from(self.rx.entries())).unwrap_or(1000)
    }

    fn held_permille(&self) -> u32 {
        let held = u64::from(self.rx.held_count());
        u32::try_from(held * 1000 / u64::from(self.rx.entries())).unwrap_or(1000)
    }

    fn set_filter(&mut self, program: Option<&[ClassicInstruction]>) -> Result<usize, Error> {
        let Some(slot) = &self.slot else {
            return Err(SettingError::FilterNotPlanned { interface: self.marks.interface.clone() }.into());
        };
        slot.set(program)?;
        self.state.calls += 2;
        self.rx.available();
        Ok(usize::try_from(self.waiting()).unwrap_or(usize::MAX))
    }

    fn set_direction(&mut self, direction: TrafficDirection) -> Result<(), Error> {
        if direction == TrafficDirection::Out {
            return Err(SettingError::XdpOutgoing { interface: self.marks.interface.clone() }.into());
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.state.stopped = true;
        self.state.calls += 2;
        let removed = self.sockets.delete(&self.marks.slot.to_ne_bytes());
        removed.map_err(|source| self.failed("taking the socket off the XDP program", source))?;
        // Frames that the program had redirected are in the ring when this returns.
        bpf::runs_ended();
        Ok(())
    }

    fn counts(&mut self) -> Result<RingCounts, Error> {
        let counted = self.counted()?;
        Ok(RingCounts { received: self.state.noted + self.waiting(), ..counted })
    }

    fn take_losses(&mut self) -> [Option<PacketLoss>; 2] {
        [self.state.losses.take(), None]
    }
}

impl Drop for XskRing {
    /// The other workers on this queue continue, and get its buffers.
    fn drop(&mut self) {
        let _ = self.stop();
        let available = self.rx.available();
        self.rx.advance(available);
        self.returned.extend((0..self.rx.held_count()).filter_map(|index| self.rx.held(index)).map(|part| part.at));
        self.refill(true);
    }
}
