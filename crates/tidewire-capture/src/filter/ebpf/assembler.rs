use tidewire_steer::bpf::Instruction;

/// Registers: the result, arguments (lost in calls), those that stay, the stack's end.
pub(super) const R0: u8 = 0;
pub(super) const R1: u8 = 1;
pub(super) const R2: u8 = 2;
pub(super) const R3: u8 = 3;
pub(super) const R4: u8 = 4;
pub(super) const R6: u8 = 6;
pub(super) const R7: u8 = 7;
pub(super) const R8: u8 = 8;
pub(super) const R9: u8 = 9;
pub(super) const FRAME: u8 = 10;

/// Operations of arithmetic.
pub(super) mod alu {
    pub(crate) const ADD: u8 = 0x00;
    pub(crate) const SUB: u8 = 0x10;
    pub(crate) const MUL: u8 = 0x20;
    pub(crate) const DIV: u8 = 0x30;
    pub(crate) const OR: u8 = 0x40;
    pub(crate) const AND: u8 = 0x50;
    pub(crate) const SHL: u8 = 0x60;
    pub(crate) const SHR: u8 = 0x70;
    pub(crate) const NEG: u8 = 0x80;
    pub(crate) const MOD: u8 = 0x90;
    pub(crate) const XOR: u8 = 0xa0;
    pub(crate) const MOVE: u8 = 0xb0;
}

/// Conditions of jumps.
pub(super) mod when {
    pub(crate) const EQUAL: u8 = 0x10;
    pub(crate) const GREATER: u8 = 0x20;
    pub(crate) const GREATER_OR_EQUAL: u8 = 0x30;
    pub(crate) const ANY_BIT: u8 = 0x40;
    pub(crate) const NOT_EQUAL: u8 = 0x50;
}

/// Classes and modes of instructions.
const ALU32: u8 = 0x04;
const ALU64: u8 = 0x07;
const JUMP64: u8 = 0x05;
const JUMP32: u8 = 0x06;
const REGISTER: u8 = 0x08;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_NUMBER: u8 = 0x62;
const TO_NETWORK: u8 = 0xdc;
const LOAD_WIDE: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// What a wide load's source register says: its number is a map's descriptor.
const MAP: u8 = 1;

/// Added to [`LOAD`] and [`STORE`]: how many bytes.
fn size(bytes: u8) -> u8 {
    match bytes {
        1 => 0x10,
        2 => 0x08,
        8 => 0x18,
        _ => 0x00,
    }
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// The second operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Number(u32),
    Register(u8),
}

/// Instructions, and jumps whose distance is not known yet.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    instructions: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
    places: Vec<Option<usize>>,
}

impl Assembler {
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    pub(super) fn place(&mut self, label: Label) {
        if let Some(place) = self.places.get_mut(label.0) {
            *place = Some(self.instructions.len());
        }
    }

    /// Whether something jumps there.
    pub(super) fn is_used(&self, label: Label) -> bool {
        self.jumps.iter().any(|(_, to)| *to == label)
    }

    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        self.instructions.push(Instruction { code, to, from, offset, number });
    }

    fn with(&mut self, class: u8, operation: u8, to: u8, value: Value, offset: i16) {
        match value {
            Value::Number(number) => self.push(class | operation, to, 0, offset, number.cast_signed()),
            Value::Register(from) => self.push(class | operation | REGISTER, to, from, offset, 0),
        }
    }

    /// 32 bits; the upper half becomes 0.
    pub(super) fn alu32(&mut self, operation: u8, to: u8, value: Value) {
        self.with(ALU32, operation, to, value, 0);
    }

    /// 64 bits; numbers have 31.
    pub(super) fn alu64(&mut self, operation: u8, to: u8, value: Value) {
        self.with(ALU64, operation, to, value, 0);
    }

    pub(super) fn set(&mut self, to: u8, number: u32) {
        self.alu32(alu::MOVE, to, Value::Number(number));
    }

    pub(super) fn copy(&mut self, to: u8, from: u8) {
        self.alu64(alu::MOVE, to, Value::Register(from));
    }

    pub(super) fn load(&mut self, to: u8, from: u8, offset: i16, bytes: u8) {
        self.push(LOAD | size(bytes), to, from, offset, 0);
    }

    pub(super) fn store(&mut self, to: u8, offset: i16, from: u8, bytes: u8) {
        self.push(STORE | size(bytes), to, from, offset, 0);
    }

    /// 8 bytes of zeroes.
    pub(super) fn store_zero(&mut self, to: u8, offset: i16) {
        self.push(STORE_NUMBER | size(8), to, 0, offset, 0);
    }

    /// Bytes as they lie in a packet become a number.
    pub(super) fn network_order(&mut self, register: u8, bytes: u8) {
        if bytes > 1 {
            self.push(TO_NETWORK, register, 0, 0, i32::from(bytes) * 8);
        }
    }

    /// `to` = a map, by its descriptor.
    pub(super) fn map(&mut self, to: u8, descriptor: i32) {
        self.push(LOAD_WIDE, to, MAP, 0, descriptor);
        self.push(0, 0, 0, 0, 0);
    }

    /// Compares 32 bits.
    pub(super) fn jump32(&mut self, condition: u8, left: u8, right: Value, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.with(JUMP32, condition, left, right, 0);
    }

    /// Compares 64 bits; numbers have 31.
    pub(super) fn jump64(&mut self, condition: u8, left: u8, right: Value, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.with(JUMP64, condition, left, right, 0);
    }

    pub(super) fn goto(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(JUMP64, 0, 0, 0, 0);
    }

    pub(super) fn call(&mut self, helper: i32) {
        self.push(CALL, 0, 0, 0, helper);
    }

    pub(super) fn exit(&mut self) {
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// Fills in the jumps, and encodes; `None` where one reaches too far.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        for (at, label) in &self.jumps {
            let place = self.places.get(label.0).copied().flatten()?;
            let distance = i16::try_from(place.checked_sub(at + 1)?).ok()?;
            self.instructions.get_mut(*at)?.offset = distance;
        }
        Some(self.instructions.into_iter().flat_map(Instruction::to_bytes).collect())
    }
}
