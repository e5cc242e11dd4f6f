//! Translation of operations to instructions.
//!
//! Keeps every slot on the stack. The verifier follows every path through a program, and merges two paths only where it
//! knows nothing that distinguishes them. So the code adds to constants a 0 that the verifier does not know to be one,
//! and compares copies. Without that, a walk through two tunnels exceeded the verifier's million instructions; with it,
//! it takes 20,000.

use tidewire_ebpf::{
    Value,
    instruction::{alu, helper, skb, when, xdp},
};

use super::slots::{Assembler, SCRATCH_AT, Slots as _, mix, reg, slot_at};
use super::{Code, Hook, MapUse, Output, output};
use crate::error::{Error, Position};
use crate::ir::{Alu, Condition, HEADERS_BYTES_MAX, Label, Meta, Operand, Operation, SLOTS, Slot, without_dead};
use crate::walk::slot;

/// `PACKET_OUTGOING`: the packet's data then begins with its link layer, else behind it.
const OUTGOING: u64 = 4;

/// An Ethernet header, in bytes.
const ETHERNET_BYTES: u64 = 14;

/// All bits of an offset: [`HEADERS_BYTES_MAX`], and what is added to it before the next check.
const OFFSET_MASK: u64 = 0xfff;
const _: () = assert!(HEADERS_BYTES_MAX + 512 <= OFFSET_MASK);

/// Shifts a packet's length or a queue's number to 0: neither has as many bits.
const TO_NOTHING: u64 = 22;
/// Obscures the value from the verifier: the product with this odd factor is a number of which the verifier knows
/// nothing. (The value is 0.)
const ANYTHING: u64 = 0x9e37_79b9_7f4a_7c15;

/// The program for a hook.
pub(crate) fn emit(operations: &[Operation], hook: Hook, output: Output) -> Result<Code, Error> {
    let operations = &for_hook(operations, hook);
    let labels = operations.iter().filter(|operation| matches!(operation, Operation::Label(_))).count();
    let greatest =
        operations.iter().filter_map(|o| if let Operation::Label(Label(l)) = o { Some(*l) } else { None }).max();
    let labels = greatest.unwrap_or(0).max(labels as u32);
    let is_filter = matches!(output, Output::Filter { .. } | Output::Kept { .. });
    let mut emitter = Emitter { asm: Assembler::new(labels), hook, is_filter };
    emitter.begin(operations);
    for operation in operations {
        emitter.operation(operation);
    }
    output::emit(&mut emitter.asm, hook, output);
    emitter.asm.finish().map_err(|too_long| {
        let start = Position { line: 1, column: 1 };
        Error::new(start, too_long.to_string(), "make it smaller, or look through fewer tunnels")
    })
}

/// Removes what the hook does not know, and what can only be reached by knowing it.
fn for_hook(operations: &[Operation], hook: Hook) -> Vec<Operation> {
    let known = operations.iter().map(|operation| match *operation {
        Operation::Meta { meta: Meta::VlanTag | Meta::RssHash, missing, .. } if hook == Hook::Xdp => {
            Operation::Goto(missing)
        }
        other => other,
    });
    without_dead(known.collect())
}

struct Emitter {
    asm: Assembler,
    hook: Hook,
    /// A socket's filter gets packets with their data from the link layer on; a fan-out program gets incoming ones with
    /// their data from behind it.
    is_filter: bool,
}

impl Emitter {
    /// Sets up registers that stay the same, and slots with 0.
    ///
    /// The verifier follows every path through a program, and merges two only if it knows nothing that distinguishes
    /// them. So it is kept from knowing: a 0 that it does not know to be 0 is added to constants, and comparisons use
    /// copies. Otherwise a walk through two tunnels has more paths than it accepts.
    fn begin(&mut self, operations: &[Operation]) {
        let asm = &mut self.asm;
        asm.copy(reg::CONTEXT, reg::R1);
        match self.hook {
            Hook::Socket => {
                // How far the packet's data begins behind its link layer.
                if self.is_filter {
                    asm.set(reg::DISTANCE, 0);
                } else {
                    let incoming = asm.label();
                    asm.set(reg::DISTANCE, ETHERNET_BYTES);
                    asm.load(reg::R1, reg::CONTEXT, skb::PACKET_TYPE, 4);
                    asm.jump_wide(when::NOT_EQUAL, reg::R1, OUTGOING, reg::R2, incoming);
                    asm.set(reg::DISTANCE, 0);
                    asm.place(incoming);
                }
                asm.load(reg::UNKNOWN, reg::CONTEXT, skb::LENGTH, 4);
            }
            Hook::Xdp => {
                asm.load(reg::DATA, reg::CONTEXT, xdp::DATA, 4);
                asm.load(reg::DATA_END, reg::CONTEXT, xdp::DATA_END, 4);
                asm.load(reg::UNKNOWN, reg::CONTEXT, xdp::RX_QUEUE, 4);
            }
        }
        asm.alu_wide(alu::SHR, reg::UNKNOWN, TO_NOTHING, reg::R2);
        asm.alu_wide(alu::MUL, reg::UNKNOWN, ANYTHING, reg::R2);
        if self.hook == Hook::Socket {
            asm.alu64(alu::ADD, reg::DISTANCE, Value::Register(reg::UNKNOWN));
        }
        for slot in used(operations) {
            asm.store_slot(slot, reg::UNKNOWN);
        }
        // Kernel programs see Ethernet, and the verifier may know that.
        asm.set(reg::R0, 1);
        asm.store_slot(slot::LINK, reg::R0);
    }

    fn operation(&mut self, operation: &Operation) {
        match *operation {
            Operation::Label(label) => self.asm.place(label),
            Operation::Set { to, from } => {
                match from {
                    Operand::Slot(from) => self.asm.load_slot(reg::R1, from),
                    Operand::Number(number) => self.asm.set(reg::R1, number),
                }
                self.asm.alu64(alu::ADD, reg::R1, Value::Register(reg::UNKNOWN));
                self.asm.store_slot(to, reg::R1);
            }
            Operation::Load { to, at, offset, bytes, missing } => match self.hook {
                Hook::Socket => self.load_by_helper(to, at, offset, bytes, missing),
                Hook::Xdp => self.load_directly(to, at, offset, bytes, missing),
            },
            Operation::Bound { slot, beyond } => self.bound(slot, beyond),
            Operation::Alu { alu, to, by } => self.alu(alu, to, by),
            Operation::Mix { slot } => self.mix(slot),
            Operation::Jump { condition, left, right, to } => self.jump(condition, left, right, to),
            Operation::Goto(label) => self.asm.goto(label),
            Operation::Meta { to, meta, missing } => self.meta(to, meta, missing),
            Operation::Next { to, cell } => {
                self.asm.map_value(reg::R1, MapUse::State, u32::from(cell) * 8);
                self.asm.set(reg::R2, 1);
                self.asm.atomic_add(reg::R1, reg::R2, true);
                self.asm.store_slot(to, reg::R2);
            }
            Operation::Count { cell, up } => {
                self.asm.map_value(reg::R1, MapUse::State, u32::from(cell) * 8);
                self.asm.set(reg::R2, if up { 1 } else { u64::MAX });
                self.asm.atomic_add(reg::R1, reg::R2, false);
            }
            Operation::Recall { to, key, missing } => {
                self.asm.map(reg::R1, MapUse::Datagrams);
                self.address(reg::R2, slot_at(key));
                self.asm.call(helper::MAP_LOOKUP);
                self.asm.jump_wide(when::EQUAL, reg::R0, 0, reg::R2, missing);
                self.asm.load(reg::R1, reg::R0, 0, 8);
                self.asm.store_slot(to, reg::R1);
            }
            Operation::Remember { key, value } => {
                self.asm.map(reg::R1, MapUse::Datagrams);
                self.address(reg::R2, slot_at(key));
                self.address(reg::R3, slot_at(value));
                self.asm.set(reg::R4, 0);
                self.asm.call(helper::MAP_UPDATE);
            }
        }
    }

    /// `to` = an address on the stack.
    fn address(&mut self, to: u8, offset: i16) {
        self.asm.copy(to, reg::FRAME);
        self.asm.alu_wide(alu::ADD, to, i64::from(offset).cast_unsigned(), reg::R0);
    }

    /// Bytes counted from the link layer. Headers that are not in the packet's linear part are reached by the other helper,
    /// which counts from the packet's data.
    fn load_by_helper(&mut self, to: Slot, at: Slot, offset: u16, bytes: u8, missing: Label) {
        let loaded = self.asm.label();
        self.helper_arguments(at, offset, bytes);
        self.asm.set(reg::R5, 0);
        self.asm.call(helper::SKB_LOAD_BYTES_RELATIVE);
        self.asm.jump_wide(when::EQUAL, reg::R0, 0, reg::R1, loaded);
        self.helper_arguments(at, offset, bytes);
        self.asm.jump64(when::LESS, reg::R2, Value::Register(reg::DISTANCE), missing);
        self.asm.alu64(alu::SUB, reg::R2, Value::Register(reg::DISTANCE));
        self.asm.call(helper::SKB_LOAD_BYTES);
        self.asm.jump_wide(when::NOT_EQUAL, reg::R0, 0, reg::R1, missing);
        self.asm.place(loaded);
        self.asm.load(reg::R1, reg::FRAME, SCRATCH_AT, bytes);
        self.asm.network_order(reg::R1, bytes);
        self.asm.store_slot(to, reg::R1);
    }

    fn helper_arguments(&mut self, at: Slot, offset: u16, bytes: u8) {
        self.asm.copy(reg::R1, reg::CONTEXT);
        self.asm.load_slot(reg::R2, at);
        if offset > 0 {
            self.asm.alu_wide(alu::ADD, reg::R2, offset.into(), reg::R3);
        }
        self.address(reg::R3, SCRATCH_AT);
        self.asm.set(reg::R4, bytes.into());
    }

    fn load_directly(&mut self, to: Slot, at: Slot, offset: u16, bytes: u8, missing: Label) {
        self.asm.copy(reg::R1, reg::DATA);
        self.asm.load_slot(reg::R2, at);
        self.asm.alu_wide(alu::AND, reg::R2, OFFSET_MASK, reg::R3);
        self.asm.alu64(alu::ADD, reg::R1, Value::Register(reg::R2));
        self.asm.copy(reg::R2, reg::R1);
        self.asm.alu_wide(alu::ADD, reg::R2, u64::from(offset) + u64::from(bytes), reg::R3);
        self.asm.jump64(when::GREATER, reg::R2, Value::Register(reg::DATA_END), missing);
        self.asm.load(reg::R1, reg::R1, offset.cast_signed(), bytes);
        self.asm.network_order(reg::R1, bytes);
        self.asm.store_slot(to, reg::R1);
    }

    fn bound(&mut self, slot: Slot, beyond: Label) {
        self.asm.load_slot(reg::R1, slot);
        self.asm.alu64(alu::ADD, reg::R1, Value::Register(reg::UNKNOWN));
        self.asm.jump_wide(when::GREATER, reg::R1, HEADERS_BYTES_MAX, reg::R2, beyond);
        // Stored back into its slot: now the verifier knows this bound, and no other.
        self.asm.store_slot(slot, reg::R1);
    }

    fn alu(&mut self, alu: Alu, to: Slot, by: Operand) {
        let operation = match alu {
            Alu::Add => alu::ADD,
            Alu::Sub => alu::SUB,
            Alu::And => alu::AND,
            Alu::Or => alu::OR,
            Alu::Xor => alu::XOR,
            Alu::Shl => alu::SHL,
            Alu::Shr => alu::SHR,
            Alu::Mod => alu::MOD,
        };
        self.asm.load_slot(reg::R1, to);
        match by {
            Operand::Number(number) => self.asm.alu_wide(operation, reg::R1, number, reg::R2),
            Operand::Slot(by) => {
                self.asm.load_slot(reg::R2, by);
                self.asm.alu64(operation, reg::R1, Value::Register(reg::R2));
            }
        }
        self.asm.store_slot(to, reg::R1);
    }

    fn mix(&mut self, slot: Slot) {
        self.asm.load_slot(reg::R1, slot);
        mix(&mut self.asm);
        self.asm.store_slot(slot, reg::R1);
    }

    fn jump(&mut self, condition: Condition, left: Slot, right: Operand, to: Label) {
        let condition = match condition {
            Condition::Equal => when::EQUAL,
            Condition::NotEqual => when::NOT_EQUAL,
            Condition::Less => when::LESS,
            Condition::LessOrEqual => when::LESS_OR_EQUAL,
            Condition::Greater => when::GREATER,
            Condition::GreaterOrEqual => when::GREATER_OR_EQUAL,
            Condition::AnyBit => when::ANY_BIT,
        };
        self.asm.load_slot(reg::R1, left);
        match right {
            Operand::Number(number) => {
                self.asm.alu64(alu::ADD, reg::R1, Value::Register(reg::UNKNOWN));
                self.asm.jump_wide(condition, reg::R1, number, reg::R2, to);
            }
            Operand::Slot(right) => {
                self.asm.load_slot(reg::R2, right);
                self.asm.jump64(condition, reg::R1, Value::Register(reg::R2), to);
            }
        }
    }

    /// Loads metadata from the context; see [`for_hook`] for what the hook does not know.
    fn meta(&mut self, to: Slot, meta: Meta, missing: Label) {
        let asm = &mut self.asm;
        match (self.hook, meta) {
            (Hook::Socket, Meta::VlanTag) => {
                asm.load(reg::R1, reg::CONTEXT, skb::VLAN_PRESENT, 4);
                asm.jump_wide(when::EQUAL, reg::R1, 0, reg::R2, missing);
                asm.load(reg::R1, reg::CONTEXT, skb::VLAN_TAG, 4);
            }
            (Hook::Socket, Meta::RssHash) => {
                asm.load(reg::R1, reg::CONTEXT, skb::HASH, 4);
                asm.jump_wide(when::EQUAL, reg::R1, 0, reg::R2, missing);
            }
            (Hook::Socket, Meta::RxQueue) => {
                // 0: not recorded; else the queue's number plus 1.
                asm.load(reg::R1, reg::CONTEXT, skb::QUEUE_MAPPING, 4);
                asm.jump_wide(when::EQUAL, reg::R1, 0, reg::R2, missing);
                asm.alu_wide(alu::SUB, reg::R1, 1, reg::R2);
            }
            (Hook::Xdp, Meta::RxQueue) => {
                // Always known, but the verifier rejects unreachable code.
                asm.jump_wide(when::NOT_EQUAL, reg::UNKNOWN, 0, reg::R2, missing);
                asm.load(reg::R1, reg::CONTEXT, xdp::RX_QUEUE, 4);
            }
            (Hook::Xdp, _) => return asm.goto(missing),
        }
        asm.store_slot(to, reg::R1);
    }
}

/// The slots that a program may read, always including those of the verdict.
fn used(operations: &[Operation]) -> Vec<Slot> {
    let mut used = [false; SLOTS as usize];
    let mut mark = |slot: Slot| {
        if let Some(place) = used.get_mut(usize::from(slot)) {
            *place = true;
        }
    };
    for slot in [slot::TARGET, slot::FIRST, slot::SECOND, slot::CLASS, slot::MARK, slot::STATE] {
        mark(slot);
    }
    for operation in operations {
        match *operation {
            Operation::Set { to, from } => {
                mark(to);
                if let Operand::Slot(from) = from {
                    mark(from);
                }
            }
            Operation::Load { to, at, .. } => [to, at].into_iter().for_each(&mut mark),
            Operation::Bound { slot, .. } | Operation::Mix { slot } => mark(slot),
            Operation::Alu { to: left, by: right, .. } | Operation::Jump { left, right, .. } => {
                mark(left);
                if let Operand::Slot(right) = right {
                    mark(right);
                }
            }
            Operation::Meta { to, .. } | Operation::Next { to, .. } => mark(to),
            Operation::Recall { to, key, .. } => [to, key].into_iter().for_each(&mut mark),
            Operation::Remember { key, value } => [key, value].into_iter().for_each(&mut mark),
            Operation::Label(_) | Operation::Goto(_) | Operation::Count { .. } => {}
        }
    }
    (0..SLOTS).filter(|slot| used.get(usize::from(*slot)) == Some(&true)).collect()
}
