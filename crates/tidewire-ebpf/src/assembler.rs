//! A small assembler: instructions, labels, maps.

use std::{error, fmt};

use crate::instruction::{Instruction, alu, code, pseudo};

/// The target of jumps, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);

/// The second operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number; operations of 64 bits extend its sign.
    Number(u32),
    /// A register.
    Register(u8),
}

/// A jump over more than 32,767 instructions, for which eBPF has no encoding, or to a label that was not placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpTooLong;

impl fmt::Display for JumpTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the program is too long for a jump of eBPF, which reaches 32,767 instructions")
    }
}

impl error::Error for JumpTooLong {}

/// Instructions, and jumps whose distance is not known yet. `M` names the maps that the program uses.
#[derive(Debug)]
pub struct Assembler<M> {
    instructions: Vec<Instruction>,
    /// Jumps whose offset is not known yet.
    jumps: Vec<(usize, Label)>,
    /// The place of each label, by its number.
    places: Vec<Option<usize>>,
    /// Loads of maps, whose descriptors are not known yet.
    maps: Vec<(usize, M)>,
    own_labels: u32,
}

impl<M> Default for Assembler<M> {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<M> Assembler<M> {
    /// Reserves the labels up to this number for the caller; those of [`label`](Self::label) follow.
    #[must_use]
    pub fn new(labels: u32) -> Self {
        Self { instructions: Vec::new(), jumps: Vec::new(), places: Vec::new(), maps: Vec::new(), own_labels: labels }
    }

    /// A new label.
    #[must_use]
    pub fn label(&mut self) -> Label {
        self.own_labels += 1;
        Label(self.own_labels)
    }

    /// Places the label: jumps to it lead to the next instruction.
    pub fn place(&mut self, Label(label): Label) {
        let index = label as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        if let Some(place) = self.places.get_mut(index) {
            *place = Some(self.instructions.len());
        }
    }

    /// Whether any jump leads to the label.
    #[must_use]
    pub fn is_used(&self, label: Label) -> bool {
        self.jumps.iter().any(|(_, to)| *to == label)
    }

    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        self.instructions.push(Instruction { code, to, from, offset, number });
    }

    fn with(&mut self, class: u8, operation: u8, to: u8, value: Value) {
        match value {
            Value::Number(number) => self.push(class | operation, to, 0, 0, number.cast_signed()),
            Value::Register(from) => self.push(class | operation | code::REGISTER, to, from, 0, 0),
        }
    }

    /// `to` = `from`, registers.
    pub fn copy(&mut self, to: u8, from: u8) {
        self.alu64(alu::MOVE, to, Value::Register(from));
    }

    /// `to` = a number of 64 bits.
    pub fn set(&mut self, to: u8, number: u64) {
        match i32::try_from(number.cast_signed()) {
            Ok(small) => self.alu64(alu::MOVE, to, Value::Number(small.cast_unsigned())),
            Err(_) => self.wide(to, 0, [number as u32, (number >> 32) as u32]),
        }
    }

    /// `to` = a number of 32 bits.
    pub fn set32(&mut self, to: u8, number: u32) {
        self.alu32(alu::MOVE, to, Value::Number(number));
    }

    fn wide(&mut self, to: u8, kind: u8, [low, high]: [u32; 2]) {
        self.push(code::LOAD_NUMBER, to, kind, 0, low.cast_signed());
        self.push(0, 0, 0, 0, high.cast_signed());
    }

    /// `to` = a map, for helpers.
    pub fn map(&mut self, to: u8, map: M) {
        self.maps.push((self.instructions.len(), map));
        self.wide(to, pseudo::MAP, [0, 0]);
    }

    /// `to` = the address of a byte of a map's only value.
    pub fn map_value(&mut self, to: u8, map: M, offset: u32) {
        self.maps.push((self.instructions.len(), map));
        self.wide(to, pseudo::MAP_VALUE, [0, offset]);
    }

    /// `to` = `to` (operation) a value, 64 bits.
    pub fn alu64(&mut self, operation: u8, to: u8, value: Value) {
        self.with(code::ALU64, operation, to, value);
    }

    /// `to` = `to` (operation) a value, 32 bits; the upper half becomes 0.
    pub fn alu32(&mut self, operation: u8, to: u8, value: Value) {
        self.with(code::ALU32, operation, to, value);
    }

    /// `to` = `to` (operation) a number of 64 bits, through the register `spare` where it is large.
    pub fn alu_wide(&mut self, operation: u8, to: u8, number: u64, spare: u8) {
        match i32::try_from(number.cast_signed()) {
            Ok(small) => self.alu64(operation, to, Value::Number(small.cast_unsigned())),
            Err(_) => {
                self.set(spare, number);
                self.alu64(operation, to, Value::Register(spare));
            }
        }
    }

    /// Sets the upper 32 bits to 0.
    pub fn truncate(&mut self, register: u8) {
        self.alu32(alu::MOVE, register, Value::Register(register));
    }

    /// `to` = `bytes` bytes (1, 2, 4 or 8) of memory at `from` + `offset`.
    pub fn load(&mut self, to: u8, from: u8, offset: i16, bytes: u8) {
        self.push(code::LOAD | code::size(bytes), to, from, offset, 0);
    }

    /// `bytes` bytes (1, 2, 4 or 8) of memory at `to` + `offset` = a register.
    pub fn store(&mut self, to: u8, offset: i16, from: u8, bytes: u8) {
        self.push(code::STORE | code::size(bytes), to, from, offset, 0);
    }

    /// 8 bytes of memory at `to` + `offset` = 0.
    pub fn store_zero(&mut self, to: u8, offset: i16) {
        self.push(code::STORE_NUMBER | code::size(8), to, 0, offset, 0);
    }

    /// Adds a register to 8 bytes of memory, atomically; if requested, the register then holds the previous value.
    pub fn atomic_add(&mut self, to: u8, from: u8, fetch: bool) {
        self.push(code::ATOMIC, to, from, 0, i32::from(fetch));
    }

    /// Converts loaded bytes of memory to a number in network order.
    pub fn network_order(&mut self, register: u8, bytes: u8) {
        if bytes > 1 {
            self.push(code::TO_NETWORK, register, 0, 0, i32::from(bytes) * 8);
        }
    }

    /// Compares 32 bits.
    pub fn jump32(&mut self, condition: u8, left: u8, right: Value, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.with(code::JUMP32, condition, left, right);
    }

    /// Compares 64 bits.
    pub fn jump64(&mut self, condition: u8, left: u8, right: Value, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.with(code::JUMP64, condition, left, right);
    }

    /// Compares with a number of 64 bits, through the register `spare` where it is large.
    pub fn jump_wide(&mut self, condition: u8, left: u8, number: u64, spare: u8, to: Label) {
        match i32::try_from(number.cast_signed()) {
            Ok(small) => self.jump64(condition, left, Value::Number(small.cast_unsigned()), to),
            Err(_) => {
                self.set(spare, number);
                self.jump64(condition, left, Value::Register(spare), to);
            }
        }
    }

    /// Jumps unconditionally.
    pub fn goto(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(code::JUMP64 | code::ALWAYS, 0, 0, 0, 0);
    }

    /// Calls a helper by its number.
    pub fn call(&mut self, helper: i32) {
        self.push(code::CALL, 0, 0, 0, helper);
    }

    /// Returns the value of register 0.
    pub fn exit(&mut self) {
        self.push(code::EXIT, 0, 0, 0, 0);
    }

    /// Resolves the jumps.
    ///
    /// # Errors
    /// A jump reaches too far, or its label was not placed.
    pub fn finish(mut self) -> Result<Code<M>, JumpTooLong> {
        for (at, Label(label)) in self.jumps {
            let place = self.places.get(label as usize).copied().flatten();
            let distance = place.and_then(|place| place.checked_sub(at + 1)).and_then(|d| i16::try_from(d).ok());
            match (distance, self.instructions.get_mut(at)) {
                (Some(distance), Some(instruction)) => instruction.offset = distance,
                _ => return Err(JumpTooLong),
            }
        }
        Ok(Code { instructions: self.instructions, maps: self.maps })
    }
}

/// A program whose maps have no descriptors yet.
#[derive(Clone, Debug)]
pub struct Code<M> {
    instructions: Vec<Instruction>,
    maps: Vec<(usize, M)>,
}

impl<M: Copy + Ord> Code<M> {
    /// The maps that the program uses, each once.
    #[must_use]
    pub fn maps(&self) -> Vec<M> {
        let mut maps: Vec<_> = self.maps.iter().map(|map| map.1).collect();
        maps.sort_unstable();
        maps.dedup();
        maps
    }

    /// The instructions, with a map's descriptor from `descriptor` in each place where it is used.
    #[must_use]
    pub fn instructions(&self, mut descriptor: impl FnMut(M) -> i32) -> Vec<Instruction> {
        let mut instructions = self.instructions.clone();
        for (index, map) in &self.maps {
            if let Some(instruction) = instructions.get_mut(*index) {
                instruction.number = descriptor(*map);
            }
        }
        instructions
    }

    /// The instructions as bytes, in the form that `bpf(BPF_PROG_LOAD)` expects.
    #[must_use]
    pub fn bytes(&self, descriptor: impl FnMut(M) -> i32) -> Vec<u8> {
        self.instructions(descriptor).into_iter().flat_map(Instruction::to_bytes).collect()
    }
}
