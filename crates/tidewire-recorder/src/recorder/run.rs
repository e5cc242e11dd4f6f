//! The recorder as a handler of frames.

use std::time::{Duration, Instant};

use tidewire::{Batch, CaptureLoss, EndReason, FrameHandler, PacketLoss, Shunt, Timestamp};
use tidewire_archive::block::{Interface, Supplement};
use tidewire_wire::Frame;

use super::{Recorder, flow::AHEAD};
use crate::{disk::Pipeline, look_back::Backlog};

/// A buffer is handed over after this time, full or not.
const FLUSH: Duration = Duration::from_millis(500);
/// Packets that waited are decided about for so long at a time: rings have to be emptied meanwhile. The ring holds 50 ms at 10 Gbit/s.
const RELEASE: Duration = Duration::from_millis(10);
/// The same where a ring is half full.
const RELEASE_SHORT: Duration = Duration::from_millis(1);
const RING_PERMILLE: u32 = 500;
/// How long frames are waited for while packets wait for a buffer: the writer releases one in less.
const BUFFER_PATIENCE: Duration = Duration::from_millis(1);

impl Recorder {
    fn start(&mut self) {
        if self.pipeline.is_some() {
            return;
        }
        match Pipeline::start(&self.targets, &self.settings, &self.pool, &self.status) {
            Ok(pipeline) => self.pipeline = Some(pipeline),
            Err(_) => {
                self.status.fail();
                self.targets.end();
            }
        }
    }

    /// Periodic work: buffers, times, figures.
    fn look(&mut self, now: Instant) {
        let durable = self.targets.directories.first().map_or(FLUSH, |directory| directory.settings().durable);
        let interval = FLUSH.min(durable / 2);
        // At high rates buffers are full before they are due, and the rest is due all the same.
        if now.saturating_duration_since(self.looked) < interval {
            return;
        }
        self.looked = now;
        self.end_old_segment(now);
        if now.saturating_duration_since(self.flushed) >= interval {
            self.hand_over();
        }
        self.count_shunted();
        self.publish_waiting();
        self.publish();
    }

    fn publish_waiting(&self) {
        if let Some(look_back) = &self.look_back {
            self.status.publish_waiting(look_back.waiting());
        }
    }

    fn each(&mut self, batch: &Batch<'_>, frames: &[Frame]) {
        frames.iter().for_each(|frame| self.packet(frame, batch.bytes(frame)));
    }

    fn publish(&mut self) {
        self.level_permille = self.pool.level_permille();
        self.status.publish(&self.totals, self.flows.len() as u64, self.dropped, self.level_permille);
    }

    fn sweep(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        self.flows.sweep(self.clock_ns, &mut ended);
        for (slot, reason) in ended.drain(..) {
            // Packets of its directions may be dropped by the kernel: they count as well.
            if self.cuts && self.shunt.is_some() && reason == EndReason::Timeout {
                self.count_one(slot);
                let idle_ns = u64::try_from(self.settings.idle.as_nanos()).unwrap_or(u64::MAX);
                let is_silent = |last_ns: u64| self.clock_ns.saturating_sub(last_ns) > idle_ns;
                if !self.flows.get(slot).is_some_and(|lane| is_silent(lane.last_ns)) {
                    continue;
                }
            }
            self.forget(slot, reason);
        }
        self.ended = ended;
    }
}

impl FrameHandler for Recorder {
    fn frames(&mut self, batch: &Batch<'_>) {
        self.start();
        self.level_permille = self.pool.level_permille();
        self.walk.examine(batch);
        match self.look_back.is_some() {
            true => batch.frames.iter().for_each(|frame| self.hold(frame, batch.bytes(frame))),
            false if self.filter.is_some() => self.each(batch, batch.frames),
            false => {
                let (together, rest) = batch.frames.as_chunks::<AHEAD>();
                together.iter().for_each(|frames| self.packets(batch, frames));
                self.each(batch, rest);
            }
        }
        if self.look_back.is_none() && !self.comments.is_empty() {
            self.comments.clear();
        }
        if let Some(last) = batch.frames.last() {
            self.clock_ns = self.clock_ns.max(last.clock.as_nanos());
        }
        // Those of an interface are decided about once the ring has its memory back.
        if !self.settings.is_live {
            self.release(RELEASE, false);
        }
        self.sweep();
        self.look(Instant::now());
    }

    fn describe(&mut self, number: u16, interface: &Interface) {
        self.described.insert(number, interface.clone());
    }

    fn wants_comments(&self) -> bool {
        true
    }

    fn comment(&mut self, number: u64, options: &[u8]) {
        self.comments.add(number, options);
    }

    fn losses(&mut self, losses: &[PacketLoss]) {
        self.losses.add(losses);
    }

    fn capture_losses(&mut self, losses: &[CaptureLoss]) {
        self.losses.of_files = losses.to_vec();
    }

    fn supplements(&mut self, supplements: &[Supplement]) {
        self.supplements.add_all(supplements);
    }

    fn quiet(&mut self, until: Option<Timestamp>) {
        self.start();
        self.clock_ns = self.clock_ns.max(until.map_or(0, Timestamp::as_nanos));
        if !self.settings.is_live {
            self.release(RELEASE, false);
        }
        self.sweep();
        self.look(Instant::now());
    }

    fn level(&mut self, permille: u32) {
        self.release(if permille < RING_PERMILLE { RELEASE } else { RELEASE_SHORT }, false);
    }

    fn patience(&self) -> Duration {
        match self.backlog {
            Backlog::None => Duration::MAX,
            Backlog::ForBuffers => BUFFER_PATIENCE,
            Backlog::ForTime => Duration::ZERO,
        }
    }

    fn dropped(&mut self, frames: u64) {
        self.unreported_drops += frames.saturating_sub(self.dropped);
        self.dropped = frames;
    }

    fn shunt(&mut self, shunt: Box<dyn Shunt>) {
        self.shunt = Some(shunt);
    }

    fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        // Nothing else comes: what waits has time, unless the disk refuses.
        self.waits = true;
        if let Some(pipeline) = &self.pipeline {
            pipeline.end_soon();
        }
        if let Some(look_back) = &mut self.look_back {
            look_back.look(self.clock_ns);
        }
        self.publish_waiting();
        self.release(Duration::ZERO, true);
        let slots: Vec<u32> = self.flows.slots().collect();
        slots.iter().for_each(|&slot| self.retire(slot));
        self.count_shunted();
        self.end_segment();
        if let Some(pipeline) = self.pipeline.take() {
            // A thread that panicked left something unfinished.
            if !pipeline.finish() {
                self.status.fail();
            }
            self.targets.report_repeated();
        }
        self.publish();
    }
}

impl Drop for Recorder {
    /// A run that failed keeps what it has.
    fn drop(&mut self) {
        if self.pipeline.is_some() {
            self.finish();
        }
    }
}
