//! Removal of pieces, and release of memory.

use super::{LEFT, NIL, RIGHT, Segment, Tree, UNUSED};

impl Tree {
    /// Removes a piece.
    pub fn unlink(&mut self, at: u32) -> Segment {
        if at == self.first {
            self.first = self.neighbour(at, RIGHT);
        }
        if at == self.last {
            self.last = self.neighbour(at, LEFT);
        }
        let end = self.segment(at).end();
        let (mut parent, [left, right]) = (self.node(at).parent, self.node(at).children);
        let (above, side) = self.above(at);
        let mut was_black = !self.node(at).red;
        let child;
        if left == NIL || right == NIL {
            child = if left == NIL { right } else { left };
            self.relink(parent, at, child);
        } else {
            // The next piece takes its place and colour.
            let heir = self.outermost(right, LEFT);
            was_black = !self.node(heir).red;
            child = self.child(heir, RIGHT);
            let heir_parent = self.node(heir).parent;
            let (left_reach, red) = (self.node(at).left_reach, self.node(at).red);
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
            self.node_mut(heir).left_reach = left_reach;
            // It is no longer on the left of those that it was below.
            let (heir_end, mut was_above) = (self.segment(heir).end(), parent);
            while was_above != heir && self.node(was_above).left_reach <= heir_end {
                self.node_mut(was_above).left_reach = self.reach_below(self.child(was_above, LEFT));
                was_above = self.node(was_above).parent;
            }
        }
        self.reduce_upward(above, side, end);
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

    /// Releases memory once three quarters of the nodes are unused. Nodes may get other indices.
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

    /// Rebalances the tree below `parent`, one of whose sides lacks a black node; at first it is the empty one.
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
