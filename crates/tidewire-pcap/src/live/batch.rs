//! Collects the next batch, or waits for it.
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
use crate::{control::Control, event};

/// Longest single wait if descriptors do not show that a device is gone.
pub(super) const SILENT_WAIT: Duration = Duration::from_millis(500);

/// Longest single wait for packets of other devices to merge.
const MERGE_WAIT: Duration = Duration::from_millis(1);

/// The result of collecting packets.
enum Gathered {
    /// A batch is ready.
    Batch,
    /// Some packets are there; try again after this time.
    Some(Duration),
    /// No packets are there.
    Nothing,
}

/// The result of waiting for packets.
pub(super) enum Waited {
    Packets,
    Nothing,
    Stopped,
    Failed(String),
}

impl Live {
    /// Collects the next batch. If allowed, waits until a packet arrives, the timeout expires (if `times_out`), or the read
    /// must end.
    pub(super) fn fill(&self, handle: &Control, wait: bool, times_out: bool) -> Waited {
        // SAFETY: as in `finish`.
        if let Some(trouble) = unsafe { (*self.reader.get()).trouble.take() } {
            return Waited::Failed(trouble);
        }
        // `pcap_loop` always waits (pcap_loop(3PCAP)).
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
                // They are delivered soon, whatever the timeout of the program is.
                Gathered::Some(more) => event::wait(&[handle.woken.as_raw_fd()], Some(more)),
                _ => self.wait(handle, most),
            }
            if handle.is_stopped() {
                return Waited::Stopped;
            }
        }
    }

    /// Collects the packets that are there. With locality and time to wait, a batch is ready when it is full or old enough.
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

    /// Takes the batch of the gather thread, if one is ready.
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

    /// Removes packets that the new filter rejects, if the kernel does not, or not yet, apply it.
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
            // The new filter rejects the whole batch.
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
        // On an error, the next read reports it.
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
            // A ring in error is always readable, and so is one whose packets wait to be merged.
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

    /// Releases a delivered batch.
    pub(super) fn release(&self, rings: &mut Rings) {
        if self.gather_thread.is_some() {
            rings.worker.release_cut();
        } else {
            rings.worker.release();
        }
    }
}
