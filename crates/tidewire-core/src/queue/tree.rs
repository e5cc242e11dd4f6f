//! A red-black tree of pieces in one vector, ordered by their first offset.
//!
//! Insertion and removal follow the textbook algorithm (Cormen et al., chapter 13) step by step, as Linux's
//! `lib/rbtree.c` does: trees built by the same operations have the same shape. That matters, because the kernel's
//! out-of-order queue joins a segment to a neighbour that it meets *on its way down the tree*. Every node also knows
//! the farthest end on its left, so that overlaps are found without a walk. Appending behind all others, the usual
//! case, changes that of no other node.

mod remove;

use super::segment::Segment;
use crate::prefetch::prefetch_bytes;

/// No node.
pub(crate) const NIL: u32 = u32::MAX;
/// Marks the children of an unused node.
const UNUSED: u32 = u32::MAX - 1;
/// Index into a node's children.
pub(crate) const LEFT: usize = 0;
/// Index into a node's children.
pub(crate) const RIGHT: usize = 1;

#[derive(Debug)]
pub(crate) struct Node {
    pub segment: Segment,
    /// The farthest end in the left subtree; 0 if that is empty.
    left_reach: u64,
    parent: u32,
    children: [u32; 2],
    red: bool,
}

const _: () = assert!(size_of::<Node>() <= 64, "no more than two cache lines, wherever it lies");

/// A red-black tree of pieces.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    root: u32,
    /// The pieces that start first and last.
    first: u32,
    last: u32,
    /// The farthest end.
    reach: u64,
    /// First of the unused nodes, linked by `parent`.
    unused: u32,
    count: u32,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NIL, first: NIL, last: NIL, reach: 0, unused: NIL, count: 0 }
    }
}

impl Tree {
    #[inline]
    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    #[inline]
    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    #[inline]
    pub fn segment(&self, at: u32) -> &Segment {
        &self.node(at).segment
    }

    /// For changes that keep start and length.
    #[inline]
    pub fn segment_mut(&mut self, at: u32) -> &mut Segment {
        &mut self.node_mut(at).segment
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// Memory of the nodes.
    pub fn node_charge(&self) -> u64 {
        (self.nodes.capacity() * size_of::<Node>()) as u64
    }

    /// The farthest end of all pieces.
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// The farthest end in the subtree of `at`.
    fn reach_below(&self, mut at: u32) -> u64 {
        let mut reach = 0;
        while at != NIL {
            let node = self.node(at);
            reach = reach.max(node.segment.end()).max(node.left_reach);
            at = node.children[RIGHT];
        }
        reach
    }

    pub fn root(&self) -> u32 {
        self.root
    }

    #[inline]
    pub fn child(&self, at: u32, side: usize) -> u32 {
        self.node(at).children[side]
    }

    fn outermost(&self, mut at: u32, side: usize) -> u32 {
        while at != NIL && self.child(at, side) != NIL {
            at = self.child(at, side);
        }
        at
    }

    /// The piece that starts first.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The piece that starts last.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Prefetches the nodes that are read first.
    #[inline(always)]
    pub fn prefetch(&self) {
        for at in [self.first, self.root, self.last] {
            if let Some(node) = self.nodes.get(at as usize) {
                prefetch_bytes(node, size_of::<Node>());
            }
        }
        // The place of the next node; those that came just before are probably its parent and its neighbours.
        if self.unused == NIL {
            let end = self.nodes.as_ptr_range().end;
            for back in 0..4 {
                prefetch_bytes(end.wrapping_sub(back), size_of::<Node>());
            }
        }
    }

    /// The piece that starts next after `at`'s start.
    #[inline]
    pub fn next(&self, at: u32) -> u32 {
        // The usual case, without a way up to the root.
        if at == self.last { NIL } else { self.neighbour(at, RIGHT) }
    }

    /// The next piece towards `side`.
    fn neighbour(&self, mut at: u32, side: usize) -> u32 {
        if self.child(at, side) != NIL {
            return self.outermost(self.child(at, side), 1 - side);
        }
        let mut parent = self.node(at).parent;
        while parent != NIL && at == self.child(parent, side) {
            at = parent;
            parent = self.node(at).parent;
        }
        parent
    }

    /// The first piece, by start, that ends beyond `offset`; it may start beyond it too.
    pub fn first_beyond(&self, offset: u64) -> u32 {
        let mut at = self.root;
        while at != NIL {
            let node = self.node(at);
            if node.left_reach > offset {
                at = node.children[LEFT];
            } else if node.segment.end() > offset {
                return at;
            } else {
                at = node.children[RIGHT];
            }
        }
        NIL
    }

    /// The farthest end of the pieces that start at or before `offset`; 0 without any.
    #[cfg(test)]
    pub fn reach_from(&self, offset: u64) -> u64 {
        let (mut at, mut reach) = (self.root, 0);
        while at != NIL {
            if self.segment(at).start <= offset {
                reach = reach.max(self.segment(at).end()).max(self.node(at).left_reach);
                at = self.child(at, RIGHT);
            } else {
                at = self.child(at, LEFT);
            }
        }
        reach
    }

    /// The first start beyond `offset`.
    #[cfg(test)]
    pub fn start_after(&self, offset: u64) -> Option<u64> {
        let (mut at, mut found) = (self.root, None);
        while at != NIL {
            if self.segment(at).start > offset {
                found = Some(self.segment(at).start);
                at = self.child(at, LEFT);
            } else {
                at = self.child(at, RIGHT);
            }
        }
        found
    }

    /// Where a piece that starts at `start` is linked: its parent and side.
    pub fn place(&self, start: u64) -> (u32, usize) {
        let (mut at, mut place) = (self.root, (NIL, LEFT));
        while at != NIL {
            let side = usize::from(start >= self.segment(at).start);
            place = (at, side);
            at = self.child(at, side);
        }
        place
    }

    /// Changes start and length of a piece, which must keep its order among the others.
    pub fn reshape(&mut self, at: u32, start: u64, length: u32) {
        let segment = self.segment_mut(at);
        let old_end = segment.end();
        (segment.start, segment.length) = (start, length);
        self.move_end(at, old_end);
    }

    /// Replaces a piece and returns the old one.
    pub fn replace(&mut self, at: u32, segment: Segment) -> Segment {
        let old = std::mem::replace(self.segment_mut(at), segment);
        self.move_end(at, old.end());
        old
    }

    /// Updates the tree after the end of a piece changed.
    fn move_end(&mut self, at: u32, old_end: u64) {
        let end = self.segment(at).end();
        if end > old_end {
            self.extend_upward(at, end);
        } else if end < old_end {
            let (parent, side) = self.above(at);
            self.reduce_upward(parent, side, old_end);
        }
    }

    /// The parent of `at`, and the side of it that `at` is on.
    fn above(&self, at: u32) -> (u32, usize) {
        let parent = self.node(at).parent;
        let side = if parent == NIL { LEFT } else { usize::from(self.child(parent, RIGHT) == at) };
        (parent, side)
    }

    /// Updates the ancestors: `at` now reaches this far.
    #[inline]
    fn extend_upward(&mut self, mut at: u32, reach: u64) {
        self.reach = self.reach.max(reach);
        // The last one is on the left of no other.
        if at == self.last {
            return;
        }
        loop {
            let (parent, side) = self.above(at);
            if parent == NIL {
                return;
            }
            let node = self.node_mut(parent);
            if node.left_reach >= reach || side == RIGHT && node.segment.end() >= reach {
                return;
            }
            if side == LEFT {
                node.left_reach = reach;
            }
            at = parent;
        }
    }

    /// Updates the ancestors: on this side of `parent` a piece that reached up to `reach` was removed.
    fn reduce_upward(&mut self, mut parent: u32, mut side: usize, reach: u64) {
        while parent != NIL {
            let node = self.node(parent);
            if side == LEFT {
                if node.left_reach > reach {
                    return;
                }
                let now = self.reach_below(self.child(parent, LEFT));
                if now == self.node(parent).left_reach {
                    return;
                }
                self.node_mut(parent).left_reach = now;
            } else if node.segment.end().max(node.left_reach) >= reach {
                return;
            }
            (parent, side) = self.above(parent);
        }
        self.reach = self.reach_below(self.root);
    }

    /// Replaces `old` by `new` as a child of its parent.
    fn relink(&mut self, parent: u32, old: u32, new: u32) {
        if parent == NIL {
            self.root = new;
        } else {
            let side = usize::from(self.child(parent, RIGHT) == old);
            self.node_mut(parent).children[side] = new;
        }
        if new != NIL {
            self.node_mut(new).parent = parent;
        }
    }

    /// Rotates `at` down towards `side`: its child on the other side takes its place.
    fn rotate(&mut self, at: u32, side: usize) {
        let up = self.child(at, 1 - side);
        let inner = self.child(up, side);
        let parent = self.node(at).parent;
        self.relink(parent, at, up);
        self.node_mut(up).children[side] = at;
        let node = self.node_mut(at);
        node.parent = up;
        node.children[1 - side] = inner;
        if inner != NIL {
            self.node_mut(inner).parent = at;
        }
        if side == LEFT {
            let node = self.node(at);
            let reach = node.left_reach.max(node.segment.end());
            let node = self.node_mut(up);
            node.left_reach = node.left_reach.max(reach);
        } else {
            self.node_mut(at).left_reach = self.reach_below(inner);
        }
    }

    #[inline]
    fn is_red(&self, at: u32) -> bool {
        at != NIL && self.node(at).red
    }

    /// Links a piece below `parent` (`NIL`: the tree is empty) and returns its node.
    pub fn link(&mut self, segment: Segment, parent: u32, side: usize) -> u32 {
        let end = segment.end();
        let node = Node { left_reach: 0, segment, parent, children: [NIL; 2], red: true };
        let at = if self.unused == NIL {
            if self.nodes.len() == self.nodes.capacity() {
                // Grown by halves, not doubled, because the allocation is what is charged.
                self.nodes.reserve_exact((self.nodes.len() / 2).max(2));
            }
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let at = self.unused;
            self.unused = self.node(at).parent;
            *self.node_mut(at) = node;
            at
        };
        self.count += 1;
        if parent == NIL {
            (self.root, self.first, self.last) = (at, at, at);
        } else {
            if side == LEFT && parent == self.first {
                self.first = at;
            } else if side == RIGHT && parent == self.last {
                self.last = at;
            }
            self.node_mut(parent).children[side] = at;
        }
        self.extend_upward(at, end);
        self.balance_inserted(at);
        at
    }

    fn balance_inserted(&mut self, mut at: u32) {
        loop {
            let parent = self.node(at).parent;
            if parent == NIL {
                self.node_mut(at).red = false;
                return;
            }
            if !self.node(parent).red {
                return;
            }
            // A red node is never the root.
            let grand = self.node(parent).parent;
            let side = usize::from(self.child(grand, RIGHT) == parent);
            let uncle = self.child(grand, 1 - side);
            if self.is_red(uncle) {
                self.node_mut(uncle).red = false;
                self.node_mut(parent).red = false;
                self.node_mut(grand).red = true;
                at = grand;
                continue;
            }
            let mut top = parent;
            if self.child(parent, 1 - side) == at {
                self.rotate(parent, side);
                top = at;
            }
            self.node_mut(top).red = false;
            self.node_mut(grand).red = true;
            self.rotate(grand, 1 - side);
            return;
        }
    }
}

#[cfg(test)]
impl Tree {
    /// Asserts order, colours, links and reaches.
    pub fn check(&self) {
        assert_eq!(self.check_below(self.root, NIL).1, self.count);
        let reach = self.nodes.iter().filter(|node| node.children[LEFT] != UNUSED).map(|node| node.segment.end()).max();
        assert_eq!(self.reach, reach.unwrap_or(0));
        assert_eq!(self.first(), self.outermost(self.root, LEFT));
        assert_eq!(self.last(), self.outermost(self.root, RIGHT));
        let mut at = self.first();
        while at != NIL {
            let next = self.next(at);
            assert!(next == NIL || self.segment(at).start < self.segment(next).start);
            at = next;
        }
    }

    fn check_below(&self, at: u32, parent: u32) -> (u32, u32) {
        if at == NIL {
            return (0, 0);
        }
        let node = self.node(at);
        assert_eq!(node.parent, parent);
        assert!(!(node.red && self.is_red(parent)));
        let (left, right) = (self.check_below(node.children[LEFT], at), self.check_below(node.children[RIGHT], at));
        assert_eq!(left.0, right.0);
        let mut reach = 0;
        let mut below = vec![node.children[LEFT]];
        while let Some(at) = below.pop().filter(|at| *at != NIL) {
            reach = reach.max(self.segment(at).end());
            below.extend(self.node(at).children.into_iter().filter(|at| *at != NIL));
        }
        assert_eq!(node.left_reach, reach);
        (left.0 + u32::from(!node.red), left.1 + right.1 + 1)
    }
}
