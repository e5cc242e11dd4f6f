//! A reassembler that keeps an array of bytes: each byte knows who brought it.

use std::collections::BTreeSet;

use crate::{TcpPolicy, policy::published::segment_wins};

const SIZE: usize = 4096;

/// The model's result for a segment.
pub struct Wanted {
    pub fresh: u64,
    pub conflicts: BTreeSet<u64>,
}

/// A byte and the number of the segment that brought it.
type Cell = Option<(u8, u32)>;

pub struct Model {
    policy: TcpPolicy,
    confirmed: Vec<Cell>,
    unconfirmed: Vec<Cell>,
    count: u32,
    /// Linux: the queued pieces, by their own starts and ends, in a tree of the same shape as the kernel's.
    linux: super::super::tests::model::linux::Pieces,
}

impl Model {
    pub fn new(policy: TcpPolicy) -> Self {
        Self {
            policy,
            confirmed: vec![None; SIZE],
            unconfirmed: vec![None; SIZE],
            count: 0,
            linux: linux::Pieces::default(),
        }
    }

    /// The run of bytes with the same owner around `at`.
    fn piece(cells: &[Cell], at: usize) -> (usize, usize) {
        let owner = cells[at].map(|cell| cell.1);
        let (mut start, mut end) = (at, at + 1);
        while start > 0 && cells[start - 1].map(|cell| cell.1) == owner {
            start -= 1;
        }
        while cells[end].map(|cell| cell.1) == owner {
            end += 1;
        }
        (start, end)
    }

    pub fn insert(&mut self, expected: u64, start: u64, bytes: &[u8], unconfirmed: bool) -> Wanted {
        self.count += 1;
        let end = start as usize + bytes.len();
        let from = start.max(expected) as usize;
        let mut wanted = Wanted { fresh: 0, conflicts: BTreeSet::new() };
        let byte = |at: usize| bytes[at - start as usize];
        for at in from..end {
            let (confirmed, other) = (self.confirmed[at], self.unconfirmed[at]);
            wanted.fresh += u64::from(confirmed.is_none() && other.is_none());
            if [confirmed, other].into_iter().flatten().any(|cell| cell.0 != byte(at)) {
                wanted.conflicts.insert(at as u64);
            }
        }
        if from >= end {
            return wanted;
        }
        if self.policy == TcpPolicy::Linux && !unconfirmed {
            self.linux.insert(expected as usize, from, &bytes[from - start as usize..]);
            self.linux.resolve(&mut self.confirmed, expected as usize);
            return wanted;
        }
        let (policy, cells) =
            if unconfirmed { (TcpPolicy::First, &mut self.unconfirmed) } else { (self.policy, &mut self.confirmed) };
        let before = cells.clone();
        for at in from..end {
            let new_wins = before[at].is_none() || {
                let (old_start, old_end) = Self::piece(&before, at);
                segment_wins(policy, (from as u64, end as u64), (old_start as u64, old_end as u64))
            };
            if new_wins {
                // (A byte written into the middle of an old piece leaves it whole, under `Last`, where it does not matter.)
                cells[at] = Some((byte(at), self.count));
            }
        }
        wanted
    }

    pub fn deliver(&mut self, offset: u64) -> Option<(u8, bool)> {
        let at = offset as usize;
        let confirmed = self.confirmed[at].map(|cell| (cell.0, false));
        confirmed.or(self.unconfirmed[at].map(|cell| (cell.0, true)))
    }

    /// Everything before `expected` is gone, except what belongs to a piece that continues beyond it.
    pub fn settle(&mut self, expected: u64) {
        let at = expected as usize;
        for cells in [&mut self.confirmed, &mut self.unconfirmed] {
            let start = if cells[at].is_some() { Self::piece(cells, at).0 } else { at };
            cells[..start].fill(None);
        }
        self.linux.settle(at);
        if self.policy == TcpPolicy::Linux {
            self.linux.resolve(&mut self.confirmed, at);
        }
    }

    pub fn deliverable(&self, expected: u64, limit: u64, unconfirmed_limit: u64) -> bool {
        let at = expected as usize;
        let confirmed = self.confirmed[at].is_some() && expected < limit;
        let unconfirmed =
            self.confirmed[at].is_none() && self.unconfirmed[at].is_some() && expected < limit.min(unconfirmed_limit);
        confirmed || unconfirmed
    }

    pub fn is_empty(&self, expected: u64) -> bool {
        let gone = |cells: &[Cell]| cells[expected as usize..].iter().all(Option::is_none);
        gone(&self.confirmed) && gone(&self.unconfirmed)
    }

    pub fn holes(&self, expected: u64) -> u32 {
        let of = |cells: &[Cell]| {
            let begins = |at: usize| cells[at].is_some() && cells[at - 1].is_none();
            (expected as usize + 1..SIZE).filter(|&at| begins(at)).count() as u32
        };
        of(&self.confirmed) + of(&self.unconfirmed)
    }

    /// Removes the piece that starts last, unconfirmed ones first.
    pub fn drop_last(&mut self, expected: u64) -> bool {
        for cells in [&mut self.unconfirmed, &mut self.confirmed] {
            if let Some(last) = cells.iter().rposition(Option::is_some).filter(|&last| last >= expected as usize) {
                let (start, end) = Self::piece(cells, last);
                cells[start..end].fill(None);
                return true;
            }
        }
        false
    }
}

/// The kernel's queue, with a plain sorted list instead of a tree; where the shape of the tree matters (a segment that
/// could join a piece that is not its neighbour) the list asks a real tree's shape by rebuilding it.
pub mod linux {
    use super::Cell;

    #[derive(Clone, Debug)]
    struct Skb {
        start: usize,
        bytes: Vec<u8>,
    }

    impl Skb {
        fn end(&self) -> usize {
            self.start + self.bytes.len()
        }
    }

    /// An unbalanced description of a red-black tree, after Okasaki's persistent insertion, is not the kernel's
    /// shape; so the nodes are linked as the textbook has it, in boxes.
    #[derive(Default)]
    pub struct Pieces {
        due: Option<Skb>,
        queue: Vec<Skb>,
        shape: shape::Shape,
    }

    impl Pieces {
        pub fn insert(&mut self, expected: usize, start: usize, bytes: &[u8]) {
            let skb = Skb { start, bytes: bytes.to_vec() };
            if start == expected && self.due.is_none() {
                self.due = Some(skb);
                return;
            }
            let end = skb.end();
            let Some(last) = self.queue.last_mut() else {
                self.shape.insert_at(0, None);
                self.queue.push(skb);
                return;
            };
            if last.end() == start {
                last.bytes.extend_from_slice(bytes);
                return;
            }
            if start < last.end() {
                for at in self.shape.path(|at| start >= self.queue[at].start) {
                    let old = &mut self.queue[at];
                    if start < old.start {
                        continue;
                    }
                    if old.end() == start {
                        old.bytes.extend_from_slice(bytes);
                        return;
                    }
                    if start < old.end() && end <= old.end() {
                        return;
                    }
                    if start == old.start {
                        *old = skb;
                        return self.remove_covered(at, end);
                    }
                }
            }
            // Those with an earlier start come before it; an equal start was met on the way.
            let at = self.queue.iter().take_while(|old| old.start < start).count();
            let at = if start >= self.queue[self.queue.len() - 1].end() { self.queue.len() } else { at };
            self.shape.insert_at(at, Some(()));
            self.queue.insert(at, skb);
            self.remove_covered(at, end);
        }

        fn remove_covered(&mut self, at: usize, end: usize) {
            while at + 1 < self.queue.len() && self.queue[at + 1].end() <= end {
                self.queue.remove(at + 1);
                self.shape.remove_at(at + 1);
            }
        }

        /// The delivered bytes: each from the first piece that has it.
        pub fn resolve(&self, cells: &mut [Cell], expected: usize) {
            cells.fill(None);
            for (owner, skb) in self.due.iter().chain(&self.queue).enumerate() {
                for (at, &byte) in (skb.start..).zip(&skb.bytes) {
                    if at >= expected && cells[at].is_none() {
                        cells[at] = Some((byte, owner as u32));
                    }
                }
            }
        }

        pub fn settle(&mut self, expected: usize) {
            self.due = self.due.take().filter(|due| due.end() > expected);
            while self.queue.first().is_some_and(|first| first.end() <= expected) {
                self.queue.remove(0);
                self.shape.remove_at(0);
            }
        }
    }

    /// A red-black tree without keys: nodes are known by their rank. Written recursively, unlike the one tested, after
    /// the cases of the textbook.
    mod shape {
        #[derive(Clone, Debug)]
        struct Node {
            red: bool,
            left: Link,
            right: Link,
            size: usize,
        }

        type Link = Option<Box<Node>>;

        fn size(link: &Link) -> usize {
            link.as_ref().map_or(0, |node| node.size)
        }

        fn is_red(link: &Link) -> bool {
            link.as_ref().is_some_and(|node| node.red)
        }

        impl Node {
            fn refresh(&mut self) {
                self.size = 1 + size(&self.left) + size(&self.right);
            }

            fn child(&mut self, right: bool) -> &mut Link {
                if right { &mut self.right } else { &mut self.left }
            }
        }

        /// The child on the other side of `right` comes up; the node goes down to `right`'s side.
        fn rotate(link: &mut Link, right: bool) {
            let mut node = link.take().unwrap();
            let mut up = node.child(!right).take().unwrap();
            *node.child(!right) = up.child(right).take();
            node.refresh();
            *up.child(right) = Some(node);
            up.refresh();
            *link = Some(up);
        }

        #[derive(Clone, Debug, Default)]
        pub struct Shape(Link);

        impl Shape {
            /// The ranks met from the root down, where `goes_right` says which way.
            pub fn path(&self, goes_right: impl Fn(usize) -> bool) -> Vec<usize> {
                let (mut link, mut base, mut path) = (&self.0, 0, Vec::new());
                while let Some(node) = link {
                    let rank = base + size(&node.left);
                    path.push(rank);
                    if goes_right(rank) {
                        base = rank + 1;
                        link = &node.right;
                    } else {
                        link = &node.left;
                    }
                }
                path
            }

            pub fn insert_at(&mut self, rank: usize, _: Option<()>) {
                insert(&mut self.0, rank);
                self.0.as_mut().unwrap().red = false;
            }

            pub fn remove_at(&mut self, rank: usize) {
                remove(&mut self.0, rank);
            }
        }

        fn insert(link: &mut Link, rank: usize) {
            let Some(node) = link else {
                *link = Some(Box::new(Node { red: true, left: None, right: None, size: 1 }));
                return;
            };
            let before = size(&node.left);
            let right = rank > before;
            insert(node.child(right), if right { rank - before - 1 } else { rank });
            node.refresh();
            repair_inserted(link, right);
        }

        /// `link` is the grandparent of a red node with a red parent on side `right`, if there is such a one.
        fn repair_inserted(link: &mut Link, right: bool) {
            let node = link.as_mut().unwrap();
            let parent = node.child(right).as_mut().unwrap();
            if !parent.red || !(is_red(&parent.left) || is_red(&parent.right)) {
                return;
            }
            let outer_red = is_red(parent.child(right));
            if is_red(node.child(!right)) {
                node.left.as_mut().unwrap().red = false;
                node.right.as_mut().unwrap().red = false;
                node.red = true;
                return;
            }
            if !outer_red {
                rotate(node.child(right), right);
            }
            node.red = true;
            node.child(right).as_mut().unwrap().red = false;
            rotate(link, !right);
        }

        /// Returns whether the subtree has lost a black level.
        fn remove(link: &mut Link, rank: usize) -> bool {
            let node = link.as_mut().unwrap();
            let before = size(&node.left);
            if rank == before {
                if node.left.is_none() || node.right.is_none() {
                    let node = link.take().unwrap();
                    *link = node.left.or(node.right);
                    if let Some(child) = link {
                        child.red = false;
                        return false;
                    }
                    return !node.red;
                }
                // The next one takes its place: as the nodes have no keys, its place is what is removed.
                let short = remove(&mut node.right, 0);
                node.refresh();
                return short && repair_removed(link, true);
            }
            let right = rank > before;
            let short = remove(node.child(right), if right { rank - before - 1 } else { rank });
            node.refresh();
            short && repair_removed(link, right)
        }

        /// Side `right` of `link` lacks a black level.
        fn repair_removed(link: &mut Link, right: bool) -> bool {
            let node = link.as_mut().unwrap();
            if is_red(node.child(!right)) {
                node.red = true;
                node.child(!right).as_mut().unwrap().red = false;
                rotate(link, right);
                let node = link.as_mut().unwrap();
                let short = repair_removed(node.child(right), right);
                assert!(!short);
                return false;
            }
            let sibling = node.child(!right).as_mut().unwrap();
            let (near, far) = (is_red(sibling.child(right)), is_red(sibling.child(!right)));
            if !near && !far {
                sibling.red = true;
                return !std::mem::replace(&mut node.red, false);
            }
            if !far {
                sibling.red = true;
                sibling.child(right).as_mut().unwrap().red = false;
                rotate(node.child(!right), !right);
            }
            let red = std::mem::replace(&mut node.red, false);
            let sibling = node.child(!right).as_mut().unwrap();
            sibling.red = red;
            sibling.child(!right).as_mut().unwrap().red = false;
            rotate(link, right);
            false
        }
    }
}
