//! The form between the language and the engines: a program that only jumps forwards, over 64-bit slots.
//!
//! The evaluator runs it and the code generator translates it, so that both have the same meaning. No operation depends
//! on the machine's byte order.

use crate::error::{Error, Position};

pub(crate) use tidewire_ebpf::Label;

/// A variable of 64 bits; all are 0 in the beginning.
pub(crate) type Slot = u8;

/// Number of slots: an eBPF stack has 512 bytes, of which the last are kept for loads.
pub(crate) const SLOTS: u8 = 62;

/// Headers and fields are read up to this offset, in bytes from the frame's beginning: what lies beyond counts as not
/// captured. Well beyond what real headers need, and few enough bits for the kernel's verifier to track.
pub const HEADERS_BYTES_MAX: u64 = 2000;

/// Operations in one program. A jump of eBPF reaches 32,767 instructions, and an operation takes up to 20 of them.
const OPERATIONS_MAX: usize = 12_000;

/// Operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Slot(Slot),
    Number(u64),
}

impl From<u64> for Operand {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// Arithmetic of 64 bits, wrapping; shifts are by less than 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    /// The remainder; never by 0.
    Mod,
}

/// Unsigned comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// A bit is set in both.
    AnyBit,
}

/// Metadata of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    /// The tag that the card or the kernel removed from the frame: 16 bits.
    VlanTag,
    /// The card's hash, 32 bits, not 0.
    RssHash,
    /// Number of the receive queue.
    RxQueue,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The target of jumps.
    Label(Label),
    /// `to` = `from`
    Set { to: Slot, from: Operand },
    /// `to` = the bytes at slot `at` + `offset` in network order; jumps to `missing` if the frame ends before them.
    Load { to: Slot, at: Slot, offset: u16, bytes: u8, missing: Label },
    /// Jumps to `beyond` if the slot is greater than [`HEADERS_BYTES_MAX`]: needed before a load at a sum.
    Bound { slot: Slot, beyond: Label },
    /// `to` = `to` (operation) `by`
    Alu { alu: Alu, to: Slot, by: Operand },
    /// Makes every bit of the slot depend on every other: the finalizer of MurmurHash3, a permutation of 64 bits.
    Mix { slot: Slot },
    /// Jumps to `to` if the condition holds.
    Jump { condition: Condition, left: Slot, right: Operand, to: Label },
    /// Jumps.
    Goto(Label),
    /// `to` = metadata; jumps to `missing` if it is unknown.
    Meta { to: Slot, meta: Meta, missing: Label },
    /// `to` = a cell of the state, which is then incremented.
    Next { to: Slot, cell: u16 },
    /// Adds 1 to a cell of the state, or subtracts 1.
    Count { cell: u16, up: bool },
    /// `to` = the value remembered under the number in slot `key`; jumps to `missing` if there is none.
    Recall { to: Slot, key: Slot, missing: Label },
    /// Remembers slot `value` under the number in slot `key`.
    Remember { key: Slot, value: Slot },
}

/// Builds operations.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) operations: Vec<Operation>,
    labels: u32,
    /// The next unused slot.
    free: u8,
    /// The greatest number of slots in use.
    used: u8,
}

impl Builder {
    /// A builder with the first slots in use.
    pub(crate) fn new(taken: u8) -> Self {
        Self { free: taken, used: taken, ..Self::default() }
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Places the label here.
    pub(crate) fn place(&mut self, label: Label) {
        self.operations.push(Operation::Label(label));
    }

    pub(crate) fn set(&mut self, to: Slot, from: impl Into<Operand>) {
        self.operations.push(Operation::Set { to, from: from.into() });
    }

    pub(crate) fn copy(&mut self, to: Slot, from: Slot) {
        self.operations.push(Operation::Set { to, from: Operand::Slot(from) });
    }

    pub(crate) fn load(&mut self, to: Slot, at: Slot, offset: u16, bytes: u8, missing: Label) {
        self.operations.push(Operation::Load { to, at, offset, bytes, missing });
    }

    pub(crate) fn bound(&mut self, slot: Slot, beyond: Label) {
        self.operations.push(Operation::Bound { slot, beyond });
    }

    pub(crate) fn alu(&mut self, alu: Alu, to: Slot, by: impl Into<Operand>) {
        self.operations.push(Operation::Alu { alu, to, by: by.into() });
    }

    pub(crate) fn alu_slot(&mut self, alu: Alu, to: Slot, by: Slot) {
        self.operations.push(Operation::Alu { alu, to, by: Operand::Slot(by) });
    }

    pub(crate) fn mix(&mut self, slot: Slot) {
        self.operations.push(Operation::Mix { slot });
    }

    pub(crate) fn jump(&mut self, left: Slot, condition: Condition, right: impl Into<Operand>, to: Label) {
        self.operations.push(Operation::Jump { condition, left, right: right.into(), to });
    }

    pub(crate) fn goto(&mut self, label: Label) {
        self.operations.push(Operation::Goto(label));
    }

    pub(crate) fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    /// Allocates a slot; free it with [`Builder::free`], in reverse order.
    pub(crate) fn take(&mut self) -> Slot {
        self.free = self.free.saturating_add(1);
        self.used = self.used.max(self.free);
        self.free - 1
    }

    pub(crate) fn free(&mut self, slots: u8) {
        self.free = self.free.saturating_sub(slots);
    }

    /// The operations, unless there are too many.
    pub(crate) fn finish(self) -> Result<Vec<Operation>, Error> {
        let start = Position { line: 1, column: 1 };
        if self.used > SLOTS {
            let message = "the program needs more variables than an eBPF stack holds";
            return Err(Error::new(start, message, "nest `par`, `inv` and `.^^.` less deep"));
        }
        if self.operations.len() > OPERATIONS_MAX {
            let message =
                format!("the program takes {} operations, and at most {OPERATIONS_MAX} fit", self.operations.len());
            return Err(Error::new(start, message, "make it smaller, or look through fewer tunnels"));
        }
        Ok(without_dead(self.operations))
    }
}

impl Operation {
    /// The label that it may jump to.
    fn label(&self) -> Option<Label> {
        match *self {
            Self::Load { missing, .. } | Self::Meta { missing, .. } | Self::Recall { missing, .. } => Some(missing),
            Self::Bound { beyond, .. } => Some(beyond),
            Self::Jump { to, .. } | Self::Goto(to) => Some(to),
            _ => None,
        }
    }
}

/// Removes unreachable operations, which the kernel's verifier rejects, and jumps to the next operation. One pass is
/// enough, because jumps lead forwards.
pub(crate) fn without_dead(operations: Vec<Operation>) -> Vec<Operation> {
    let mut wanted = std::collections::HashSet::new();
    let mut kept: Vec<Operation> = Vec::with_capacity(operations.len());
    let mut reached = true;
    for operation in operations {
        if let Operation::Label(Label(label)) = operation {
            while kept.last() == Some(&Operation::Goto(Label(label))) {
                kept.pop();
                reached = true;
            }
            reached |= wanted.contains(&label);
        }
        if !reached {
            continue;
        }
        if let Some(Label(label)) = operation.label() {
            wanted.insert(label);
        }
        reached = !matches!(operation, Operation::Goto(_));
        kept.push(operation);
    }
    kept
}

/// The result of [`Operation::Mix`] for a number.
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let mut x = number;
    x ^= x >> 33;
    x = x.wrapping_mul(MIX[0]);
    x ^= x >> 33;
    x = x.wrapping_mul(MIX[1]);
    x ^ (x >> 33)
}

/// The factors of MurmurHash3's 64-bit finalizer (Austin Appleby, public domain).
pub(crate) const MIX: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_is_what_it_is_known_to_be() {
        assert_eq!(mix(0), 0);
        assert_eq!(mix(1), 0xb456_bcfc_34c2_cb2c);
    }
}
