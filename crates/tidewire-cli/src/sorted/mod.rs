//! Records in order, in bounded memory: what has no room is sorted in runs that lie in a temporary file until the end.

mod cells;
mod spill;

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    sync::Arc,
};

pub use spill::Key;
use spill::{Reader, Run, Spill};
use tidewire_outputs::KeptState;

use crate::{
    error::CliError,
    layout::Layout,
    options::Common,
    output::Out,
    print_rows::Printer,
    row::{Form, Row},
};

/// A record that is sorted before it is printed.
pub trait Sortable: Row {
    /// Bytes that it holds beside itself.
    fn heap_bytes(&self) -> usize;
}

/// An order of records.
pub trait Sorter<T>: Copy {
    /// How many records are printed.
    fn limit(&self) -> Option<usize>;

    /// Compares two records.
    fn compare(&self, one: &T, other: &T) -> Ordering;

    /// The place of a record in the same order.
    fn key(&self, record: &T) -> Key;
}

/// Memory for the records of each worker, and what becomes of those that have none.
pub struct Room {
    bytes: usize,
    form: Form,
    layout: Layout,
    spill: Spill,
}

impl Room {
    /// The room of a run's workers.
    pub fn new(common: &Common, form: Form, layout: &Layout) -> Arc<Self> {
        let bytes = common.parts(KeptState::RECORDS).worker_records();
        Arc::new(Self::of_bytes(bytes, form, layout, common.live.is_on()))
    }

    fn of_bytes(bytes: usize, form: Form, layout: &Layout, is_live: bool) -> Self {
        Self { bytes, form, layout: layout.clone(), spill: Spill::new(is_live) }
    }

    /// Appends a record as it is printed; those of tables are laid out at the end.
    fn render<R: Row>(&self, record: &R, out: &mut Vec<u8>) {
        match self.form {
            Form::Json => record.push_json(out),
            Form::Csv => self.layout.push_csv(record, out),
            Form::Table => cells::push(&self.layout.cells(record), out),
        }
    }
}

/// The records of a worker.
pub struct Sorted<T, S> {
    sorter: S,
    room: Arc<Room>,
    records: Vec<T>,
    /// Bytes of these.
    bytes: usize,
    /// Bytes from which on they are sorted and written.
    bytes_max: usize,
    runs: Vec<Run>,
    /// The ids of records in runs, where not all are printed.
    spilled: Vec<u64>,
}

impl<T: Sortable, S: Sorter<T>> Sorted<T, S> {
    /// No records yet.
    pub fn new(sorter: S, room: &Arc<Room>) -> Self {
        let (records, runs, spilled) = (Vec::new(), Vec::new(), Vec::new());
        Self { sorter, room: Arc::clone(room), records, bytes: 0, bytes_max: room.bytes, runs, spilled }
    }

    /// Adds a record; from time to time drops those that cannot be printed any more.
    pub fn push(&mut self, record: T) {
        self.bytes += size_of::<T>() + record.heap_bytes();
        self.records.push(record);
        if let Some(limit) = self.sorter.limit()
            && self.records.len() >= limit.saturating_mul(2).saturating_add(1024)
        {
            self.sort();
            self.bytes = self.records.iter().map(|record| size_of::<T>() + record.heap_bytes()).sum();
        }
        if self.bytes > self.bytes_max {
            self.spill();
        }
    }

    /// The ids of the records that may be printed.
    pub fn ids(&self) -> Vec<u64> {
        let held = self.records.iter().map(|record| id(&self.sorter.key(record)));
        self.spilled.iter().copied().chain(held).collect()
    }

    fn sort(&mut self) {
        sort(&mut self.records, &self.sorter);
    }

    #[cold]
    fn spill(&mut self) {
        self.sort();
        let (sorter, room, records) = (&self.sorter, &self.room, &self.records);
        let written = room.spill.write(|run| {
            let mut row = Vec::new();
            records.iter().try_for_each(|record| {
                row.clear();
                room.render(record, &mut row);
                run.push(&sorter.key(record), &row)
            })
        });
        match written {
            Some(run) => {
                self.runs.push(run);
                if sorter.limit().is_some() {
                    self.spilled.extend(records.iter().map(|record| id(&sorter.key(record))));
                }
                self.records.clear();
                self.bytes = 0;
            }
            None => self.bytes_max = usize::MAX,
        }
    }

    /// The records of all workers.
    pub fn merged(all: impl IntoIterator<Item = Self>, sorter: S, room: Arc<Room>) -> Merged<T, S> {
        let (mut records, mut runs) = (Vec::new(), Vec::new());
        for one in all {
            runs.extend(one.runs);
            // Those of one worker, which most runs have, stay where they are.
            if records.is_empty() { records = one.records } else { records.extend(one.records) }
        }
        sort(&mut records, &sorter);
        Merged { sorter, room, records, runs }
    }
}

/// Sorts records, and drops those that are not printed. Equal ones stay in order.
fn sort<T, S: Sorter<T>>(records: &mut Vec<T>, sorter: &S) {
    records.sort_by(|one, other| sorter.compare(one, other));
    records.truncate(sorter.limit().unwrap_or(usize::MAX));
}

fn id(key: &Key) -> u64 {
    key[key.len() - 1]
}

/// The records of a run that has ended, in order.
pub struct Merged<T, S> {
    sorter: S,
    room: Arc<Room>,
    records: Vec<T>,
    runs: Vec<Run>,
}

/// A record, or what is printed of it.
enum Item<'a, T> {
    Record(&'a T),
    Rendered(&'a [u8]),
}

impl<T: Sortable, S: Sorter<T>> Merged<T, S> {
    /// The ids of what is printed, in order.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn ids(&self) -> Result<Vec<u64>, CliError> {
        let mut ids = Vec::new();
        self.each(|key, _| {
            ids.push(id(key));
            Ok(())
        })?;
        Ok(ids)
    }

    /// Prints them. `names`: whether comma-separated values have a header without records.
    ///
    /// # Errors
    /// Standard output cannot be written, or the temporary file not be read.
    pub fn print(&self, names: bool, out: &mut Out) -> Result<(), CliError> {
        let mut printer = Printer::new::<T>(self.room.form, &self.room.layout, out);
        if names {
            printer.header::<T>()?;
        }
        if self.runs.is_empty() {
            for record in &self.records {
                if printer.is_closed() {
                    break;
                }
                printer.row(record)?;
            }
        } else {
            let printed = self.each(|_, item| match (item, self.room.form) {
                _ if printer.is_closed() => Err(CliError::ClosedPipe),
                (Item::Record(record), _) => printer.row(record),
                (Item::Rendered(bytes), Form::Table) => printer.cells(cells::read(bytes, T::COLUMNS)),
                (Item::Rendered(line), _) => printer.line::<T>(line),
            });
            match printed {
                Err(CliError::ClosedPipe) => {}
                printed => printed?,
            }
        }
        printer.finish()
    }

    /// Calls for each record with its key, the least first.
    fn each(&self, mut call: impl FnMut(&Key, Item<'_, T>) -> Result<(), CliError>) -> Result<(), CliError> {
        let mut readers: Vec<Reader<'_>> = self.runs.iter().map(|run| Reader::new(run, self.runs.len())).collect();
        // Runs of a worker are in order of time, and what is in memory came last: equal records stay in order.
        let in_memory = readers.len();
        let mut records = self.records.iter().map(|record| (self.sorter.key(record), record)).peekable();
        let mut next = BinaryHeap::with_capacity(readers.len() + 1);
        for (index, reader) in readers.iter_mut().enumerate() {
            next.extend(reader.key()?.map(|key| Reverse((key, index))));
        }
        next.extend(records.peek().map(|(key, _)| Reverse((*key, in_memory))));
        let mut left = self.sorter.limit().unwrap_or(usize::MAX);
        while left > 0
            && let Some(Reverse((key, index))) = next.pop()
        {
            left -= 1;
            let following = match readers.get_mut(index) {
                Some(reader) => {
                    call(&key, Item::Rendered(reader.row()?))?;
                    reader.key()?
                }
                None => {
                    records.next().map_or(Ok(()), |(_, record)| call(&key, Item::Record(record)))?;
                    records.peek().map(|(key, _)| *key)
                }
            };
            next.extend(following.map(|key| Reverse((key, index))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
