//! A defragmenter that keeps an array of bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::policy::published::fragment_wins;

/// One datagram of the model.
#[derive(Clone, Debug, Default)]
struct Naive {
    /// Byte and number of its fragment (Linux: of its run).
    cells: Vec<Option<(u8, u32)>>,
    count: u32,
    end: Option<usize>,
    /// Linux: the farthest end, or the last fragment's.
    reach: usize,
    is_tombstone: bool,
}

impl Naive {
    fn piece_at(&self, at: usize) -> (usize, usize) {
        let owner = self.cells[at].map(|cell| cell.1);
        let same = |at: &usize| self.cells.get(*at).copied().flatten().map(|cell| cell.1) == owner;
        let start = (0..at).rev().take_while(same).last().unwrap_or(at);
        let end = (at..).take_while(same).last().unwrap() + 1;
        (start, end)
    }

    fn whole(&self, end: usize) -> Option<Vec<u8>> {
        (0..end).map(|at| self.cells.get(at).copied().flatten().map(|cell| cell.0)).collect()
    }

    fn write(&mut self, offset: usize, data: &[u8], owner: u32, wins: impl Fn(&Self, usize) -> bool) {
        let end = offset + data.len();
        let before = Self { cells: self.cells.clone(), ..Self::default() };
        self.cells.resize(self.cells.len().max(end), None);
        for at in offset..end {
            let is_free = before.cells.get(at).copied().flatten().is_none();
            if is_free || wins(&before, at) {
                self.cells[at] = Some((data[at - offset], owner));
            }
        }
    }

    fn insert(&mut self, policy: DefragPolicy, is_ipv6: bool, piece: &Piece) -> Effect {
        match policy {
            DefragPolicy::Linux => self.insert_linux(is_ipv6, piece),
            _ => self.insert_other(policy, piece),
        }
    }

    fn insert_linux(&mut self, is_ipv6: bool, piece: &Piece) -> Effect {
        let (offset, mut end) = (piece.offset as usize, piece.offset as usize + piece.data.len());
        if is_ipv6 && offset == 0 && piece.data.is_empty() {
            return Effect::Dropped(Rejection::HeaderIncomplete);
        }
        if !piece.more {
            if end < self.reach || self.end.is_some_and(|known| known != end) {
                return Effect::Killed(Rejection::InconsistentEnd);
            }
            (self.end, self.reach) = (Some(end), end);
        } else {
            if is_ipv6 && end % 8 != 0 {
                return Effect::Dropped(Rejection::Unaligned);
            }
            end -= end % 8;
            if end > self.reach {
                if self.end.is_some() {
                    return Effect::Killed(Rejection::BeyondEnd);
                }
                self.reach = end;
            }
        }
        if end == offset {
            return Effect::Killed(Rejection::Tiny);
        }
        self.count += 1;
        let mut owner = self.count;
        let taken = |at: usize| self.cells.get(at).copied().flatten();
        if (offset..end).any(|at| taken(at).is_some()) {
            let inside = taken(offset).is_some() && {
                let (start, stop) = self.piece_at(offset);
                start <= offset && end <= stop
            };
            return if inside { Effect::Held } else { Effect::Killed(Rejection::Overlap) };
        }
        // A byte behind the farthest of all joins its run.
        if offset > 0 && offset == self.cells.len() {
            owner = taken(offset - 1).unwrap().1;
        }
        self.write(offset, &piece.data[..end - offset], owner, |_, _| unreachable!());
        self.complete()
    }

    fn complete(&self) -> Effect {
        let end = self.end.filter(|&end| self.whole(end).is_some());
        if end.is_some() { Effect::Complete } else { Effect::Held }
    }

    fn insert_other(&mut self, policy: DefragPolicy, piece: &Piece) -> Effect {
        let (offset, end) = (piece.offset as usize, piece.offset as usize + piece.data.len());
        let strict = policy == DefragPolicy::Rfc5722;
        if piece.data.is_empty() || piece.more && piece.data.len() < 8 {
            return Effect::Poisoned(Rejection::Tiny);
        }
        if piece.more && end % 8 != 0 {
            return Effect::Poisoned(Rejection::Unaligned);
        }
        if !piece.more {
            if self.end.is_some_and(|known| known != end) || strict && self.cells.len() > end {
                return Effect::Poisoned(Rejection::InconsistentEnd);
            }
            self.end = Some(end);
        } else if strict && self.end.is_some_and(|known| known < end) {
            return Effect::Poisoned(Rejection::BeyondEnd);
        }
        self.count += 1;
        let is_taken = |at: usize| self.cells.get(at).copied().flatten().is_some();
        if strict && (offset..end).any(is_taken) {
            let same = is_taken(offset) && self.piece_at(offset) == (offset, end);
            let inside = is_taken(offset) && self.piece_at(offset).0 <= offset && end <= self.piece_at(offset).1;
            let why = if inside { Rejection::Teardrop } else { Rejection::Overlap };
            return if same { Effect::Held } else { Effect::Poisoned(why) };
        }
        let owner = self.count;
        self.write(offset, &piece.data, owner, |before, at| {
            let (old_start, old_end) = before.piece_at(at);
            fragment_wins(policy, (offset as u64, end as u64), (old_start as u64, old_end as u64))
        });
        self.complete()
    }
}

#[derive(Clone, Debug)]
struct Op {
    id: u32,
    is_ipv6: bool,
    piece: Piece,
}

fn op() -> impl Strategy<Value = Op> {
    let data = (1_usize..5, prop::bool::weighted(0.05), any::<u8>());
    (0_u32..2, any::<bool>(), 0_u32..8, prop::bool::weighted(0.8), data).prop_map(
        |(id, is_ipv6, unit, more, (units, note_anomaly, byte))| {
            let length = units * 8 - if note_anomaly { usize::from(byte) % 8 } else { 0 };
            let data = (0..length).map(|at| byte.wrapping_add((at / 5) as u8)).collect();
            Op { id, is_ipv6, piece: Piece { offset: unit * 8, more, data } }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_the_model(
        policy in prop::sample::select(DefragPolicy::ALL),
        ops in prop::collection::vec(op(), 1..40),
    ) {
        run(policy, &ops);
    }
}

fn run(policy: DefragPolicy, ops: &[Op]) {
    let mut bench = Bench::new(Config::default());
    let mut model: BTreeMap<(bool, u32), (Naive, u32)> = BTreeMap::new();
    for op in ops {
        let found = bench.piece(policy, op.is_ipv6, op.id, &op.piece);
        let key = (op.is_ipv6, op.id);
        let (naive, fragments) = model.entry(key).or_default();
        if naive.is_tombstone {
            assert!(matches!(found, Result::Rejected(_)));
            continue;
        }
        *fragments += 1;
        let effect = naive.insert(policy, op.is_ipv6, &op.piece);
        let wanted = match effect {
            Effect::Held => Result::Held,
            Effect::Complete => {
                Result::Rebuilt { payload: naive.whole(naive.end.unwrap()).unwrap(), fragments: *fragments }
            }
            Effect::Dropped(why) | Effect::Killed(why) | Effect::Poisoned(why) => Result::Rejected(why),
        };
        assert_eq!(found, wanted);
        match effect {
            Effect::Complete | Effect::Killed(_) => drop(model.remove(&key)),
            Effect::Poisoned(_) => naive.is_tombstone = true,
            Effect::Dropped(_) => *fragments -= 1,
            _ => {}
        }
    }
    bench.finish();
}
