//! First packets of connections joined midway, which become flows when a second packet arrives.
//!
//! A forged packet without a handshake would occupy a flow and a queue for its bytes, whose place in the stream is
//! unknown. So the packet itself is kept, in a table that is bounded in bytes. A second packet of the connection makes
//! it a flow, and the first one is processed then as if it had just arrived. When the table is full, the oldest becomes
//! a stream of one packet.
//!
//! Its fate is open meanwhile, and the result is the same. Handlers that want packets, and directions that are counted
//! before the engine, need the flow at once.

use std::collections::VecDeque;

use super::{Key, slab::Slab};
use crate::{Frame, Timestamp, wire::LinkType};

/// A packet that waits for a second one of its connection.
#[derive(Debug)]
pub(crate) struct FirstPacket {
    pub key: Key,
    pub hash: u64,
    pub frame: Frame,
    /// See `Now::input_bytes`.
    pub input_bytes: u64,
    pub bytes: Box<[u8]>,
    pub from_a: bool,
    /// Counts reuses of the slot, so that the queue by age recognises stale entries.
    pub generation: u32,
    pub live: bool,
}

impl Default for FirstPacket {
    fn default() -> Self {
        let frame = Frame::new(LinkType::RAW, Timestamp::from_nanos(0)).with_number(0);
        Self {
            key: Key::NONE,
            hash: 0,
            frame,
            input_bytes: 0,
            bytes: Box::default(),
            from_a: false,
            generation: 0,
            live: false,
        }
    }
}

impl FirstPacket {
    /// Bytes charged for a packet: its bytes with allocator overhead, and its entries in the queue by age, the list of
    /// unused slots, the index and the list at the end of the input.
    pub(crate) fn charge(packet_bytes: usize) -> u64 {
        const ENTRY: usize = size_of::<FirstPacket>() + 16 + 3 * size_of::<(u32, u32)>() + 8 + 24 + 16;
        (packet_bytes + ENTRY) as u64
    }
}

/// The table of first packets.
pub(crate) struct FirstPackets {
    slots: Slab<FirstPacket>,
    /// Slots with their generation, oldest first.
    oldest: VecDeque<(u32, u32)>,
    charged_bytes: u64,
}

impl FirstPackets {
    pub(crate) fn new() -> Self {
        Self { slots: Slab::new(), oldest: VecDeque::new(), charged_bytes: 0 }
    }

    pub(crate) fn charged_bytes(&self) -> u64 {
        self.charged_bytes
    }

    /// Memory allocated, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.slots.live() as u64 * FirstPacket::charge(0);
        // (The charge of an entry contains the packet's bytes; the other structures are counted here by their real
        // size.)
        self.slots.bytes() + (self.oldest.capacity() * size_of::<(u32, u32)>()) as u64 + self.charged_bytes - entries
    }

    pub(crate) fn get(&self, slot: u32) -> &FirstPacket {
        self.slots.get(slot)
    }

    /// Slots that may be read.
    pub(crate) fn used(&self) -> u32 {
        self.slots.used()
    }

    pub(crate) fn add(&mut self, first_packet: FirstPacket) -> u32 {
        let slot = self.slots.take();
        let entry = self.slots.get_mut(slot);
        let generation = entry.generation.wrapping_add(1);
        self.charged_bytes += FirstPacket::charge(first_packet.bytes.len());
        *entry = FirstPacket { generation, live: true, ..first_packet };
        self.oldest.push_back((slot, generation));
        slot
    }

    pub(crate) fn remove(&mut self, slot: u32) -> FirstPacket {
        let entry = self.slots.get_mut(slot);
        let generation = entry.generation;
        let first_packet = std::mem::replace(entry, FirstPacket { generation, ..FirstPacket::default() });
        self.charged_bytes -= FirstPacket::charge(first_packet.bytes.len());
        self.slots.give(slot);
        self.oldest();
        if self.oldest.len() > 64 + self.slots.live() as usize * 3 / 2 {
            let slots = &self.slots;
            self.oldest.retain(|&(slot, generation)| slots.get(slot).live && slots.get(slot).generation == generation);
        }
        first_packet
    }

    /// The oldest packet's slot.
    pub(crate) fn oldest(&mut self) -> Option<u32> {
        while let Some(&(slot, generation)) = self.oldest.front() {
            let entry = self.slots.get(slot);
            if entry.live && entry.generation == generation {
                return Some(slot);
            }
            self.oldest.pop_front();
        }
        None
    }
}
