//! Which flow a packet belongs to, and what is kept of it.

use tidewire::{Batch, EndReason};
use tidewire_wire::{Frame, ip_protocol::TCP, tcp_flag};

use super::Recorder;
use crate::{
    classes::Keep,
    flows::{Found, Keyed, Seen},
    ledger::Fate,
    place::{segment_time_of, time_of},
};

/// Packets that are looked up together.
pub(super) const AHEAD: usize = 16;

impl Recorder {
    /// Counts a packet, and writes it if it is to be written; the filter may leave it out.
    pub(super) fn packet(&mut self, frame: &Frame, bytes: &[u8]) {
        if !self.is_filtered(frame, bytes) {
            self.admit(frame, bytes);
        }
    }

    /// Whether the filter leaves a packet out, which then is counted.
    pub(super) fn is_filtered(&mut self, frame: &Frame, bytes: &[u8]) -> bool {
        let Some(filter) = &mut self.filter else { return false };
        let is_out = !filter.matches(frame.link, bytes, frame.wire_bytes).unwrap_or(false);
        if is_out {
            self.count(0, Fate::Filtered, 1, frame.wire_bytes.into());
        }
        is_out
    }

    /// The same for a packet that the filter accepted.
    pub(super) fn admit(&mut self, frame: &Frame, bytes: &[u8]) {
        let found = self.walk.find(frame, bytes);
        self.admit_found(frame, bytes, &found);
    }

    /// Packets that no filter can leave out. Each needs memory that is rarely in the cache, so the next ones' is fetched meanwhile.
    pub(super) fn packets(&mut self, batch: &Batch<'_>, frames: &[Frame; AHEAD]) {
        let mut found = [Found::Other; AHEAD];
        for (frame, place) in frames.iter().zip(&mut found) {
            *place = self.walk.find(frame, batch.bytes(frame));
            if let Found::Flow(keyed, _) = place {
                self.flows.prefetch_place(keyed);
            }
        }
        for found in &found {
            if let Found::Flow(keyed, _) = found {
                self.flows.prefetch(keyed);
            }
        }
        if let Some((segment, _)) = &self.segment {
            let of_flows =
                found.iter().filter_map(|found| if let Found::Flow(keyed, _) = found { Some(keyed) } else { None });
            for lane in of_flows.filter_map(|keyed| self.flows.cached(keyed)) {
                if lane.segment == segment.number {
                    segment.builder.prefetch(lane.record);
                }
            }
        }
        for (frame, found) in frames.iter().zip(&found) {
            self.admit_found(frame, batch.bytes(frame), found);
        }
    }

    /// Counts a packet whose flow is known, and writes it if it is to be written.
    #[inline]
    fn admit_found(&mut self, frame: &Frame, bytes: &[u8], found: &Found) {
        match *found {
            Found::Flow(keyed, seen) if keyed.key.is_fragment() => self.fragment(frame, bytes, &keyed, seen),
            Found::Flow(keyed, seen) => drop(self.flow_packet(frame, bytes, &keyed, seen)),
            Found::Headers(keyed) => self.headers(frame, bytes, &keyed),
            Found::Other => {
                let Keep { snap_bytes, .. } = self.classes.general();
                self.write(frame, kept(bytes, snap_bytes), None, 0);
            }
        }
    }

    /// A frame that is no IP packet, or cannot be walked: it is of no stream, and its class is its own.
    fn headers(&mut self, frame: &Frame, bytes: &[u8], keyed: &Keyed) {
        let Keep { snap_bytes, priority, .. } = self.classes.keep(frame, bytes);
        let slot = self.flow(frame, bytes, keyed, Seen::NONE);
        if let Some(lane) = self.flows.get_mut(slot) {
            lane.last_ns = lane.last_ns.max(time_of(frame));
        }
        self.write(frame, kept(bytes, snap_bytes), Some(slot), priority);
    }

    /// Writes a packet of no stream, if there is room, and counts it. `slot`: the flow that has its record; `None`: record 0.
    fn write(&mut self, frame: &Frame, captured: &[u8], slot: Option<u32>, priority: u8) {
        let is_written = self.is_admitted(priority)
            && self.make_room(self.block_bytes(frame.number, captured.len()), segment_time_of(frame));
        if is_written {
            let record = slot.map_or(0, |slot| self.record(slot));
            self.append(frame, captured, record, priority);
            self.note(record, 0, frame, captured, 0);
        } else {
            self.count(priority, Fate::Shed, 1, frame.wire_bytes.into());
        }
    }

    /// A packet of a flow. Returns the flow, if it was written.
    #[inline(always)]
    pub(super) fn flow_packet(&mut self, frame: &Frame, bytes: &[u8], keyed: &Keyed, seen: Seen) -> Option<u32> {
        let slot = self.flow(frame, bytes, keyed, seen);
        let lane = self.flows.get_mut(slot)?;
        lane.last_ns = lane.last_ns.max(time_of(frame));
        let (direction, keep, stream_ended) = (lane.direction(keyed.from_lower), lane.keep, lane.end.is_some());
        let is_cut = self.cuts && self.is_beyond(slot, direction, seen);
        let wire_bytes = u64::from(frame.wire_bytes);
        let mut written = None;
        if is_cut {
            if self.segment.is_none() {
                // It is noted in a segment, whether a packet is written or not.
                self.interface(frame);
                self.make_room(0, segment_time_of(frame));
            }
            self.cut(slot, direction, (wire_bytes, time_of(frame)));
            self.count(keep.priority, Fate::CutOff, 1, wire_bytes);
        } else {
            let captured = kept(bytes, keep.snap_bytes);
            let is_written = self.is_admitted(keep.priority)
                && self.make_room(self.block_bytes(frame.number, captured.len()), segment_time_of(frame));
            if is_written {
                let record = self.record(slot);
                self.append(frame, captured, record, keep.priority);
                self.note(record, direction, frame, captured, seen.flags);
                written = Some(slot);
            } else {
                self.count(keep.priority, Fate::Shed, 1, wire_bytes);
            }
        }
        if seen.is_control() && !stream_ended {
            self.control(slot, direction, seen);
        }
        written
    }

    /// Whether the buffers have room for this priority.
    fn is_admitted(&self, priority: u8) -> bool {
        self.watermarks.get(usize::from(priority)).is_none_or(|mark| self.level_permille < *mark)
    }

    /// The flow of a packet: found, or new.
    #[inline]
    fn flow(&mut self, frame: &Frame, bytes: &[u8], keyed: &Keyed, seen: Seen) -> u32 {
        if let Some(slot) = self.flows.find(keyed) {
            let opens = seen.flags & (tcp_flag::SYN | tcp_flag::ACK) == tcp_flag::SYN;
            if !opens || self.flows.get(slot).is_none_or(|lane| lane.end.is_none()) {
                return slot;
            }
            // Another connection with the same addresses and ports.
            self.forget(slot, EndReason::Reused);
        }
        self.new_flow(frame, bytes, keyed, seen)
    }

    #[cold]
    fn new_flow(&mut self, frame: &Frame, bytes: &[u8], keyed: &Keyed, seen: Seen) -> u32 {
        if self.flows.is_full()
            && let Some(slot) = self.flows.candidate()
        {
            self.forget(slot, EndReason::Evicted);
        }
        let mut keep = self.classes.keep(frame, bytes);
        if !keyed.key.is_stream() {
            // They have no payload of a stream.
            keep.cutoff = [u64::MAX; 2];
        }
        // Other packets were walked since.
        self.walk.find(frame, bytes);
        let details = self.walk.details(frame, bytes);
        self.flows.insert(keyed, seen, frame.number, keep, details)
    }

    /// Whether a packet lies beyond the cutoff. Counts its payload.
    fn is_beyond(&mut self, slot: u32, direction: usize, seen: Seen) -> bool {
        let account = self.flows.account(slot);
        let Some(lane) = self.flows.get_mut(account) else { return false };
        let (cutoff, before) = (lane.keep.cutoff, lane.payload);
        if let Some(payload) = lane.payload.get_mut(direction) {
            *payload += u64::from(seen.payload_bytes);
        }
        let is_past = |way: usize| before.get(way) >= cutoff.get(way);
        if seen.is_control() {
            return false;
        }
        // A bare acknowledgment is of as little use as the bytes that it acknowledges.
        is_past(direction) || seen.payload_bytes == 0 && seen.flags != 0 && is_past(1 - direction)
    }

    /// Notes a packet that was written in its record.
    #[inline]
    fn note(&mut self, record: u32, direction: usize, frame: &Frame, captured: &[u8], flags: u8) {
        let Some((segment, _)) = &mut self.segment else { return };
        segment.builder.count(record, direction, (captured.len() as u64, time_of(frame)), flags);
    }

    /// The number of a flow's record in the open segment.
    #[inline]
    pub(super) fn record(&mut self, slot: u32) -> u32 {
        let (Some((segment, _)), Some(lane)) = (&mut self.segment, self.flows.get_mut(slot)) else { return 0 };
        if lane.segment != segment.number {
            // A packet that is written begins another segment first. What is cut off may belong to any number of flows: beyond the
            // bound, those of a segment are counted together.
            if segment.builder.is_full() {
                return 0;
            }
            lane.segment = segment.number;
            lane.record = segment.next_record;
            segment.next_record += 1;
            segment.builder.flow(lane.record, lane.new_record());
        }
        lane.record
    }

    /// Notes a packet that was cut off.
    fn cut(&mut self, slot: u32, direction: usize, (wire_bytes, timestamp_ns): (u64, u64)) {
        self.note_cut(slot, direction, (1, wire_bytes), timestamp_ns);
        self.offload(slot, direction);
    }

    /// Notes packets that were cut off in the flow's record; `last_ns`: when the last of them was there.
    pub(super) fn note_cut(&mut self, slot: u32, direction: usize, (packets, bytes): (u64, u64), last_ns: u64) {
        let record = self.record(slot);
        let Some((segment, _)) = &mut self.segment else { return };
        if let Some(cut) = segment.builder.record(record).and_then(|record| record.cut_off.get_mut(direction)) {
            cut.packets += packets;
            cut.bytes += bytes;
            segment.builder.see(record, last_ns);
        }
    }

    /// A SYN, FIN or RST came.
    #[cold]
    fn control(&mut self, slot: u32, direction: usize, seen: Seen) {
        let account = self.flows.account(slot);
        let Some(lane) = self.flows.get_mut(account).filter(|lane| lane.key.proto() == TCP) else { return };
        if let Some(fin) = lane.fins.get_mut(direction) {
            *fin |= seen.flags & tcp_flag::FIN != 0;
        }
        let end = if seen.flags & tcp_flag::RST != 0 {
            EndReason::Rst
        } else if lane.fins == [true; 2] {
            EndReason::Fin
        } else {
            return;
        };
        for slot in [account, slot] {
            self.end_flow(slot, end);
        }
    }

    /// Notes why a flow ended.
    fn end_flow(&mut self, slot: u32, end: EndReason) {
        self.retire(slot);
        let number = self.segment.as_ref().map(|(segment, _)| segment.number);
        let Some(lane) = self.flows.get_mut(slot) else { return };
        lane.end = Some(end);
        let record = (number == Some(lane.segment)).then_some(lane.record);
        if let (Some(record), Some((segment, _))) = (record, &mut self.segment)
            && let Some(record) = segment.builder.record(record)
        {
            record.end = Some(end);
        }
    }

    /// Removes a flow from the table.
    pub(super) fn forget(&mut self, slot: u32, reason: EndReason) {
        if self.flows.get(slot).is_some_and(|lane| lane.end.is_none()) {
            self.end_flow(slot, reason);
        } else {
            self.retire(slot);
        }
        self.flows.remove(slot);
    }
}

/// The bytes that are kept of a packet.
#[inline]
pub(super) fn kept(bytes: &[u8], snap_bytes: u32) -> &[u8] {
    bytes.get(..snap_bytes as usize).unwrap_or(bytes)
}
