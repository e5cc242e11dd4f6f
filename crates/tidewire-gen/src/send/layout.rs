//! `struct control` and `struct slot` of bpf/generate.bpf.c, as offsets.

use crate::{
    size::SIZES_MAX,
    traffic::{FlowKind, Flows, Order, PATTERN},
};

/// Number of slots (`SLOTS`).
pub(super) const SLOTS: u64 = 1024;
/// Greatest frame of a slot, in memory (`SLOT_FRAME_BYTES`).
pub(super) const SLOT_FRAME_BYTES: usize = 3328;
/// Bytes of a slot: time, length, interface, frame.
pub(super) const SLOT_BYTES: usize = 16 + SLOT_FRAME_BYTES;
/// Bytes behind the longest frame if sizes are mixed (`PRIVATE_BYTES`).
pub(super) const PRIVATE_BYTES: usize = 16;

/// Fields that change, 8 bytes each.
pub(super) mod at {
    pub const POSITION: usize = 0;
    pub const DUE: usize = 8;
    pub const BYTES: usize = 16;
    pub const LATE: usize = 32;
    pub const FAILED: usize = 40;
    pub const SENT: [usize; 2] = [56, 64];
    pub const END: usize = 72;
    pub const START_NS: usize = 80;
    /// Programs only read the fields from here on.
    pub const PER_PACKET: usize = 88;
    pub const BURST: usize = 104;
}

/// Bytes of the whole.
pub(super) const CONTROL_BYTES: usize = 816;

pub(super) mod flag {
    pub const RANDOM: u32 = 1;
    pub const BOTH: u32 = 2;
    pub const SYNS: u32 = 4;
    pub const STRANGERS: u32 = 8;
    pub const MIXED: u32 = 16;
    pub const NUMBERED: u32 = 32;
    pub const TIMED: u32 = 64;
    pub const PACED: u32 = 128;
}

/// Parameters of a run, besides its flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fixed {
    pub per_packet: u64,
    pub per_byte: u64,
    pub burst: u64,
    pub flags: u32,
    pub full_bytes: u32,
    pub interfaces: [u32; 2],
}

impl Fixed {
    /// The bytes from [`at::PER_PACKET`] on.
    pub fn bytes(&self, flows: Option<&Flows>) -> Vec<u8> {
        let mut out = Vec::with_capacity(CONTROL_BYTES);
        let (seed, count) = flows.map_or((0, 1), |flows| (flows.seed, flows.flows));
        for word in [self.per_packet, self.per_byte, self.burst, seed, count] {
            out.extend(word.to_ne_bytes());
        }
        let [near, far] = self.interfaces;
        for word in [self.flags, self.full_bytes, near, far, Flows::CLIENT, Flows::SERVER] {
            out.extend(word.to_ne_bytes());
        }
        if let Some(flows) = flows {
            push_flows(&mut out, flows);
        }
        out.resize(CONTROL_BYTES - at::PER_PACKET, 0);
        out
    }
}

fn push_flows(out: &mut Vec<u8>, flows: &Flows) {
    let sizes_at = out.len();
    for frame in flows.sizes.frames() {
        let (ip_sum, inner_sum) = flows.sums(frame as usize);
        let (ip_bytes, inner_bytes) = flows.lengths(frame as usize);
        for word in [frame, ip_sum, inner_sum] {
            out.extend(word.to_ne_bytes());
        }
        out.extend(ip_bytes.to_be_bytes());
        out.extend(inner_bytes.to_be_bytes());
    }
    out.resize(sizes_at + 16 * SIZES_MAX, 0);
    let classes_at = out.len();
    for class in flows.classes() {
        out.extend(class.port.to_be_bytes());
        out.extend([class.dscp << 2, 0]);
    }
    out.resize(classes_at + 4 * 8, 0);
    out.extend(flows.sizes.places());
    out.extend(flows.class_places());
    out.extend(flows.header());
    for phase in 0..8 {
        let mut pattern = PATTERN;
        pattern.rotate_left(phase);
        out.extend(pattern);
    }
}

/// The flags that follow from flows.
pub(super) fn flags(flows: &Flows) -> u32 {
    let several = flows.sizes.frames().min() != flows.sizes.frames().max();
    let flood = if flows.kind == FlowKind::SynFlood { flag::SYNS | flag::STRANGERS } else { 0 };
    flood
        | if flows.order == Order::Random { flag::RANDOM } else { 0 }
        | if flows.both { flag::BOTH } else { 0 }
        | if several { flag::MIXED } else { 0 }
        | if flows.numbered { flag::NUMBERED } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Sizes;

    #[test]
    fn what_is_fixed_has_the_length_that_the_program_knows() {
        let flows = Flows::udp(3, Sizes::fixed(64).unwrap()).unwrap();
        let mut bytes = Vec::new();
        push_flows(&mut bytes, &flows);
        assert_eq!(at::PER_PACKET + 5 * 8 + 6 * 4 + bytes.len(), CONTROL_BYTES);
        assert_eq!(Fixed::default().bytes(None).len(), CONTROL_BYTES - at::PER_PACKET);
    }
}
