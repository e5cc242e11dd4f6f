//! Where two versions of the same bytes differ.

use super::store::{Arrival, slice_of};

/// Joins what differs to runs, and reports each.
pub(super) struct Runs<'a> {
    report: &'a mut dyn FnMut(u64, u64),
    start: u64,
    length: u64,
}

impl<'a> Runs<'a> {
    pub fn new(report: &'a mut dyn FnMut(u64, u64)) -> Self {
        Self { report, start: 0, length: 0 }
    }

    /// Compares what is stored at an offset with what has arrived.
    pub fn compare(&mut self, arrival: &Arrival<'_>, at: u64, old: &[u8]) {
        let new = slice_of(arrival.bytes, arrival.start, at, at + old.len() as u64);
        let count = old.len().min(new.len());
        let (old, new) = (&old[..count], &new[..count]);
        if old == new {
            return;
        }
        let mut from = 0;
        while from < count {
            let equal = old[from..].iter().zip(&new[from..]).take_while(|(old, new)| old == new).count();
            let begin = from + equal;
            let differing = old[begin..].iter().zip(&new[begin..]).take_while(|(old, new)| old != new).count();
            if differing > 0 {
                self.add(at + begin as u64, differing as u64);
            }
            from = begin + differing;
        }
    }

    fn add(&mut self, start: u64, length: u64) {
        if self.length > 0 && self.start + self.length == start {
            self.length += length;
            return;
        }
        self.finish();
        (self.start, self.length) = (start, length);
    }

    /// Reports the last run.
    pub fn finish(&mut self) {
        if self.length > 0 {
            (self.report)(self.start, self.length);
        }
    }
}
