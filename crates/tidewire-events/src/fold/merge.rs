//! Records of one fold as one.

use super::{open::Fold, profile::Mask, settings::Times};
use crate::{
    cursor::Cursor,
    error::DecodeError,
    lanes::{Plan, Values},
    limits::RECORD_EVENTS_MAX,
    message::{Message, Shape},
    record::Record,
};

/// Bytes of a joined record, at most about so many: it is read as a whole.
const JOINED_BYTES_MAX: usize = 1 << 20;

impl Record {
    /// One record with the events of several of one fold, in the order of their numbers. `None` if they do not belong together, there
    /// are fewer than two, or they are too many for one record: then they stay as they are.
    ///
    /// # Errors
    /// One of them is damaged.
    pub fn join(records: &[Self]) -> Result<Option<Self>, DecodeError> {
        let [first, others @ ..] = records else { return Ok(None) };
        let count: u64 = records.iter().map(Self::count).sum();
        let bytes: usize = records.iter().map(|record| record.bytes().len()).sum();
        let message = first.message()?;
        let is_one_fold = others.iter().all(|record| {
            record.fold() == first.fold()
                && record.has_times() == first.has_times()
                && record.message().is_ok_and(|other| {
                    (other.severity(), other.shape_bytes()) == (message.severity(), message.shape_bytes())
                })
        });
        let in_order = records.is_sorted_by(|before, behind| before.last() < behind.first());
        if others.is_empty() || !is_one_fold || !in_order || count > RECORD_EVENTS_MAX || bytes > JOINED_BYTES_MAX {
            return Ok(None);
        }
        if !first.has_times() && !others.iter().all(|record| is_like(&message, record)) {
            return Ok(None);
        }
        folded(records, 0)
    }

    /// The same record without the events up to this number; `None` if nothing is left.
    ///
    /// # Errors
    /// It is damaged.
    pub fn behind(&self, number: u64) -> Result<Option<Self>, DecodeError> {
        folded(std::slice::from_ref(self), number.saturating_add(1))
    }
}

/// The events of records of one fold from this number on, as one record.
fn folded(records: &[Record], from: u64) -> Result<Option<Record>, DecodeError> {
    let Some(first) = records.first() else { return Ok(None) };
    let plan = Plan::new(&Shape::read(&mut Cursor::new(first.message()?.shape_bytes()))?);
    let mut fold = Fold::new(first.fold(), 0, Mask::default(), 0, 0, 0);
    fold.part = first.part();
    for record in records {
        let mut unfold = record.unfold()?;
        while let Some((number, message)) = unfold.next()? {
            if number < from {
                continue;
            }
            let mut values = Values::default();
            plan.split(message.time_ns(), message.values(), &mut values)?;
            fold.push(number, &message, &values);
        }
    }
    let times = if first.has_times() { Times::All } else { Times::FirstAndLast };
    fold.cut(&plan, times)
}

/// Whether a record without times has the same event but for its time.
fn is_like(message: &Message<'_>, record: &Record) -> bool {
    record.message().is_ok_and(|other| other.values() == message.values())
}
