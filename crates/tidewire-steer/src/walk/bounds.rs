//! Bounds of the walk, and a jump that all its parts use.

use crate::ir::{Builder, Condition, Label, Slot};

/// VLAN tags that are skipped.
pub(crate) const TAGS: usize = 4;
/// MPLS labels that are skipped.
pub(crate) const LABELS: usize = 8;
/// IPv6 extension headers that are skipped, including fragment header and authentication header.
pub(crate) const EXTENSIONS: usize = 8;

/// Jumps if `slot` is one of these values.
pub(crate) fn jump_any(builder: &mut Builder, slot: Slot, values: &[impl Copy + Into<u64>], to: Label) {
    for &value in values {
        builder.jump(slot, Condition::Equal, Into::<u64>::into(value), to);
    }
}
