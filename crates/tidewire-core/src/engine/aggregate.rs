//! Frames of several packets: 802.11 aggregates (A-MSDU).
//!
//! Such a frame is one frame in the ledger, with the fate [`Fate::Aggregate`] if any of its packets belongs to a flow:
//! its packets may belong to flows of several workers, and the first worker counts it. Each packet goes to its flow as
//! an IP packet, in the worker that owns the flow.
//!
//! Its bytes are divided among its packets, so that sums over streams remain those of frames. A packet's index inside
//! the frame is in the upper bits of its number: a stream's id is the number of its first packet, and one frame may
//! begin two streams.

use super::{Engine, fragments::vlans};
use crate::{
    Fate, Frame, Handler,
    flow::{Key, KeyMask, NO_SLOT},
    packet::{Keyed, PLACE_SHIFT, Packet},
    wire::{self, Decoded, Kind, LinkType, Subframe, TunnelKind},
};

impl<H: Handler> Engine<H> {
    /// Processes a frame of several packets. Its fate is that of its first packet, if none belongs to a flow.
    #[cold]
    pub(crate) fn aggregate(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded) -> Fate {
        let mut fate = None;
        let mut from = 0;
        let mut subframes = wire::subframes(bytes, decoded).enumerate().peekable();
        while let Some((place, subframe)) = subframes.next() {
            // Bytes before the first subframe count with it, and padding with the subframe before it.
            let to = subframes.peek().map_or(frame.wire_bytes, |(_, next)| next.at);
            let found =
                self.subframe(frame, bytes, decoded, &subframe, place as u64, u64::from(to.saturating_sub(from)));
            from = to;
            if fate.is_none() || found == Fate::Aggregate {
                fate = Some(found);
            }
        }
        fate.unwrap_or(Fate::OtherLink)
    }

    /// Processes one packet of the frame; `frame_bytes` of the frame are counted for it.
    fn subframe(
        &mut self,
        frame: &Frame,
        bytes: &[u8],
        outer: &Decoded,
        subframe: &Subframe,
        place: u64,
        frame_bytes: u64,
    ) -> Fate {
        let found = wire::decode_subframe(bytes, subframe, &self.shared.config.wire);
        if found.kind as u8 > Kind::Fragment as u8 {
            let counts = self.share.index == 0;
            return match found.kind {
                Kind::Arp => Fate::Arp,
                Kind::Malformed => {
                    if let (true, Some(why)) = (counts, found.malformed) {
                        self.shared.ledger.malformations[why as usize & 63] += 1;
                    }
                    Fate::Malformed
                }
                _ => Fate::OtherLink,
            };
        }
        let end = bytes.len().min(subframe.end as usize);
        let packet = bytes.get(found.outer_ip_at as usize..end).unwrap_or_default();
        let wire_bytes = subframe.end - found.outer_ip_at;
        let mut decoded = wire::decode(LinkType::RAW, packet, wire_bytes, &self.shared.config.wire);
        // The encapsulation of the frame counts as for a frame with one packet.
        decoded.vlans = vlans(outer.vlans, found.vlans);
        if decoded.tunnel.kind == TunnelKind::None {
            decoded.tunnel = outer.tunnel;
        }
        let inner = frame
            .with_place(frame.at, packet.len() as u32)
            .with_wire_bytes(wire_bytes)
            .with_link(LinkType::RAW)
            .with_number(frame.number | place << PLACE_SHIFT)
            .with_origin(if frame.origin == 0 { 0 } else { frame.origin + u64::from(found.outer_ip_at) });
        if decoded.kind == Kind::Fragment {
            self.fragment_of_aggregate(&inner, packet, &decoded);
            return Fate::Aggregate;
        }
        let Some((key, from_a)) = Key::of(packet, &decoded, self.shared.config.hash_key) else {
            return Fate::Malformed;
        };
        let hash = key.hash(self.shared.config.hash_key, KeyMask::of(self.shared.config.key_ids)).max(1);
        if self.is_own_flow(hash) {
            let ip_bytes = decoded.ip_bytes.into();
            let packet = Packet {
                frame: &inner,
                bytes: packet,
                decoded: &decoded,
                frames: 1,
                frame_bytes,
                ip_bytes,
                is_rebuilt: true,
                fragments: &[],
                path: self.paths.of(frame, bytes, outer).with(decoded.doubts),
            };
            self.transport(&Keyed { packet: &packet, key: &key, from_a, hash }, NO_SLOT);
        }
        Fate::Aggregate
    }
}
