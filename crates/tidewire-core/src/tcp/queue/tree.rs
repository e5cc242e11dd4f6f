//! A red-black tree of pieces in one vector, ordered by their first offset.
//!
//! Insertion and removal take the steps of the textbook algorithm (Cormen et al., chapter 13), which are those of
//! Linux's `lib/rbtree.c` too: trees built by the same operations have the same shape. That matters, because the
//! kernel's out-of-order queue joins a segment to a neighbour that it meets *on its way down the tree*.
//! Every node also knows the farthest end below it, so that overlaps are found without walking.

use crate::prefetch::prefetch_all;

/// No node.
pub(crate) const NIL: u32 = u32::MAX;
/// In the children of a node that is not in use.
const UNUSED: u32 = u32::MAX - 1;
/// Index into a node's children.
pub(crate) const LEFT: usize = 0;
/// Index into a node's children.
pub(crate) const RIGHT: usize = 1;

/// Bytes at an offset, and the packet that brought them.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// Offset of the first byte in the stream.
    pub start: u64,
    /// Bytes of the stream that are covered; the bytes themselves may be fewer.
    pub length: u64,
    /// The bytes, after `head` that are no longer part of it.
    pub data: Vec<u8>,
    /// See `data`.
    pub head: u32,
    /// When the packet came, nanoseconds.
    pub timestamp_ns: u64,
    /// The packet's number.
    pub number: u64,
}

impl Segment {
    /// Offset after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + self.length
    }

    /// The bytes that are there; fewer than `length` when snapped or not kept.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.data.get(self.head as usize..).unwrap_or_default()
    }

    /// A copy of a part of it.
    pub fn part(&self, start: u64, end: u64) -> Self {
        let data = super::store::slice_of(self.bytes(), self.start, start, end).to_vec();
        Self { start, length: end - start, data, head: 0, ..*self }
    }

    /// Memory of its bytes.
    #[inline]
    pub fn data_charge(&self) -> u64 {
        // An allocator keeps about two words beside each block.
        if self.data.capacity() == 0 { 0 } else { self.data.capacity() as u64 + 16 }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub segment: Segment,
    /// The farthest end in this subtree.
    reach: u64,
    parent: u32,
    children: [u32; 2],
    red: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    root: u32,
    /// The pieces that start first and last.
    first: u32,
    last: u32,
    /// First of the unused nodes, linked by `parent`.
    unused: u32,
    count: u32,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NIL, first: NIL, last: NIL, unused: NIL, count: 0 }
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

    /// For changes that leave start and length alone.
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

    /// The farthest end of all.
    pub fn reach(&self) -> u64 {
        self.reach_of(self.root)
    }

    #[inline]
    fn reach_of(&self, at: u32) -> u64 {
        if at == NIL { 0 } else { self.node(at).reach }
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

    /// Asks for the nodes that are looked at first.
    #[inline(always)]
    pub fn prefetch(&self) {
        for at in [self.first, self.root, self.last] {
            if let Some(node) = self.nodes.get(at as usize) {
                prefetch_all(node);
            }
        }
    }

    /// The piece that starts next after `at`'s start.
    pub fn next(&self, at: u32) -> u32 {
        self.neighbour(at, RIGHT)
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
            if self.reach_of(self.child(at, LEFT)) > offset {
                at = self.child(at, LEFT);
            } else if self.segment(at).end() > offset {
                return at;
            } else {
                at = self.child(at, RIGHT);
                if self.reach_of(at) <= offset {
                    return NIL;
                }
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
                reach = reach.max(self.segment(at).end()).max(self.reach_of(self.child(at, LEFT)));
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

    /// Where a piece that starts at `start` is to be linked: its parent and side.
    pub fn place(&self, start: u64) -> (u32, usize) {
        let (mut at, mut place) = (self.root, (NIL, LEFT));
        while at != NIL {
            let side = usize::from(start >= self.segment(at).start);
            place = (at, side);
            at = self.child(at, side);
        }
        place
    }

    /// Changes where a piece starts and how long it is. Its order among the others must stay.
    pub fn reshape(&mut self, at: u32, start: u64, length: u64) {
        let segment = self.segment_mut(at);
        (segment.start, segment.length) = (start, length);
        self.refresh_upward(at);
    }

    /// Puts another piece in a piece's place and returns the old one.
    pub fn replace(&mut self, at: u32, segment: Segment) -> Segment {
        let old = std::mem::replace(self.segment_mut(at), segment);
        self.refresh_upward(at);
        old
    }

    #[inline]
    fn refresh(&mut self, at: u32) {
        let [left, right] = self.node(at).children;
        let reach = self.segment(at).end().max(self.reach_of(left)).max(self.reach_of(right));
        self.node_mut(at).reach = reach;
    }

    /// Something below `at` reaches this far now.
    fn extend_upward(&mut self, mut at: u32, reach: u64) {
        while at != NIL && self.node(at).reach < reach {
            self.node_mut(at).reach = reach;
            at = self.node(at).parent;
        }
    }

    fn refresh_upward(&mut self, mut at: u32) {
        while at != NIL {
            self.refresh(at);
            at = self.node(at).parent;
        }
    }

    /// Makes `new` what its parent has in `old`'s place.
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

    /// Turns `at` down to `side`: its child on the other side takes its place.
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
        self.refresh(at);
        self.refresh(up);
    }

    #[inline]
    fn is_red(&self, at: u32) -> bool {
        at != NIL && self.node(at).red
    }

    /// Links a piece below `parent` (`NIL`: the tree is empty) and returns its node.
    pub fn link(&mut self, segment: Segment, parent: u32, side: usize) -> u32 {
        let node = Node { reach: segment.end(), segment, parent, children: [NIL; 2], red: true };
        let at = if self.unused == NIL {
            if self.nodes.len() == self.nodes.capacity() {
                // Grown by halves, not doubled: what is charged is what is allocated.
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
            self.extend_upward(parent, self.node(at).reach);
        }
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

    /// Takes a piece out.
    pub fn unlink(&mut self, at: u32) -> Segment {
        if at == self.first {
            self.first = self.neighbour(at, RIGHT);
        }
        if at == self.last {
            self.last = self.neighbour(at, LEFT);
        }
        let (mut parent, [left, right]) = (self.node(at).parent, self.node(at).children);
        let mut was_black = !self.node(at).red;
        let child;
        if left == NIL || right == NIL {
            child = if left == NIL { right } else { left };
            self.relink(parent, at, child);
        } else {
            // The next piece takes its place, with its colour.
            let heir = self.outermost(right, LEFT);
            was_black = !self.node(heir).red;
            child = self.child(heir, RIGHT);
            let heir_parent = self.node(heir).parent;
            let (above, red) = (parent, self.node(at).red);
            parent = heir;
            if heir_parent != at {
                parent = heir_parent;
                self.relink(heir_parent, heir, child);
                self.node_mut(heir).children[RIGHT] = right;
                self.node_mut(right).parent = heir;
            }
            self.relink(above, at, heir);
            self.node_mut(heir).children[LEFT] = left;
            self.node_mut(left).parent = heir;
            self.node_mut(heir).red = red;
        }
        self.refresh_upward(parent);
        if child != NIL && was_black {
            self.node_mut(child).red = false;
        } else if was_black {
            self.balance_removed(parent);
        }
        self.release(at)
    }

    fn release(&mut self, at: u32) -> Segment {
        self.count -= 1;
        let segment = std::mem::take(self.segment_mut(at));
        if self.count == 0 {
            *self = Self::default();
        } else {
            let unused = self.unused;
            let node = self.node_mut(at);
            (node.parent, node.children) = (unused, [UNUSED; 2]);
            self.unused = at;
        }
        segment
    }

    /// Gives memory back once three quarters of the nodes are not in use. Nodes may get other indices.
    pub fn shrink(&mut self) {
        if self.nodes.len() < 16 || (self.count as usize) > self.nodes.len() / 4 {
            return;
        }
        let mut moved = Vec::with_capacity(self.nodes.len());
        let mut used = 0;
        for node in &self.nodes {
            let is_used = node.children[LEFT] != UNUSED;
            moved.push(if is_used { used } else { NIL });
            used += u32::from(is_used);
        }
        let moved = |at: u32| if at == NIL { NIL } else { moved[at as usize] };
        self.nodes.retain(|node| node.children[LEFT] != UNUSED);
        self.nodes.shrink_to_fit();
        for node in &mut self.nodes {
            node.parent = moved(node.parent);
            node.children = node.children.map(moved);
        }
        (self.root, self.first, self.last) = (moved(self.root), moved(self.first), moved(self.last));
        self.unused = NIL;
    }

    /// Restores the tree below `parent`, one of whose sides lacks a black node; at first it is the empty one.
    fn balance_removed(&mut self, mut parent: u32) {
        let mut at = NIL;
        while parent != NIL {
            let side = usize::from(self.child(parent, LEFT) != at);
            let mut sibling = self.child(parent, 1 - side);
            if self.is_red(sibling) {
                self.node_mut(sibling).red = false;
                self.node_mut(parent).red = true;
                self.rotate(parent, side);
                sibling = self.child(parent, 1 - side);
            }
            let (near, far) = (self.child(sibling, side), self.child(sibling, 1 - side));
            if !self.is_red(near) && !self.is_red(far) {
                self.node_mut(sibling).red = true;
                if self.node(parent).red {
                    self.node_mut(parent).red = false;
                    return;
                }
                at = parent;
                parent = self.node(at).parent;
                continue;
            }
            if !self.is_red(far) {
                self.node_mut(near).red = false;
                self.node_mut(sibling).red = true;
                self.rotate(sibling, 1 - side);
                sibling = near;
            }
            let outer = self.child(sibling, 1 - side);
            let red = self.node(parent).red;
            self.node_mut(sibling).red = red;
            self.node_mut(parent).red = false;
            self.node_mut(outer).red = false;
            self.rotate(parent, side);
            return;
        }
    }
}

#[cfg(test)]
impl Tree {
    /// Asserts order, colours, links and reaches.
    pub fn check(&self) {
        assert_eq!(self.check_below(self.root, NIL).1, self.count);
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
        let reach = self.reach_of(node.children[LEFT]).max(self.reach_of(node.children[RIGHT]));
        assert_eq!(node.reach, node.segment.end().max(reach));
        (left.0 + u32::from(!node.red), left.1 + right.1 + 1)
    }
}
