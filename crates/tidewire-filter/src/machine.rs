//! The classic BPF machine, over the instructions that libpcap compiles an expression to.
//!
//! Our own and not libpcap's, so that nothing unsafe is needed and the length on the wire is the frame's own.
//! Source: McCanne and Jacobson, "The BSD Packet Filter" (1993), and libpcap's bpf_filter.c for every corner:
//! a load past the captured bytes and a division by zero refuse the packet.

use tidewire_ebpf::classic::{Alu, MEMORY_WORDS, Operand, Program, Step, Test, Width};

/// Backward jumps in one run; only `protochain` jumps back, once a header. A packet of more headers does not match.
const BACKWARD_JUMPS_MAX: u32 = 4096;

/// Whether the program takes a packet of `wire_bytes`, of which `packet` was captured.
#[must_use]
pub fn matches(program: &Program, packet: &[u8], wire_bytes: u32) -> bool {
    returned(program, packet, wire_bytes).is_some_and(|accepted| accepted != 0)
}

/// Runs the program and returns its result; `None` for a packet that is too short for one of its loads, as good as 0.
#[must_use]
pub fn returned(program: &Program, packet: &[u8], wire_bytes: u32) -> Option<u32> {
    let steps = program.steps();
    let (mut a, mut x) = (0u32, 0u32);
    let mut memory = [0u32; MEMORY_WORDS];
    let (mut at, mut backward_jumps) = (0u32, 0);
    loop {
        let step = *steps.get(at as usize)?;
        at += 1;
        match step {
            Step::Load(width, k) => a = load(packet, width, k)?,
            Step::LoadIndexed(width, k) => a = load(packet, width, x.checked_add(k)?)?,
            // Nothing is known of a file's packets.
            Step::LoadKnown(_) => return None,
            Step::LoadImmediate(k) => a = k,
            Step::LoadMemory(slot) => a = *memory.get(usize::from(slot))?,
            Step::LoadLength => a = wire_bytes,
            Step::IndexImmediate(k) => x = k,
            Step::IndexMemory(slot) => x = *memory.get(usize::from(slot))?,
            Step::IndexLength => x = wire_bytes,
            Step::IndexHeaderLength(k) => x = (load(packet, Width::Byte, k)? & 15) * 4,
            Step::Store(slot) => *memory.get_mut(usize::from(slot))? = a,
            Step::StoreIndex(slot) => *memory.get_mut(usize::from(slot))? = x,
            Step::Alu(operation, operand) => a = apply(operation, a, value(operand, x))?,
            Step::Negate => a = a.wrapping_neg(),
            Step::Jump(to) => {
                backward_jumps += u32::from(to < at);
                if backward_jumps > BACKWARD_JUMPS_MAX {
                    return None;
                }
                at = to;
            }
            Step::Branch(test, operand, one, other) => {
                at = if holds(test, a, value(operand, x)) { one } else { other };
            }
            Step::ReturnConstant(k) => return Some(k),
            Step::ReturnAccumulator => return Some(a),
            Step::ToIndex => x = a,
            Step::ToAccumulator => a = x,
        }
    }
}

#[inline]
fn load(packet: &[u8], width: Width, at: u32) -> Option<u32> {
    let from = packet.get(at as usize..)?;
    match width {
        Width::Word => from.first_chunk().map(|raw| u32::from_be_bytes(*raw)),
        Width::Half => from.first_chunk().map(|raw| u32::from(u16::from_be_bytes(*raw))),
        Width::Byte => from.first().map(|&byte| u32::from(byte)),
    }
}

#[inline]
fn value(operand: Operand, x: u32) -> u32 {
    match operand {
        Operand::K(k) => k,
        Operand::X => x,
    }
}

/// `None` for a division by zero.
#[inline]
fn apply(operation: Alu, a: u32, b: u32) -> Option<u32> {
    Some(match operation {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => a.checked_div(b)?,
        Alu::Mod => a.checked_rem(b)?,
        Alu::Or => a | b,
        Alu::And => a & b,
        Alu::Xor => a ^ b,
        Alu::LeftShift => a.checked_shl(b).unwrap_or(0),
        Alu::RightShift => a.checked_shr(b).unwrap_or(0),
    })
}

#[inline]
fn holds(test: Test, a: u32, b: u32) -> bool {
    match test {
        Test::Equal => a == b,
        Test::Greater => a > b,
        Test::GreaterOrEqual => a >= b,
        Test::AnyBit => a & b != 0,
    }
}

#[cfg(test)]
mod tests {
    use tidewire_ebpf::classic::{Facts, Instruction, KNOWN_FROM, ProgramError};

    use super::*;

    fn program(raw: &[(u16, u8, u8, u32)]) -> Result<Program, ProgramError> {
        let instruction = |&(code, jump_true, jump_false, k): &_| Instruction { code, jump_true, jump_false, k };
        Program::new(&raw.iter().map(instruction).collect::<Vec<_>>())
    }

    #[test]
    fn short_packets_and_zero_divisors_are_refused() {
        let word = program(&[(0x20, 0, 0, 1), (0x06, 0, 0, 1)]).unwrap();
        assert!(!matches(&word, &[0; 4], 100));
        assert!(matches(&word, &[0; 5], 100));
        let divided = program(&[(0x01, 0, 0, 0), (0x3c, 0, 0, 0), (0x06, 0, 0, 1)]).unwrap();
        assert!(!matches(&divided, &[], 0));
        let wraps = program(&[(0x01, 0, 0, u32::MAX), (0x50, 0, 0, 1), (0x06, 0, 0, 1)]).unwrap();
        assert!(!matches(&wraps, &[1; 8], 8));
    }

    #[test]
    fn live_programs_may_ask_the_kernel_and_are_bounded() {
        let raw = |raw: &[(u16, u8, u8, u32)]| {
            let instruction = |&(code, jump_true, jump_false, k): &_| Instruction { code, jump_true, jump_false, k };
            raw.iter().map(instruction).collect::<Vec<_>>()
        };
        let facts = Facts { protocol: 0x800, packet_type: 4, interface: 7, tag: Some((0x8100, 5)) };
        for (at, answer) in [(0, 0x800), (4, 4), (8, 7), (44, 5), (48, 1), (60, 0x8100)] {
            let asks = raw(&[(0x28, 0, 0, KNOWN_FROM + at), (0x16, 0, 0, 0)]);
            assert!(Program::new(&asks).is_err());
            let program = Program::live(&asks).unwrap();
            assert_eq!((returned(&program, &[], 0), program.knows_tags()), (None, at >= 44));
            assert_eq!(returned(&program.answered(&facts), &[], 0), Some(answer));
        }
        for at in [12, 32, 36, 56, 0xfff] {
            assert!(Program::live(&raw(&[(0x28, 0, 0, KNOWN_FROM + at), (0x16, 0, 0, 0)])).is_err(), "{at}");
        }
        // By an index, it is an offset like any other.
        let far = Program::live(&raw(&[(0x48, 0, 0, KNOWN_FROM), (0x06, 0, 0, 1)])).unwrap();
        assert!(!matches(&far, &[0; 60], 60));
        let long = |count| [vec![(0x00, 0, 0, 1); count], vec![(0x06, 0, 0, 1)]].concat();
        assert!(Program::live(&raw(&long(4095))).is_ok() && Program::live(&raw(&long(4096))).is_err());
    }

    #[test]
    fn a_loop_without_end_is_left() {
        let program = program(&[(0x05, 0, 0, u32::MAX), (0x06, 0, 0, 1)]).unwrap();
        assert!(!matches(&program, &[], 0));
    }

    #[test]
    fn the_length_is_that_on_the_wire() {
        let length = program(&[(0x80, 0, 0, 0), (0x16, 0, 0, 0)]).unwrap();
        assert_eq!(returned(&length, &[1, 2], 1514), Some(1514));
    }
}
