//! Decoding of packets for searches.

use tidewire_wire::{Decoded, Frame, Kind, Settings as WireSettings, Slices, Slicing, decode};

/// Decodes a packet for a search. One that is longer than its frame is taken as cut before the capture, as packet brokers do: whether
/// frames of its interface were cut shows at the beginning of a recording alone, and it is found by its headers alone.
pub(crate) fn decode_whole_or_cut(frame: &Frame, bytes: &[u8], settings: &WireSettings) -> Decoded {
    let mut decoded = decode(frame.link, bytes, frame.wire_bytes, settings);
    if decoded.kind == Kind::Malformed {
        Slices::new(Slicing::At(frame.wire_bytes)).decode(frame, bytes, settings, &mut decoded);
    }
    decoded
}
