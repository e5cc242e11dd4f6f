//! Which flows there are: counted by the workers, looked at by the view.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use tidewire::{Chunk, Direction, EndReason, FlowKey, Handler, Stream};

/// Flows that are looked at, at most: those that came first. Others are only counted.
const FLOWS_MAX: usize = 1 << 16;

/// A flow's figures are noted again after this much packet time.
const NOTED_NS: u64 = 100_000_000;

/// A flow's figures so far, both directions.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// Who with whom.
    pub key: FlowKey,
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

/// The flows that are open, by id.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<HashMap<u64, Noted>>>);

impl Shared {
    /// The figures now.
    pub fn look(&self) -> HashMap<u64, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Notes the figures of flows whose payload is delivered.
pub struct Flows {
    /// Where they are noted.
    pub shared: Shared,
}

/// When a stream was noted last, by packet time; 0: it is not.
#[derive(Default)]
pub struct LastNs(u64);

impl Handler for Flows {
    type Data = LastNs;

    fn data(&mut self, stream: &mut Stream<'_, LastNs>, chunk: Chunk<'_>) {
        let last = stream.data().0;
        if last != 0 && chunk.timestamp_ns.saturating_sub(last) < NOTED_NS {
            return;
        }
        // The view has it just now: the next packet will do.
        let Ok(mut flows) = self.shared.0.try_lock() else { return };
        let is_full = flows.len() >= FLOWS_MAX;
        let both = [Direction::ClientToServer, Direction::ServerToClient].map(|direction| stream.stats(direction));
        let packets = both.iter().map(|stats| stats.packets).sum();
        let bytes = both.iter().map(|stats| stats.frame_bytes).sum();
        match flows.entry(stream.id()) {
            Entry::Occupied(mut entry) => (entry.get_mut().packets, entry.get_mut().bytes) = (packets, bytes),
            Entry::Vacant(_) if is_full => {}
            Entry::Vacant(entry) => {
                entry.insert(Noted { key: stream.key(), packets, bytes });
            }
        }
        stream.data().0 = chunk.timestamp_ns.max(1);
    }

    fn close(&mut self, stream: &mut Stream<'_, LastNs>, _: EndReason) {
        if stream.data().0 != 0 {
            self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream.id());
        }
    }
}
