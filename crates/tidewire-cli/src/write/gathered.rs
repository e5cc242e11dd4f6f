//! Numbers of the packets that are written when the files are read again.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    choose::Want,
    numbers::{NumberList, NumberSet},
};

/// Bytes for numbers and comments of streams that may still be chosen, in all workers together.
pub const LATER_BYTES: usize = 256 << 20;

/// Bytes charged for a stream that has ended, beside its numbers and its comment.
const STREAM_CHARGE_BYTES: usize = 128;

/// A stream or datagram that has ended and may still be chosen.
#[derive(Debug, Default)]
pub struct Later {
    pub numbers: NumberList,
    /// Its least number, where the comment belongs.
    pub first: u64,
    pub left_out: u64,
    pub comment: String,
}

impl Later {
    fn charge(&self) -> usize {
        self.comment.len() + STREAM_CHARGE_BYTES
    }
}

/// Knowledge of one worker, and at the end of all of them, about packets.
#[derive(Debug, Default)]
pub struct Gathered {
    pub chosen: NumberSet,
    /// Comments by the number of the packet.
    pub comments: BTreeMap<u64, String>,
    /// Packets of chosen streams whose numbers had no room.
    pub left_out: u64,
    later: HashMap<u64, Vec<Later>>,
    later_bytes: usize,
    later_bytes_max: usize,
    /// Bytes after the last time that streams which cannot be printed any more were forgotten.
    pruned_bytes: usize,
}

impl Gathered {
    /// The share of one of `workers`.
    pub fn of_worker(workers: usize) -> Self {
        Self { later_bytes_max: LATER_BYTES / workers.max(1), ..Self::default() }
    }

    /// Notes a packet of a stream; false: there is no room.
    pub fn note(
        &mut self,
        want: Want,
        list: &mut NumberList,
        number: u64,
        candidates: impl FnOnce() -> Option<Vec<u64>>,
    ) -> bool {
        if want == Want::Yes {
            self.chosen.insert(number);
            return true;
        }
        if self.later_bytes > self.later_bytes_max && !self.prune(candidates) {
            return false;
        }
        self.later_bytes += list.push(number);
        true
    }

    /// The numbers of a stream that is chosen from now on.
    pub fn choose(&mut self, list: &mut NumberList) {
        list.iter().for_each(|number| self.chosen.insert(number));
        self.later_bytes = self.later_bytes.saturating_sub(list.bytes());
        *list = NumberList::default();
    }

    /// A stream or datagram has ended.
    pub fn close(&mut self, want: Want, id: u64, mut later: Later) {
        match want {
            Want::No => self.later_bytes = self.later_bytes.saturating_sub(later.numbers.bytes()),
            Want::Yes => {
                self.choose(&mut later.numbers);
                self.comment(&later);
            }
            Want::Later => {
                self.later_bytes += later.charge();
                self.later.entry(id).or_default().push(later);
            }
        }
    }

    /// Chooses what has ended and was printed; the rest is forgotten.
    pub fn print(&mut self, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            for mut later in self.later.remove(&id).unwrap_or_default() {
                self.choose(&mut later.numbers);
                self.comment(&later);
            }
        }
        self.later = HashMap::new();
    }

    /// Adds what another worker knows.
    pub fn merge(&mut self, other: Self) {
        self.chosen.merge(other.chosen);
        for (number, comment) in other.comments {
            self.add_comment(number, comment);
        }
        self.left_out += other.left_out;
        other.later.into_iter().for_each(|(id, later)| self.later.entry(id).or_default().extend(later));
    }

    fn comment(&mut self, later: &Later) {
        self.left_out += later.left_out;
        if later.first != 0 && !later.comment.is_empty() {
            let left_out = match later.left_out {
                0 => String::new(),
                count => format!("; packets that had no room: {count}"),
            };
            self.add_comment(later.first, format!("{}{left_out}", later.comment));
        }
    }

    /// One packet may be the first of several streams: it may have several packets inside.
    fn add_comment(&mut self, number: u64, comment: String) {
        let text = self.comments.entry(number).or_default();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&comment);
    }

    /// Forgets streams that cannot be printed any more; false: that gives no room.
    fn prune(&mut self, candidates: impl FnOnce() -> Option<Vec<u64>>) -> bool {
        // Once for every quarter of the room: a list of what can be printed costs time.
        if self.later_bytes < self.pruned_bytes + self.later_bytes_max / 4 && self.pruned_bytes > 0 {
            return false;
        }
        if let Some(ids) = candidates() {
            let ids: HashSet<u64> = ids.into_iter().collect();
            let mut freed = 0;
            self.later.retain(|id, list| {
                let is_kept = ids.contains(id);
                if !is_kept {
                    freed += list.iter().map(|later| later.charge() + later.numbers.bytes()).sum::<usize>();
                }
                is_kept
            });
            self.later_bytes = self.later_bytes.saturating_sub(freed);
        }
        self.pruned_bytes = self.later_bytes;
        self.later_bytes <= self.later_bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(gathered: &mut Gathered, id: u64, candidates: &[u64]) -> u64 {
        let mut later = Later { comment: format!("stream {id}"), first: id * 1_000, ..Later::default() };
        for number in id * 1_000..id * 1_000 + 100 {
            let is_noted = gathered.note(Want::Later, &mut later.numbers, number, || Some(candidates.to_vec()));
            later.left_out += u64::from(!is_noted);
        }
        let left_out = later.left_out;
        gathered.close(Want::Later, id, later);
        left_out
    }

    #[test]
    fn without_room_what_cannot_be_printed_is_forgotten_first() {
        let mut gathered = Gathered { later_bytes_max: 1_000, ..Gathered::default() };
        (1..=20).for_each(|id| assert_eq!(ended(&mut gathered, id, &[1, 2]), 0, "{id}"));
        assert!(gathered.later_bytes < 2_000, "{}", gathered.later_bytes);
        gathered.print([1, 2, 20]);
        assert_eq!((gathered.chosen.count(), gathered.left_out), (300, 0));
        assert_eq!(gathered.comments.into_keys().collect::<Vec<_>>(), [1_000, 2_000, 20_000]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut gathered = Gathered { later_bytes_max: 500, ..Gathered::default() };
        let all: Vec<u64> = (1..=20).collect();
        let left_out: u64 = all.iter().map(|&id| ended(&mut gathered, id, &all)).sum();
        gathered.print(all);
        assert!(left_out > 0);
        assert_eq!((gathered.left_out, gathered.chosen.count()), (left_out, 2_000 - left_out));
        assert!(gathered.comments.values().any(|comment| comment.contains("had no room: 100")));
    }
}
