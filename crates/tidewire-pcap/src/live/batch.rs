//! The next batch: gathering it, and waiting for it.
//!
//! JUSTIFICATION: see [`super`].

use std::{
    os::fd::{AsRawFd, RawFd},
    time::{Duration, Instant},
};

use super::{
    Live, Locality, Packet, Reader, Rings,
    gather_thread::{GatherThread, LOOK_AFTER},
    locality::{LOOK, UNSORTED_FRAMES},
    rings::DOWN_WAIT,
};
use crate::{event, handle::Control};

/// How long to wait at a time where descriptors do not show that a device is gone.
pub(super) const SILENT_WAIT: Duration = Duration::from_millis(500);

/// How long to wait at a time for packets of other devices, to be put in order with those that came.
const MERGE_WAIT: Duration = Duration::from_millis(1);

/// What gathering came to.
enum Gathered {
    /// A batch is ready.
    Batch,
    /// Some packets are there; look again after this time.
    Some(Duration),
    /// None are.
    Nothing,
}

/// What waiting for packets came to.
pub(super) enum Waited {
    Packets,
    Nothing,
    Stopped,
    Failed(String),
}

impl Live {
    /// Gathers the next batch. Waits for it where that is wanted and allowed: until a packet comes, the timeout is over (if
    /// `times_out`), or the read is to end.
    pub(super) fn fill(&self, handle: &Control, wait: bool, times_out: bool) -> Waited {
        // SAFETY: as in `finish`.
        if let Some(trouble) = unsafe { (*self.reader.get()).trouble.take() } {
            return Waited::Failed(trouble);
        }
        // A loop cannot do without waiting (pcap_loop(3PCAP)).
        let wait = wait && !(times_out && self.nonblocking.get());
        let timeout = self.settings.timeout.filter(|_| times_out);
        let mut deadline = None;
        loop {
            let gathered = match self.gather(wait) {
                Ok(Gathered::Batch) => return Waited::Packets,
                Ok(gathered) => gathered,
                Err(message) => return Waited::Failed(message),
            };
            if matches!(gathered, Gathered::Nothing) {
                self.publish_when_idle();
            }
            if !wait {
                return Waited::Nothing;
            }
            let mut most = None;
            if let Some(timeout) = timeout {
                let until = *deadline.get_or_insert_with(|| Instant::now() + timeout);
                most = Some(until.saturating_duration_since(Instant::now()));
                if most == Some(Duration::ZERO) && !matches!(gathered, Gathered::Some(_)) {
                    return Waited::Nothing;
                }
            }
            match gathered {
                // They are delivered soon, whatever the program's timeout is.
                Gathered::Some(more) => event::wait(&[handle.woken.as_raw_fd()], Some(more)),
                _ => self.wait(handle, most),
            }
            if handle.is_stopped() {
                return Waited::Stopped;
            }
        }
    }

    /// What is there now. With locality and time to wait, a batch is one when it is full or old enough.
    fn gather(&self, wait: bool) -> Result<Gathered, String> {
        // SAFETY: as in `finish`.
        let reader = unsafe { &mut *self.reader.get() };
        if let Some(gather_thread) = &self.gather_thread {
            return self.pick_up(gather_thread, reader);
        }
        let mut rings = self.rings()?;
        let held = rings.worker.batch().frames.len();
        let wanted = reader.locality.as_ref().map_or(UNSORTED_FRAMES, Locality::wanted);
        let found = rings.worker.gather(wanted.saturating_sub(held).max(1));
        let all = held + found;
        if all == 0 {
            self.check(&mut rings)?;
            return Ok(Gathered::Nothing);
        }
        if let Some(locality) = &mut reader.locality
            && wait
            && let Some(more) = locality.waits(all, &mut rings.worker)
        {
            return Ok(Gathered::Some(more));
        }
        reader.packets.clear();
        reader.packets.extend(rings.worker.batch().frames.iter().map(Packet::from));
        reader.order.restart();
        if let Some(locality) = &mut reader.locality {
            locality.sort(&rings.worker.batch(), &mut reader.order);
        }
        self.apply_user_filter(reader, &mut rings, 0)
    }

    /// The batch that the other thread gathered, if one is ready.
    fn pick_up(&self, gather_thread: &GatherThread, reader: &mut Reader) -> Result<Gathered, String> {
        let Some(locality) = &mut reader.locality else { return Ok(Gathered::Nothing) };
        gather_thread.start()?;
        let Some(ready) = gather_thread.take(locality.sorts(), &mut reader.packets) else {
            if gather_thread.has_some() {
                return Ok(Gathered::Some(LOOK));
            }
            self.check(&mut *self.rings()?)?;
            return Ok(Gathered::Nothing);
        };
        locality.begin(ready.order.is_some());
        match ready.order {
            None => reader.order.restart(),
            Some(order) => reader.order.list(|indexes| *indexes = order),
        }
        self.apply_user_filter(reader, &mut *self.rings()?, ready.number)
    }

    /// Leaves out of a batch what a filter does not want that the kernel has not, or not yet.
    fn apply_user_filter(&self, reader: &mut Reader, rings: &mut Rings, number: u64) -> Result<Gathered, String> {
        if let Some(user_filter) = &reader.user_filter {
            let left_out = user_filter.apply(rings.worker.batch().memory, &reader.packets, &mut reader.order);
            if user_filter.stays {
                rings.left_out += left_out as u64;
            } else if number >= user_filter.until {
                reader.user_filter = None;
            }
        }
        if reader.order.is_done(&reader.packets) {
            // None of them passed the filter that was set since.
            reader.packets.clear();
            reader.order.restart();
            self.release(rings);
            return Ok(Gathered::Nothing);
        }
        Ok(Gathered::Batch)
    }

    fn wait(&self, handle: &Control, most: Option<Duration>) {
        let mut most = most;
        let mut descriptors: Vec<RawFd> = Vec::with_capacity(self.descriptors.len() + 1);
        descriptors.push(handle.woken.as_raw_fd());
        if let Some(gather_thread) = &self.gather_thread {
            descriptors.push(gather_thread.descriptor());
            event::wait(&descriptors, Some(most.map_or(LOOK_AFTER, |most| most.min(LOOK_AFTER))));
            return;
        }
        // Where they cannot be had, the next look says so.
        let Ok(mut rings) = self.rings() else { return };
        let rest = if self.settings.is_immediate { Duration::ZERO } else { rings.worker.rest() };
        if !rest.is_zero() {
            drop(rings);
            event::wait(&descriptors, Some(most.map_or(rest, |most| most.min(rest))));
            return;
        }
        if !rings.worker.prepare_wait() {
            return;
        }
        if rings.worker.is_troubled() || rings.worker.waits() {
            // A ring in error is always readable, and one whose packets wait for another's.
            let pause = if rings.worker.waits() { MERGE_WAIT } else { DOWN_WAIT };
            most = Some(most.map_or(pause, |most| most.min(pause)));
        } else {
            descriptors.extend(&self.descriptors);
        }
        drop(rings);
        if self.settings.is_silent {
            most = Some(most.map_or(SILENT_WAIT, |most| most.min(SILENT_WAIT)));
        }
        event::wait(&descriptors, most);
    }

    /// Gives the batch back that was delivered.
    pub(super) fn release(&self, rings: &mut Rings) {
        if self.gather_thread.is_some() {
            rings.worker.release_cut();
        } else {
            rings.worker.release();
        }
    }
}
