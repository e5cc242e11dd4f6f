//! A set of queues with the same settings, shared by the workers.
//!
//! A queue is one ring with one order of records, and readers count its losses by that order: workers publish in it in turn,
//! behind a mutex that is held for one record. A ring for each worker would be a queue for each worker, which a set of queues is
//! for readers as well. What sharing costs is measured by `crates/tidewire-queue/examples/shared_publisher.rs`.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tidewire::{Endpoint, FlowKey};
use tidewire_outputs::Load;
use tidewire_queue::{Owners, PRIORITIES, Publisher, Record, records::PacketHeader};

use tidewire_types::is_shed;

use crate::config::Distribution;

/// The priority of records that say what became of a stream: it is never shed.
const PRIORITY_KEPT: u8 = PRIORITIES - 1;

/// The queues of a set. Clones are the same set: each worker has one.
#[derive(Clone, Debug)]
pub struct QueueSet {
    queues: Arc<Vec<Mutex<Queue>>>,
    distribution: Distribution,
    /// How many streams or packets were distributed in turn.
    turn: Arc<AtomicUsize>,
    /// The key of flow hashes: random, so that no sender can direct streams at one queue.
    hasher: RandomState,
    record_bytes_max: usize,
}

/// One queue.
#[derive(Debug)]
pub(super) struct Queue {
    publisher: Publisher,
    /// The load of the capture, to which it gives way.
    load: Load,
    /// Streams that were opened in it.
    streams: u64,
    /// Payloads that are put together.
    pub(super) scratch: Vec<u8>,
}

impl QueueSet {
    /// A set of queues.
    ///
    /// # Panics
    /// Without a queue.
    #[must_use]
    pub fn new(publishers: Vec<Publisher>, distribution: Distribution) -> Self {
        let sizes = publishers.iter().map(|publisher| publisher.geometry().record_bytes_max());
        let least = sizes.min().expect("a set has a queue");
        let queue = |publisher| Mutex::new(Queue { publisher, load: Load::default(), streams: 0, scratch: Vec::new() });
        Self {
            queues: Arc::new(publishers.into_iter().map(queue).collect()),
            distribution,
            turn: Arc::default(),
            hasher: RandomState::new(),
            record_bytes_max: usize::try_from(least).unwrap_or(usize::MAX),
        }
    }

    /// Has payload shed by its priority where the capture's rings fill.
    #[must_use]
    pub fn giving_way_to(self, load: &Load) -> Self {
        (0..self.queues.len()).for_each(|index| self.queue(index).load = load.clone());
        self
    }

    /// The next queue in turn.
    pub(super) fn next(&self) -> usize {
        match self.queues.len() {
            1 => 0,
            count => self.turn.fetch_add(1, Ordering::Relaxed) % count,
        }
    }

    /// The queue of a flow, the same for both directions.
    pub(super) fn of_flow(&self, key: &FlowKey) -> usize {
        let count = self.queues.len();
        if count == 1 {
            return 0;
        }
        let ends = |end: &Endpoint| (end.address, end.port);
        let (client, server) = (ends(&key.client), ends(&key.server));
        let hash = self.hasher.hash_one((client.min(server), client.max(server), key.proto));
        (hash % count as u64) as usize
    }

    /// How streams or packets are distributed.
    pub(super) fn distribution(&self) -> Distribution {
        self.distribution
    }

    /// A queue, for one worker at a time.
    #[inline]
    pub(super) fn queue(&self, index: usize) -> MutexGuard<'_, Queue> {
        self.queues[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Most bytes of one record.
    #[inline]
    pub(super) fn record_bytes_max(&self) -> usize {
        self.record_bytes_max
    }

    /// Ends every queue: everything was published. `false`: not done, because another clone is there.
    #[must_use]
    pub fn finish(self) -> bool {
        let Ok(queues) = Arc::try_unwrap(self.queues) else { return false };
        for queue in queues {
            queue.into_inner().unwrap_or_else(PoisonError::into_inner).publisher.finish();
        }
        true
    }
}

impl Queue {
    /// The ordinal of a new stream.
    pub(super) fn count_stream(&mut self) -> u64 {
        let ordinal = self.streams;
        self.streams += 1;
        ordinal
    }

    /// Whether the stream's OPEN has to be published before its next record.
    #[inline]
    pub(super) fn needs_open(&mut self, owners: &mut Owners) -> bool {
        self.publisher.needs_open(owners)
    }

    /// Publishes a record that may be shed.
    #[inline]
    pub(super) fn publish(&mut self, owners: &mut Owners, priority: u8, record: &Record, payload: &[u8]) {
        if is_shed(priority, self.load.most()) {
            return self.publisher.shed_stream(owners, record, payload);
        }
        // No record is longer than the set allows. What is shed becomes a gap, for which the owners keep it.
        let published = self.publisher.publish_stream(owners, priority, record, payload);
        debug_assert!(published.is_ok(), "{published:?}");
    }

    /// Publishes a record without payload that is not shed.
    pub(super) fn publish_always(&mut self, owners: &mut Owners, record: &Record) {
        self.publish(owners, PRIORITY_KEPT, record, &[]);
    }

    /// Publishes what `scratch` holds; it is not shed.
    pub(super) fn publish_scratch(&mut self, owners: &mut Owners, record: &Record) {
        let scratch = std::mem::take(&mut self.scratch);
        self.publish(owners, PRIORITY_KEPT, record, &scratch);
        self.scratch = scratch;
    }

    /// Publishes a packet.
    pub(super) fn publish_packet(
        &mut self,
        owners: &mut Owners,
        priority: u8,
        record: &Record,
        header: &PacketHeader,
        bytes: &[u8],
    ) {
        // There are no OPENs in a packet queue; this chooses the packet's owners.
        self.publisher.needs_open(owners);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        header.encode(&mut scratch);
        scratch.extend_from_slice(bytes);
        self.publish(owners, priority, record, &scratch);
        self.scratch = scratch;
    }
}
