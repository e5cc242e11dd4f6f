//! Who reads a queue, as its publisher needs to know: places, groups, whom it waits for. The server writes a new table when
//! a reader comes or goes; the publisher looks at one word for each record, and takes the table where that has changed.

use std::sync::{Arc, PoisonError, TryLockError};

use super::{
    page::Page,
    sync::{AtomicU64, Mutex, MutexGuard, Ordering},
};

/// Readers of one queue, at most.
pub const READERS_MAX: usize = 32;

/// One reader's place.
#[derive(Clone, Debug)]
pub(crate) struct ReaderSlot {
    /// The change by which it was attached.
    pub attached_at: u64,
    /// Number of its group, among those of the queue at present.
    pub group: Option<u32>,
    /// Its page, where the publisher waits for it.
    pub page: Option<Arc<Page>>,
    /// The first record that it can read.
    pub first: u64,
}

/// The readers of a queue after a change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Number of this change; changes count from 1.
    pub change: u64,
    /// The change since which streams publish their opens again.
    pub opens_at: u64,
    /// Places, of which at most [`READERS_MAX`] are used.
    pub places: [Option<ReaderSlot>; READERS_MAX],
    /// Places of each group.
    pub groups: Vec<u32>,
}

impl Table {
    /// Fills in the groups.
    fn complete(&mut self) {
        self.groups.clear();
        for (place, group) in
            self.places.iter().enumerate().filter_map(|(at, place)| Some((at, place.as_ref()?.group?)))
        {
            let group = group as usize;
            if self.groups.len() <= group {
                self.groups.resize(group + 1, 0);
            }
            self.groups[group] |= 1 << place;
        }
    }

    /// Whether a stream that was given to this place at the change `at` still belongs to the same reader.
    fn is_same(&self, place: u32, at: u64) -> bool {
        self.places[place as usize].as_ref().is_some_and(|place| place.attached_at <= at)
    }

    /// The members that a stream belongs to, one of each group, and whether one of them is new. Members that are still there keep
    /// it.
    pub(crate) fn owners(&self, mask: u32, at: u64, turn: &mut u32) -> (u32, bool) {
        let (mut owners, mut is_new) = (0, false);
        // Another reader may be at the place of an owner that has gone, in this group or in another one.
        let is_same = |place: &u32| mask >> place & 1 == 1 && self.is_same(*place, at);
        let still = (0..READERS_MAX as u32).filter(is_same).fold(0, |still, place| still | 1 << place);
        for group in self.groups.iter().copied().filter(|group| *group != 0) {
            if still & group != 0 {
                owners |= still & group;
                continue;
            }
            owners |= nth_bit(group, *turn % group.count_ones());
            *turn = turn.wrapping_add(1);
            is_new = true;
        }
        (owners, is_new)
    }
}

pub(crate) fn nth_bit(mask: u32, n: u32) -> u32 {
    let rest = (0..n).fold(mask, |mask, _| mask & mask.wrapping_sub(1));
    rest & rest.wrapping_neg()
}

/// The half word that stands for a change in records and answers; never 0.
pub(crate) fn generation(change: u64) -> u32 {
    (change as u32).max(1)
}

/// The table as server and publisher share it.
#[derive(Debug)]
pub(crate) struct Members {
    change: AtomicU64,
    tables: Mutex<Tables>,
}

#[derive(Debug)]
struct Tables {
    current: Arc<Table>,
    /// Earlier ones that the publisher may still have: the server frees them, whose pages are unmapped and closed with the last
    /// table.
    earlier: Vec<Arc<Table>>,
}

impl Default for Members {
    fn default() -> Self {
        let table = Table { change: 1, ..Table::default() };
        let tables = Tables { current: Arc::new(table), earlier: Vec::new() };
        Self { change: AtomicU64::new(1), tables: Mutex::new(tables) }
    }
}

impl Members {
    /// Number of the last change.
    pub(crate) fn change(&self) -> u64 {
        self.change.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table, unless the server is changing it at this moment: the publisher never waits for it.
    pub(crate) fn look(&self) -> Option<Arc<Table>> {
        match self.tables.try_lock() {
            Ok(tables) => Some(Arc::clone(&tables.current)),
            Err(TryLockError::Poisoned(tables)) => Some(Arc::clone(&tables.into_inner().current)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The table; waits for the thread that changes it.
    pub(crate) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.lock().current)
    }

    /// Changes the table, and returns the change's number. Only the server calls it.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Table)) -> u64 {
        let mut table = Table::clone(&self.lock().current);
        table.change += 1;
        change(&mut table);
        table.complete();
        let number = table.change;
        let mut tables = self.lock();
        let old = std::mem::replace(&mut tables.current, Arc::new(table));
        tables.earlier.push(old);
        drop(tables);
        self.change.store(number, Ordering::Release);
        self.free();
        number
    }

    /// Frees tables that the publisher has no more: it takes the current one only, so the only holder of another one stays alone.
    /// Only the server calls it.
    pub(crate) fn free(&self) {
        let mut tables = self.lock();
        let all = std::mem::take(&mut tables.earlier);
        let (kept, freed): (Vec<_>, Vec<_>) = all.into_iter().partition(|table| Arc::strong_count(table) > 1);
        tables.earlier = kept;
        drop(tables);
        drop(freed);
    }
}
