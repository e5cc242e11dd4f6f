//! The table of flows: bounded; what is silent long enough leaves it.

use std::collections::HashMap;

use tidewire::{EndReason, prefetch::prefetch_first};
use tidewire_archive::CLOSED_NS;
use tidewire_types::tcp_flag;

use super::{
    cache::Cache,
    key::{Details, Key, Keyed, Seen},
    lane::{HOT_BYTES, Lane},
};
use crate::classes::Keep;

/// Flows that are looked at when one has to go.
const CANDIDATES: usize = 32;
/// The table is swept within this time, at least.
const SWEEP_NS: u64 = 4_000_000_000;

/// Flows by key.
#[derive(Debug)]
pub(crate) struct Flows {
    lanes: Vec<Option<Lane>>,
    free: Vec<u32>,
    slots: HashMap<Key, u32>,
    /// Conversations whose first lane has VLANs or outer headers.
    conversations: HashMap<Key, u32>,
    cache: Cache,
    next_serial: u64,
    most: usize,
    idle_ns: u64,
    /// Where the sweep is, and the packet time of its last step.
    hand: usize,
    swept_ns: u64,
}

impl Flows {
    pub fn new(most: usize, idle_ns: u64) -> Self {
        Self {
            lanes: Vec::new(),
            free: Vec::new(),
            slots: HashMap::new(),
            conversations: HashMap::new(),
            cache: Cache::new(),
            next_serial: 1,
            most: most.clamp(CANDIDATES, 1 << 23),
            idle_ns,
            hand: 0,
            swept_ns: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.lanes.len() - self.free.len()
    }

    /// The flow of a packet.
    #[inline]
    pub fn find(&mut self, keyed: &Keyed) -> Option<u32> {
        if let Some(slot) = self.cache.find(keyed)
            && self.get(slot).is_some_and(|lane| lane.key == keyed.key)
        {
            return Some(slot);
        }
        let slot = *self.slots.get(&keyed.key)?;
        self.cache.set(keyed, slot);
        Some(slot)
    }

    /// Fetches where the flow of a key is noted, for [`prefetch`](Self::prefetch).
    #[inline]
    pub fn prefetch_place(&self, keyed: &Keyed) {
        self.cache.prefetch(keyed);
    }

    /// Fetches what the packet of a key is likely to need.
    #[inline]
    pub fn prefetch(&self, keyed: &Keyed) {
        if let Some(lane) = self.cache.find(keyed).and_then(|slot| self.lanes.get(slot as usize)) {
            prefetch_first(lane, HOT_BYTES);
        }
    }

    /// The flow of a packet, if its place is at hand.
    #[inline]
    pub fn cached(&self, keyed: &Keyed) -> Option<&Lane> {
        self.get(self.cache.find(keyed)?)
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Lane> {
        self.lanes.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Lane> {
        self.lanes.get_mut(slot as usize)?.as_mut()
    }

    /// The lane that has the account of a lane's conversation: itself, or the first one.
    #[inline]
    pub fn account(&self, slot: u32) -> u32 {
        let Some(lane) = self.get(slot) else { return slot };
        let (first, serial) = lane.account;
        if first == slot || self.get(first).is_some_and(|lane| lane.serial == serial) { first } else { slot }
    }

    /// Whether there is no room for another flow.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// The flow to be forgotten when there is no room: of some, a closed one, or the one silent longest.
    pub fn candidate(&mut self) -> Option<u32> {
        let mut found: Option<(u32, (bool, u64))> = None;
        let count = self.lanes.len();
        for _ in 0..CANDIDATES.min(count) {
            self.hand = (self.hand + 1) % count;
            let Some(lane) = self.lanes.get(self.hand).and_then(Option::as_ref) else { continue };
            let rank = (lane.end.is_none(), lane.last_ns);
            if found.is_none_or(|(_, least)| rank < least) {
                found = Some((self.hand as u32, rank));
            }
        }
        found.map(|(slot, _)| slot)
    }

    /// Adds a flow that is not there.
    pub fn insert(&mut self, keyed: &Keyed, seen: Seen, number: u64, keep: Keep, details: Details) -> u32 {
        let key = keyed.key;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.lanes.push(None);
                (self.lanes.len() - 1) as u32
            }
        };
        let serial = self.next_serial;
        self.next_serial += 1;
        let conversation = key.conversation();
        let first = match conversation == key {
            true if self.conversations.is_empty() => None,
            true => self.conversations.get(&conversation),
            false => self.slots.get(&conversation).or_else(|| self.conversations.get(&conversation)),
        };
        let first = first.and_then(|&slot| Some((slot, self.get(slot)?)));
        let first = first.filter(|(_, lane)| lane.end.is_none()).map(|(slot, lane)| (slot, lane.clone()));
        let syn_ack = seen.flags & (tcp_flag::SYN | tcp_flag::ACK) == tcp_flag::SYN | tcp_flag::ACK;
        let mut lane = Lane {
            key,
            serial,
            stream: if key.is_stream() { number } else { 0 },
            account: (slot, serial),
            keep,
            payload: [0; 2],
            // Who answers is the server.
            client_is_lower: keyed.from_lower != syn_ack,
            shunted: [false; 2],
            fins: [false; 2],
            end: None,
            last_ns: 0,
            segment: 0,
            record: 0,
            details,
        };
        if let Some((first, other)) = first {
            lane.stream = other.stream;
            lane.account = (first, other.serial);
            lane.keep = other.keep;
            lane.client_is_lower = other.client_is_lower;
        } else if conversation != key {
            self.conversations.insert(conversation, slot);
        }
        self.slots.insert(key, slot);
        self.cache.make_room(self.lanes.len());
        self.cache.set(keyed, slot);
        if let Some(place) = self.lanes.get_mut(slot as usize) {
            *place = Some(lane);
        }
        slot
    }

    /// Removes a flow.
    pub fn remove(&mut self, slot: u32) -> Option<Lane> {
        let lane = self.lanes.get_mut(slot as usize)?.take()?;
        self.slots.remove(&lane.key);
        let conversation = lane.key.conversation();
        if self.conversations.get(&conversation) == Some(&slot) {
            self.conversations.remove(&conversation);
        }
        self.free.push(slot);
        Some(lane)
    }

    /// Of the flows that are next in turn, those that timed out, with the reason. Call it with each batch.
    pub fn sweep(&mut self, clock_ns: u64, out: &mut Vec<(u32, EndReason)>) {
        let count = self.lanes.len();
        if count == 0 {
            return;
        }
        let passed = clock_ns.saturating_sub(self.swept_ns);
        self.swept_ns = self.swept_ns.max(clock_ns);
        let share = u128::from(passed) * count as u128 / u128::from(SWEEP_NS);
        let steps = (share as usize).min(count);
        if steps == 0 {
            // Its time adds up.
            self.swept_ns -= passed;
            return;
        }
        for _ in 0..steps {
            self.hand = (self.hand + 1) % count;
            let Some(lane) = self.lanes.get(self.hand).and_then(Option::as_ref) else { continue };
            let silent = clock_ns.saturating_sub(lane.last_ns);
            let most = if lane.end.is_some() { CLOSED_NS.min(self.idle_ns) } else { self.idle_ns };
            if silent > most {
                out.push((self.hand as u32, lane.end.unwrap_or(EndReason::Timeout)));
            }
        }
    }

    /// All slots that are in use.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.lanes.iter().enumerate().filter(|(_, lane)| lane.is_some()).map(|(slot, _)| slot as u32)
    }
}
