//! Values from the packet: addresses, ports, MACs, fields.

use super::lowering::Lowering;
use crate::ir::{Alu, Builder, Condition, Label, Slot};
use crate::walk::slot::{
    DESTINATION_PORT, DESTINATION4, IP_AT, L4_AT, LINK, SOURCE_PORT, SOURCE4, T6, TAG_BYTES, VERSION,
};

/// One end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Destination,
}

pub(super) use Side::{Destination, Source};

impl Side {
    /// Its IPv4 address.
    pub(super) fn address4(self) -> Slot {
        match self {
            Source => SOURCE4,
            Destination => DESTINATION4,
        }
    }

    /// Offset of its address in an IPv6 header.
    pub(super) fn address6_at(self) -> u16 {
        match self {
            Source => 8,
            Destination => 24,
        }
    }

    pub(super) fn port(self) -> Slot {
        match self {
            Source => SOURCE_PORT,
            Destination => DESTINATION_PORT,
        }
    }

    /// Offset of its MAC in an Ethernet header.
    fn mac_at(self) -> u16 {
        match self {
            Source => 6,
            Destination => 0,
        }
    }
}

/// The bits of an address that count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Masks {
    pub(super) v4: u64,
    pub(super) v6: u128,
}

impl Masks {
    pub(super) const ALL: Self = Self { v4: 0xffff_ffff, v6: u128::MAX };
}

/// Separates the two halves of an IPv6 address when they are added.
const HALF: u64 = 0x9e37_79b9_7f4a_7c15;

impl Lowering<'_> {
    /// An address as a number: IPv4's 32 bits, IPv6's folded to 64. Uses `T6`; the caller knows that this is IP.
    pub(super) fn address(&mut self, to: Slot, side: Side, masks: Masks, absent: Label) {
        let v6_at = side.address6_at();
        let b = &mut self.builder;
        let [six, after] = [(); 2].map(|()| b.label());
        b.jump(VERSION, Condition::Equal, 6, six);
        b.jump(VERSION, Condition::NotEqual, 4, absent);
        b.copy(to, side.address4());
        masked(b, to, masks.v4, 0xffff_ffff);
        b.goto(after);
        b.place(six);
        b.load(to, IP_AT, v6_at, 8, absent);
        masked(b, to, (masks.v6 >> 64) as u64, u64::MAX);
        b.alu(Alu::Xor, to, HALF);
        b.mix(to);
        b.load(T6, IP_AT, v6_at + 8, 8, absent);
        masked(b, T6, masks.v6 as u64, u64::MAX);
        b.alu_slot(Alu::Add, to, T6);
        b.place(after);
    }

    /// A MAC as a number of 48 bits. Uses `T6`.
    pub(super) fn mac(&mut self, to: Slot, side: Side, absent: Label) {
        self.builder.jump(LINK, Condition::Equal, 0, absent);
        self.bytes(to, u64::from(side.mac_at()), 6, absent);
    }

    /// The field of `steer_field`: offsets ignore the outermost tag. Uses `T6`.
    pub(super) fn field(&mut self, to: Slot, offset: u64, bytes: u64, absent: Label) {
        self.bytes(to, offset, bytes, absent);
    }

    /// Up to 8 bytes at an offset from the frame's beginning, in network order. Uses `T6`.
    fn bytes(&mut self, to: Slot, offset: u64, bytes: u64, absent: Label) {
        let at = self.builder.take();
        let b = &mut self.builder;
        b.set(at, offset);
        if offset >= 12 {
            b.alu_slot(Alu::Add, at, TAG_BYTES);
            b.bound(at, absent);
        }
        let mut done = 0;
        b.set(to, 0);
        for part in [8_u8, 4, 2, 1] {
            let size = u64::from(part);
            if bytes & size != 0 {
                b.load(T6, at, done, part, absent);
                if done > 0 {
                    b.alu(Alu::Shl, to, size * 8);
                }
                b.alu_slot(Alu::Or, to, T6);
                done += u16::from(part);
            }
        }
        b.free(1);
    }

    /// A byte (or two) of the transport header.
    pub(super) fn transport(&mut self, to: Slot, offset: u16, bytes: u8, absent: Label) {
        self.builder.load(to, L4_AT, offset, bytes, absent);
    }

    /// Mixes the seed into a value, so that every bit of it matters.
    pub(super) fn scramble(&mut self, slot: Slot) {
        if self.settings.seed != 0 {
            self.builder.alu(Alu::Add, slot, self.settings.seed);
        }
        self.builder.mix(slot);
    }
}

fn masked(builder: &mut Builder, slot: Slot, mask: u64, all: u64) {
    if mask != all {
        builder.alu(Alu::And, slot, mask);
    }
}
