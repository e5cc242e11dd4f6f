//! Instructions of eBPF as the kernel's Documentation/bpf/standardization/instruction-set.rst encodes them.

/// One instruction of 8 bytes. A load of 64 bits takes two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Class, operation and kind of source.
    pub code: u8,
    /// Destination register.
    pub to: u8,
    /// Source register.
    pub from: u8,
    /// Offset of a jump, in instructions behind this one, or of a memory access, in bytes.
    pub offset: i16,
    /// Number.
    pub number: i32,
}

impl Instruction {
    /// As the kernel takes it on this machine: registers share a byte, and which half is whose depends on the byte order.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let registers =
            if cfg!(target_endian = "little") { self.from << 4 | self.to } else { self.to << 4 | self.from };
        let [o0, o1] = self.offset.to_ne_bytes();
        let [n0, n1, n2, n3] = self.number.to_ne_bytes();
        [self.code, registers, o0, o1, n0, n1, n2, n3]
    }
}

/// Registers: the result and a helper's answer, arguments 1 to 5 (lost in calls), 6 to 9 (kept in calls), the frame.
pub(crate) mod reg {
    pub(crate) const R0: u8 = 0;
    pub(crate) const R1: u8 = 1;
    pub(crate) const R2: u8 = 2;
    pub(crate) const R3: u8 = 3;
    pub(crate) const R4: u8 = 4;
    pub(crate) const R5: u8 = 5;
    pub(crate) const CONTEXT: u8 = 6;
    pub(crate) const DATA: u8 = 7;
    pub(crate) const DATA_END: u8 = 8;
    /// Sockets: how far the packet's data begins behind its link layer.
    pub(crate) const DISTANCE: u8 = 7;
    /// A 0 that the verifier does not know to be one.
    pub(crate) const UNKNOWN: u8 = 9;
    pub(crate) const FRAME: u8 = 10;
}

/// Codes that are used.
pub(crate) mod code {
    /// A load of 64 bits from the instruction and the next one.
    pub(crate) const LOAD_NUMBER: u8 = 0x18;
    /// `to` = memory at `from` + offset; plus the size.
    pub(crate) const LOAD: u8 = 0x61;
    /// Memory at `to` + offset = `from`; plus the size.
    pub(crate) const STORE: u8 = 0x63;
    /// Memory at `to` + offset is added `from`, at once for all; 64 bits.
    pub(crate) const ATOMIC: u8 = 0xdb;
    /// Arithmetic of 64 bits with a number; plus the operation.
    pub(crate) const ALU: u8 = 0x07;
    /// Arithmetic of 32 bits with a number; plus the operation.
    pub(crate) const ALU32: u8 = 0x04;
    /// Jump of 64-bit comparisons with a number; plus the condition.
    pub(crate) const JUMP: u8 = 0x05;
    /// The second operand is a register.
    pub(crate) const REGISTER: u8 = 0x08;
    /// To network order, the number says how many bits.
    pub(crate) const TO_NETWORK: u8 = 0xdc;
    pub(crate) const CALL: u8 = 0x85;
    pub(crate) const EXIT: u8 = 0x95;

    pub(crate) const ADD: u8 = 0x00;
    pub(crate) const SUB: u8 = 0x10;
    pub(crate) const MUL: u8 = 0x20;
    pub(crate) const OR: u8 = 0x40;
    pub(crate) const AND: u8 = 0x50;
    pub(crate) const SHL: u8 = 0x60;
    pub(crate) const SHR: u8 = 0x70;
    pub(crate) const MOD: u8 = 0x90;
    pub(crate) const XOR: u8 = 0xa0;
    pub(crate) const MOVE: u8 = 0xb0;

    pub(crate) const ALWAYS: u8 = 0x00;
    pub(crate) const EQUAL: u8 = 0x10;
    pub(crate) const GREATER: u8 = 0x20;
    pub(crate) const GREATER_OR_EQUAL: u8 = 0x30;
    pub(crate) const ANY_BIT: u8 = 0x40;
    pub(crate) const NOT_EQUAL: u8 = 0x50;
    pub(crate) const LESS: u8 = 0xa0;
    pub(crate) const LESS_OR_EQUAL: u8 = 0xb0;

    /// Sizes of memory accesses, to be added to [`LOAD`] and [`STORE`].
    pub(crate) fn size(bytes: u8) -> u8 {
        match bytes {
            1 => 0x10,
            2 => 0x08,
            8 => 0x18,
            _ => 0x00,
        }
    }
}

/// Helpers by number (include/uapi/linux/bpf.h).
pub(crate) mod helper {
    pub(crate) const MAP_LOOKUP: i32 = 1;
    pub(crate) const MAP_UPDATE: i32 = 2;
    pub(crate) const KTIME: i32 = 5;
    pub(crate) const PROCESSOR: i32 = 8;
    pub(crate) const TAIL_CALL: i32 = 12;
    pub(crate) const SKB_LOAD_BYTES: i32 = 26;
    pub(crate) const REDIRECT_MAP: i32 = 51;
    pub(crate) const XDP_ADJUST_META: i32 = 54;
    pub(crate) const SKB_LOAD_BYTES_RELATIVE: i32 = 68;
}

/// What the source register of a [`code::LOAD_NUMBER`] says about its number.
pub(crate) mod pseudo {
    /// It is a map's file descriptor.
    pub(crate) const MAP: u8 = 1;
    /// It is a map's file descriptor, and the next number an offset into its only value.
    pub(crate) const MAP_VALUE: u8 = 2;
}
