use std::collections::VecDeque;

use crate::sys::{arena::ArenaRegion, xsk};

/// Memory in which frames of several buffers are linearized, so that a batch stays in one arena.
#[derive(Debug)]
pub(super) struct LinearizeBuffer {
    place: ArenaRegion,
    room: Room,
}

impl LinearizeBuffer {
    pub(super) fn new(place: ArenaRegion) -> Self {
        let room = Room { bytes: place.len(), taken: VecDeque::new() };
        Self { place, room }
    }

    /// Allocates room for a frame, as an offset in the place; `None` until more is returned.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        // Readable memory is tracked by lines of this length: two frames share none.
        self.room.take(bytes.max(1).next_multiple_of(64))
    }

    /// A frame is whole.
    pub(super) fn show(&self, at: usize, bytes: usize) {
        self.place.show(at, bytes);
    }

    /// The oldest frame is done with.
    pub(super) fn give_back(&mut self) {
        if let Some((from, to)) = self.room.taken.pop_front() {
            self.place.hide(from, to - from);
        }
    }

    /// Copies a part of a frame to where it belongs; false where either is not inside its place.
    pub(super) fn put(&mut self, from: (&ArenaRegion, usize), at: usize, bytes: usize) -> bool {
        xsk::copy(from, (&mut self.place, at), bytes)
    }

    /// The offset in the arena of an offset in the place.
    pub(super) fn in_arena(&self, at: usize) -> usize {
        self.place.at() + at
    }

    /// The longest frame that there is ever room for.
    pub(super) fn frame_bytes_max(&self) -> usize {
        self.room.bytes
    }
}

/// A ring allocator: contiguous pieces, returned in the order of allocation.
#[derive(Debug)]
struct Room {
    bytes: usize,
    /// Pieces, oldest first: where each begins and ends.
    taken: VecDeque<(usize, usize)>,
}

impl Room {
    fn take(&mut self, bytes: usize) -> Option<usize> {
        // Two pieces must not begin at the same place.
        let bytes = bytes.max(1);
        let at = match (self.taken.front(), self.taken.back()) {
            (Some(&(oldest, _)), Some(&(newest, end))) if newest < oldest => (oldest - end >= bytes).then_some(end)?,
            (Some(_), Some(&(_, end))) if self.bytes - end >= bytes => end,
            // The rest at the end stays empty this round.
            (Some(&(oldest, _)), _) => (oldest >= bytes).then_some(0)?,
            (None, _) => (self.bytes >= bytes).then_some(0)?,
        };
        self.taken.push_back((at, at + bytes));
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pieces lie inside and never overlap, and an empty room takes whatever fits at all.
        #[test]
        fn pieces_never_overlap(steps in prop::collection::vec((any::<bool>(), 0_usize..120), 1..200)) {
            let mut room = Room { bytes: 100, taken: VecDeque::new() };
            for (take, bytes) in steps {
                if !take {
                    room.taken.pop_front();
                    continue;
                }
                let before = room.taken.clone();
                match room.take(bytes) {
                    Some(at) => {
                        let end = at + bytes.max(1);
                        prop_assert!(end <= 100);
                        prop_assert!(before.iter().all(|&(from, to)| end <= from || to <= at));
                    }
                    None => prop_assert!(!before.is_empty() || bytes > 100),
                }
            }
        }
    }

    #[test]
    fn the_room_is_used_round_and_round() {
        let mut room = Room { bytes: 100, taken: VecDeque::new() };
        assert_eq!([room.take(60), room.take(30), room.take(20)], [Some(0), Some(60), None]);
        room.taken.pop_front();
        assert_eq!([room.take(60), room.take(1)], [Some(0), None]);
        room.taken.pop_front();
        assert_eq!(room.take(40), Some(60));
    }
}
