//! The state of an engine, and its settings.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    fmt,
};

use super::{
    delivery::{Delivery, Outputs},
    other_subflows::{NullHandler, OtherSubflows},
};
use crate::{
    ChecksumMode, Classify, Config, DuplicateRule, Handler, History, Ledger, Mode, Share, Shunt, TcpPolicy,
    accounting::Accounting,
    budget::Budget,
    capture_losses::CaptureLosses,
    connection::{Connection, Shared},
    defrag::Defragmenter,
    delivery_log::DeliveryLog,
    duplicates::{DuplicateTable, Secrets},
    flow::{Key, KeyMask, LookupCache, NO_SLOT, OpenEntries, Table},
    mptcp::{multipath::Multipath, subflow::Event},
    packet::Now,
    path::Paths,
    subscriber::Subscribers,
    wire::{Decoded, Slices},
};

/// Slots of the flow table that a slot number can address.
const SLOTS_MAX: u32 = 1 << 28;
/// Frames that are decoded and hashed together before the table is touched, so that cache misses overlap.
pub(super) const GROUP: usize = 32;

/// Whether the settings allow the fast path: none of them concerns packets that it handles.
fn allows_fast_path(config: &Config) -> bool {
    let holds = |policy: TcpPolicy| policy.holds_until_acknowledged();
    let is_inline = config.urgent_inline != Config::default().urgent_inline;
    !config.shed && !is_inline && config.ttl_min == 0 && !holds(config.tcp_policy) && !config.targets.any(holds)
}

/// A decoded and hashed frame.
#[derive(Clone, Copy)]
pub(crate) struct Prepared {
    pub(super) decoded: Decoded,
    pub(super) key: Key,
    /// The hash of the key; 0: not a packet of a flow.
    pub(super) hash: u64,
    /// The likely slot of the flow, or [`OTHER_WORKER`].
    pub(super) slot: u32,
    pub(super) from_a: bool,
    /// The place of its direction in the lookup cache.
    pub(super) place: u8,
}

impl Prepared {
    pub(super) const NONE: Self =
        Self { decoded: Decoded::EMPTY, key: Key::NONE, hash: 0, slot: 0, from_a: false, place: 0 };
}

/// Sentinel in place of a slot: the flow belongs to another worker.
pub(super) const OTHER_WORKER: u32 = NO_SLOT - 1;

/// State of the sweep for flows that timed out.
#[derive(Default)]
pub(super) struct Sweep {
    pub(super) cursor: u32,
    pub(super) paid_until_ns: u64,
    /// State of the random numbers that sample flows to reclaim memory from.
    pub(super) random: u64,
    /// Clock at which the shunt was last tidied.
    pub(super) tidied_ns: u64,
}

/// One worker: decodes, defragments, tracks, reassembles, and calls its handler.
pub struct Engine<H: Handler> {
    pub(super) table: Table<H::Data>,
    pub(super) shared: Shared,
    pub(super) outputs: Outputs<H>,
    pub(super) paths: Paths,
    pub(super) share: Share,
    /// Whether the settings allow the fast path.
    pub(super) has_fast_path: bool,
    pub(super) classifier: Option<Box<dyn Classify>>,
    /// Created with the first fragment.
    pub(super) defragmenter: Option<Box<Defragmenter>>,
    /// Packets of a moment ago; `None` where copies are kept.
    pub(super) duplicates: Option<Box<DuplicateTable>>,
    /// Secrets of fingerprints.
    pub(super) secrets: Box<Secrets>,
    /// Directions that sent recently.
    pub(super) lookup_cache: Box<LookupCache>,
    /// Scratch of `process`, kept so that it is not cleared for every batch.
    pub(super) prepared: Option<Box<[Prepared; GROUP]>>,
    /// Frames that were cut before the capture.
    pub(super) slices: Slices,
    /// Those of the current group: their places in it and their lengths on the wire.
    pub(super) cut_frames: Vec<(usize, u32)>,
    /// State of the sweep.
    pub(super) sweep: Sweep,
    /// Closed connections with the clock at which their end is reported, earliest first: (clock, slot, flow id). Each
    /// flow is listed at most once, see [`crate::flow::closing`].
    pub(super) closing: BinaryHeap<Reverse<(u64, u32, u64)>>,
    /// Streams that [`finish_some`](Self::finish_some) has not closed yet.
    pub(super) finishing: Option<OpenEntries>,
    /// Subflows of other workers, of connections of this one; and the engine that has them.
    pub(super) other_subflows: OtherSubflows,
    pub(super) second_engine: Option<Box<Engine<NullHandler>>>,
}

impl<H: Handler> fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let received = self.shared.ledger.received;
        f.debug_struct("Engine").field("share", &self.share).field("received", &received).finish_non_exhaustive()
    }
}

impl<H: Handler> Engine<H> {
    /// Creates an engine for its share of the flows. The settings are not checked: see [`Config::check`].
    #[must_use]
    pub fn new(config: Config, share: Share, handler: H) -> Self {
        // Track mode delivers nothing, so there is nothing to compare with.
        let runs = if config.mode == Mode::Track { 0 } else { config.history_segments };
        let mut config = config;
        config.flows_max = config.flows_max.min(SLOTS_MAX);
        config.wire.verify_outer &= config.checksum != ChecksumMode::Ignore;
        let mut handler = handler;
        let subscribers = match handler.membership() {
            Some(membership) if H::APPLICATIONS => Subscribers::new(membership.subscriptions(), &mut config),
            _ => Subscribers::default(),
        };
        config.fragment_memory_bytes = config.fragment_memory_bytes.min(config.memory_bytes / 2);
        let streams_bytes = config.memory_bytes - config.fragment_memory_bytes;
        Self {
            table: Table::new(KeyMask::of(config.key_ids)),
            duplicates: DuplicateTable::new(config.duplicates),
            secrets: Box::new(Secrets::new(config.hash_key)),
            outputs: Outputs { handler, subscribers, flushes: VecDeque::new(), shunt: None, level_permille: 0 },
            paths: Paths::new(&config),
            share,
            has_fast_path: allows_fast_path(&config),
            classifier: None,
            defragmenter: None,
            lookup_cache: Box::new(LookupCache::new()),
            prepared: None,
            slices: Slices::new(config.wire.slicing),
            cut_frames: Vec::new(),
            sweep: Sweep::default(),
            closing: BinaryHeap::new(),
            finishing: None,
            other_subflows: OtherSubflows::default(),
            second_engine: None,
            shared: Shared {
                accounting: Accounting::new(Budget::new(streams_bytes, config.source_buffer_bytes, config.hash_key)),
                ledger: Ledger::default(),
                history: None,
                delivery_log: DeliveryLog::new(runs, config.history_copy_bytes),
                scratch: Vec::new(),
                now: Now::default(),
                losses: CaptureLosses::default(),
                undecided: 0,
                multipath: Multipath::default(),
                config,
            },
        }
    }

    /// The connection of a slot, which becomes the current one, and the receivers of its events.
    #[inline(always)]
    pub(super) fn connection(&mut self, slot: u32) -> (Connection<'_>, Delivery<'_, H>) {
        self.shared.now.slot = slot;
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        (Connection { flow, shared: &mut self.shared }, Delivery { outputs: &mut self.outputs, data })
    }

    #[inline(always)]
    pub(super) fn is_own_flow(&self, hash: u64) -> bool {
        self.share.count == 1 || ((hash >> 32) * u64::from(self.share.count)) >> 32 == u64::from(self.share.index)
    }

    /// Sets the classifier of new streams.
    pub fn set_classifier(&mut self, classifier: Box<dyn Classify>) {
        self.classifier = Some(classifier);
    }

    /// Sets the source from which delivered bytes are read again (see [`Config::history_segments`]).
    pub fn set_history(&mut self, history: Box<dyn History>) {
        self.shared.history = Some(history);
    }

    /// Sets the shunt, which keeps packets of cut directions from the engine.
    pub fn set_shunt(&mut self, shunt: Box<dyn Shunt>) {
        self.outputs.shunt = Some(shunt);
    }

    /// Sets which packets are copies from now on: see [`Config::duplicates`].
    pub fn set_duplicates(&mut self, rule: DuplicateRule) {
        self.shared.config.duplicates = rule;
        self.duplicates = DuplicateTable::new(rule);
    }

    /// The fates of all packets so far.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// Bytes buffered out of order and in chunks, with their bookkeeping. 0 after [`Self::finish`].
    #[must_use]
    pub fn buffered_bytes(&self) -> u64 {
        self.shared.accounting.budget.used
    }

    /// Memory of everything that grows with the traffic, as charged: tables with their indexes and lists, what flows
    /// hold ([`Self::buffered_bytes`]), fragments, history. Without the handler's state.
    #[must_use]
    pub fn charged_bytes(&self) -> u64 {
        let shared = &self.shared;
        let lists = shared.accounting.holders.capacity() * size_of::<u32>()
            + self.outputs.flushes.capacity() * size_of::<(u64, u32, u64)>()
            + self.closing.capacity() * size_of::<Reverse<(u64, u32, u64)>>()
            + shared.scratch.capacity();
        let fragments = self.defragmenter.as_ref().map_or(0, |defragmenter| defragmenter.bytes());
        let multipath = shared.multipath.registry.bytes()
            + (shared.multipath.events.capacity() * size_of::<Event>()) as u64
            + self.other_subflows.bytes()
            + self.second_engine.as_ref().map_or(0, |engine| engine.charged_bytes());
        let tables = self.table.bytes() + shared.accounting.budget.bytes() + lists as u64 + multipath;
        shared.accounting.budget.used + tables + fragments + shared.delivery_log.bytes()
    }

    /// The handler.
    pub fn handler(&mut self) -> &mut H {
        &mut self.outputs.handler
    }

    /// Returns the handler and the final ledger.
    #[must_use]
    pub fn into_parts(self) -> (H, Ledger) {
        (self.outputs.handler, self.shared.ledger)
    }
}
