//! One worker: its rings, its engine, and its reports.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tidewire_core::{Batch, Engine, Handler, Ledger, PacketLoss};
use tidewire_live::{Error as LiveError, TICK, Worker as Rings};

use super::WorkerReport;
use crate::{
    Timestamp,
    frames::{Counted, FrameHandler, FrameTap},
    trace::{WorkerTrace, permille},
};

/// How often a worker reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Limit for rings that show frames after they were stopped: no interface fills a ring for that long.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// The callback for the level of a worker's rings, which workers share.
pub(crate) type OnLevel = Option<Arc<dyn Fn(usize, u32) + Send + Sync>>;

/// Work of a worker on its frames.
pub(crate) trait Consume {
    /// Takes in frames.
    fn process(&mut self, batch: &Batch<'_>);
    /// Frames that the rings lost at times of these frames, or shortly before.
    fn lost(&mut self, losses: &[PacketLoss]) {
        let _ = losses;
    }
    /// Nothing came until then.
    fn tick(&mut self, now: Timestamp) {
        let _ = now;
    }
    /// How full the rings are, in thousandths.
    fn publish_level(&mut self, permille: u32) {
        let _ = permille;
    }
    /// Frames that the kernel dropped before the rings so far.
    fn dropped(&mut self, frames: u64) {
        let _ = frames;
    }
    /// There is nothing more.
    fn finish(&mut self) {}
    /// How long frames may be waited for at most.
    fn patience(&self) -> Duration {
        Duration::MAX
    }
    /// Where the frames went.
    fn ledger(&self) -> &Ledger;
    /// Bytes held back.
    fn buffered_bytes(&self) -> u64 {
        0
    }
}

impl<H: Handler> Consume for Engine<H> {
    fn process(&mut self, batch: &Batch<'_>) {
        Engine::process(self, batch);
    }

    fn lost(&mut self, losses: &[PacketLoss]) {
        Engine::note_past_losses(self, losses);
    }

    fn tick(&mut self, now: Timestamp) {
        Engine::tick(self, now);
    }

    fn publish_level(&mut self, permille: u32) {
        Engine::publish_level(self, permille);
    }

    fn finish(&mut self) {
        Engine::finish(self);
    }

    fn ledger(&self) -> &Ledger {
        Engine::ledger(self)
    }

    fn buffered_bytes(&self) -> u64 {
        Engine::buffered_bytes(self)
    }
}

/// An engine, and what gets frames before it.
pub(crate) struct Tapped<C> {
    pub engine: C,
    pub tap: FrameTap,
}

impl<C: Consume> Consume for Tapped<C> {
    fn process(&mut self, batch: &Batch<'_>) {
        if let Some(handler) = &mut self.tap.0 {
            handler.frames(batch);
        }
        self.engine.process(batch);
    }

    fn lost(&mut self, losses: &[PacketLoss]) {
        self.engine.lost(losses);
    }

    fn tick(&mut self, now: Timestamp) {
        if let Some(handler) = &mut self.tap.0 {
            handler.quiet(Some(now));
        }
        self.engine.tick(now);
    }

    fn publish_level(&mut self, permille: u32) {
        if let Some(handler) = &mut self.tap.0 {
            handler.level(permille);
        }
        self.engine.publish_level(permille);
    }

    fn dropped(&mut self, frames: u64) {
        if let Some(handler) = &mut self.tap.0 {
            handler.dropped(frames);
        }
        self.engine.dropped(frames);
    }

    fn finish(&mut self) {
        if let Some(handler) = &mut self.tap.0 {
            handler.finish();
        }
        self.engine.finish();
    }

    fn patience(&self) -> Duration {
        self.tap.0.as_ref().map_or(Duration::MAX, |handler| handler.patience()).min(self.engine.patience())
    }

    fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }

    fn buffered_bytes(&self) -> u64 {
        self.engine.buffered_bytes()
    }
}

impl<F: FrameHandler> Consume for Counted<F> {
    fn process(&mut self, batch: &Batch<'_>) {
        self.count(batch);
        self.handler.frames(batch);
    }

    fn tick(&mut self, now: Timestamp) {
        self.handler.quiet(Some(now));
    }

    fn publish_level(&mut self, permille: u32) {
        self.handler.level(permille);
    }

    fn dropped(&mut self, frames: u64) {
        self.handler.dropped(frames);
    }

    fn patience(&self) -> Duration {
        self.handler.patience()
    }

    fn finish(&mut self) {
        self.handler.finish();
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// State shared by the workers and the monitor. Not used on the packet path.
#[derive(Default)]
pub(crate) struct Shared {
    /// By worker.
    pub reports: Vec<Mutex<WorkerReport>>,
    pub troubles: Mutex<Vec<LiveError>>,
    pub stop: AtomicBool,
    /// Frames that may still be taken in; unlimited where it is `u64::MAX`.
    pub left: AtomicU64,
    on_level: OnLevel,
}

impl Shared {
    pub(crate) fn new(workers: usize, most: Option<u64>, on_level: OnLevel) -> Arc<Self> {
        Arc::new(Self {
            reports: (0..workers).map(|_| Mutex::default()).collect(),
            left: AtomicU64::new(most.unwrap_or(u64::MAX)),
            on_level,
            ..Self::default()
        })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.left.load(Ordering::Relaxed) == 0
    }

    /// How many of `frames` may be taken in.
    fn admit(&self, frames: usize) -> usize {
        if self.left.load(Ordering::Relaxed) == u64::MAX {
            return frames;
        }
        let take = |left: u64| Some(left.saturating_sub(frames as u64));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        usize::try_from(before).unwrap_or(usize::MAX).min(frames)
    }
}

pub(crate) struct Work<'s, C: Consume> {
    pub index: usize,
    pub rings: Rings,
    pub engine: C,
    pub shared: &'s Shared,
    pub cpu: Option<usize>,
    pub memory_bytes: u64,
    /// When the worker reported last.
    pub reported_at: Instant,
    trace: WorkerTrace,
}

impl<'s, C: Consume> Work<'s, C> {
    /// A worker that starts, on this CPU if it is bound to one.
    pub(crate) fn new(
        index: usize,
        rings: Rings,
        engine: C,
        shared: &'s Shared,
        cpu: Option<usize>,
        memory_bytes: u64,
    ) -> Self {
        let (trace, reported_at) = (WorkerTrace::start(index, cpu), Instant::now());
        Self { index, rings, engine, shared, cpu, memory_bytes, reported_at, trace }
    }

    /// Takes in what has arrived, or waits for it a little.
    pub(crate) fn step(&mut self) {
        let Self { rings, engine, shared, .. } = self;
        let frames = rings.poll_with_losses(TICK.min(engine.patience()), |batch, losses| {
            engine.lost(losses);
            let admitted = shared.admit(batch.frames.len());
            engine.process(&Batch::new(batch.memory, batch.frames.get(..admitted).unwrap_or_default()));
        });
        if frames == 0 {
            engine.tick(rings.quiet_until());
        }
        engine.publish_level(rings.level_permille());
        if let Some(call) = &shared.on_level {
            call(self.index, rings.level_permille());
        }
        self.trace.level(|| rings.level_permille().max(permille(engine.buffered_bytes(), self.memory_bytes)));
        if self.reported_at.elapsed() >= REPORT_INTERVAL {
            self.report(false);
        }
    }

    /// Takes in what is still in the rings, and ends every stream.
    pub(crate) fn finish(&mut self) {
        self.rings.stop();
        let (begun, delay) = (Instant::now(), self.rings.delay() + TICK);
        loop {
            let frames = self.rings.poll_with_losses(Duration::from_millis(1), |batch, losses| {
                self.engine.lost(losses);
                let admitted = self.shared.admit(batch.frames.len());
                let frames = batch.frames.get(..admitted).unwrap_or_default();
                self.engine.process(&Batch::new(batch.memory, frames));
            });
            if frames == 0 && begun.elapsed() >= delay || begun.elapsed() >= DRAIN_MAX {
                break;
            }
        }
        if let Ok(rings) = self.rings.counts() {
            self.engine.dropped(rings.dropped + rings.failed);
        }
        // Also what was lost behind the last frame.
        self.engine.lost(&self.rings.take_losses());
        self.engine.finish();
        self.trace.end(self.engine.ledger());
        self.report(true);
    }

    fn report(&mut self, ended: bool) {
        self.reported_at = Instant::now();
        let mut troubles = self.rings.troubles();
        let rings = self.rings.counts().unwrap_or_else(|error| {
            troubles.push(error);
            Default::default()
        });
        self.engine.dropped(rings.dropped + rings.failed);
        self.trace.bounds(self.engine.ledger());
        let report = WorkerReport {
            cpu: self.cpu,
            rings,
            frames: self.rings.frames(),
            late: self.rings.late(),
            ring_level_permille: self.rings.level_permille(),
            buffered_bytes: self.engine.buffered_bytes(),
            memory_bytes: self.memory_bytes,
            ledger: self.engine.ledger().clone(),
            at: Some(self.reported_at),
            ended,
        };
        if let Some(place) = self.shared.reports.get(self.index) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = report;
        }
        if !troubles.is_empty() {
            self.shared.troubles.lock().unwrap_or_else(PoisonError::into_inner).extend(troubles);
        }
    }
}
