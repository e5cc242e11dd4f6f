//! The engine of one worker: batches of frames in, handler calls out.
//!
//! `Engine::process` handles frames in groups of 32, in three passes, so that memory is in the cache when it is needed:
//! First, each frame is decoded (`wire::decode_into`). Packets come in trains: `flow/lookup_cache.rs` holds key, hash
//! and slot of the 64 directions that sent last; of any other direction the key is made and hashed, and its index line
//! is prefetched. Second, the likely slot of these is read from the index, and the flow's lines are prefetched. Third,
//! each packet is processed.
//!
//! Packet time advances once for each group: chunks are flushed, half-open connections and silent flows end.
//!
//! | file of `engine/` | what |
//! |---|---|
//! | `transport.rs` | look-up: found, half-open, first packet midstream, or new |
//! | `half_open.rs` | connections of which only a SYN was seen |
//! | `new_flow.rs` | a new stream: what its first packet says about it, its class |
//! | `reopen.rs`, `held_syn.rs` | a SYN on an existing flow: whether it opens another connection, or waits for its answer |
//! | `midstream.rs` | the first packet of a connection joined midstream |
//! | `receive.rs`, `path.rs`, `shed.rs` | counts a packet, shows it to the handler, doubts or sheds it, and passes its payload to its protocol |
//! | `fragments.rs`, `aggregate.rs` | packets that are not frames themselves |
//! | `chunks.rs`, `subscribers.rs` | chunks; several applications |
//! | `accounting.rs` | the memory that flows hold |
//! | `lifetime.rs` | how flows end |
//! | `shunted.rs` | packets counted before the engine |

mod accounting;
mod aggregate;
mod chunks;
mod client;
pub(crate) mod context;
mod duplicates;
mod fragments;
mod half_open;
mod held_syn;
mod lifetime;
mod midstream;
mod new_flow;
mod other_ids;
mod path;
mod receive;
mod reopen;
mod shed;
mod shunted;
mod subscribers;
mod times;
mod transport;
mod unfinished;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    fmt,
};

use self::{accounting::Accounting, context::FlowContext};
use crate::{
    Batch, ChecksumMode, Classify, Config, Deliver, DuplicateRule, Fate, Frame, History, Ledger, Mode, Outside,
    OutsidePacket, PacketLoss, Share, Shunt,
    budget::Budget,
    capture_losses::CaptureLosses,
    defrag::Defragmenter,
    duplicates::{DuplicateTable, Secrets},
    flow::{DirectedKey, Key, KeyMask, LookupCache, NO_SLOT, OpenEntries, Table},
    packet::{Now, frame_number},
    path::Paths,
    subscriber::Subscribers,
    tcp::delivery_log::DeliveryLog,
    wire::{self, Brief, Decoded, Kind, Slices},
};

/// Slots of the flow table that a slot number can address.
const SLOTS_MAX: u32 = 1 << 28;
/// Frames that are decoded and hashed together before the table is touched, so that cache misses overlap.
const GROUP: usize = 32;

/// A decoded and hashed frame.
#[derive(Clone, Copy)]
pub(crate) struct Prepared {
    decoded: Decoded,
    key: Key,
    /// The hash of the key; 0: not a packet of a flow.
    hash: u64,
    /// The likely slot of the flow, or [`OTHER_WORKER`].
    slot: u32,
    from_a: bool,
    /// The place of its direction in the lookup cache.
    place: u8,
}

impl Prepared {
    const NONE: Self = Self { decoded: Decoded::EMPTY, key: Key::NONE, hash: 0, slot: 0, from_a: false, place: 0 };
}

/// Sentinel in place of a slot: the flow belongs to another worker.
const OTHER_WORKER: u32 = NO_SLOT - 1;

/// State of the sweep for flows that timed out.
#[derive(Default)]
struct Sweep {
    cursor: u32,
    paid_until_ns: u64,
    /// State of the random numbers that sample flows to reclaim memory from.
    random: u64,
    /// Clock at which the shunt was last tidied.
    tidied_ns: u64,
}

/// One worker: decodes, defragments, tracks, reassembles, and calls its handler.
pub struct Engine<H: Deliver> {
    table: Table<H::Data>,
    context: FlowContext<H>,
    share: Share,
    /// See `FlowContext::has_fast_path`.
    has_fast_path: bool,
    classifier: Option<Box<dyn Classify>>,
    /// Created with the first fragment.
    defragmenter: Option<Box<Defragmenter>>,
    /// Packets of a moment ago; `None` where copies are kept.
    duplicates: Option<Box<DuplicateTable>>,
    /// Secrets of fingerprints.
    secrets: Box<Secrets>,
    /// Directions that sent recently.
    lookup_cache: Box<LookupCache>,
    /// Scratch of `process`, kept so that it is not cleared for every batch.
    prepared: Option<Box<[Prepared; GROUP]>>,
    /// Frames that were cut before the capture.
    slices: Slices,
    /// Those of the current group: their places in it and their lengths on the wire.
    cut_frames: Vec<(usize, u32)>,
    /// State of the sweep.
    sweep: Sweep,
    /// Closed connections with the clock at which their end is reported, earliest first: (clock, slot, flow id). Each
    /// flow is listed at most once, see [`crate::flow::closing`].
    closing: BinaryHeap<Reverse<(u64, u32, u64)>>,
    /// Streams that [`finish_some`](Self::finish_some) has not closed yet.
    finishing: Option<OpenEntries>,
}

impl<H: Deliver> fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let received = self.context.ledger.received;
        f.debug_struct("Engine").field("share", &self.share).field("received", &received).finish_non_exhaustive()
    }
}

impl<H: Deliver> Engine<H> {
    /// Creates an engine for its share of the flows. The settings are not checked: see [`Config::check`].
    #[must_use]
    pub fn new(config: Config, share: Share, handler: H) -> Self {
        // Track mode delivers nothing, so there is nothing to compare with.
        let runs = if config.mode == Mode::Track { 0 } else { config.history_segments };
        let mut config = config;
        config.flows_max = config.flows_max.min(SLOTS_MAX);
        config.wire.verify_outer &= config.checksum != ChecksumMode::Ignore;
        let subscribers = match H::SUBSCRIBERS {
            true => Subscribers::new(handler.subscribers(), &mut config),
            false => Subscribers::default(),
        };
        config.fragment_memory_bytes = config.fragment_memory_bytes.min(config.memory_bytes / 2);
        let streams_bytes = config.memory_bytes - config.fragment_memory_bytes;
        let slices = Slices::new(config.wire.slicing);
        let context = FlowContext {
            accounting: Accounting::new(Budget::new(streams_bytes, config.source_buffer_bytes, config.hash_key)),
            slow_path: config.shed || config.urgent_inline != Config::default().urgent_inline,
            handler,
            ledger: Ledger::default(),
            history: None,
            shunt: None,
            level_permille: 0,
            delivery_log: DeliveryLog::new(runs, config.history_copy_bytes),
            now: Now::default(),
            losses: CaptureLosses::default(),
            flushes: VecDeque::new(),
            paths: Paths::new(&config),
            undecided: 0,
            scratch: Vec::new(),
            subscribers,
            config,
        };
        let mut engine = Self {
            table: Table::new(KeyMask::of(context.config.key_ids)),
            duplicates: DuplicateTable::new(context.config.duplicates),
            secrets: Box::new(Secrets::new(context.config.hash_key)),
            context,
            share,
            has_fast_path: false,
            classifier: None,
            defragmenter: None,
            lookup_cache: Box::new(LookupCache::new()),
            prepared: None,
            slices,
            cut_frames: Vec::new(),
            sweep: Sweep::default(),
            closing: BinaryHeap::new(),
            finishing: None,
        };
        engine.context.slow_path |= engine.holds_somewhere();
        engine.has_fast_path = engine.context.has_fast_path();
        engine
    }

    /// Whether any overlap policy holds bytes until they are acknowledged.
    fn holds_somewhere(&self) -> bool {
        let config = &self.context.config;
        config.tcp_policy.holds_until_acknowledged() || config.targets.any(|tcp| tcp.holds_until_acknowledged())
    }

    /// Sets the classifier of new streams.
    pub fn set_classifier(&mut self, classifier: Box<dyn Classify>) {
        self.classifier = Some(classifier);
    }

    /// Sets the source from which delivered bytes are read again (see [`Config::history_segments`]).
    pub fn set_history(&mut self, history: Box<dyn History>) {
        self.context.history = Some(history);
    }

    /// Sets the shunt, which keeps packets of cut directions from the engine.
    pub fn set_shunt(&mut self, shunt: Box<dyn Shunt>) {
        self.context.shunt = Some(shunt);
    }

    /// Advances the clock without a packet: flushes chunks and ends streams as the next packet with this clock would.
    /// Packets must not have an earlier clock afterwards.
    pub fn tick(&mut self, clock_ns: u64) {
        if clock_ns > self.context.now.clock_ns {
            self.pass_time(clock_ns);
        }
    }

    /// Reports the ends of closed connections as [`tick`](Self::tick) to this clock would, and nothing else: the clock
    /// stays, nothing times out, no chunk is flushed. For silence of an input whose packets may be late: they may have
    /// an earlier clock afterwards.
    pub fn report_silent_closes(&mut self, clock_ns: u64) {
        let before_ns = self.context.now.clock_ns;
        if clock_ns > before_ns && !self.closing.is_empty() {
            self.context.now.clock_ns = clock_ns;
            self.report_closed(clock_ns);
            self.context.now.clock_ns = before_ns;
        }
    }

    /// Sets which packets are copies from now on: see [`Config::duplicates`].
    pub fn set_duplicates(&mut self, rule: DuplicateRule) {
        self.context.config.duplicates = rule;
        self.duplicates = DuplicateTable::new(rule);
    }

    /// Notes which frames of the next batch have packets before them that the capture lost: holes of that time have this cause.
    pub fn note_losses(&mut self, losses: &[PacketLoss]) {
        if !losses.is_empty() {
            self.context.losses.announce(losses);
        }
    }

    /// Notes that a capture lost packets at these times, whatever the clock of the frames processed so far: an interface's counters are
    /// ahead of the frames in its ring.
    pub fn note_past_losses(&mut self, losses: &[PacketLoss]) {
        if !losses.is_empty() {
            self.context.losses.note(losses);
        }
    }

    /// Processes a batch. Every worker gets every batch, and counts and processes its share.
    pub fn process(&mut self, batch: &Batch<'_>) {
        if self.slices.is_open() {
            self.slices.examine(batch, &self.context.config.wire);
        }
        let mut prepared = self.prepared.take().unwrap_or_else(|| Box::new([Prepared::NONE; GROUP]));
        for group in batch.frames.chunks(GROUP) {
            if let Some(first) = group.first() {
                self.pass_time(first.clock_ns);
            }
            self.process_group(batch, group, &mut prepared);
            if self.context.accounting.budget.is_over() {
                self.reclaim_memory();
            }
            self.tidy_lists();
            let fragments = self.defragmenter.as_ref().map_or(0, |defragmenter| defragmenter.charged_bytes());
            self.context.accounting.budget.note(fragments);
        }
        self.prepared = Some(prepared);
    }

    fn process_group(&mut self, batch: &Batch<'_>, group: &[Frame], prepared: &mut [Prepared; GROUP]) {
        let mut unknown = self.prepare(batch, group, prepared);
        let lengthened = if self.cut_frames.is_empty() { None } else { Some(self.lengthened(group)) };
        let group = lengthened.as_deref().unwrap_or(group);
        while unknown != 0 {
            let one = &mut prepared[unknown.trailing_zeros() as usize % GROUP];
            one.slot = self.table.prefetch_entry(one.hash);
            self.lookup_cache.found(one.place, one.hash, one.slot);
            unknown &= unknown - 1;
        }
        if self.duplicates.is_some() {
            self.leave_out_copies(batch, group, prepared);
        }
        if self.context.accounting.budget.holes != 0 || self.context.config.chunk_bytes != 0 {
            self.prefetch_untidy(&prepared[..group.len()]);
        }
        let (mut received, mut received_bytes) = (0, 0);
        for (frame, one) in group.iter().zip(prepared.iter()) {
            let bytes = batch.bytes(frame);
            self.context.now.number = frame.number;
            self.context.now.clock_ns = frame.clock_ns;
            self.context.now.input_bytes += u64::from(frame.captured_bytes);
            if one.hash == 0 {
                self.other(frame, bytes, &one.decoded);
            } else if one.slot != OTHER_WORKER {
                received += 1;
                received_bytes += u64::from(frame.captured_bytes);
                let fate = self.prepared_transport(frame, bytes, one);
                self.context.ledger.settle(fate);
            }
        }
        // Packets without a fate yet get it when it is decided.
        self.context.ledger.fates[Fate::Tracked as usize] -= std::mem::take(&mut self.context.undecided);
        self.context.ledger.received += received;
        self.context.ledger.received_bytes += received_bytes;
    }

    /// Decodes and hashes a group. Bit i of the result: the slot of frame i's flow is not known.
    #[inline(always)]
    fn prepare(&mut self, batch: &Batch<'_>, group: &[Frame], prepared: &mut [Prepared; GROUP]) -> u32 {
        let (hash_key, mask) = (self.context.config.hash_key, KeyMask::of(self.context.config.key_ids));
        let mut unknown = 0;
        for (at, (frame, one)) in group.iter().zip(prepared.iter_mut()).enumerate() {
            let bytes = batch.bytes(frame);
            let settings = &self.context.config.wire;
            let brief = wire::decode_into(frame.link, bytes, frame.wire_bytes, settings, &mut one.decoded);
            one.hash = 0;
            let brief = if brief.kind as u8 <= Kind::OtherIp as u8 {
                brief
            } else {
                let Some(brief) = self.cut_frame(at, frame, bytes, &mut one.decoded) else { continue };
                brief
            };
            let Some(words) = DirectedKey::of(bytes, brief, &one.decoded) else { continue };
            one.place = LookupCache::place(&words);
            if let Some(known) = self.lookup_cache.get(one.place, &words) {
                (one.hash, one.key, one.from_a, one.slot) = (known.hash, known.key, known.from_a, known.slot);
            } else {
                let (key, from_a) = words.key(hash_key);
                // 0 means no flow: one hash in 2^64 is changed to 1.
                let hash = key.hash(hash_key, mask).max(1);
                let slot = if self.is_own_flow(hash) { NO_SLOT } else { OTHER_WORKER };
                self.table.prefetch_index(hash);
                (one.hash, one.key, one.from_a, one.slot) = (hash, key, from_a, slot);
                self.lookup_cache.put(one.place, words, one.key, hash, from_a, slot);
            }
            unknown |= u32::from(one.slot == NO_SLOT) << at;
        }
        unknown
    }

    /// Decodes a malformed frame of a group again, as one that was cut before the capture. `None`: it has no transport
    /// packet.
    #[cold]
    fn cut_frame(&mut self, at: usize, frame: &Frame, bytes: &[u8], decoded: &mut Decoded) -> Option<Brief> {
        if decoded.kind != Kind::Malformed {
            return None;
        }
        let wire_bytes = self.slices.decode(frame, bytes, &self.context.config.wire, decoded)?;
        self.cut_frames.push((at, wire_bytes));
        Some(decoded.brief()).filter(|brief| brief.kind as u8 <= Kind::OtherIp as u8)
    }

    /// The frames of a group with the lengths that cut ones had on the wire.
    #[cold]
    fn lengthened(&mut self, group: &[Frame]) -> Box<[Frame]> {
        let mut group: Box<[Frame]> = group.into();
        if self.share.index == 0 {
            self.context.ledger.sliced_packets += self.cut_frames.len() as u64;
        }
        for (at, wire_bytes) in self.cut_frames.drain(..) {
            if let Some(frame) = group.get_mut(at) {
                frame.wire_bytes = wire_bytes;
            }
        }
        group
    }

    /// Prefetches what flows with holes need: one pointer after the other, each for all packets of the group.
    #[inline(always)]
    fn prefetch_untidy(&self, group: &[Prepared]) {
        let mut untidy = 0_u32;
        for one in group.iter().filter(|one| one.hash != 0) {
            untidy += u32::from(self.table.prefetch_slow_state(one.slot));
        }
        if untidy != 0 {
            for one in group.iter().filter(|one| one.hash != 0) {
                self.table.prefetch_queue(one.slot, one.from_a);
            }
        }
    }

    #[inline(always)]
    fn is_own_flow(&self, hash: u64) -> bool {
        self.share.count == 1 || ((hash >> 32) * u64::from(self.share.count)) >> 32 == u64::from(self.share.index)
    }

    #[inline(always)]
    fn receive(&mut self, frame: &Frame) {
        self.context.ledger.received += 1;
        self.context.ledger.received_bytes += u64::from(frame.captured_bytes);
    }

    /// A frame that is not a packet of a flow. The first worker counts it; every worker reassembles fragments.
    #[cold]
    fn other(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded) {
        let counts = self.share.index == 0;
        if counts {
            self.receive(frame);
        }
        let fate = match decoded.kind {
            Kind::Fragment => return self.fragment(frame, bytes, decoded),
            Kind::Aggregate => self.aggregate(frame, bytes, decoded),
            Kind::Arp => Fate::Arp,
            Kind::OtherLink => {
                if let (true, Some(protocol)) = (counts, decoded.other_link) {
                    self.context.ledger.other_links[protocol as usize] += 1;
                }
                Fate::OtherLink
            }
            Kind::UnsupportedLink => Fate::UnsupportedLink,
            _ => Fate::Malformed,
        };
        if H::OUTSIDE && counts {
            self.show_outside(frame, bytes, decoded, fate);
        }
        if counts {
            match decoded.malformed {
                // The reasons of an aggregate are counted by packet.
                Some(why) if fate == Fate::Malformed => self.context.ledger.malformed(why),
                _ => self.context.ledger.settle(fate),
            }
        }
    }

    /// Reports a packet that belongs to no stream.
    fn show_outside(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded, fate: Fate) {
        let why = match fate {
            Fate::Arp => Outside::Arp,
            Fate::OtherLink => Outside::OtherLink,
            Fate::UnsupportedLink => Outside::UnsupportedLink,
            Fate::Malformed => Outside::Malformed(decoded.malformed),
            _ => return,
        };
        let Frame { timestamp_ns, wire_bytes, link, .. } = *frame;
        let number = frame_number(frame.number);
        self.context.handler.outside(frame, OutsidePacket { why, number, timestamp_ns, bytes, wire_bytes, link });
    }

    /// Counts frames that were received and that a filter rejected before the engine.
    pub fn count_filtered(&mut self, frames: u64, bytes: u64) {
        self.context.ledger.received += frames;
        self.context.ledger.received_bytes += bytes;
        self.context.ledger.settle_many(Fate::Filtered, frames);
    }

    /// The fates of all packets so far.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.context.ledger
    }

    /// Bytes buffered out of order and in chunks, with their bookkeeping. 0 after [`Self::finish`].
    #[must_use]
    pub fn buffered_bytes(&self) -> u64 {
        self.context.accounting.budget.used
    }

    /// Memory of everything that grows with the traffic, as charged: tables with their indexes and lists, what flows
    /// hold ([`Self::buffered_bytes`]), fragments, history. Without the handler's state.
    #[must_use]
    pub fn charged_bytes(&self) -> u64 {
        let context = &self.context;
        let lists = context.accounting.holders.capacity() * size_of::<u32>()
            + context.flushes.capacity() * size_of::<(u64, u32, u64)>()
            + self.closing.capacity() * size_of::<Reverse<(u64, u32, u64)>>()
            + context.scratch.capacity();
        let fragments = self.defragmenter.as_ref().map_or(0, |defragmenter| defragmenter.bytes());
        let tables = self.table.bytes() + context.accounting.budget.bytes() + lists as u64;
        context.accounting.budget.used + tables + fragments + context.delivery_log.bytes()
    }

    /// The handler.
    pub fn handler(&mut self) -> &mut H {
        &mut self.context.handler
    }

    /// Returns the handler and the final ledger.
    #[must_use]
    pub fn into_parts(self) -> (H, Ledger) {
        (self.context.handler, self.context.ledger)
    }
}
