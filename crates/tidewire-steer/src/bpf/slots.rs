//! The variables of a program, on the kernel's stack, and registers that keep their value throughout.

use tidewire_ebpf::{Value, instruction::alu};

use super::MapUse;
use crate::ir::{MIX, Slot};

/// The assembler, for programs that use these maps.
pub(super) type Assembler = tidewire_ebpf::Assembler<MapUse>;

/// Registers.
pub(super) mod reg {
    /// Sockets: how far the packet's data begins behind its link layer.
    pub(in super::super) use tidewire_ebpf::instruction::register::R7 as DISTANCE;
    /// A 0 that the verifier does not know to be 0.
    pub(in super::super) use tidewire_ebpf::instruction::register::R9 as UNKNOWN;
    pub(in super::super) use tidewire_ebpf::instruction::register::{
        FRAME, R0, R1, R2, R3, R4, R5, R6 as CONTEXT, R7 as DATA, R8 as DATA_END,
    };
}

/// 8 bytes that loads go through.
pub(super) const SCRATCH_AT: i16 = -512;

/// The place of a slot, relative to the frame register.
pub(super) fn slot_at(slot: Slot) -> i16 {
    -8 * (i16::from(slot) + 1)
}

/// Loads and stores of slots.
pub(super) trait Slots {
    /// `to` = a slot.
    fn load_slot(&mut self, to: u8, slot: Slot);

    /// A slot = `from`.
    fn store_slot(&mut self, slot: Slot, from: u8);
}

impl Slots for Assembler {
    fn load_slot(&mut self, to: u8, slot: Slot) {
        self.load(to, reg::FRAME, slot_at(slot), 8);
    }

    fn store_slot(&mut self, slot: Slot, from: u8) {
        self.store(reg::FRAME, slot_at(slot), from, 8);
    }
}

/// [`crate::ir::mix`] of register 1; uses registers 2 and 3.
pub(super) fn mix(asm: &mut Assembler) {
    for factor in [Some(MIX[0]), Some(MIX[1]), None] {
        asm.copy(reg::R2, reg::R1);
        asm.alu_wide(alu::SHR, reg::R2, 33, reg::R3);
        asm.alu64(alu::XOR, reg::R1, Value::Register(reg::R2));
        if let Some(factor) = factor {
            asm.alu_wide(alu::MUL, reg::R1, factor, reg::R3);
        }
    }
}
