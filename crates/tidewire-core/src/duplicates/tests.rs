//! The table against a count of what each place saw, with traffic of a lossy path.

use std::collections::HashMap;

use super::*;
use crate::DuplicateRule;

/// Instances of a packet that are made; each is seen at up to three places. `TIDEWIRE_PACKETS` sets another number.
const INSTANCES: u64 = 300_000;

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % most
    }
}

fn seen(content: u64, place: u32, id: u16) -> Fingerprint {
    // Contents are digests.
    let content = content.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1);
    Fingerprint { content, place, pair: 7, id, checksum: 1, is_unfinished: false }
}

/// The packets of a path: packets of many flows at up to three places, some lost on the way or by a capture, duplicate
/// acknowledgments and retransmissions with the same bytes a moment later. By time.
fn path(instances: u64, random: &mut Random, has_ids: bool) -> Vec<(u64, Fingerprint)> {
    let mut shown = Vec::new();
    let (mut now_ns, mut id) = (0, 1_u16);
    let mut content = 0;
    for _ in 0..instances {
        now_ns += 1_000 + random.below(4_000);
        // One in eight is a packet that was sent before: a duplicate acknowledgment, or a fast retransmission.
        let is_repeated = content > 64 && random.below(8) == 0;
        let of = if is_repeated { content - 1 - random.below(64) } else { content };
        content += u64::from(!is_repeated);
        id = id.wrapping_add(1).max(1);
        // A kernel that identifies packets gives each instance another number: it is other bytes.
        let one = if has_ids { of << 20 | u64::from(id) } else { of };
        let reaches = 1 + random.below(3);
        for place in 0..reaches {
            if random.below(100) > 0 {
                let delay_ns = u64::from(place as u32) * 20_000 + random.below(15_000);
                shown.push((now_ns + delay_ns, seen(one, place as u32, if has_ids { id } else { 0 })));
            }
        }
    }
    shown.sort_by_key(|(time_ns, _)| *time_ns);
    shown
}

/// As many packets are delivered as the place that saw the most did, of every content: none too few, none too many.
#[test]
fn no_genuine_packet_is_taken_for_a_copy() {
    let instances = std::env::var("TIDEWIRE_PACKETS").ok().and_then(|count| count.parse().ok()).unwrap_or(INSTANCES);
    let mut random = Random(88_172_645_463_325_252);
    let mut packets = 0;
    for has_ids in [false, true] {
        for rule in [DuplicateRule::Places, DuplicateRule::Identified] {
            let mut left = instances;
            while left > 0 {
                let part = left.min(50_000);
                left -= part;
                let shown = path(part, &mut random, has_ids);
                packets += shown.len();
                let mut table = DuplicateTable::new(rule).expect("a table");
                let mut counts: HashMap<u64, [u32; 4]> = HashMap::new();
                for (time_ns, one) in &shown {
                    let of = counts.entry(one.content).or_default();
                    of[one.place as usize] += 1;
                    of[3] += u32::from(!table.is_copy(one, *time_ns));
                }
                for [a, b, c, delivered] in counts.into_values() {
                    assert_eq!(delivered, a.max(b).max(c), "{rule:?}");
                }
            }
        }
    }
    println!("{packets} packets");
}

/// A mirror shows each packet twice, at one place; some copies are missing. Packets are identified, or nothing distinguishes them.
#[test]
fn a_mirror_shows_each_packet_twice() {
    for (rule, has_ids) in
        [(DuplicateRule::Identified, true), (DuplicateRule::Doubled, true), (DuplicateRule::Doubled, false)]
    {
        let mut random = Random(7);
        let mut table = DuplicateTable::new(rule).expect("a table");
        let mut delivered = 0;
        for content in 1..=10_000_u64 {
            let id = if has_ids { content as u16 } else { 0 };
            let copies = if random.below(50) == 0 { 1 } else { 2 };
            for copy in 0..copies {
                delivered += u64::from(!table.is_copy(&seen(content, 3, id), content * 10_000 + copy * 2_000));
            }
        }
        assert_eq!(delivered, 10_000, "{rule:?}");
    }
}

/// Duplicate acknowledgments of IPv6 are equal. Of a mirror that doubles them half are copies; elsewhere none is.
#[test]
fn equal_packets_at_one_place() {
    let deliver = |rule, count: u64| {
        let mut table = DuplicateTable::new(rule).expect("a table");
        (0..count).filter(|at| !table.is_copy(&seen(5, 1, 0), at * 1_000)).count()
    };
    assert_eq!(deliver(DuplicateRule::Places, 1_000), 1_000);
    assert_eq!(deliver(DuplicateRule::Identified, 1_000), 1_000);
    assert_eq!(deliver(DuplicateRule::Doubled, 1_000), 500);
}

/// A sender that gives every packet the same identification: it says nothing.
#[test]
fn identifications_that_never_change_say_nothing() {
    let mut table = DuplicateTable::new(DuplicateRule::Identified).expect("a table");
    assert!(!table.is_copy(&seen(1, 1, 9), 1_000));
    assert!(!table.is_copy(&seen(2, 1, 9), 2_000));
    for at in 3..20 {
        assert!(!table.is_copy(&seen(2, 1, 9), at * 1_000));
    }
    // And one that does: only the same packet again is a copy.
    assert!(!table.is_copy(&seen(30, 1, 10), 30_000));
    assert!(table.is_copy(&seen(30, 1, 10), 31_000));
    assert!(!table.is_copy(&seen(30, 1, 10), 30_000 + REPEAT_NS_MAX + 1_000));
}

/// More places than an entry has: a broadcast that is flooded.
#[test]
fn a_flooded_packet_is_one() {
    let mut table = DuplicateTable::new(DuplicateRule::Places).expect("a table");
    let delivered = (0..40).filter(|place| !table.is_copy(&seen(1, *place, 0), 1_000)).count();
    assert_eq!(delivered, 1);
}

/// Bytes that are not compared differ where checksums do, unless one of them is not computed yet.
#[test]
fn checksums_distinguish_packets() {
    let mut table = DuplicateTable::new(DuplicateRule::Identified).expect("a table");
    let other = |checksum, place, is_unfinished| Fingerprint { checksum, is_unfinished, ..seen(1, place, 4) };
    assert!(!table.is_copy(&other(10, 1, false), 1_000));
    assert!(!table.is_copy(&other(11, 1, false), 2_000), "the same place");
    assert!(!table.is_copy(&other(12, 2, false), 3_000), "another place");
    assert!(table.is_copy(&other(13, 3, true), 4_000), "on its way to the card");
}
