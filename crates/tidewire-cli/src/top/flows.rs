//! Flow counters for the view, updated by the workers.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use tidewire::{Chunk, Direction, EndReason, FlowKey, Handler, Stream};

/// Most flows that are counted individually: the first ones. Others only count in totals.
const FLOWS_MAX: usize = 1 << 16;

/// Counters of a flow, both directions.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// Its endpoints.
    pub key: FlowKey,
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

/// The same counters, shared with its worker.
#[derive(Debug, Default)]
struct Figures {
    packets: AtomicU64,
    bytes: AtomicU64,
    is_over: AtomicBool,
}

impl Figures {
    fn note<D>(&self, stream: &Stream<'_, D>) {
        let both = Direction::BOTH.map(|direction| stream.stats(direction));
        self.packets.store(both.iter().map(|stats| stats.packets).sum(), Relaxed);
        self.bytes.store(both.iter().map(|stats| stats.frame_bytes).sum(), Relaxed);
    }
}

/// A flow with its counters.
type Entry = (FlowKey, Arc<Figures>);

/// Open flows, and those that ended since the last look, by id.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<HashMap<u64, Entry>>>);

impl Shared {
    /// Current counters. Flows that ended are reported a last time.
    pub fn look(&self) -> HashMap<u64, Noted> {
        let mut flows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = HashMap::with_capacity(flows.len());
        flows.retain(|&id, (key, figures)| {
            // Checked first: what was counted before is included.
            let is_over = figures.is_over.load(Acquire);
            let (packets, bytes) = (figures.packets.load(Relaxed), figures.bytes.load(Relaxed));
            now.insert(id, Noted { key: *key, packets, bytes });
            !is_over
        });
        now
    }
}

/// The handler that updates the counters.
pub struct Flows {
    /// The shared counters.
    pub shared: Shared,
}

/// Counters of a stream; `None` if it is not counted individually.
#[derive(Default)]
pub struct Mine(Option<Arc<Figures>>);

impl Handler for Flows {
    type Data = Mine;

    fn data(&mut self, stream: &mut Stream<'_, Mine>, _: Chunk<'_>) {
        if stream.data().0.is_none() {
            // The view holds the lock: the next packet updates them.
            let Ok(mut flows) = self.shared.0.try_lock() else { return };
            if flows.len() >= FLOWS_MAX {
                return;
            }
            let figures = Arc::<Figures>::default();
            flows.insert(stream.id(), (stream.key(), Arc::clone(&figures)));
            stream.data().0 = Some(figures);
        }
        if let Some(figures) = stream.data().0.take() {
            figures.note(stream);
            stream.data().0 = Some(figures);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, Mine>, _: EndReason) {
        if let Some(figures) = stream.data().0.take() {
            figures.note(stream);
            figures.is_over.store(true, Release);
        }
    }
}
