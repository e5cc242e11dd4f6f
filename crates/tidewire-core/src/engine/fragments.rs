//! Fragments become datagrams, and these go to their flows.
//!
//! Every worker reassembles all fragments, because only the whole datagram shows which flow it belongs to. The first
//! worker counts and reports them; the owner of the flow processes the datagram.

use super::Engine;
use crate::{
    Datagram, DefragPolicy, Fate, Frame, Handler, Ledger, Timestamp, Vlans,
    defrag::{Defragmenter, Ended, Outcome, Part, Rebuilt},
    flow::{Key, KeyMask},
    packet::{Keyed, Packet, frame_number},
    path::Path,
    wire::{self, Decoded, Doubts, Kind, LinkType, ip_protocol},
};

/// Nesting of datagrams: a rebuilt one may contain a fragment again (in a tunnel), this many times.
const NESTING_MAX: u32 = 4;

/// Where a fragment came from.
#[derive(Clone, Copy)]
struct Origin<'a> {
    /// Datagrams around it that were rebuilt, or that have their fates otherwise.
    nesting: u32,
    /// Numbers of its frames.
    numbers: &'a [u64],
    path: Path,
}

/// A fragment in a rebuilt datagram.
struct Inner {
    frame: Frame,
    bytes: Vec<u8>,
    decoded: Decoded,
    nesting: u32,
    numbers: Vec<u64>,
    path: Path,
}

/// The first two VLAN ids of a packet inside another.
pub(super) fn vlans(outer: Vlans, inner: Vlans) -> Vlans {
    outer.iter().chain(inner.iter()).collect()
}

impl<H: Handler> Engine<H> {
    /// Processes a fragment.
    #[cold]
    pub(crate) fn fragment(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded) {
        if H::FRAGMENTS {
            self.outputs.handler.fragment(frame, bytes);
        }
        self.fragment_at(frame, bytes, decoded, 0);
    }

    /// A fragment in a frame of several packets, which has its fate already.
    pub(crate) fn fragment_of_aggregate(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded) {
        if H::FRAGMENTS {
            self.outputs.handler.fragment(frame, bytes);
        }
        self.fragment_at(frame, bytes, decoded, 1);
    }

    /// `nesting`: 1 where its frame has its fate already.
    fn fragment_at(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded, nesting: u32) {
        let path = self.paths.of(frame, bytes, decoded);
        let numbers = [frame_number(frame.number)];
        let mut inner = self.fragment_in(frame, bytes, decoded, Origin { nesting, numbers: &numbers, path });
        // A rebuilt datagram may hold a fragment again, in a tunnel.
        while let Some(Inner { frame, bytes, decoded, nesting, numbers, path }) = inner {
            inner = self.fragment_in(&frame, &bytes, &decoded, Origin { nesting, numbers: &numbers, path });
        }
    }

    /// Processes a fragment. Returns the fragment that is in its datagram, if it completed one.
    fn fragment_in(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded, origin: Origin<'_>) -> Option<Inner> {
        let reports = self.share.index == 0;
        let has_fate = origin.nesting > 0;
        let counts = reports && !has_fate;
        let config = &self.shared.config;
        if config.checksum != crate::ChecksumMode::Ignore
            && decoded.ip_version == 4
            && wire::checksum::ipv4_header_checksum(bytes, decoded) == wire::checksum::Checksum::Bad
        {
            if counts {
                self.shared.ledger.settle(Fate::FragmentRejected);
            }
            return None;
        }
        let policy = self.defrag_policy(bytes, decoded);
        let mut defragmenter =
            self.defragmenter.take().unwrap_or_else(|| Box::new(Defragmenter::new(&self.shared.config)));
        let (ledger, handler) = (&mut self.shared.ledger, &mut self.outputs.handler);
        let part = Part { bytes, decoded, numbers: origin.numbers, path: origin.path, has_fate };
        let outcome = defragmenter.insert_part(policy, frame, &part, &mut |ended| {
            if reports {
                report_datagram(ended, ledger, handler, frame.timestamp.as_nanos());
            }
        });
        let mut inner = None;
        match outcome {
            Outcome::Held => {}
            Outcome::Rejected(_) if counts => ledger.settle(Fate::FragmentRejected),
            Outcome::Rejected(_) => {}
            Outcome::Rebuilt(rebuilt) => {
                if reports {
                    ledger.settle_many(Fate::FragmentRebuilt, u64::from(rebuilt.unsettled));
                    ledger.datagrams_rebuilt += 1;
                    if H::DATAGRAMS {
                        handler.datagram(&datagram_of(&rebuilt, frame));
                    }
                }
                inner = self.whole(frame, &rebuilt, origin);
            }
        }
        self.defragmenter.get_or_insert(defragmenter);
        inner
    }

    /// A rebuilt datagram: processed if its flow belongs to this worker. Returns the fragment that it is, in a tunnel.
    fn whole(&mut self, frame: &Frame, rebuilt: &Rebuilt<'_>, origin: Origin<'_>) -> Option<Inner> {
        let bytes = rebuilt.packet;
        let length = bytes.len() as u32;
        let mut decoded = wire::decode(LinkType::RAW, bytes, length, &self.shared.config.wire);
        if decoded.tunnel.kind == wire::TunnelKind::None {
            decoded.tunnel = rebuilt.tunnel;
        }
        decoded.vlans = vlans(rebuilt.vlans, decoded.vlans);
        let inner = frame
            .with_place(frame.at, length)
            .with_wire_bytes(length)
            .with_link(LinkType::RAW)
            .with_origin(0)
            .with_checksum(rebuilt.checksum);
        // A rebuilt packet has no fragment header: another one makes it invalid (Linux: `ipv6_frag_rcv`). Hop-by-hop
        // options must not come after it, and they would now be first (RFC 8200 section 4.1).
        let is_outermost = decoded.ip_at == decoded.outer_ip_at;
        let is_second = decoded.doubts.has(Doubts::ATOMIC) || decoded.kind == Kind::Fragment;
        if is_outermost && decoded.ip_version == 6 && (is_second || rebuilt.proto == ip_protocol::HOP_BY_HOP) {
            decoded.doubts |= Doubts::HEADER;
        }
        if decoded.kind == Kind::Fragment {
            // The outer fragments have their fate; the inner datagram is reported when it is complete. Its other fragments
            // may have come without an outer one being rebuilt, on the same path.
            let Origin { nesting, path, .. } = origin;
            let path = path.with(decoded.doubts);
            let (bytes, numbers) = (bytes.to_vec(), rebuilt.numbers.to_vec());
            let inner = Inner { frame: inner, bytes, decoded, nesting: nesting + 1, numbers, path };
            return Some(inner).filter(|_| nesting < NESTING_MAX);
        }
        if decoded.kind as u8 > Kind::OtherIp as u8 {
            if let (true, Some(why)) = (self.share.index == 0, decoded.malformed) {
                self.shared.ledger.malformations[why as usize & 63] += 1;
            }
            return None;
        }
        let (key, from_a) = Key::of(bytes, &decoded, self.shared.config.hash_key)?;
        let hash = key.hash(self.shared.config.hash_key, KeyMask::of(self.shared.config.key_ids)).max(1);
        if !self.is_own_flow(hash) {
            return None;
        }
        // Tags inside a tunnel were not seen with the fragments.
        let path = if is_outermost { origin.path } else { origin.path.without_name() };
        let packet = Packet {
            frame: &inner,
            bytes,
            decoded: &decoded,
            frames: rebuilt.fragments,
            frame_bytes: rebuilt.frame_bytes,
            ip_bytes: rebuilt.ip_bytes,
            is_rebuilt: true,
            fragments: rebuilt.numbers,
            path: path.with(decoded.doubts),
        };
        self.transport(&Keyed { packet: &packet, key: &key, from_a, hash }, crate::flow::NO_SLOT);
        None
    }

    /// The policy of the receiver of a fragment.
    fn defrag_policy(&self, bytes: &[u8], decoded: &Decoded) -> DefragPolicy {
        let config = &self.shared.config;
        let general = if decoded.ip_version == 6 { config.defrag_policy_v6 } else { config.defrag_policy };
        if config.targets.is_empty() {
            return general;
        }
        let (_, receiver) = wire::addresses(bytes, decoded);
        config.targets.find(receiver).map_or(general, |found| found.1)
    }

    /// Settles the fragments of incomplete datagrams.
    pub(crate) fn finish_fragments(&mut self) {
        let counts = self.share.index == 0;
        let clock_ns = self.shared.now.clock_ns;
        let (ledger, handler) = (&mut self.shared.ledger, &mut self.outputs.handler);
        let Some(mut defragmenter) = self.defragmenter.take() else { return };
        defragmenter.finish(&mut |ended| {
            if counts {
                report_datagram(ended, ledger, handler, clock_ns);
            }
        });
    }
}

fn report_datagram<H: Handler>(ended: &Ended<'_>, ledger: &mut Ledger, handler: &mut H, timestamp_ns: u64) {
    let fate = if ended.rejection.is_unfinished() { Fate::FragmentUnfinished } else { Fate::FragmentRejected };
    ledger.settle_many(fate, u64::from(ended.unsettled));
    ledger.datagrams_rejected += 1;
    if H::DATAGRAMS {
        handler.datagram(&Datagram {
            packet: frame_number(ended.packet),
            timestamp: Timestamp::from_nanos(timestamp_ns),
            source: ended.source,
            destination: ended.destination,
            ip_id: ended.ip_id,
            proto: ended.proto,
            fragments: ended.fragments,
            payload: &[],
            policy: ended.policy,
            overlaps: ended.overlaps,
            rejected: Some(ended.rejection),
            numbers: ended.numbers,
        });
    }
}

fn datagram_of<'a>(rebuilt: &Rebuilt<'a>, frame: &Frame) -> Datagram<'a> {
    Datagram {
        packet: frame_number(frame.number),
        timestamp: frame.timestamp,
        source: rebuilt.source,
        destination: rebuilt.destination,
        ip_id: rebuilt.ip_id,
        proto: rebuilt.proto,
        fragments: rebuilt.fragments,
        payload: rebuilt.payload(),
        policy: rebuilt.policy,
        overlaps: rebuilt.overlaps,
        rejected: None,
        numbers: rebuilt.numbers,
    }
}
