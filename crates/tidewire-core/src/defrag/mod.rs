//! Reassembly of IPv4 and IPv6 datagrams from fragments.
//!
//! Fragments are held until their datagram is complete, in a table in which everything is bounded. An invalid fragment
//! is detected when it arrives. A [`DefragPolicy`] resolves overlaps; [`DefragPolicy::Linux`] follows the kernel step
//! by step. A datagram with an invalid fragment is rejected at once, and its later fragments cost one look-up (with
//! `Linux`, where a host would begin a new datagram, a new one).
//!
//! Pending datagrams are in a bounded table, with one list by age and one by sender. A fragment's place is found in a
//! red-black tree, so that no order of arrival costs more than another. Errors are detected on arrival; an invalid
//! datagram stays in the table as a tombstone, and its later fragments cost one look-up. A whole datagram is rebuilt as
//! the IP packet it was, and passes through the engine again as link type RAW. A rebuilt packet may be a tunnel with a
//! fragment inside; that is followed four levels deep.

mod bounds;
mod datagram;
mod key;
mod links;
mod outcome;
mod pending;
mod rebuild;
mod table;
#[cfg(test)]
mod tests;

use bounds::Bounds;
use datagram::Effect;
use key::Key;
use links::NIL;
pub use outcome::{Ended, Outcome, Rebuilt};
use pending::{Datagram, Verdict};
use table::Table;

use crate::{
    Config, DefragPolicy, Frame, Rejection,
    packet::frame_number,
    path::{Path, Paths},
    wire::Decoded,
};

/// A fragment, and how it came.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub bytes: &'a [u8],
    pub decoded: &'a Decoded,
    /// Numbers of its frames: several where it was in a datagram that was rebuilt itself.
    pub numbers: &'a [u64],
    pub path: Path,
    /// Whether its frames have their fates.
    pub has_fate: bool,
}

/// Reassembles datagrams from fragments.
#[derive(Debug)]
pub struct Defragmenter {
    bounds: Bounds,
    table: Table,
    paths: Paths,
    /// The last rebuilt packet.
    packet: Vec<u8>,
    /// Numbers of its frames.
    numbers: Vec<u64>,
}

impl Defragmenter {
    /// Creates an empty table.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            bounds: Bounds::of(config),
            table: Table::new(config.hash_key),
            paths: Paths::new(config),
            packet: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Memory that fragments and their bookkeeping take. (Without the last rebuilt packet, at most 64 KiB and a header,
    /// whose buffer is reused.)
    #[must_use]
    pub fn charged_bytes(&self) -> u64 {
        if self.table.count() == 0 { 0 } else { self.table.charge() }
    }

    /// All memory allocated, including the buffer for the next packet.
    pub(crate) fn bytes(&self) -> u64 {
        self.table.charge() + (self.packet.capacity() + size_of_val(self.numbers.as_slice())) as u64
    }

    /// Pending datagrams, and rejected ones whose fragments may still arrive.
    #[must_use]
    pub fn datagrams(&self) -> u32 {
        self.table.count()
    }

    /// Processes a fragment: a frame for which `decoded.kind` is `Fragment`. Calls `on_end` for each datagram that ends
    /// without being rebuilt.
    pub fn insert(
        &mut self,
        policy: DefragPolicy,
        frame: &Frame,
        bytes: &[u8],
        decoded: &Decoded,
        on_end: &mut dyn FnMut(&Ended<'_>),
    ) -> Outcome<'_> {
        let numbers = [frame_number(frame.number)];
        let path = self.paths.of(frame, bytes, decoded);
        let part = Part { bytes, decoded, numbers: &numbers, path, has_fate: false };
        self.insert_part(policy, frame, &part, on_end)
    }

    /// As [`insert`](Self::insert), of a fragment that may have come in a datagram that was rebuilt itself.
    pub(crate) fn insert_part(
        &mut self,
        policy: DefragPolicy,
        frame: &Frame,
        part: &Part<'_>,
        on_end: &mut dyn FnMut(&Ended<'_>),
    ) -> Outcome<'_> {
        let Part { bytes, decoded, numbers, path, has_fate } = *part;
        self.expire(frame.clock.as_nanos(), on_end);
        let Some(key) = Key::of(bytes, decoded, path) else {
            return Outcome::Rejected(Rejection::Snapped);
        };
        let hash = self.table.hash(&key);
        let mut at = self.table.find(hash, &key);
        if self.table.get(at).is_some_and(|found| found.deadline_ns < frame.clock.as_nanos()) {
            // It waited behind one with a longer timeout.
            self.give_up(at, Rejection::Timeout, on_end);
            at = NIL;
        }
        if let Some(Some(rejection)) = self.table.get(at).map(|found| found.rejected.filter(|_| found.is_tombstone)) {
            return Outcome::Rejected(rejection);
        }
        if at == NIL {
            let deadline_ns = frame.clock.as_nanos().saturating_add(self.bounds.timeout_ns(key.is_ipv6()));
            at = self.table.add(Box::new(Datagram::new(key, hash, policy, deadline_ns, decoded)));
        }
        let Some(datagram) = self.table.get_mut(at) else { return Outcome::Held };
        let verdict = datagram.judge(&self.bounds, bytes, decoded);
        if !matches!(verdict, Verdict::Final(Effect::Dropped(_))) {
            datagram.note(frame, decoded, numbers);
        }
        let effect = match verdict {
            Verdict::Sound => datagram.take(bytes, decoded),
            Verdict::Rejected(rejection) => {
                if datagram.rejected.is_none() {
                    on_end(&datagram.ended(rejection));
                    datagram.reject(rejection);
                }
                datagram.take(bytes, decoded)
            }
            Verdict::Final(effect) => effect,
        };
        self.conclude(at, effect, has_fate, on_end)
    }

    /// Applies a fragment's effect to its datagram.
    fn conclude(&mut self, at: u32, effect: Effect, has_fate: bool, on_end: &mut dyn FnMut(&Ended<'_>)) -> Outcome<'_> {
        let Some(datagram) = self.table.get_mut(at) else { return Outcome::Held };
        let rejected_before = datagram.rejected;
        match effect {
            Effect::Complete => {
                let Some(mut datagram) = self.table.remove(at) else { return Outcome::Held };
                if let Some(rejection) = rejected_before {
                    return Outcome::Rejected(rejection);
                }
                if datagram.mixes_ecn() {
                    on_end(&datagram.ended(Rejection::MixedEcn));
                    return Outcome::Rejected(Rejection::MixedEcn);
                }
                if rebuild::rebuild(&datagram, &mut self.packet) {
                    datagram.unsettled += u32::from(!has_fate);
                    self.numbers = std::mem::take(&mut datagram.numbers);
                    return Outcome::Rebuilt(datagram.rebuilt(&self.packet, &self.numbers));
                }
                on_end(&datagram.ended(Rejection::Oversized));
                Outcome::Rejected(Rejection::Oversized)
            }
            Effect::Dropped(rejection) => {
                if datagram.fragments == 0 {
                    // Nothing of its datagram was stored.
                    self.table.remove(at);
                }
                Outcome::Rejected(rejection)
            }
            Effect::Killed(rejection) => {
                let removed = self.table.remove(at).filter(|_| rejected_before.is_none());
                removed.iter().for_each(|datagram| on_end(&datagram.ended(rejection)));
                Outcome::Rejected(rejection)
            }
            Effect::Poisoned(rejection) => {
                if rejected_before.is_none() {
                    on_end(&datagram.ended(rejection));
                }
                datagram.make_tombstone(rejection);
                self.table.recharge(at);
                self.evict(on_end);
                Outcome::Rejected(rejection)
            }
            Effect::Held => {
                if let Some(rejection) = rejected_before {
                    self.table.recharge(at);
                    self.evict(on_end);
                    return Outcome::Rejected(rejection);
                }
                datagram.unsettled += u32::from(!has_fate);
                self.table.recharge(at);
                self.evict(on_end);
                Outcome::Held
            }
        }
    }

    /// Discards the datagrams whose time is over.
    pub fn expire(&mut self, clock_ns: u64, on_end: &mut dyn FnMut(&Ended<'_>)) {
        loop {
            let oldest = self.table.oldest();
            if self.table.get(oldest).is_none_or(|datagram| datagram.deadline_ns >= clock_ns) {
                return;
            }
            self.give_up(oldest, Rejection::Timeout, on_end);
        }
    }

    /// Discards everything at the end of the input.
    pub fn finish(&mut self, on_end: &mut dyn FnMut(&Ended<'_>)) {
        while self.table.count() > 0 {
            self.give_up(self.table.oldest(), Rejection::EndOfInput, on_end);
        }
    }

    fn evict(&mut self, on_end: &mut dyn FnMut(&Ended<'_>)) {
        while self.table.count() > self.bounds.datagrams_max
            || self.table.count() > 0 && self.table.charge() > self.bounds.fragment_memory_bytes
        {
            self.give_up(self.table.worst(), Rejection::Memory, on_end);
        }
    }

    fn give_up(&mut self, at: u32, rejection: Rejection, on_end: &mut dyn FnMut(&Ended<'_>)) {
        let Some(datagram) = self.table.remove(at) else { return };
        if datagram.rejected.is_none() {
            on_end(&datagram.ended(rejection));
        }
    }
}
