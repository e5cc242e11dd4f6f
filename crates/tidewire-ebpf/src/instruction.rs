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
    /// Immediate number.
    pub number: i32,
}

impl Instruction {
    /// The bytes that the kernel of this machine expects: registers share a byte, and the byte order decides which half
    /// is whose.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let registers =
            if cfg!(target_endian = "little") { self.from << 4 | self.to } else { self.to << 4 | self.from };
        let [o0, o1] = self.offset.to_ne_bytes();
        let [n0, n1, n2, n3] = self.number.to_ne_bytes();
        [self.code, registers, o0, o1, n0, n1, n2, n3]
    }
}

/// Registers: the result, arguments (clobbered by calls), those that calls preserve, the frame pointer.
pub mod register {
    /// The result, of the program and of a helper.
    pub const R0: u8 = 0;
    /// An argument, as the next four; holds the program's argument at the start.
    pub const R1: u8 = 1;
    /// An argument.
    pub const R2: u8 = 2;
    /// An argument.
    pub const R3: u8 = 3;
    /// An argument.
    pub const R4: u8 = 4;
    /// An argument.
    pub const R5: u8 = 5;
    /// Preserved by calls, as the next three.
    pub const R6: u8 = 6;
    /// Preserved by calls.
    pub const R7: u8 = 7;
    /// Preserved by calls.
    pub const R8: u8 = 8;
    /// Preserved by calls.
    pub const R9: u8 = 9;
    /// The frame pointer: the end of the stack, whose 512 bytes lie before it.
    pub const FRAME: u8 = 10;
}

/// Operations of arithmetic.
#[expect(missing_docs, reason = "each is what it is called")]
pub mod alu {
    pub const ADD: u8 = 0x00;
    pub const SUB: u8 = 0x10;
    pub const MUL: u8 = 0x20;
    pub const DIV: u8 = 0x30;
    pub const OR: u8 = 0x40;
    pub const AND: u8 = 0x50;
    pub const SHL: u8 = 0x60;
    pub const SHR: u8 = 0x70;
    pub const NEG: u8 = 0x80;
    pub const MOD: u8 = 0x90;
    pub const XOR: u8 = 0xa0;
    pub const MOVE: u8 = 0xb0;
}

/// Conditions of jumps, without sign.
#[expect(missing_docs, reason = "each is what it is called")]
pub mod when {
    pub const EQUAL: u8 = 0x10;
    pub const GREATER: u8 = 0x20;
    pub const GREATER_OR_EQUAL: u8 = 0x30;
    pub const ANY_BIT: u8 = 0x40;
    pub const NOT_EQUAL: u8 = 0x50;
    pub const LESS: u8 = 0xa0;
    pub const LESS_OR_EQUAL: u8 = 0xb0;
}

/// Helpers by number (include/uapi/linux/bpf.h).
#[expect(missing_docs, reason = "named as the kernel names them")]
pub mod helper {
    pub const MAP_LOOKUP: i32 = 1;
    pub const MAP_UPDATE: i32 = 2;
    pub const KTIME: i32 = 5;
    pub const PROCESSOR: i32 = 8;
    pub const TAIL_CALL: i32 = 12;
    pub const SKB_LOAD_BYTES: i32 = 26;
    pub const REDIRECT_MAP: i32 = 51;
    pub const XDP_ADJUST_META: i32 = 54;
    pub const SKB_LOAD_BYTES_RELATIVE: i32 = 68;
    pub const XDP_BUFFER_LENGTH: i32 = 188;
    pub const XDP_LOAD_BYTES: i32 = 189;
}

/// `struct __sk_buff` (include/uapi/linux/bpf.h): offsets of 32-bit fields.
#[expect(missing_docs, reason = "named as the kernel names them")]
pub mod skb {
    pub const LENGTH: i16 = 0;
    pub const PACKET_TYPE: i16 = 4;
    pub const QUEUE_MAPPING: i16 = 12;
    pub const PROTOCOL: i16 = 16;
    pub const VLAN_PRESENT: i16 = 20;
    pub const VLAN_TAG: i16 = 24;
    pub const VLAN_PROTOCOL: i16 = 28;
    pub const INTERFACE: i16 = 40;
    pub const HASH: i16 = 68;
}

/// `struct xdp_md` (include/uapi/linux/bpf.h): offsets of 32-bit fields.
#[expect(missing_docs, reason = "named as the kernel names them")]
pub mod xdp {
    pub const DATA: i16 = 0;
    pub const DATA_END: i16 = 4;
    pub const DATA_META: i16 = 8;
    pub const INTERFACE: i16 = 12;
    pub const RX_QUEUE: i16 = 16;
}

/// Classes and modes of instructions.
pub(crate) mod code {
    /// A load of 64 bits from the instruction and the next one.
    pub(crate) const LOAD_NUMBER: u8 = 0x18;
    /// `to` = memory at `from` + offset; plus the size.
    pub(crate) const LOAD: u8 = 0x61;
    /// Memory at `to` + offset = a number; plus the size.
    pub(crate) const STORE_NUMBER: u8 = 0x62;
    /// Memory at `to` + offset = `from`; plus the size.
    pub(crate) const STORE: u8 = 0x63;
    /// Atomically adds `from` to memory at `to` + offset; 64 bits.
    pub(crate) const ATOMIC: u8 = 0xdb;
    /// Arithmetic of 64 bits with a number; plus the operation.
    pub(crate) const ALU64: u8 = 0x07;
    /// Arithmetic of 32 bits with a number; plus the operation.
    pub(crate) const ALU32: u8 = 0x04;
    /// Jump of 64-bit comparisons with a number; plus the condition.
    pub(crate) const JUMP64: u8 = 0x05;
    /// Jump of 32-bit comparisons with a number; plus the condition.
    pub(crate) const JUMP32: u8 = 0x06;
    /// The condition of an unconditional jump.
    pub(crate) const ALWAYS: u8 = 0x00;
    /// The second operand is a register.
    pub(crate) const REGISTER: u8 = 0x08;
    /// Converts to network order; the number is the size in bits.
    pub(crate) const TO_NETWORK: u8 = 0xdc;
    pub(crate) const CALL: u8 = 0x85;
    pub(crate) const EXIT: u8 = 0x95;

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

/// The kind of number of a [`code::LOAD_NUMBER`], in its source register.
pub(crate) mod pseudo {
    /// A map's file descriptor.
    pub(crate) const MAP: u8 = 1;
    /// A map's file descriptor; the next number is an offset into its only value.
    pub(crate) const MAP_VALUE: u8 = 2;
}
