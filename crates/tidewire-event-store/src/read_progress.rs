//! Progress of a reader through folds: records that are joined meanwhile must not come twice.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use tidewire_events::{DecodeError, Record};

use crate::rows::Row;

/// Folds that are remembered: a folder has as many open at once, and joins those that it closed last.
const FOLDS_MAX: usize = 16_384;

/// Up to which event each fold was given. For queries that follow each other ([`Query::given`](crate::Query::given)).
#[derive(Debug, Default)]
pub struct ReadProgress(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    folds: HashMap<u64, Part>,
    order: VecDeque<u64>,
}

/// The part of a fold that was given last: its ends, and what its first event is.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: u64,
    last: u64,
    hash: u64,
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl Part {
    fn of(record: &Record) -> Result<Self, DecodeError> {
        Ok(Self { first: record.first(), last: record.last(), hash: hash(record.message()?.bytes()) })
    }

    /// Whether this part is in a record. (Folds of another store of the same sensor have the same numbers.)
    fn is_in(&self, record: &Record) -> Result<bool, DecodeError> {
        let mut unfold = record.unfold()?;
        while let Some((number, message)) = unfold.next()? {
            if number >= self.first {
                return Ok(number == self.first && hash(message.bytes()) == self.hash);
            }
        }
        Ok(false)
    }
}

impl ReadProgress {
    /// The part of a row that was not given yet; `None` without any. A record that is sealed, or cannot be read, is never joined.
    pub(crate) fn rest(&self, row: Row) -> Option<Row> {
        let Ok(Some(record)) = row.record() else { return Some(row) };
        let known = self.0.borrow_mut().note(&record);
        let Some(known) = known.filter(|known| record.first() <= known.last) else { return Some(row) };
        // Damage in its columns is found by who reads it.
        match known.is_in(&record) {
            Ok(true) if record.last() <= known.last => None,
            Ok(true) => match record.behind(known.last) {
                Ok(rest) => Row::plain(row.id, &rest?).ok(),
                Err(_) => Some(row),
            },
            _ => Some(row),
        }
    }
}

impl State {
    /// Notes a part; returns the one before.
    fn note(&mut self, record: &Record) -> Option<Part> {
        let part = Part::of(record).ok()?;
        let before = self.folds.insert(record.fold(), part);
        if before.is_none() {
            self.order.push_back(record.fold());
            if self.order.len() > FOLDS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.folds.remove(&oldest);
            }
        }
        before
    }
}
