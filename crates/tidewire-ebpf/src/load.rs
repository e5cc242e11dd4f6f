//! Loads from the packet, as it was on the wire.

use crate::{
    assembler::{Label, Value},
    classic::{Known, Width},
    hook::{A, Assembler, CONTEXT, FilterHook, X},
    instruction::{
        alu, helper,
        register::{FRAME, R0, R1, R2, R3, R4, R9},
        skb, when, xdp,
    },
};

/// Sockets: the bytes of a removed tag, 0 or 4. XDP: where the packet begins.
const REMOVED: u8 = R9;
const DATA: u8 = R9;
/// 8 bytes for loads, at this offset from the frame pointer; the classic machine's memory has 128.
const SCRATCH_AT: i16 = -136;
/// The removed tag as it was on the wire, as a number.
const TAG_AT: i16 = -144;
/// Bytes of the wire in which that tag was.
const TAG_FROM: u32 = 12;
const TAG_END: u32 = 16;
/// Offsets that are loaded from directly: the verifier accepts no larger ones.
const DIRECT_MAX: u32 = 0x7ff0;

/// Number of bytes of a load.
pub(super) fn bytes(width: Width) -> u8 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Word => 4,
    }
}

/// How packets are read at a hook.
pub(super) struct Loads {
    pub(super) hook: FilterHook,
    /// The label for loads beyond the packet.
    pub(super) refused: Label,
    /// Whether the program asks for the removed tag: its offsets are those of the frame without it.
    pub(super) is_bare: bool,
}

impl Loads {
    /// No packet has a byte beyond this offset, and helpers accept no larger ones.
    fn offset_max(&self) -> u32 {
        match self.hook {
            FilterHook::Socket => i32::MAX.cast_unsigned(),
            FilterHook::Xdp => 0xffff,
        }
    }

    /// Sets up what loads need.
    pub(super) fn begin(&self, asm: &mut Assembler) {
        if self.hook == FilterHook::Xdp {
            asm.load(DATA, CONTEXT, xdp::DATA, 4);
            return;
        }
        let plain = asm.label();
        asm.set32(REMOVED, 0);
        asm.set32(R1, 0);
        if self.is_bare {
            asm.store(FRAME, TAG_AT, R1, 8);
            return;
        }
        asm.load(R2, CONTEXT, skb::VLAN_PRESENT, 4);
        asm.jump32(when::EQUAL, R2, Value::Number(0), plain);
        asm.set32(REMOVED, TAG_END - TAG_FROM);
        asm.load(R1, CONTEXT, skb::VLAN_PROTOCOL, 4);
        asm.network_order(R1, 2);
        asm.alu32(alu::SHL, R1, Value::Number(16));
        asm.load(R2, CONTEXT, skb::VLAN_TAG, 4);
        asm.alu32(alu::OR, R1, Value::Register(R2));
        asm.place(plain);
        asm.store(FRAME, TAG_AT, R1, 8);
    }

    /// The accumulator = metadata. Frames at XDP are incoming, and have their tag; which of them are for this host is
    /// not known yet.
    pub(super) fn known(&self, asm: &mut Assembler, known: Known) {
        match (self.hook, known) {
            (FilterHook::Socket, Known::Protocol) => {
                asm.load(A, CONTEXT, skb::PROTOCOL, 4);
                asm.network_order(A, 2);
            }
            (FilterHook::Socket, Known::PacketType) => asm.load(A, CONTEXT, skb::PACKET_TYPE, 4),
            (FilterHook::Socket, Known::Interface) => asm.load(A, CONTEXT, skb::INTERFACE, 4),
            (FilterHook::Socket, Known::VlanTag) => asm.load(A, CONTEXT, skb::VLAN_TAG, 4),
            (FilterHook::Socket, Known::VlanPresent) => asm.load(A, CONTEXT, skb::VLAN_PRESENT, 4),
            (FilterHook::Socket, Known::VlanProtocol) => {
                asm.load(A, CONTEXT, skb::VLAN_PROTOCOL, 4);
                asm.network_order(A, 2);
            }
            (FilterHook::Xdp, Known::Interface) => asm.load(A, CONTEXT, xdp::INTERFACE, 4),
            (FilterHook::Xdp, _) => asm.set32(A, 0),
        }
    }

    /// `to` = the packet's length on the wire.
    pub(super) fn length(&self, asm: &mut Assembler, to: u8) {
        match self.hook {
            FilterHook::Socket => {
                asm.load(to, CONTEXT, skb::LENGTH, 4);
                asm.alu32(alu::ADD, to, Value::Register(REMOVED));
            }
            FilterHook::Xdp => {
                asm.copy(R1, CONTEXT);
                asm.call(helper::XDP_BUFFER_LENGTH);
                asm.alu32(alu::MOVE, to, Value::Register(R0));
            }
        }
    }

    /// `to` = bytes at a fixed offset.
    pub(super) fn fixed(&self, asm: &mut Assembler, to: u8, at: u32, bytes: u8) {
        if at > self.offset_max() {
            // Behind a condition, so that the next instruction is reachable for the verifier.
            asm.set32(to, 0);
            asm.jump32(when::EQUAL, to, Value::Number(0), self.refused);
            return;
        }
        let done = asm.label();
        match self.hook {
            FilterHook::Xdp => {
                let slow = asm.label();
                if at <= DIRECT_MAX {
                    asm.copy(R1, DATA);
                    asm.alu64(alu::ADD, R1, Value::Number(at + u32::from(bytes)));
                    asm.load(R2, CONTEXT, xdp::DATA_END, 4);
                    asm.jump64(when::GREATER, R1, Value::Register(R2), slow);
                    asm.load(to, DATA, at as i16, bytes);
                    asm.network_order(to, bytes);
                    asm.goto(done);
                }
                asm.place(slow);
                asm.set32(R2, at);
                self.by_helper(asm, to, bytes);
            }
            FilterHook::Socket if at <= TAG_FROM - u32::from(bytes) => {
                asm.set32(R2, at);
                self.by_helper(asm, to, bytes);
            }
            FilterHook::Socket if at >= TAG_END => {
                asm.set32(R2, at);
                asm.alu32(alu::SUB, R2, Value::Register(REMOVED));
                self.by_helper(asm, to, bytes);
            }
            FilterHook::Socket => {
                let removed = asm.label();
                asm.jump32(when::NOT_EQUAL, REMOVED, Value::Number(0), removed);
                asm.set32(R2, at);
                self.by_helper(asm, to, bytes);
                asm.goto(done);
                asm.place(removed);
                asm.set32(R1, at);
                self.around_tag(asm, bytes);
                asm.alu32(alu::MOVE, to, Value::Register(R0));
            }
        }
        asm.place(done);
    }

    /// The accumulator = bytes at the index and a fixed offset behind it.
    pub(super) fn indexed(&self, asm: &mut Assembler, at: u32, bytes: u8) {
        let (slow, done) = (asm.label(), asm.label());
        asm.set32(R2, at);
        asm.alu64(alu::ADD, R2, Value::Register(X));
        match self.hook {
            FilterHook::Xdp => {
                asm.jump64(when::GREATER, R2, Value::Number(DIRECT_MAX), slow);
                asm.copy(R1, DATA);
                asm.alu64(alu::ADD, R1, Value::Register(R2));
                asm.copy(R3, R1);
                asm.alu64(alu::ADD, R3, Value::Number(bytes.into()));
                asm.load(R4, CONTEXT, xdp::DATA_END, 4);
                asm.jump64(when::GREATER, R3, Value::Register(R4), slow);
                asm.load(A, R1, 0, bytes);
                asm.network_order(A, bytes);
                asm.goto(done);
                asm.place(slow);
                asm.jump64(when::GREATER, R2, Value::Number(self.offset_max()), self.refused);
                self.by_helper(asm, A, bytes);
            }
            FilterHook::Socket => {
                let (before, behind) = (asm.label(), asm.label());
                // The helper's argument has 32 bits.
                asm.jump64(when::GREATER, R2, Value::Number(self.offset_max()), self.refused);
                asm.jump32(when::EQUAL, REMOVED, Value::Number(0), before);
                asm.jump64(when::GREATER_OR_EQUAL, R2, Value::Number(TAG_END), behind);
                asm.set32(R1, TAG_FROM - u32::from(bytes));
                asm.jump64(when::GREATER_OR_EQUAL, R1, Value::Register(R2), before);
                asm.copy(R1, R2);
                self.around_tag(asm, bytes);
                asm.alu32(alu::MOVE, A, Value::Register(R0));
                asm.goto(done);
                asm.place(behind);
                asm.alu64(alu::SUB, R2, Value::Number(TAG_END - TAG_FROM));
                asm.place(before);
                self.by_helper(asm, A, bytes);
            }
        }
        asm.place(done);
    }

    /// `to` = bytes at offset R2 of the kernel's packet, in one piece or several.
    fn by_helper(&self, asm: &mut Assembler, to: u8, bytes: u8) {
        asm.copy(R1, CONTEXT);
        asm.copy(R3, FRAME);
        asm.alu64(alu::ADD, R3, Value::Number(i32::from(SCRATCH_AT).cast_unsigned()));
        asm.set32(R4, bytes.into());
        asm.call(match self.hook {
            FilterHook::Socket => helper::SKB_LOAD_BYTES,
            FilterHook::Xdp => helper::XDP_LOAD_BYTES,
        });
        asm.jump64(when::NOT_EQUAL, R0, Value::Number(0), self.refused);
        asm.load(to, FRAME, SCRATCH_AT, bytes);
        asm.network_order(to, bytes);
    }

    /// R0 = bytes at offset R1 of the wire, some of which are in the removed tag; byte by byte. `to` of a load changes
    /// only if there is something to load, so the sum is on the stack meanwhile.
    fn around_tag(&self, asm: &mut Assembler, bytes: u8) {
        /// The sum, and the offset.
        const SUM_AT: i16 = -152;
        const OFFSET_AT: i16 = -160;
        asm.store_zero(FRAME, SUM_AT);
        asm.store(FRAME, OFFSET_AT, R1, 8);
        for index in 0..bytes {
            let (before, behind, outside, done) = (asm.label(), asm.label(), asm.label(), asm.label());
            asm.load(R2, FRAME, OFFSET_AT, 8);
            asm.alu64(alu::ADD, R2, Value::Number(index.into()));
            asm.jump64(when::GREATER_OR_EQUAL, R2, Value::Number(TAG_END), behind);
            asm.set32(R1, TAG_FROM - 1);
            asm.jump64(when::GREATER_OR_EQUAL, R1, Value::Register(R2), before);
            // In the tag: shifted down by 3 bytes less its place in it.
            asm.set32(R1, TAG_END - 1);
            asm.alu32(alu::SUB, R1, Value::Register(R2));
            asm.alu32(alu::SHL, R1, Value::Number(3));
            asm.alu32(alu::AND, R1, Value::Number(31));
            asm.load(R0, FRAME, TAG_AT, 4);
            asm.alu32(alu::SHR, R0, Value::Register(R1));
            asm.alu32(alu::AND, R0, Value::Number(0xff));
            asm.goto(done);
            asm.place(behind);
            asm.alu64(alu::SUB, R2, Value::Number(TAG_END - TAG_FROM));
            asm.goto(outside);
            asm.place(before);
            asm.place(outside);
            self.by_helper(asm, R0, 1);
            asm.place(done);
            asm.load(R1, FRAME, SUM_AT, 8);
            asm.alu32(alu::SHL, R1, Value::Number(8));
            asm.alu32(alu::OR, R0, Value::Register(R1));
            asm.store(FRAME, SUM_AT, R0, 8);
        }
    }
}
