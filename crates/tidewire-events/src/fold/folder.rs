//! The table of open folds.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{BuildHasherDefault, Hasher as StdHasher},
};

use tidewire_types::siphash::Hasher;

use super::{
    groups::{Group, Groups},
    open::Fold,
    profile::{Mask, places},
    settings::FolderSettings,
};
use crate::{
    error::DecodeError, event::Event, lanes::Values, limits::RECORD_EVENTS_MAX, message::Message, record::Record,
};

/// Folds that are looked at to find the one to close early: of these the one with the fewest events, or the most bytes.
const CANDIDATES: usize = 8;
/// A fold may take so much, whatever is set: an event with its columns.
const FOLD_BYTES_MIN: usize = 1 << 14;

/// Keys are keyed hashes already.
#[derive(Default)]
pub(super) struct AsIs(u64);

impl StdHasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Output of folding.
#[derive(Debug, Default)]
pub struct Output {
    /// Records, in no particular order.
    pub records: Vec<Record>,
    /// Folds of several records that are closed: no further record of them comes.
    pub closed: Vec<u64>,
}

/// Result for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Its number in the order of all.
    pub number: u64,
    /// Its fold.
    pub fold: u64,
    /// It is the first event of its fold: an alert need not wait for the others.
    pub is_first: bool,
}

/// Counters of folding so far. `events` = `given` + those that wait in open folds, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that were pushed.
    pub events: u64,
    /// Events in records that were given out.
    pub given: u64,
    /// These records.
    pub records: u64,
    /// Folds that were opened.
    pub folds: u64,
    /// Folds that were closed early, because the table or the memory was full.
    pub evicted: u64,
}

/// Folds events.
///
/// Time is an argument: nanoseconds of a clock that does not jump, which has nothing to do with the events' times.
pub struct Folder {
    pub(super) settings: FolderSettings,
    pub(super) key: [u64; 2],
    pub(super) groups: Groups,
    pub(super) folds: Vec<Option<Box<Fold>>>,
    free: Vec<usize>,
    table: HashMap<u64, usize, BuildHasherDefault<AsIs>>,
    deadlines: BTreeSet<(u64, usize)>,
    /// Folds with events that were not given out, and some without.
    dirty: Vec<usize>,
    hand: usize,
    charged_bytes: usize,
    pub(super) counts: Counts,
    pub(super) next_number: u64,
    pub(super) next_fold: u64,
    frame: Vec<u8>,
}

impl Folder {
    /// An empty table. `key` should be random: it keeps attackers from choosing values that meet in the table. `next_number`
    /// and `next_fold`: the first ones to be given (those behind what a store has).
    #[must_use]
    pub fn new(mut settings: FolderSettings, key: [u64; 2], next_number: u64, next_fold: u64) -> Self {
        settings.folds_max = settings.folds_max.max(1);
        Self {
            settings,
            key,
            groups: Groups::default(),
            folds: Vec::new(),
            free: Vec::new(),
            table: HashMap::default(),
            deadlines: BTreeSet::new(),
            dirty: Vec::new(),
            hand: 0,
            charged_bytes: 0,
            counts: Counts::default(),
            next_number,
            next_fold,
            frame: Vec::new(),
        }
    }

    /// Counters of folding so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Folds that are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.table.len()
    }

    /// Records that [`cut`](Self::cut) would give out, about: folds that were closed meanwhile are counted as well.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.dirty.len()
    }

    /// The first event number and the first fold that were not given yet.
    #[must_use]
    pub fn next_numbers(&self) -> (u64, u64) {
        (self.next_number, self.next_fold)
    }

    /// Continues behind these numbers, if they are behind its own: those of a store that is ahead of the state which a folder was
    /// made of.
    pub fn skip_to(&mut self, (number, fold): (u64, u64)) {
        self.next_number = self.next_number.max(number);
        self.next_fold = self.next_fold.max(fold);
    }

    /// Events in open folds that were not given out.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.folds.iter().flatten().map(|fold| fold.count).sum()
    }

    /// Bytes that open folds and groups take, apart from the table's own (some 150 bytes a fold).
    #[must_use]
    pub fn charged_bytes(&self) -> usize {
        self.charged_bytes + self.groups.charged_bytes()
    }

    /// When [`tick`](Self::tick) has something to do.
    #[must_use]
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|first| first.0)
    }

    /// Folds an event. What had to be closed for it goes to `out`.
    ///
    /// # Errors
    /// The event breaks a limit; it is not counted.
    pub fn push_event(&mut self, now_ns: u64, event: &Event, out: &mut Output) -> Result<Pushed, DecodeError> {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let encoded = event.encode(&mut frame).map_err(DecodeError::from);
        let pushed = encoded.and_then(|()| self.push(now_ns, &Message::new(&frame[4..])?, out));
        self.frame = frame;
        pushed
    }

    /// Folds a message. What had to be closed for it goes to `out`.
    ///
    /// # Errors
    /// None, as messages were checked.
    pub fn push(&mut self, now_ns: u64, message: &Message<'_>, out: &mut Output) -> Result<Pushed, DecodeError> {
        if self.next_deadline_ns().is_some_and(|deadline| deadline <= now_ns) {
            self.tick(now_ns, out)?;
        }
        let group = self.group(now_ns, message, out)?;
        let Group { plan, profile, .. } = self.groups.get(group);
        let mut values = Values::default();
        plan.split(message.time_ns(), message.values(), &mut values)?;
        let key = self.key;
        profile.note(now_ns, &values, |blob| {
            let mut hasher = Hasher::new(key);
            hasher.bytes(blob);
            hasher.finish()
        });
        let mask = profile.mask;
        let (slot, is_first) = self.find_or_open(now_ns, group, mask, &values, out)?;
        let number = self.next_number;
        self.next_number += 1;
        self.counts.events += 1;
        let Some(fold) = &mut self.folds[slot] else { return Err(DecodeError::Value("a fold")) };
        let is_clean = fold.count == 0;
        let before = fold.charged_bytes();
        fold.push(number, message, &values);
        let (id, bytes) = (fold.id, fold.charged_bytes());
        self.charged_bytes = self.charged_bytes - before + bytes;
        let (total, count) = (fold.given + fold.count, fold.count);
        if is_clean {
            self.note_dirty(slot);
        }
        let settings = &self.groups.get(group).settings;
        if total >= settings.count_max || bytes > settings.bytes_max.max(FOLD_BYTES_MIN) {
            self.close(slot, out)?;
        } else if count >= RECORD_EVENTS_MAX {
            self.cut_fold(slot, out)?;
        }
        while self.charged_bytes() > self.settings.memory_bytes && !self.table.is_empty() {
            self.evict(true, out)?;
        }
        Ok(Pushed { number, fold: id, is_first })
    }

    /// The fold of these values, and whether it was opened for them.
    fn find_or_open(
        &mut self,
        now_ns: u64,
        group: usize,
        mask: Mask,
        values: &Values<'_>,
        out: &mut Output,
    ) -> Result<(usize, bool), DecodeError> {
        let hash = self.hash(group, mask, values);
        let found = self.table.get(&hash).copied();
        let matches = |slot: &usize| {
            self.folds[*slot].as_ref().is_some_and(|fold| fold.group == group && fold.matches(mask, values))
        };
        if let Some(slot) = found.filter(matches) {
            return Ok((slot, false));
        }
        // Two keys with one hash: the earlier fold ends.
        if let Some(slot) = found {
            self.close(slot, out)?;
        }
        let deadline_ns = now_ns.saturating_add(self.groups.get(group).settings.age_ns);
        let fold = Fold::new(self.next_fold, group, mask, hash, now_ns, deadline_ns);
        self.next_fold += 1;
        self.counts.folds += 1;
        Ok((self.open_fold(fold, out)?, true))
    }

    /// The hash of what identifies a fold.
    pub(super) fn hash(&self, group: usize, mask: Mask, values: &Values<'_>) -> u64 {
        let mut hasher = Hasher::new(self.key);
        hasher.word(group as u64);
        for half in [mask.ints, mask.blobs] {
            hasher.word(half as u64);
            hasher.word((half >> 64) as u64);
        }
        places(mask.ints).for_each(|place| hasher.word(values.ints[place]));
        places(mask.blobs).for_each(|place| hasher.bytes(values.blobs[place]));
        hasher.finish()
    }

    /// Notes that a fold has something to give out.
    fn note_dirty(&mut self, slot: usize) {
        self.dirty.push(slot);
        if self.dirty.len() > 64 + 2 * self.folds.len() {
            // Folds that were closed, and their slots used again.
            self.dirty.sort_unstable();
            self.dirty.dedup();
        }
    }

    /// The group of a message, made if there is none.
    fn group(&mut self, now_ns: u64, message: &Message<'_>, out: &mut Output) -> Result<usize, DecodeError> {
        let (severity, shape) = (message.severity(), message.shape_bytes());
        if let Some(found) = self.groups.find(self.key, severity, shape).1 {
            return Ok(found);
        }
        if self.groups.is_full() {
            self.counts.evicted += self.open() as u64;
            self.close_all(out)?;
            self.groups.clear();
        }
        self.groups.add(self.key, severity, shape, &self.settings, now_ns)
    }

    pub(super) fn is_open(&self, hash: u64) -> bool {
        self.table.contains_key(&hash)
    }

    /// Puts a fold into the table.
    pub(super) fn open_fold(&mut self, fold: Fold, out: &mut Output) -> Result<usize, DecodeError> {
        while self.table.len() >= self.settings.folds_max {
            self.evict(false, out)?;
        }
        let slot = self.free.pop().unwrap_or(self.folds.len());
        if slot == self.folds.len() {
            self.folds.push(None);
        }
        self.table.insert(fold.hash, slot);
        self.deadlines.insert((fold.deadline_ns, slot));
        self.charged_bytes += fold.charged_bytes();
        self.folds[slot] = Some(Box::new(fold));
        Ok(slot)
    }

    /// Closes a fold early: of a few, the one that has the fewest events, or takes the most memory.
    fn evict(&mut self, by_bytes: bool, out: &mut Output) -> Result<(), DecodeError> {
        let mut best: Option<(u64, usize)> = None;
        let mut seen = 0;
        for _ in 0..self.folds.len() {
            self.hand = (self.hand + 1) % self.folds.len();
            let Some(fold) = &self.folds[self.hand] else { continue };
            let worth = if by_bytes { u64::MAX - fold.charged_bytes() as u64 } else { fold.given + fold.count };
            if best.is_none_or(|best| worth < best.0) {
                best = Some((worth, self.hand));
            }
            seen += 1;
            if seen == CANDIDATES {
                break;
            }
        }
        if let Some((_, slot)) = best {
            self.counts.evicted += 1;
            self.close(slot, out)?;
        }
        Ok(())
    }

    /// Gives out what a fold has.
    fn cut_fold(&mut self, slot: usize, out: &mut Output) -> Result<(), DecodeError> {
        let Some(fold) = &mut self.folds[slot] else { return Ok(()) };
        let group = self.groups.get(fold.group);
        let before = fold.charged_bytes();
        if let Some(record) = fold.cut(&group.plan, group.settings.times)? {
            self.counts.given += record.count();
            self.counts.records += 1;
            out.records.push(record);
        }
        self.charged_bytes = self.charged_bytes - before + fold.charged_bytes();
        Ok(())
    }

    /// Gives out the rest of a fold and forgets it.
    fn close(&mut self, slot: usize, out: &mut Output) -> Result<(), DecodeError> {
        self.cut_fold(slot, out)?;
        let Some(fold) = self.folds[slot].take() else { return Ok(()) };
        if fold.part > 1 {
            out.closed.push(fold.id);
        }
        self.charged_bytes -= fold.charged_bytes();
        if self.table.get(&fold.hash) == Some(&slot) {
            self.table.remove(&fold.hash);
        }
        self.deadlines.remove(&(fold.deadline_ns, slot));
        self.free.push(slot);
        Ok(())
    }

    /// Closes folds that are old enough.
    ///
    /// # Errors
    /// None, as for [`push`](Self::push).
    pub fn tick(&mut self, now_ns: u64, out: &mut Output) -> Result<(), DecodeError> {
        while let Some((_, slot)) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now_ns) {
            self.close(slot, out)?;
        }
        Ok(())
    }

    /// Gives out every event that waits, and leaves the folds open: what is then stored can be acknowledged.
    ///
    /// # Errors
    /// None, as for [`push`](Self::push).
    pub fn cut(&mut self, out: &mut Output) -> Result<(), DecodeError> {
        let mut dirty = std::mem::take(&mut self.dirty);
        for slot in dirty.drain(..) {
            self.cut_fold(slot, out)?;
        }
        self.dirty = dirty;
        Ok(())
    }

    /// Closes every fold.
    ///
    /// # Errors
    /// None, as for [`push`](Self::push).
    pub fn close_all(&mut self, out: &mut Output) -> Result<(), DecodeError> {
        for slot in 0..self.folds.len() {
            self.close(slot, out)?;
        }
        self.dirty.clear();
        Ok(())
    }
}
