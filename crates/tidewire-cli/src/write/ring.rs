//! Copies of packets whose stream may still be chosen: for inputs that cannot be read again.

use std::collections::{HashMap, VecDeque};

use tidewire::{Frame, StreamPacket};

use crate::packet_file::Captured;

/// Bytes of packets that wait in all workers together.
pub const RING_BYTES: usize = 64 << 20;

/// Bytes charged for a packet beside its own.
const PACKET_CHARGE_BYTES: usize = 96;

/// A copy of a packet.
pub struct Held {
    interface: u16,
    link: tidewire::LinkType,
    timestamp_ns: u64,
    wire_bytes: u32,
    bytes: Box<[u8]>,
    /// The number of a fragment that no datagram has claimed yet; 0 for other packets.
    fragment: u64,
}

impl Held {
    /// The packet.
    pub fn captured(&self) -> Captured<'_> {
        let Self { interface, link, timestamp_ns, wire_bytes, ref bytes, .. } = *self;
        Captured { interface, link, timestamp_ns, wire_bytes, bytes }
    }

    /// Bytes charged for it.
    fn charge(&self) -> usize {
        self.bytes.len() + PACKET_CHARGE_BYTES
    }
}

impl<'a> From<&StreamPacket<'a>> for Captured<'a> {
    fn from(packet: &StreamPacket<'a>) -> Self {
        let StreamPacket { interface, link, timestamp, wire_bytes, bytes, .. } = *packet;
        Self { interface, link, timestamp_ns: timestamp.as_nanos(), wire_bytes, bytes }
    }
}

/// Copies in order of arrival: the oldest is dropped when there is no room.
#[derive(Default)]
pub struct Ring {
    slots: VecDeque<Option<Held>>,
    /// The place of the first slot, counted from the beginning.
    first: u64,
    bytes: usize,
    bytes_max: usize,
    /// Places of fragments that no datagram has claimed, by the number of the frame.
    fragments: HashMap<u64, u64>,
}

impl Ring {
    /// A ring for so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, ..Self::default() }
    }

    /// Copies a packet; returns its place.
    pub fn push(&mut self, packet: &Captured<'_>) -> u64 {
        self.add(packet, 0)
    }

    /// Copies a fragment.
    pub fn push_fragment(&mut self, frame: &Frame, bytes: &[u8]) {
        let Frame { interface, link, timestamp, wire_bytes, number, .. } = *frame;
        let timestamp_ns = timestamp.as_nanos();
        let place = self.add(&Captured { interface, link, timestamp_ns, wire_bytes, bytes }, number);
        self.fragments.insert(number, place);
    }

    /// The place of a fragment, which from now on belongs to the caller.
    pub fn claim(&mut self, number: u64) -> Option<u64> {
        let place = self.fragments.remove(&number)?;
        if let Some(Some(held)) = self.slots.get_mut((place - self.first) as usize) {
            held.fragment = 0;
        }
        Some(place)
    }

    /// Takes out the packet of a place; `None`: it was dropped.
    pub fn take(&mut self, place: u64) -> Option<Held> {
        let slot = self.slots.get_mut(usize::try_from(place.checked_sub(self.first)?).ok()?)?;
        let held = slot.take()?;
        self.bytes -= held.charge();
        self.trim();
        Some(held)
    }

    fn add(&mut self, packet: &Captured<'_>, fragment: u64) -> u64 {
        let Captured { interface, link, timestamp_ns, wire_bytes, bytes } = *packet;
        let held = Held { interface, link, timestamp_ns, wire_bytes, bytes: bytes.into(), fragment };
        self.bytes += held.charge();
        self.slots.push_back(Some(held));
        let place = self.first + self.slots.len() as u64 - 1;
        while self.bytes > self.bytes_max && self.slots.len() > 1 {
            if let Some(Some(oldest)) = self.slots.pop_front() {
                self.bytes -= oldest.charge();
                self.fragments.remove(&oldest.fragment);
            }
            self.first += 1;
            self.trim();
        }
        place
    }

    /// Removes empty slots in front.
    fn trim(&mut self) {
        while matches!(self.slots.front(), Some(None)) {
            self.slots.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: &[u8]) -> Captured<'_> {
        let link = tidewire::LinkType::ETHERNET;
        Captured { interface: 0, link, timestamp_ns: 0, wire_bytes: bytes.len() as u32, bytes }
    }

    #[test]
    fn the_oldest_are_dropped_and_places_stay() {
        let mut ring = Ring::new(3 * (PACKET_CHARGE_BYTES + 4));
        let places: Vec<u64> = (0..5_u32).map(|number| ring.push(&packet(&number.to_le_bytes()))).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
        assert!(ring.take(0).is_none() && ring.take(1).is_none());
        assert_eq!(ring.take(3).unwrap().captured().bytes, 3_u32.to_le_bytes());
        assert!(ring.take(3).is_none());
        assert_eq!(ring.take(2).unwrap().captured().bytes, 2_u32.to_le_bytes());
        // Slots in front are removed with what was taken.
        assert_eq!((ring.slots.len(), ring.first, ring.bytes), (1, 4, PACKET_CHARGE_BYTES + 4));
        assert_eq!(ring.push(&packet(b"next")), 5);
        assert_eq!(ring.take(5).unwrap().captured().bytes, b"next");
        assert_eq!(ring.take(4).unwrap().captured().bytes, 4_u32.to_le_bytes());
        assert_eq!((ring.slots.len(), ring.first, ring.bytes), (0, 6, 0));
        assert!(ring.take(9).is_none());
    }

    #[test]
    fn one_packet_always_has_room() {
        let mut ring = Ring::new(1);
        let place = ring.push(&packet(b"large"));
        assert_eq!(ring.take(place).unwrap().captured().bytes, b"large");
    }
}
