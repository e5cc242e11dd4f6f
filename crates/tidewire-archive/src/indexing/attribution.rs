//! Which record each packet belongs to.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tidewire::{Direction, EndReason, FlowKey, Handler, LinkType, Stream, StreamPacket};
use tidewire_files::StatedLoss;
use tidewire_types::ip_protocol::TCP;
use tidewire_wire::{Frame, Settings as WireSettings};

use super::{
    facts::{Facts, facts, with_vlan},
    fragments::Fragments,
    indexed::Indexed,
};
use crate::{
    Error, FlowRecord, IndexBuilder, IndexSettings,
    index::{InterfaceSummary, Outer, PriorityLedger},
};

/// The record of packets that cannot be walked.
const UNKNOWN: u32 = 0;

/// A packet, until it is known what it belongs to.
#[derive(Clone, Copy)]
struct Waiting {
    packet: usize,
    timestamp_ns: u64,
    bytes: u64,
    facts: Option<Facts>,
    is_fragment: bool,
    /// Of a fragment: whether the lower end sent it.
    is_from_lower: bool,
}

/// A record: a stream in one kind of encapsulation, or packets of the same headers that belong to none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RecordKey {
    stream: u64,
    key: Option<FlowKey>,
    outer: Option<Outer>,
}

/// The state that the walk over a capture and the engine share.
pub(super) struct Attribution {
    builder: IndexBuilder,
    wire: WireSettings,
    records: HashMap<RecordKey, u32>,
    next_record: u32,
    /// The last stream of each conversation, for fragments of datagrams that were never whole.
    streams: HashMap<FlowKey, (u64, FlowKey)>,
    fragments: Fragments<u64>,
    /// Packets of the block that the engine has.
    block: Vec<Option<Waiting>>,
    /// Number of the first of them.
    block_from: u64,
    /// Packets of earlier blocks that belong to nothing yet, by their number.
    late: HashMap<u64, Waiting>,
    late_order: VecDeque<u64>,
    /// Facts that the walker found.
    pub is_pcapng: bool,
    pub descriptions: Vec<(u64, u32)>,
    pub interfaces: Vec<InterfaceSummary>,
    /// By interface, what was dropped before the first packet and in all: by the interface, and by the operating system. Statistics count from
    /// the beginning of a recording, and segments begin with those of the segment before.
    losses: HashMap<usize, [(u64, u64); 2]>,
    pub whole_bytes: u64,
    pub damage: Option<String>,
    /// Why reading ended before the end, if it did.
    pub unread: Option<Error>,
    ledger: PriorityLedger,
}

/// Packets that may still turn out to be of a stream: fragments, and SYNs whose answer decides.
const LATE_MAX: usize = 1 << 18;

impl Attribution {
    pub fn new(settings: &IndexSettings) -> Self {
        let mut builder = IndexBuilder::new(settings);
        builder.flow(UNKNOWN, FlowRecord::NONE);
        Self {
            builder,
            wire: WireSettings::default().with_tunnel_depth(settings.tunnel_depth),
            records: HashMap::new(),
            next_record: UNKNOWN + 1,
            streams: HashMap::new(),
            fragments: Fragments::default(),
            block: Vec::new(),
            block_from: 1,
            late: HashMap::new(),
            late_order: VecDeque::new(),
            is_pcapng: false,
            descriptions: Vec::new(),
            interfaces: Vec::new(),
            losses: HashMap::new(),
            whole_bytes: 0,
            damage: None,
            unread: None,
            ledger: PriorityLedger::default(),
        }
    }

    /// Notes a packet of the next block.
    pub fn packet(&mut self, frame: &Frame, bytes: &[u8], offset: u64, block_bytes: u32) {
        let packet = self.builder.packets() as usize;
        self.builder.packet(UNKNOWN, offset, block_bytes, frame.timestamp.as_nanos());
        let (mut facts, is_fragment) = facts(frame, bytes, &self.wire);
        let mut is_from_lower = true;
        if is_fragment {
            if let Some(known) = self.fragments.add(frame, bytes, &self.wire) {
                known.earlier.iter().for_each(|&number| self.set_facts(number, known.facts, known.is_from_lower));
                (facts, is_from_lower) = (Some(known.facts), known.is_from_lower);
            } else if let Some(carrier) = self.fragments.carrier() {
                facts = Some(carrier);
            }
            self.fragments.wait(self.block_from + self.block.len() as u64);
        }
        let (timestamp_ns, captured) = (frame.timestamp.as_nanos(), bytes.len() as u64);
        self.block.push(Some(Waiting { packet, timestamp_ns, bytes: captured, facts, is_fragment, is_from_lower }));
        self.ledger.received_packets += 1;
        self.ledger.received_bytes += u64::from(frame.wire_bytes);
        self.ledger.written_packets += 1;
        self.ledger.written_bytes += u64::from(frame.wire_bytes);
    }

    /// The engine has seen all of the block.
    pub fn end_block(&mut self) {
        let from = self.block_from;
        self.block_from += self.block.len() as u64;
        let mut block = std::mem::take(&mut self.block);
        for (number, waiting) in (from..).zip(block.drain(..)) {
            let Some(waiting) = waiting else { continue };
            if waiting.is_fragment || waiting.facts.is_some_and(|facts| facts.key.proto == TCP) {
                self.late.insert(number, waiting);
                self.late_order.push_back(number);
            } else {
                self.settle(&waiting);
            }
        }
        self.block = block;
        while self.late_order.len() > LATE_MAX {
            let oldest = self.late_order.pop_front().and_then(|number| self.late.remove(&number));
            oldest.iter().for_each(|waiting| self.settle(waiting));
        }
    }

    /// The ports of a fragment that came before.
    fn set_facts(&mut self, number: u64, facts: Facts, is_from_lower: bool) {
        let waiting = match number.checked_sub(self.block_from) {
            Some(place) => self.block.get_mut(place as usize).and_then(Option::as_mut),
            None => self.late.get_mut(&number),
        };
        if let Some(waiting) = waiting {
            waiting.is_from_lower = is_from_lower;
            waiting.facts = waiting.facts.map(|own| Facts { key: with_vlan(facts.key, own.key.vlans), ..own });
        }
    }

    /// Attributes a packet that the engine found in no stream to a record of its headers; a fragment of a datagram that was never whole is of
    /// the stream whose ports it has.
    fn settle(&mut self, waiting: &Waiting) {
        if let Some(facts) = waiting.facts.filter(|_| waiting.is_fragment)
            && let Some(&(stream, key)) = self.streams.get(&facts.conversation())
        {
            let direction = usize::from((facts.key.client == key.client) != waiting.is_from_lower);
            return self.join(waiting, stream, key, direction, &mut BTreeSet::new());
        }
        let record = match waiting.facts {
            Some(Facts { key, outer }) => self.record(RecordKey { stream: 0, key: Some(key), outer }),
            None => UNKNOWN,
        };
        self.count(record, waiting, 0);
    }

    fn count(&mut self, record: u32, waiting: &Waiting, direction: usize) {
        self.builder.renumber(waiting.packet, record);
        self.builder.count(record, direction, (waiting.bytes, waiting.timestamp_ns), 0);
    }

    fn record(&mut self, key: RecordKey) -> u32 {
        if let Some(&number) = self.records.get(&key) {
            return number;
        }
        let number = self.next_record;
        self.next_record += 1;
        self.records.insert(key, number);
        if let Some(own) = key.key.filter(|_| key.stream != 0) {
            let mut ends = [own.client, own.server];
            ends.sort();
            self.streams.insert(FlowKey::new(ends[0], ends[1], own.proto), (key.stream, own));
        }
        let record = FlowRecord { stream: key.stream, key: key.key, outer: key.outer, ..FlowRecord::NONE };
        self.builder.flow(number, record);
        number
    }

    /// A frame of a stream.
    fn attribute(&mut self, number: u64, stream: u64, key: FlowKey, direction: usize, records: &mut BTreeSet<u32>) {
        let waiting = match number.checked_sub(self.block_from) {
            Some(place) => self.block.get_mut(place as usize).and_then(Option::take),
            None => self.late.remove(&number),
        };
        if let Some(waiting) = waiting {
            self.join(&waiting, stream, key, direction, records);
        }
    }

    fn join(&mut self, waiting: &Waiting, stream: u64, key: FlowKey, direction: usize, records: &mut BTreeSet<u32>) {
        let key = match waiting.facts {
            // Its own headers differ from the stream's: a fragment of a tunnel's packet, an aggregate.
            Some(facts) if facts.is_of(&key, waiting.is_fragment) => {
                let key = with_vlan(key, facts.key.vlans);
                RecordKey { stream, key: Some(key), outer: facts.outer }
            }
            Some(Facts { key: own, outer: None }) => {
                let outer = Outer { source: own.client, destination: own.server, proto: own.proto };
                let key = with_vlan(key, own.vlans);
                RecordKey { stream, key: Some(key), outer: Some(outer) }
            }
            _ => RecordKey { stream, key: None, outer: None },
        };
        let record = self.record(key);
        // Each outer header makes another record: an attacker has any number of them.
        records.insert(record);
        self.count(record, waiting, direction);
    }

    fn close(&mut self, records: &BTreeSet<u32>, reason: EndReason, tcp_flags: [u8; 2]) {
        for &record in records {
            self.builder.set_tcp_flags(record, tcp_flags);
            if let Some(record) = self.builder.record(record) {
                record.end = Some(reason);
            }
        }
    }

    /// All was read, and all streams have ended.
    pub fn finish(&mut self) {
        self.end_block();
        // In their order: the same capture has the same index.
        for number in std::mem::take(&mut self.late_order) {
            let waiting = self.late.remove(&number);
            waiting.iter().for_each(|waiting| self.settle(waiting));
        }
    }

    pub fn indexed(&mut self) -> Indexed {
        Indexed {
            sections: self.builder.encode(),
            is_pcapng: self.is_pcapng,
            descriptions: std::mem::take(&mut self.descriptions),
            interfaces: self.interfaces_with_losses(),
            ledger: self.ledger,
            whole_bytes: self.whole_bytes,
            damage: self.damage.take(),
        }
    }

    /// Notes the losses that statistics of an interface state, by its place among all of the capture.
    pub fn stated(&mut self, interface: usize, loss: &StatedLoss) {
        let is_before = self.builder.packets() == 0;
        let known = self.losses.entry(interface).or_default();
        let pairs = [loss.interface_dropped, loss.system_dropped].into_iter().zip(known);
        for (now, (before, last)) in pairs {
            *last = now.unwrap_or(*last);
            if is_before {
                *before = *last;
            }
        }
    }

    fn interfaces_with_losses(&mut self) -> Vec<InterfaceSummary> {
        let mut interfaces = std::mem::take(&mut self.interfaces);
        for (place, [dropped, system_dropped]) in std::mem::take(&mut self.losses) {
            let lost = |(before, last): (u64, u64)| last.saturating_sub(before);
            if let Some(interface) = interfaces.get_mut(place) {
                (interface.dropped, interface.system_dropped) = (lost(dropped), lost(system_dropped));
            }
        }
        interfaces
    }

    /// Notes the link type of a frame's interface, where no description did.
    pub fn interface(&mut self, number: u16, link: LinkType) {
        let place = usize::from(number);
        if self.interfaces.len() <= place {
            self.interfaces.resize(place + 1, InterfaceSummary { link: link.0, ..InterfaceSummary::default() });
        }
    }
}

/// The handler that reports which packets belong to which stream.
pub(super) struct Tracker {
    state: Arc<Mutex<Attribution>>,
}

impl Tracker {
    pub fn new(state: Arc<Mutex<Attribution>>) -> Self {
        Self { state }
    }

    fn state(&self) -> MutexGuard<'_, Attribution> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handler for Tracker {
    /// Records of the stream.
    type Data = BTreeSet<u32>;
    const PACKETS: bool = true;

    fn packet(&mut self, stream: &mut Stream<'_, BTreeSet<u32>>, packet: StreamPacket<'_>) {
        let (id, key, way) = (stream.id(), stream.key(), packet.direction as usize);
        let mut state = self.state();
        // A datagram came in several frames.
        for &number in packet.fragments {
            state.attribute(number, id, key, way, stream.data());
        }
        if packet.fragments.is_empty() {
            state.attribute(packet.number, id, key, way, stream.data());
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, BTreeSet<u32>>, reason: EndReason) {
        let flags = Direction::BOTH.map(|way| stream.stats(way).tcp_flags as u8);
        self.state().close(stream.data(), reason, flags);
    }
}
