//! Finds flows and half-open connections, and chooses which is evicted.

use std::{cell::Cell, collections::VecDeque};

use super::{
    Flow, HalfOpen, Ids, Key, KeyMask, NO_SLOT, bits,
    first_packets::{FirstPacket, FirstPackets},
    half,
    index::Index,
    slab::Slab,
};
use crate::{TcpState, budget::Holder, prefetch::prefetch_all};

/// Marks slots of the half-open table in the index.
const HALF_OPEN: u32 = 1 << 31;
/// Marks slots of first packets that wait for a second one, in the index. (Slots below are flows.)
const FIRST_PACKET: u32 = 1 << 30;
/// Flows sampled to find one to evict from a full table.
const EVICTION_SAMPLE: u32 = 32;
/// Size of the sample that is enough when it contains a flow that is closed or unanswered.
const EVICTION_FEW: u32 = 8;
/// Silence after which a handshake counts as given up, by packet time: the initial retransmission timeout (RFC 6298).
const HANDSHAKE_NS: u64 = 1_000_000_000;
/// Ranks of flows, evicted first to last.
const OVER: u8 = 0;
const UNANSWERED: u8 = 1;

/// Entries with the same addresses and ports whose VLAN or tunnel ids differ, at most. Further ids belong to the oldest
/// of them: no sender fills a bucket of the index with tags.
const IDS_MAX: u32 = 8;

/// Bytes of an entry of the flow table with everything that belongs to it, and of an entry of the half-open table;
/// without their entries in the index. `data_bytes`: size of the handler's state for a stream.
pub(crate) fn table_entry_bytes(data_bytes: usize) -> (u64, u64) {
    // Two lists of unused slots, twice as long while they grow; the holder with room to grow; its entry in the list of
    // holders; and in the list of open streams at the end of the input.
    const FLOW: usize =
        size_of::<Flow>() + 4 * size_of::<u32>() + size_of::<Holder>() * 5 / 4 + 2 * size_of::<u32>() + 16;
    // The list of unused slots, the queue by age with half as many entries that have left it, and the list at the end
    // of the input.
    const HALF_OPEN: usize = size_of::<HalfOpen>() + 2 * size_of::<u32>() + 3 * size_of::<(u32, u32)>() + 16;
    ((FLOW + data_bytes) as u64, HALF_OPEN as u64)
}

/// Where an entry that is still open when the input ends is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpenEntry {
    Flow,
    HalfOpen,
    FirstPacket,
}

/// Open entries in the order of ids: id, kind, slot.
pub(crate) type OpenEntries = std::vec::IntoIter<(u64, OpenEntry, u32)>;

/// The result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Flow(u32),
    HalfOpen(u32),
    FirstPacket(u32),
    None,
}

impl Found {
    /// The entry at a slot of the index.
    #[inline(always)]
    fn at(slot: u32) -> Self {
        match slot {
            _ if slot < FIRST_PACKET => Self::Flow(slot),
            _ if slot & HALF_OPEN == 0 => Self::FirstPacket(slot & !FIRST_PACKET),
            _ => Self::HalfOpen(slot & !HALF_OPEN),
        }
    }
}

/// Flows and half-open connections under one index. The handler's state is in an array of its own.
pub(crate) struct Table<D> {
    index: Index,
    pub flows: Slab<Flow>,
    pub half_open: Slab<HalfOpen>,
    pub first_packets: FirstPackets,
    pub data: Slab<D>,
    /// Half-open slots with their generation, oldest first.
    oldest: VecDeque<(u32, u32)>,
    /// How many of these were looked at by [`Self::next_unfinished`].
    looked: usize,
    cursor: u32,
    mask: KeyMask,
    /// See [`Self::other`].
    other: Cell<u32>,
}

impl<D: Default> Table<D> {
    /// Every entry that is open.
    pub(crate) fn open_entries(&self) -> OpenEntries {
        let (flows, half_open, first_packets) = (&self.flows, &self.half_open, &self.first_packets);
        let of_flow = (0..flows.used()).map(|slot| (flows.get(slot), slot));
        let of_flow =
            of_flow.filter(|(flow, _)| flow.has(bits::LIVE)).map(|(flow, slot)| (flow.id, OpenEntry::Flow, slot));
        let of_half_open = (0..half_open.used()).map(|slot| (half_open.get(slot), slot));
        let of_half_open =
            of_half_open.filter(|(entry, _)| entry.live).map(|(entry, slot)| (entry.id, OpenEntry::HalfOpen, slot));
        let of_first = (0..first_packets.used()).filter(|slot| first_packets.get(*slot).live);
        let of_first = of_first.map(|slot| (first_packets.get(slot).frame.number, OpenEntry::FirstPacket, slot));
        let mut open: Vec<(u64, OpenEntry, u32)> = of_flow.chain(of_half_open).chain(of_first).collect();
        // An id stands for one stream.
        open.sort_unstable_by_key(|one| one.0);
        open.into_iter()
    }

    /// An empty table that compares keys under `mask`.
    pub(crate) fn new(mask: KeyMask) -> Self {
        Self {
            index: Index::new(),
            flows: Slab::new(),
            half_open: Slab::new(),
            first_packets: FirstPackets::new(),
            data: Slab::new(),
            oldest: VecDeque::new(),
            looked: 0,
            cursor: 0,
            mask,
            other: Cell::new(NO_SLOT),
        }
    }

    /// Memory allocated, including first packets that wait for a second one, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let oldest = (self.oldest.capacity() * size_of::<(u32, u32)>()) as u64;
        let slabs = self.flows.bytes() + self.half_open.bytes() + self.data.bytes();
        self.index.bytes() + slabs + self.first_packets.bytes() + oldest
    }

    #[inline(always)]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.index.prefetch(hash as u32);
    }

    /// Prefetches the entry that `hash` probably leads to, and returns its slot.
    #[inline(always)]
    pub(crate) fn prefetch_entry(&self, hash: u64) -> u32 {
        let slot = self.index.guess(hash as u32);
        if slot < FIRST_PACKET {
            prefetch_all(self.flows.get(slot));
            if size_of::<D>() != 0 {
                crate::prefetch::prefetch(self.data.get(slot));
            }
        } else if slot & HALF_OPEN == 0 {
            prefetch_all(self.first_packets.get(slot & !FIRST_PACKET));
        } else if slot != NO_SLOT {
            prefetch_all(self.half_open.get(slot & !HALF_OPEN));
        }
        slot
    }

    /// Prefetches the slow state of a guessed slot's flow, if it has one.
    #[inline(always)]
    pub(crate) fn prefetch_slow_state(&self, guess: u32) -> bool {
        if guess >= FIRST_PACKET {
            return false;
        }
        let slow_state = self.flows.get(guess).slow_state.as_deref();
        if let Some(slow_state) = slow_state {
            slow_state.prefetch();
        }
        slow_state.is_some()
    }

    /// Prefetches the part of the queue of a guessed slot's flow that is read first.
    #[inline(always)]
    pub(crate) fn prefetch_queue(&self, guess: u32, from_a: bool) {
        if guess < FIRST_PACKET {
            let flow = self.flows.get(guess);
            let direction = flow.direction(from_a) as usize;
            if flow.halves[direction].has(half::QUEUED)
                && let Some(slow_state) = &flow.slow_state
            {
                slow_state.queue[direction].prefetch();
            }
        }
    }

    /// The flow at a guessed slot, with the handler's state, if its key matches.
    #[inline(always)]
    pub(crate) fn get_cached(&mut self, guess: u32, key: &Key) -> Option<(&mut Flow, &mut D)> {
        if guess >= FIRST_PACKET {
            return None;
        }
        let flow = self.flows.get_mut(guess);
        if !flow.key.is_same(key, self.mask) {
            return None;
        }
        Some((flow, self.data.get_mut(guess)))
    }

    /// As [`Self::find`], but tries the guessed slot first.
    #[inline(always)]
    pub(crate) fn find_cached(&self, guess: u32, hash: u64, key: &Key) -> Found {
        if guess < FIRST_PACKET {
            let known = &self.flows.get(guess).key;
            if known.is_same(key, self.mask) && known.has_ids_of(key) {
                return Found::Flow(guess);
            }
        }
        self.find(hash, key)
    }

    /// The entry that a packet belongs to. Networks with the same addresses are distinguished by VLAN and tunnel ids, and
    /// the directions of one connection may have different ones: a packet joins an entry of other ids only where that
    /// has no packets of its direction.
    #[inline(never)]
    pub(crate) fn find(&self, hash: u64, key: &Key) -> Found {
        let (mut others, mut last) = (0, NO_SLOT);
        let found = self.index.find(hash as u32, |slot| {
            let known = self.key_of(slot);
            if !known.is_same(key, self.mask) {
                return false;
            }
            if known.has_ids_of(key) {
                return true;
            }
            (others, last) = (others + 1, slot);
            false
        });
        self.other.set(NO_SLOT);
        match (found, others) {
            (Some(slot), _) => Found::at(slot),
            (None, 0) => Found::None,
            // The answer to a connection's first packet.
            (None, 1) if matches!(self.key_of(last).ids_of(key), Ids::Free { .. }) => Found::at(last),
            (None, _) => self.find_among_others(hash, key),
        }
    }

    /// As [`Self::find`], where several entries have other ids than the packet, or one that has packets of its direction.
    #[cold]
    fn find_among_others(&self, hash: u64, key: &Key) -> Found {
        // Rank and id of the best entry so far: the same whatever the order of slots.
        let (mut best, mut others): (Option<(bool, u64, u32)>, _) = (None, (0, (u64::MAX, NO_SLOT)));
        self.index.find(hash as u32, |slot| {
            let (known, id) = (self.key_of(slot), self.id_of(slot));
            if known.is_same(key, self.mask) {
                match known.ids_of(key) {
                    Ids::Free { are_equal } => {
                        let candidate = (!are_equal, id, slot);
                        best = Some(best.map_or(candidate, |best| best.min(candidate)));
                    }
                    _ => others = (others.0 + 1, others.1.min((id, slot))),
                }
            }
            false
        });
        let is_full = others.0 >= IDS_MAX;
        let oldest = (others.1.1 != NO_SLOT).then_some(others.1.1);
        self.other.set(oldest.filter(|slot| *slot < FIRST_PACKET).unwrap_or(NO_SLOT));
        best.map(|best| best.2).or(oldest.filter(|_| is_full)).map_or(Found::None, Found::at)
    }

    /// The oldest flow with the addresses and ports of the last [`find`](Self::find), whose packets of this direction
    /// have other ids.
    pub(crate) fn other(&self) -> Option<u32> {
        Some(self.other.get()).filter(|slot| *slot != NO_SLOT)
    }

    /// The oldest flow with the addresses and ports of `key`, whatever its ids, for which `is` holds.
    pub(crate) fn find_other(&self, hash: u64, key: &Key, is: impl Fn(&Flow) -> bool) -> Option<u32> {
        let mut oldest: Option<(u64, u32)> = None;
        self.index.find(hash as u32, |slot| {
            if slot < FIRST_PACKET {
                let flow = self.flows.get(slot);
                if flow.key.is_same(key, self.mask) && is(flow) {
                    oldest = Some(oldest.map_or((flow.id, slot), |oldest| oldest.min((flow.id, slot))));
                }
            }
            false
        });
        oldest.map(|oldest| oldest.1)
    }

    #[inline(always)]
    fn key_of(&self, slot: u32) -> &Key {
        if slot < FIRST_PACKET {
            &self.flows.get(slot).key
        } else if slot & HALF_OPEN == 0 {
            &self.first_packets.get(slot & !FIRST_PACKET).key
        } else {
            &self.half_open.get(slot & !HALF_OPEN).key
        }
    }

    fn id_of(&self, slot: u32) -> u64 {
        if slot < FIRST_PACKET {
            self.flows.get(slot).id
        } else if slot & HALF_OPEN == 0 {
            self.first_packets.get(slot & !FIRST_PACKET).frame.number
        } else {
            self.half_open.get(slot & !HALF_OPEN).id
        }
    }

    /// Whether a slot holds the flow with this id.
    pub(crate) fn is_live(&self, slot: u32, id: u64) -> bool {
        let flow = self.flows.get(slot);
        flow.has(bits::LIVE) && flow.id == id
    }

    /// Adds a new flow under `key`, in its initial state.
    pub(crate) fn add(&mut self, hash: u32, key: Key) -> u32 {
        let slot = self.add_apart(key);
        self.flows.get_mut(slot).hash = hash;
        let others = (&self.flows, &self.half_open, &self.first_packets);
        self.index.insert(hash, slot, |slot| hash_of(others, slot));
        slot
    }

    /// Removes a flow.
    pub(crate) fn remove(&mut self, slot: u32) {
        let hash = self.flows.get(slot).hash;
        self.index.remove(hash, slot);
        self.clear(slot);
    }

    fn clear(&mut self, slot: u32) {
        let flow = self.flows.get_mut(slot);
        flow.flags = 0;
        flow.closing = 0;
        flow.slow_state = None;
        flow.key = Key::NONE;
        *self.data.get_mut(slot) = D::default();
        self.flows.give(slot);
        self.data.give(slot);
    }

    /// Adds a flow that cannot be looked up, because it ends at once.
    pub(crate) fn add_apart(&mut self, key: Key) -> u32 {
        let slot = self.flows.take();
        let beside = self.data.take();
        debug_assert_eq!(slot, beside, "the two arrays allocate and free in step");
        *self.flows.get_mut(slot) = Flow { key: key.opened(), flags: bits::LIVE, ..Flow::default() };
        *self.data.get_mut(slot) = D::default();
        slot
    }

    /// Removes such a flow.
    pub(crate) fn remove_apart(&mut self, slot: u32) {
        self.clear(slot);
    }

    /// Adds a first packet that waits for a second one.
    pub(crate) fn add_first_packet(&mut self, first_packet: FirstPacket) {
        let hash = first_packet.hash as u32;
        let slot = self.first_packets.add(first_packet);
        let others = (&self.flows, &self.half_open, &self.first_packets);
        self.index.insert(hash, slot | FIRST_PACKET, |slot| hash_of(others, slot));
    }

    pub(crate) fn remove_first_packet(&mut self, slot: u32) -> FirstPacket {
        let first_packet = self.first_packets.remove(slot);
        self.index.remove(first_packet.hash as u32, slot | FIRST_PACKET);
        first_packet
    }

    pub(crate) fn add_half_open(&mut self, entry: HalfOpen) -> u32 {
        let hash = entry.hash;
        let slot = self.half_open.take();
        let generation = self.half_open.get(slot).generation.wrapping_add(1);
        *self.half_open.get_mut(slot) = HalfOpen { key: entry.key.opened(), generation, live: true, ..entry };
        let others = (&self.flows, &self.half_open, &self.first_packets);
        self.index.insert(hash, slot | HALF_OPEN, |slot| hash_of(others, slot));
        self.oldest.push_back((slot, generation));
        slot
    }

    pub(crate) fn remove_half_open(&mut self, slot: u32) -> HalfOpen {
        let entry = self.half_open.get_mut(slot);
        entry.live = false;
        let copy = *entry;
        entry.key = Key::NONE;
        self.index.remove(copy.hash, slot | HALF_OPEN);
        self.half_open.give(slot);
        // Entries that left early stay queued until their turn; their number stays within that of live ones.
        while self.oldest.front().is_some_and(|&(slot, generation)| !self.is_current(slot, generation)) {
            self.pop_oldest();
        }
        if self.oldest.len() > 64 + self.half_open.live() as usize * 3 / 2 {
            let half_open = &self.half_open;
            let (mut place, looked) = (0, self.looked);
            self.oldest.retain(|&(slot, generation)| {
                let entry = half_open.get(slot);
                let stays = entry.live && entry.generation == generation;
                self.looked -= usize::from(!stays && place < looked);
                place += 1;
                stays
            });
        }
        copy
    }

    fn is_current(&self, slot: u32, generation: u32) -> bool {
        let entry = self.half_open.get(slot);
        entry.live && entry.generation == generation
    }

    /// The oldest half-open connection.
    pub(crate) fn oldest_half_open(&mut self) -> Option<u32> {
        while let Some(&(slot, generation)) = self.oldest.front() {
            if self.is_current(slot, generation) {
                return Some(slot);
            }
            self.pop_oldest();
        }
        None
    }

    fn pop_oldest(&mut self) {
        self.oldest.pop_front();
        self.looked = self.looked.saturating_sub(1);
    }

    /// The next half-open connection that was begun at or before `before_ns`; each once, the oldest first.
    pub(crate) fn next_unfinished(&mut self, before_ns: u64) -> Option<u32> {
        while let Some(&(slot, generation)) = self.oldest.get(self.looked) {
            if self.is_current(slot, generation) && self.half_open.get(slot).first_ns > before_ns {
                return None;
            }
            self.looked += 1;
            if self.is_current(slot, generation) {
                return Some(slot);
            }
        }
        None
    }

    /// The flow to evict from a full table: of a sample, a closed one, else one that was never answered or whose
    /// handshake was given up, else one that has delivered nothing (`forced`: bytes that a slot's flow delivered only
    /// because memory was short), else the one that was silent longest.
    pub(crate) fn victim(&mut self, clock_ns: u64, forced: impl Fn(u32) -> u32) -> Option<u32> {
        let used = self.flows.used();
        let mut best: Option<(u8, u64, u32)> = None;
        for looked in 0..EVICTION_SAMPLE.min(used) {
            // A flood fills the table with such flows: a larger sample finds nothing better.
            if looked >= EVICTION_FEW && best.is_some_and(|best| best.0 <= UNANSWERED) {
                break;
            }
            let slot = self.cursor % used;
            self.cursor = self.cursor.wrapping_add(1) % used;
            let flow = self.flows.get(slot);
            if !flow.has(bits::LIVE) {
                continue;
            }
            // A handshake gets time to complete: in floods of whole connections it must not be the first to be evicted.
            let is_given_up = matches!(flow.state, TcpState::SynSent | TcpState::SynReceived)
                && clock_ns > flow.seen_clock_ns.saturating_add(HANDSHAKE_NS);
            let is_begun = flow.has(bits::CONFIRMED) && !is_given_up;
            let rank = if flow.is_over() {
                OVER
            } else if !is_begun {
                UNANSWERED
            } else {
                UNANSWERED + 1 + u8::from(flow.delivered[0] + flow.delivered[1] > u64::from(forced(slot)))
            };
            let candidate = (rank, flow.seen_clock_ns, slot);
            if best.is_none_or(|best| candidate < best) {
                best = Some(candidate);
            }
        }
        best.map(|best| best.2)
    }
}

fn hash_of((flows, half_open, first_packets): (&Slab<Flow>, &Slab<HalfOpen>, &FirstPackets), slot: u32) -> u32 {
    if slot < FIRST_PACKET {
        flows.get(slot).hash
    } else if slot & HALF_OPEN == 0 {
        first_packets.get(slot & !FIRST_PACKET).hash as u32
    } else {
        half_open.get(slot & !HALF_OPEN).hash
    }
}
