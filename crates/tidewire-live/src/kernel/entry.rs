//! The life of an entry of a flow table, word by word: made, counted into by programs in the kernel, ended. `bpf/layout.h` has the
//! rules, `bpf/flows.h` the programs' side. Under `sanitize/` loom runs this source over its own atomics, with the programs as
//! threads.

use super::{
    atomic::{AtomicU64, Ordering::*, pause},
    layout::{BUSY, CLOSED, FREED, IS_CUT, KIND_AT, Key, WITHDRAWN_AT, word},
};

/// Figures of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) packets: u64,
    pub(super) wire_bytes: u64,
    pub(super) ip_bytes: u64,
    pub(super) payload_bytes: u64,
    pub(super) end: u32,
    pub(super) last: u32,
    pub(super) tcp_flags: u8,
    pub(super) is_cut: bool,
}

pub(super) fn load(slot: &[AtomicU64], at: usize) -> u64 {
    slot.get(at).map_or(0, |word| word.load(Acquire))
}

fn store(slot: &[AtomicU64], at: usize, value: u64) {
    if let Some(word) = slot.get(at) {
        word.store(value, Release);
    }
}

/// Makes an entry in a slot that has none (`sum`: of an IPv6 key, in the addresses' place). False if it has one, or one is
/// made concurrently.
pub(super) fn make(slot: &[AtomicU64], key: &Key, sum: u64, kind: u64, tick: u32) -> bool {
    let (Some(rest), Some(begun)) = (slot.get(word::REST), slot.get(word::BEGUN)) else { return false };
    let state = rest.load(Acquire);
    if state > FREED || rest.compare_exchange(state, BUSY, AcqRel, Acquire).is_err() {
        return false;
    }
    // Exchanges, so that they stand in one order with what programs add that came too late for the entry before.
    begun.swap(CLOSED, AcqRel);
    store(slot, word::ADDRESSES, if key.address.is_some() { sum } else { key.addresses });
    for (at, part) in key.address.into_iter().flatten().enumerate() {
        store(slot, word::ADDRESS + at, part);
    }
    for at in [word::WIRE_BYTES, word::IP_BYTES, word::PAYLOAD_BYTES] {
        store(slot, at, 0);
    }
    store(slot, word::END_LAST, u64::from(tick) << 32);
    store(slot, word::PASSED_KIND, kind << KIND_AT);
    store(slot, word::REST, key.rest);
    // From here on it can be counted into.
    begun.swap(0, AcqRel);
    true
}

/// Reads an entry's figures. They may be of slightly different moments.
pub(super) fn read(slot: &[AtomicU64]) -> Figures {
    figures(slot, load(slot, word::BEGUN))
}

fn figures(slot: &[AtomicU64], begun: u64) -> Figures {
    const COUNT: u64 = (1 << WITHDRAWN_AT) - 1;
    let withdrawn = (begun & !CLOSED) >> WITHDRAWN_AT;
    let (end_last, last_word) = (load(slot, word::END_LAST), load(slot, word::PASSED_KIND));
    Figures {
        packets: (begun & COUNT).saturating_sub(withdrawn),
        wire_bytes: load(slot, word::WIRE_BYTES),
        ip_bytes: load(slot, word::IP_BYTES),
        payload_bytes: load(slot, word::PAYLOAD_BYTES),
        end: end_last as u32,
        last: (end_last >> 32) as u32,
        tcp_flags: (last_word >> (KIND_AT + 8)) as u8,
        is_cut: last_word >> KIND_AT & IS_CUT != 0,
    }
}

/// Ends an entry and gives its last figures: every packet that was counted for it is in them. `None` if it was ended
/// concurrently.
pub(super) fn end(slot: &[AtomicU64]) -> Option<Figures> {
    let begun = slot.get(word::BEGUN)?.fetch_or(CLOSED, AcqRel);
    if begun & CLOSED != 0 {
        return None;
    }
    // Programs that began before are done in less than a microsecond, unless the machine itself is held up.
    let done = || load(slot, word::PASSED_KIND) >> (KIND_AT + 16);
    let mut pauses = 0;
    while done() != begun & 0xffff {
        pause(pauses);
        pauses += 1;
    }
    // A packet may have been withdrawn since.
    let withdrawn = load(slot, word::BEGUN) & !CLOSED & !0 << WITHDRAWN_AT;
    let begun = begun & ((1 << WITHDRAWN_AT) - 1) | withdrawn;
    let figures = figures(slot, begun);
    store(slot, word::REST, FREED);
    Some(figures)
}
