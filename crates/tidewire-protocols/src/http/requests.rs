//! Requests that wait for their response, in order.

use std::collections::VecDeque;

use super::head::Folded;
use crate::{fields::Http, work};

/// A request, and as much of its response as is known.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) http: Box<Http>,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// A text of the head that is being read, of which the next line may be a part.
    pub(super) folded: Option<Box<Folded>>,
    /// Memory that was counted for it, bytes.
    counted: usize,
}

impl Pending {
    pub(super) fn new(http: Box<Http>, ns: u64) -> Self {
        Self { http, start_ns: ns, end_ns: ns, folded: None, counted: 0 }
    }

    /// Memory that it holds, bytes.
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.http.memory_bytes() + self.folded.as_ref().map_or(0, |folded| folded.memory_bytes())
    }
}

/// The first of them lies here: most connections never have another at the same time, and need no memory for a queue.
#[derive(Debug, Default)]
pub(super) struct Requests {
    first: Option<Pending>,
    /// Those behind the first; none if there is no first.
    others: VecDeque<Pending>,
    /// Memory of all that was counted, bytes.
    counted: usize,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Memory that they hold, bytes. Only the first and the last ones change, so that only these are counted again.
    pub(super) fn memory_bytes(&mut self) -> usize {
        for pending in self.first.iter_mut().chain(self.others.back_mut()) {
            work::add(1);
            let held = pending.memory_bytes();
            self.counted = self.counted - std::mem::replace(&mut pending.counted, held) + held;
        }
        self.counted
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Pending> {
        self.first.as_mut()
    }

    pub(super) fn back_mut(&mut self) -> Option<&mut Pending> {
        self.others.back_mut().or(self.first.as_mut())
    }

    pub(super) fn push_back(&mut self, pending: Pending) {
        self.memory_bytes();
        match self.first {
            None => self.first = Some(pending),
            Some(_) => self.others.push_back(pending),
        }
    }

    pub(super) fn push_front(&mut self, pending: Pending) {
        self.memory_bytes();
        self.counted += pending.counted;
        if let Some(next) = self.first.replace(pending) {
            self.others.push_front(next);
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<Pending> {
        let next = self.others.pop_front();
        let first = std::mem::replace(&mut self.first, next)?;
        self.counted -= first.counted;
        Some(first)
    }
}
