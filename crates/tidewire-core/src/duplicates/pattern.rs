//! Whether an input is one of a mirror that copies packets.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    time::Duration,
};

use super::{COPY_NS_MAX, Fingerprint, REPEAT_NS_MAX, Secrets};
use crate::{
    Batch, DuplicateRule,
    wire::{self, Decoded, Kind, Settings},
};

/// Copies that make a pattern, at least.
const COPIES_MIN: u32 = 4;
/// One of so many packets is a copy, at least. Packets that a host happens to repeat are fewer.
const SHARE: u32 = 8;
/// Packets observed, at most.
const PACKETS_MAX: u32 = 1 << 14;
/// Packets observed where none came twice.
const PACKETS_WITHOUT_MAX: u32 = 1 << 12;

/// Tables by keyed digests, which are hashes already.
type ByDigest<K, V> = HashMap<K, V, BuildHasherDefault<Digest>>;

/// The hash of a digest: itself, spread over all bits.
#[derive(Default)]
struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.0.rotate_left(8) ^ u64::from(byte)));
    }

    fn write_u32(&mut self, digest: u32) {
        self.write_u64(digest.into());
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The known content of a packet.
struct Seen {
    first: Fingerprint,
    time_ns: u64,
    count: u32,
}

/// Identifications of a direction.
struct Ids {
    id: u16,
    content: u64,
    /// Copies at one place with the same identification.
    copies: u32,
    /// Whether different packets had different ones, or the same.
    varies: bool,
    is_constant: bool,
}

/// Observes the beginning of an input: are its packets copied?
pub struct DuplicatePattern {
    secrets: Secrets,
    settings: Settings,
    seen: ByDigest<u64, Seen>,
    ids: ByDigest<u32, Ids>,
    packets: u32,
    /// Packets whose content was seen within the time of copies before.
    repeated: u32,
    elsewhere: u32,
    latest_ns: u64,
}

/// A pattern of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pattern {
    /// The rule that finds the copies.
    pub rule: DuplicateRule,
    /// Packets observed.
    pub packets: u32,
    /// Those that are copies.
    pub copies: u32,
    /// All of them came within this time of the packet before.
    pub within: Duration,
}

impl DuplicatePattern {
    /// Observes with an engine's settings: its key of hashes, and how it decodes.
    #[must_use]
    pub fn new(hash_key: [u64; 2], settings: &Settings) -> Self {
        // Copies of packets that hosts drop are copies, too.
        let mut settings = settings.clone();
        settings.judge_options = false;
        Self {
            secrets: Secrets::new(hash_key),
            settings,
            seen: HashMap::default(),
            ids: HashMap::default(),
            packets: 0,
            repeated: 0,
            elsewhere: 0,
            latest_ns: 0,
        }
    }

    /// Observes packets; false once enough were observed.
    pub fn observe(&mut self, batch: &Batch<'_>) -> bool {
        let mut decoded = Decoded::EMPTY;
        for frame in batch.frames {
            if self.is_enough() {
                return false;
            }
            let bytes = batch.bytes(frame);
            wire::decode_into(frame.link, bytes, frame.wire_bytes, &self.settings, &mut decoded);
            if decoded.kind as u8 > Kind::Fragment as u8 {
                continue;
            }
            if let Some(seen) = Fingerprint::of(frame, bytes, &decoded, &self.secrets) {
                self.packets += 1;
                self.note(&seen, frame.timestamp.as_nanos());
            }
        }
        !self.is_enough()
    }

    fn is_enough(&self) -> bool {
        self.packets >= if self.repeated == 0 { PACKETS_WITHOUT_MAX } else { PACKETS_MAX }
    }

    fn note(&mut self, seen: &Fingerprint, time_ns: u64) {
        let known = self.seen.entry(seen.content).or_insert(Seen { first: *seen, time_ns, count: 0 });
        let gap_ns = time_ns.abs_diff(known.time_ns);
        if known.count == 0 || gap_ns > COPY_NS_MAX {
            *known = Seen { first: *seen, time_ns, count: 1 };
            self.note_id(seen);
            return;
        }
        known.count += 1;
        self.repeated += 1;
        let is_elsewhere = known.first.place != seen.place;
        // A mirror copies at once: what comes later was sent again.
        if gap_ns > REPEAT_NS_MAX || !seen.agrees(known.first.checksum, known.first.is_unfinished) {
            return;
        }
        self.latest_ns = self.latest_ns.max(gap_ns);
        if is_elsewhere {
            self.elsewhere += 1;
        } else if known.first.checksum == seen.checksum && seen.id != 0 {
            self.ids.entry(seen.pair).and_modify(|ids| ids.copies += 1);
        }
    }

    fn note_id(&mut self, seen: &Fingerprint) {
        if seen.id == 0 {
            return;
        }
        let first = Ids { id: seen.id, content: seen.content, copies: 0, varies: false, is_constant: false };
        let ids = self.ids.entry(seen.pair).or_insert(first);
        if ids.content != seen.content {
            ids.varies |= ids.id != seen.id;
            ids.is_constant |= ids.id == seen.id;
        }
    }

    /// The pattern, if there is one.
    #[must_use]
    pub fn verdict(&self) -> Option<Pattern> {
        let with_ids = self.ids.values().filter(|ids| ids.varies && !ids.is_constant);
        let identified: u32 = with_ids.map(|ids| ids.copies).sum();
        let proven = identified + self.elsewhere;
        let contents = self.seen.len() as u32;
        let doubled = self.seen.values().filter(|seen| seen.count == 2).count() as u32;
        // Of a mirror, all but a few packets come exactly twice; of a flood of equal packets, few come often.
        let is_doubled = doubled >= COPIES_MIN && u64::from(doubled) * 10 >= u64::from(contents) * 9;
        let (rule, copies) = match (is_doubled, proven) {
            (true, _) => (DuplicateRule::Doubled, self.packets.saturating_sub(contents)),
            (false, copies) if copies >= COPIES_MIN && copies.saturating_mul(SHARE) >= self.packets => {
                (DuplicateRule::Identified, copies)
            }
            _ => return None,
        };
        Some(Pattern { rule, packets: self.packets, copies, within: Duration::from_nanos(self.latest_ns) })
    }
}

impl std::fmt::Debug for DuplicatePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DuplicatePattern").field("packets", &self.packets).finish_non_exhaustive()
    }
}
