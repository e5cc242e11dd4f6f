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
//! | `state.rs` | the state of an engine, and its settings |
//! | `transport.rs` | look-up: found, half-open, first packet midstream, or new |
//! | `half_open.rs` | connections of which only a SYN was seen |
//! | `new_flow.rs`, `client.rs`, `classify.rs` | a new stream: what its first packet says about it, its class |
//! | `reopen.rs`, `held_syn.rs` | a SYN on an existing flow: whether it opens another connection, or waits for its answer |
//! | `midstream.rs` | the first packet of a connection joined midstream |
//! | `receive.rs`, `path.rs`, `shed.rs` | counts a packet, shows it to the handler, doubts or sheds it, and passes its payload to its protocol |
//! | `fragments.rs`, `aggregate.rs` | packets that are not frames themselves |
//! | `delivery.rs`, `events.rs` | the receivers of a stream's events, and what they get |
//! | `chunks.rs`, `subscribers.rs` | chunks; several applications |
//! | `subflows.rs`, `multipath.rs` | flows that are subflows of Multipath TCP; connections of several subflows |
//! | `other_subflows.rs`, `second_engine.rs` | subflows of other workers, and the engine that has them |
//! | `end.rs`, `expiry.rs`, `lifetime.rs` | how a flow ends; which timeouts are over; packet time, and the end of the input |
//! | `reclaim.rs` | which flows release memory beyond the bound |
//! | `shunted.rs` | packets counted before the engine |
//! | `duplicates.rs` | copies of packets, left out before anything else is done with them |
//! | `other_ids.rs` | packets whose VLAN or tunnel ids no flow with their addresses and ports has |
//! | `times.rs` | times that are not in the order of their flow: earlier ones, and outliers |
//! | `unfinished.rs` | conversations that were begun and not answered, reported long before their timeouts |

mod aggregate;
mod chunks;
mod classify;
mod client;
mod delivery;
mod duplicates;
mod end;
mod events;
mod expiry;
mod fragments;
mod half_open;
mod held_syn;
mod lifetime;
mod midstream;
mod multipath;
mod new_flow;
mod other_ids;
mod other_subflows;
mod path;
mod receive;
mod reclaim;
mod reopen;
mod second_engine;
mod shed;
mod shunted;
mod state;
mod subflows;
mod subscribers;
mod times;
mod transport;
mod unfinished;

pub use state::Engine;
use state::{GROUP, OTHER_WORKER, Prepared};

use crate::{
    Batch, Fate, Frame, Handler, Outside, OutsidePacket, PacketLoss, Timestamp,
    flow::{DirectedKey, KeyMask, LookupCache, NO_SLOT},
    packet::frame_number,
    wire::{self, Brief, Decoded, Kind},
};

impl<H: Handler> Engine<H> {
    /// Advances the clock without a packet: flushes chunks and ends streams as the next packet with this clock would.
    /// Packets must not have an earlier clock afterwards.
    pub fn tick(&mut self, clock: Timestamp) {
        let clock_ns = clock.as_nanos();
        if clock_ns > self.shared.now.clock_ns {
            self.pass_time(clock_ns);
        }
    }

    /// Reports the ends of closed connections as [`tick`](Self::tick) to this clock would, and nothing else: the clock
    /// stays, nothing times out, no chunk is flushed. For silence of an input whose packets may be late: they may have
    /// an earlier clock afterwards.
    pub fn report_silent_closes(&mut self, clock: Timestamp) {
        let clock_ns = clock.as_nanos();
        let before_ns = self.shared.now.clock_ns;
        if clock_ns > before_ns && !self.closing.is_empty() {
            self.shared.now.clock_ns = clock_ns;
            self.report_closed(clock_ns);
            self.shared.now.clock_ns = before_ns;
        }
    }

    /// Notes which frames of the next batch have packets before them that the capture lost: holes of that time have this cause.
    pub fn note_losses(&mut self, losses: &[PacketLoss]) {
        if !losses.is_empty() {
            self.shared.losses.announce(losses);
        }
    }

    /// Notes that a capture lost packets at these times, whatever the clock of the frames processed so far: an interface's counters are
    /// ahead of the frames in its ring.
    pub fn note_past_losses(&mut self, losses: &[PacketLoss]) {
        if !losses.is_empty() {
            self.shared.losses.note(losses);
        }
    }

    /// Processes a batch. Every worker gets every batch, and counts and processes its share.
    pub fn process(&mut self, batch: &Batch<'_>) {
        if self.slices.is_open() {
            self.slices.examine(batch, &self.shared.config.wire);
        }
        let mut prepared = self.prepared.take().unwrap_or_else(|| Box::new([Prepared::NONE; GROUP]));
        for group in batch.frames.chunks(GROUP) {
            if let Some(first) = group.first() {
                self.pass_time(first.clock.as_nanos());
            }
            self.process_group(batch, group, &mut prepared);
            if self.shared.accounting.budget.is_over() {
                self.reclaim_memory();
            }
            self.tidy_lists();
            let fragments = self.defragmenter.as_ref().map_or(0, |defragmenter| defragmenter.charged_bytes());
            self.shared.accounting.budget.note(fragments);
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
        if self.shared.accounting.budget.holes != 0 || self.shared.config.chunk_bytes != 0 {
            self.prefetch_untidy(&prepared[..group.len()]);
        }
        let (mut received, mut received_bytes) = (0, 0);
        for (frame, one) in group.iter().zip(prepared.iter()) {
            let bytes = batch.bytes(frame);
            self.shared.now.number = frame.number;
            self.shared.now.clock_ns = frame.clock.as_nanos();
            self.shared.now.input_bytes += u64::from(frame.captured_bytes);
            if one.hash == 0 {
                self.other(frame, bytes, &one.decoded);
            } else if one.slot != OTHER_WORKER {
                received += 1;
                received_bytes += u64::from(frame.captured_bytes);
                let fate = self.prepared_transport(frame, bytes, one);
                self.shared.ledger.settle(fate);
            } else if self.concerns_others(bytes, &one.decoded) {
                self.note_other_worker(frame, bytes, one);
            }
        }
        if !self.shared.multipath.events.is_empty() {
            self.deliver_connection_streams();
        }
        // Packets without a fate yet get it when it is decided.
        self.shared.ledger.fates[Fate::Tracked as usize] -= std::mem::take(&mut self.shared.undecided);
        self.shared.ledger.received += received;
        self.shared.ledger.received_bytes += received_bytes;
    }

    /// Decodes and hashes a group. Bit i of the result: the slot of frame i's flow is not known.
    #[inline(always)]
    fn prepare(&mut self, batch: &Batch<'_>, group: &[Frame], prepared: &mut [Prepared; GROUP]) -> u32 {
        let (hash_key, mask) = (self.shared.config.hash_key, KeyMask::of(self.shared.config.key_ids));
        let mut unknown = 0;
        for (at, (frame, one)) in group.iter().zip(prepared.iter_mut()).enumerate() {
            let bytes = batch.bytes(frame);
            let settings = &self.shared.config.wire;
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
        let wire_bytes = self.slices.decode(frame, bytes, &self.shared.config.wire, decoded)?;
        self.cut_frames.push((at, wire_bytes));
        Some(decoded.brief()).filter(|brief| brief.kind as u8 <= Kind::OtherIp as u8)
    }

    /// The frames of a group with the lengths that cut ones had on the wire.
    #[cold]
    fn lengthened(&mut self, group: &[Frame]) -> Box<[Frame]> {
        let mut group: Box<[Frame]> = group.into();
        if self.share.index == 0 {
            self.shared.ledger.sliced_packets += self.cut_frames.len() as u64;
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
    fn receive(&mut self, frame: &Frame) {
        self.shared.ledger.received += 1;
        self.shared.ledger.received_bytes += u64::from(frame.captured_bytes);
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
                    self.shared.ledger.other_links[protocol as usize] += 1;
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
                Some(why) if fate == Fate::Malformed => self.shared.ledger.malformed(why),
                _ => self.shared.ledger.settle(fate),
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
        let Frame { timestamp, wire_bytes, link, .. } = *frame;
        let number = frame_number(frame.number);
        let packet = OutsidePacket { why, number, timestamp, bytes, wire_bytes, link, decoded };
        self.outputs.handler.outside(packet);
    }

    /// Counts frames that were received and that a filter rejected before the engine.
    pub fn count_filtered(&mut self, frames: u64, bytes: u64) {
        self.shared.ledger.received += frames;
        self.shared.ledger.received_bytes += bytes;
        self.shared.ledger.settle_many(Fate::Filtered, frames);
    }
}
