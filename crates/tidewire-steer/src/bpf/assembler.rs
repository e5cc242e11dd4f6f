//! A small assembler: instructions, labels, maps.

use super::instruction::{Instruction, code, pseudo, reg};
use super::{Code, MapUse};
use crate::error::{Error, Position};
use crate::ir::{Label, Slot};

/// Where a slot is, from the frame register.
pub(super) fn slot_at(slot: Slot) -> i16 {
    -8 * (i16::from(slot) + 1)
}

/// 8 bytes that loads go through.
pub(super) const SCRATCH_AT: i16 = -512;

#[derive(Debug, Default)]
pub(super) struct Assembler {
    pub(super) instructions: Vec<Instruction>,
    /// Jumps whose offset is not known yet.
    jumps: Vec<(usize, Label)>,
    /// Where labels are, by number.
    places: Vec<Option<usize>>,
    /// Loads of maps, whose descriptors are not known yet.
    pub(super) maps: Vec<(usize, MapUse)>,
    own_labels: u32,
}

impl Assembler {
    /// Labels of its own begin behind this number.
    pub(super) fn new(labels: u32) -> Self {
        Self { own_labels: labels, ..Self::default() }
    }

    pub(super) fn label(&mut self) -> Label {
        self.own_labels += 1;
        Label(self.own_labels)
    }

    pub(super) fn place(&mut self, Label(label): Label) {
        let index = label as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        if let Some(place) = self.places.get_mut(index) {
            *place = Some(self.instructions.len());
        }
    }

    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        self.instructions.push(Instruction { code, to, from, offset, number });
    }

    /// `to` = `from`, registers.
    pub(super) fn copy(&mut self, to: u8, from: u8) {
        self.push(code::ALU | code::MOVE | code::REGISTER, to, from, 0, 0);
    }

    /// `to` = a number.
    pub(super) fn set(&mut self, to: u8, number: u64) {
        match i32::try_from(number.cast_signed()) {
            Ok(small) => self.push(code::ALU | code::MOVE, to, 0, 0, small),
            Err(_) => self.wide(to, 0, [number as u32, (number >> 32) as u32]),
        }
    }

    fn wide(&mut self, to: u8, kind: u8, [low, high]: [u32; 2]) {
        self.push(code::LOAD_NUMBER, to, kind, 0, low.cast_signed());
        self.push(0, 0, 0, 0, high.cast_signed());
    }

    /// `to` = a map, for helpers.
    pub(super) fn map(&mut self, to: u8, map: MapUse) {
        self.maps.push((self.instructions.len(), map));
        self.wide(to, pseudo::MAP, [0, 0]);
    }

    /// `to` = the address of a byte of a map's only value.
    pub(super) fn map_value(&mut self, to: u8, map: MapUse, offset: u32) {
        self.maps.push((self.instructions.len(), map));
        self.wide(to, pseudo::MAP_VALUE, [0, offset]);
    }

    /// `to` = `to` (operation) a number, 64 bits; through `spare` where the number is large.
    pub(super) fn alu(&mut self, operation: u8, to: u8, number: u64, spare: u8) {
        match i32::try_from(number.cast_signed()) {
            Ok(small) => self.push(code::ALU | operation, to, 0, 0, small),
            Err(_) => {
                self.set(spare, number);
                self.alu_register(operation, to, spare);
            }
        }
    }

    pub(super) fn alu_register(&mut self, operation: u8, to: u8, from: u8) {
        self.push(code::ALU | operation | code::REGISTER, to, from, 0, 0);
    }

    /// The same with the lower 32 bits; the upper become 0.
    pub(super) fn alu32(&mut self, operation: u8, to: u8, number: u32) {
        self.push(code::ALU32 | operation, to, 0, 0, number.cast_signed());
    }

    /// The upper 32 bits become 0.
    pub(super) fn truncate(&mut self, register: u8) {
        self.push(code::ALU32 | code::MOVE | code::REGISTER, register, register, 0, 0);
    }

    pub(super) fn load(&mut self, to: u8, from: u8, offset: i16, bytes: u8) {
        self.push(code::LOAD | code::size(bytes), to, from, offset, 0);
    }

    /// `to` = a slot.
    pub(super) fn load_slot(&mut self, to: u8, slot: Slot) {
        self.load(to, reg::FRAME, slot_at(slot), 8);
    }

    pub(super) fn store_slot(&mut self, slot: Slot, from: u8) {
        self.push(code::STORE | code::size(8), reg::FRAME, from, slot_at(slot), 0);
    }

    /// 8 bytes of memory = a register.
    pub(super) fn store(&mut self, to: u8, offset: i16, from: u8) {
        self.push(code::STORE | code::size(8), to, from, offset, 0);
    }

    /// Adds a register to 8 bytes of memory, for all processors at once; the register then holds what was there before, if
    /// that is asked for.
    pub(super) fn atomic_add(&mut self, to: u8, from: u8, fetch: bool) {
        self.push(code::ATOMIC, to, from, 0, i32::from(fetch));
    }

    /// Bytes of memory that were loaded as they are become a number in network order.
    pub(super) fn network_order(&mut self, register: u8, bytes: u8) {
        if bytes > 1 {
            self.push(code::TO_NETWORK, register, 0, 0, i32::from(bytes) * 8);
        }
    }

    pub(super) fn jump(&mut self, condition: u8, left: u8, number: u64, spare: u8, to: Label) {
        match i32::try_from(number.cast_signed()) {
            Ok(small) => {
                self.jumps.push((self.instructions.len(), to));
                self.push(code::JUMP | condition, left, 0, 0, small);
            }
            Err(_) => {
                self.set(spare, number);
                self.jump_register(condition, left, spare, to);
            }
        }
    }

    pub(super) fn jump_register(&mut self, condition: u8, left: u8, right: u8, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(code::JUMP | condition | code::REGISTER, left, right, 0, 0);
    }

    pub(super) fn goto(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(code::JUMP | code::ALWAYS, 0, 0, 0, 0);
    }

    pub(super) fn call(&mut self, helper: i32) {
        self.push(code::CALL, 0, 0, 0, helper);
    }

    pub(super) fn exit(&mut self) {
        self.push(code::EXIT, 0, 0, 0, 0);
    }

    /// Fills in the jumps.
    pub(super) fn finish(mut self) -> Result<Code, Error> {
        for (at, Label(label)) in self.jumps {
            let place = self.places.get(label as usize).copied().flatten();
            let distance = place.and_then(|place| place.checked_sub(at + 1)).and_then(|d| i16::try_from(d).ok());
            match (distance, self.instructions.get_mut(at)) {
                (Some(distance), Some(instruction)) => instruction.offset = distance,
                _ => {
                    let message = "the program is too long for a jump of eBPF, which reaches 32,767 instructions";
                    let start = Position { line: 1, column: 1 };
                    return Err(Error::new(start, message, "make it smaller, or look through fewer tunnels"));
                }
            }
        }
        Ok(Code { instructions: self.instructions, maps: self.maps })
    }
}
