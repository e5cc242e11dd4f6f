//! Bounds of the walk, and a jump that all of it uses.

use crate::ir::{Builder, Condition, Label, Slot};

/// VLAN tags walked over.
pub(crate) const TAGS: usize = 4;
/// MPLS labels walked over.
pub(crate) const LABELS: usize = 8;
/// IPv6 extension headers walked over, fragment header and authentication header included.
pub(crate) const EXTENSIONS: usize = 8;

/// `slot` is one of these: jump.
pub(crate) fn jump_any(builder: &mut Builder, slot: Slot, values: &[u64], to: Label) {
    for value in values {
        builder.jump(slot, Condition::Equal, *value, to);
    }
}
