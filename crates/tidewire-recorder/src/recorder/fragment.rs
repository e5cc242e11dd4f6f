//! Fragments: of the stream whose ports the first one of their datagram has.

use tidewire_wire::Frame;

use super::{Recorder, flow::kept};
use crate::{
    flows::{Keyed, Seen},
    place::{FragmentLocation, time_of},
};

/// The record of headers has all fragments in one direction.
const WAITED: usize = 0;

impl Recorder {
    /// A fragment, of whatever stream it turns out to be.
    #[cold]
    pub(super) fn fragment(&mut self, frame: &Frame, bytes: &[u8], keyed: &Keyed, seen: Seen) {
        match self.fragments.add(frame, bytes, self.walk.wire()) {
            Some(found) => {
                let of_stream = self.walk.of_fragment(&found);
                if let Some(slot) = self.flow_packet(frame, bytes, &of_stream, seen) {
                    self.attribute(slot, found.is_from_lower, &found.earlier);
                }
            }
            None => {
                // Of a datagram that carries a tunnel, expressions see the ports of its first fragment.
                let carrier = self.fragments.carrier().map(|facts| self.walk.of_carrier(&facts));
                let slot = self.flow_packet(frame, bytes, carrier.as_ref().unwrap_or(keyed), seen);
                let snap_bytes = slot.and_then(|slot| self.flows.get(slot)).map(|lane| lane.keep.snap_bytes);
                let (Some(snap_bytes), Some((segment, _))) = (snap_bytes, &self.segment) else { return };
                self.fragments.wait(FragmentLocation {
                    segment: segment.number,
                    packet: (segment.builder.packets() as usize).saturating_sub(1),
                    captured_bytes: kept(bytes, snap_bytes).len() as u64,
                    timestamp_ns: time_of(frame),
                });
            }
        }
    }

    /// Moves fragments of the open segment that came before to the record of their stream.
    fn attribute(&mut self, slot: u32, is_from_lower: bool, earlier: &[FragmentLocation]) {
        if earlier.is_empty() {
            return;
        }
        let record = self.record(slot);
        let direction = self.flows.get(slot).map_or(0, |lane| lane.direction(is_from_lower));
        let Some((segment, _)) = &mut self.segment else { return };
        for place in earlier.iter().filter(|place| place.segment == segment.number) {
            let amount = (place.captured_bytes, place.timestamp_ns);
            segment.builder.attribute(place.packet, record, (WAITED, direction), amount);
        }
    }
}
