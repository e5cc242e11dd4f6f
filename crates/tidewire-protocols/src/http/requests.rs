//! Requests that wait for their response, in order.

use std::collections::VecDeque;

use super::fields::Http;

/// A request, and as much of its response as is known.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) http: Box<Http>,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// The first of them lies here: most connections never have another at the same time, and need no memory for a queue.
#[derive(Debug, Default)]
pub(super) struct Requests {
    first: Option<Pending>,
    /// Those behind the first; none if there is no first.
    others: VecDeque<Pending>,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.first.iter().chain(&self.others)
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Pending> {
        self.first.as_mut()
    }

    pub(super) fn back_mut(&mut self) -> Option<&mut Pending> {
        self.others.back_mut().or(self.first.as_mut())
    }

    pub(super) fn push_back(&mut self, pending: Pending) {
        match self.first {
            None => self.first = Some(pending),
            Some(_) => self.others.push_back(pending),
        }
    }

    pub(super) fn push_front(&mut self, pending: Pending) {
        if let Some(next) = self.first.replace(pending) {
            self.others.push_front(next);
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<Pending> {
        let next = self.others.pop_front();
        std::mem::replace(&mut self.first, next)
    }
}
