//! The classic BPF machine, over the instructions that libpcap compiles an expression to.
//!
//! Our own and not libpcap's, so that nothing unsafe is needed and the length on the wire is the frame's own.
//! Source: McCanne and Jacobson, "The BSD Packet Filter" (1993), and libpcap's bpf_filter.c for every corner:
//! a load past the captured bytes and a division by zero refuse the packet.

/// Scratch words (BPF_MEMWORDS).
const MEMORY_WORDS: usize = 16;
/// Backward jumps in one run; only `protochain` jumps back, once a header. A packet of more headers does not match.
const BACKWARD_JUMPS_MAX: u32 = 4096;
/// Loads from here on reach for what Linux knows of a live packet (SKF_AD_OFF and below); a file has none of it.
const EXTENSIONS_FROM: u32 = 0xffe0_0000;
/// `SKF_AD_OFF` (linux/filter.h): from here on, what the kernel knows of a packet beside its bytes.
const KNOWN_FROM: u32 = 0xffff_f000;
/// Instructions of a program, at most (`BPF_MAXINSNS`).
const INSTRUCTIONS_MAX: usize = 4096;

/// An instruction of the classic BPF machine, as `struct bpf_insn` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// Instructions to jump over if so.
    pub jump_true: u8,
    /// Instructions to jump over if not.
    pub jump_false: u8,
    /// Its constant.
    pub k: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Or,
    And,
    LeftShift,
    RightShift,
    Mod,
    Xor,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    Equal,
    Greater,
    GreaterOrEqual,
    AnyBit,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Width {
    Word,
    Half,
    Byte,
}

/// The second operand: a constant or the index register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    K(u32),
    X,
}

/// What the kernel knows of a live packet beside its bytes (`SKF_AD_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// EtherType, behind the tag that was taken out.
    Protocol,
    /// To this host, to all, to others, or outgoing (`PACKET_…`).
    PacketType,
    /// The interface's number.
    Interface,
    /// Of the tag that was taken out: its value, whether there was one, and its EtherType.
    VlanTag,
    VlanPresent,
    VlanProtocol,
}

/// What the kernel said of one packet beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub protocol: u16,
    pub packet_type: u8,
    pub interface: u32,
    /// EtherType and value of the tag that was taken out.
    pub tag: Option<(u16, u16)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Load(Width, u32),
    /// Live packets only: see [`Program::live`].
    LoadKnown(Known),
    LoadIndexed(Width, u32),
    LoadImmediate(u32),
    LoadMemory(u8),
    LoadLength,
    IndexImmediate(u32),
    IndexMemory(u8),
    IndexLength,
    /// Four times the low nibble of a byte: the length of an IPv4 header.
    IndexHeaderLength(u32),
    Store(u8),
    StoreIndex(u8),
    Alu(Alu, Operand),
    Negate,
    /// To this instruction.
    Jump(u32),
    /// To the first of these if so, else to the second.
    Branch(Test, Operand, u32, u32),
    ReturnConstant(u32),
    ReturnAccumulator,
    ToIndex,
    ToAccumulator,
}

/// A program whose every jump stays inside, and whose runs are bounded.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    steps: Box<[Step]>,
}

impl Program {
    /// Checks and translates `instructions`; the error says which one is not known.
    pub fn new(instructions: &[Instruction]) -> Result<Self, String> {
        Self::checked(instructions, translate, "files do not know")
    }

    /// The same for a program over live packets, which may ask for what the kernel knows beside their bytes.
    pub fn live(instructions: &[Instruction]) -> Result<Self, String> {
        if instructions.len() > INSTRUCTIONS_MAX {
            return Err(format!("it has {} instructions, and may have {INSTRUCTIONS_MAX}", instructions.len()));
        }
        let step = |instruction, at| known(instruction).map(Step::LoadKnown).or_else(|| translate(instruction, at));
        Self::checked(instructions, step, "cannot be run")
    }

    fn checked(
        instructions: &[Instruction],
        translate: impl Fn(Instruction, u32) -> Option<Step>,
        unknown: &str,
    ) -> Result<Self, String> {
        let count = instructions.len() as u32;
        let mut steps = Vec::with_capacity(instructions.len());
        for (at, instruction) in (0u32..).zip(instructions) {
            let step = translate(*instruction, at)
                .filter(|step| match *step {
                    Step::Jump(to) => to < count,
                    Step::Branch(_, _, one, other) => one < count && other < count,
                    _ => true,
                })
                .ok_or_else(|| format!("it has an instruction that {unknown}: number {at}, {instruction:x?}"))?;
            steps.push(step);
        }
        match steps.last() {
            Some(Step::ReturnConstant(_) | Step::ReturnAccumulator) => Ok(Self { steps: steps.into_boxed_slice() }),
            _ => Err("it is a program without an end".to_owned()),
        }
    }

    /// What it does; jumps lead to steps that there are.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether it asks for anything beside a packet's bytes.
    pub fn asks(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::LoadKnown(_)))
    }

    /// Whether it asks for the tag that the kernel takes out of frames: it is made for frames without it.
    pub fn knows_tags(&self) -> bool {
        let asks = [Known::VlanTag, Known::VlanPresent, Known::VlanProtocol];
        self.steps.iter().any(|step| matches!(step, Step::LoadKnown(known) if asks.contains(known)))
    }

    /// The program for one packet of which this is known: it asks no more.
    pub fn answered(&self, facts: &Facts) -> Self {
        let (tpid, tci) = facts.tag.unwrap_or_default();
        let answer = |step: &Step| match step {
            Step::LoadKnown(known) => Step::LoadImmediate(match known {
                Known::Protocol => facts.protocol.into(),
                Known::PacketType => facts.packet_type.into(),
                Known::Interface => facts.interface,
                Known::VlanTag => tci.into(),
                Known::VlanPresent => facts.tag.is_some().into(),
                Known::VlanProtocol => tpid.into(),
            }),
            other => *other,
        };
        Self { steps: self.steps.iter().map(answer).collect() }
    }

    /// Whether the program takes a packet of `wire_bytes`, of which `packet` was captured.
    pub fn matches(&self, packet: &[u8], wire_bytes: u32) -> bool {
        self.run(packet, wire_bytes).is_some_and(|accepted| accepted != 0)
    }

    #[cfg(test)]
    pub(crate) fn returned(&self, packet: &[u8], wire_bytes: u32) -> Option<u32> {
        self.run(packet, wire_bytes)
    }

    /// What the program returns; `None` for a packet that is too short for one of its loads, as good as 0.
    fn run(&self, packet: &[u8], wire_bytes: u32) -> Option<u32> {
        let (mut a, mut x) = (0u32, 0u32);
        let mut memory = [0u32; MEMORY_WORDS];
        let (mut at, mut backward_jumps) = (0u32, 0);
        loop {
            let step = *self.steps.get(at as usize)?;
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
                Step::Alu(operation, operand) => a = operation.apply(a, operand.value(x))?,
                Step::Negate => a = a.wrapping_neg(),
                Step::Jump(to) => {
                    backward_jumps += u32::from(to < at);
                    if backward_jumps > BACKWARD_JUMPS_MAX {
                        return None;
                    }
                    at = to;
                }
                Step::Branch(test, operand, one, other) => {
                    at = if test.holds(a, operand.value(x)) { one } else { other };
                }
                Step::ReturnConstant(k) => return Some(k),
                Step::ReturnAccumulator => return Some(a),
                Step::ToIndex => x = a,
                Step::ToAccumulator => a = x,
            }
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

impl Operand {
    #[inline]
    fn value(self, x: u32) -> u32 {
        match self {
            Self::K(k) => k,
            Self::X => x,
        }
    }
}

impl Alu {
    /// `None` for a division by zero.
    #[inline]
    fn apply(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a.checked_div(b)?,
            Self::Mod => a.checked_rem(b)?,
            Self::Or => a | b,
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::LeftShift => a.checked_shl(b).unwrap_or(0),
            Self::RightShift => a.checked_shr(b).unwrap_or(0),
        })
    }
}

impl Test {
    #[inline]
    fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
            Self::AnyBit => a & b != 0,
        }
    }
}

/// What the instruction asks of the kernel, if it does.
fn known(instruction: Instruction) -> Option<Known> {
    let Instruction { code: 0x20 | 0x28 | 0x30, k, .. } = instruction else { return None };
    Some(match k.checked_sub(KNOWN_FROM)? {
        0 => Known::Protocol,
        4 => Known::PacketType,
        8 => Known::Interface,
        44 => Known::VlanTag,
        48 => Known::VlanPresent,
        60 => Known::VlanProtocol,
        _ => return None,
    })
}

/// The instruction at `at` as a step; codes as in `pcap/bpf.h`.
fn translate(instruction: Instruction, at: u32) -> Option<Step> {
    let Instruction { code, k, .. } = instruction;
    let slot = || u8::try_from(k).ok().filter(|&slot| usize::from(slot) < MEMORY_WORDS);
    Some(match code {
        0x20 | 0x28 | 0x30 => {
            let width = width(code)?;
            Step::Load(width, Some(k).filter(|&k| k < EXTENSIONS_FROM)?)
        }
        0x40 | 0x48 | 0x50 => Step::LoadIndexed(width(code)?, k),
        0x00 => Step::LoadImmediate(k),
        0x60 => Step::LoadMemory(slot()?),
        0x80 => Step::LoadLength,
        0x01 => Step::IndexImmediate(k),
        0x61 => Step::IndexMemory(slot()?),
        0x81 => Step::IndexLength,
        0xb1 => Step::IndexHeaderLength(k),
        0x02 => Step::Store(slot()?),
        0x03 => Step::StoreIndex(slot()?),
        0x84 => Step::Negate,
        0x06 => Step::ReturnConstant(k),
        0x16 => Step::ReturnAccumulator,
        0x07 => Step::ToIndex,
        0x87 => Step::ToAccumulator,
        _ => return arithmetic(code, k).or_else(|| jump(instruction, at)),
    })
}

fn width(code: u16) -> Option<Width> {
    match code & 0x18 {
        0x00 => Some(Width::Word),
        0x08 => Some(Width::Half),
        0x10 => Some(Width::Byte),
        _ => None,
    }
}

fn operand(code: u16, k: u32) -> Operand {
    if code & 0x08 != 0 { Operand::X } else { Operand::K(k) }
}

fn arithmetic(code: u16, k: u32) -> Option<Step> {
    if code & 0xff07 != 0x04 {
        return None;
    }
    let operation = match code & 0xf0 {
        0x00 => Alu::Add,
        0x10 => Alu::Sub,
        0x20 => Alu::Mul,
        0x30 => Alu::Div,
        0x40 => Alu::Or,
        0x50 => Alu::And,
        0x60 => Alu::LeftShift,
        0x70 => Alu::RightShift,
        0x90 => Alu::Mod,
        0xa0 => Alu::Xor,
        _ => return None,
    };
    Some(Step::Alu(operation, operand(code, k)))
}

fn jump(instruction: Instruction, at: u32) -> Option<Step> {
    let Instruction { code, jump_true, jump_false, k } = instruction;
    if code & 0xff07 != 0x05 {
        return None;
    }
    let next = at.checked_add(1)?;
    let test = match code & 0xf0 {
        // A signed distance: `protochain` goes back.
        0x00 => return Some(Step::Jump(next.wrapping_add(k))),
        0x10 => Test::Equal,
        0x20 => Test::Greater,
        0x30 => Test::GreaterOrEqual,
        0x40 => Test::AnyBit,
        _ => return None,
    };
    let (one, other) = (next.checked_add(jump_true.into())?, next.checked_add(jump_false.into())?);
    Some(Step::Branch(test, operand(code, k), one, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(raw: &[(u16, u8, u8, u32)]) -> Result<Program, String> {
        let instruction = |&(code, jump_true, jump_false, k): &_| Instruction { code, jump_true, jump_false, k };
        Program::new(&raw.iter().map(instruction).collect::<Vec<_>>())
    }

    #[test]
    fn programs_that_could_leave_their_end_are_refused() {
        assert!(program(&[]).is_err());
        assert!(program(&[(0x00, 0, 0, 1)]).is_err(), "no return");
        assert!(program(&[(0x15, 0, 1, 1), (0x06, 0, 0, 0)]).is_err(), "a branch past the end");
        assert!(program(&[(0x05, 0, 0, u32::MAX - 1), (0x06, 0, 0, 0)]).is_err(), "a jump before the beginning");
        assert!(program(&[(0x60, 0, 0, 16), (0x06, 0, 0, 0)]).is_err(), "a seventeenth word");
        assert!(program(&[(0x28, 0, 0, 0xffff_f000), (0x06, 0, 0, 0)]).is_err(), "an extension of Linux");
        assert!(program(&[(0x85, 0, 0, 0), (0x06, 0, 0, 0)]).is_err(), "a call");
    }

    #[test]
    fn short_packets_and_zero_divisors_are_refused() {
        let word = program(&[(0x20, 0, 0, 1), (0x06, 0, 0, 1)]).unwrap();
        assert!(!word.matches(&[0; 4], 100));
        assert!(word.matches(&[0; 5], 100));
        let divided = program(&[(0x01, 0, 0, 0), (0x3c, 0, 0, 0), (0x06, 0, 0, 1)]).unwrap();
        assert!(!divided.matches(&[], 0));
        let wraps = program(&[(0x01, 0, 0, u32::MAX), (0x50, 0, 0, 1), (0x06, 0, 0, 1)]).unwrap();
        assert!(!wraps.matches(&[1; 8], 8));
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
            assert_eq!((program.returned(&[], 0), program.knows_tags()), (None, at >= 44));
            assert_eq!(program.answered(&facts).returned(&[], 0), Some(answer));
        }
        for at in [12, 32, 36, 56, 0xfff] {
            assert!(Program::live(&raw(&[(0x28, 0, 0, KNOWN_FROM + at), (0x16, 0, 0, 0)])).is_err(), "{at}");
        }
        // By an index, it is an offset like any other.
        assert!(!Program::live(&raw(&[(0x48, 0, 0, KNOWN_FROM), (0x06, 0, 0, 1)])).unwrap().matches(&[0; 60], 60));
        let long = |count| [vec![(0x00, 0, 0, 1); count], vec![(0x06, 0, 0, 1)]].concat();
        assert!(Program::live(&raw(&long(4095))).is_ok() && Program::live(&raw(&long(4096))).is_err());
    }

    #[test]
    fn a_loop_without_end_is_left() {
        let program = program(&[(0x05, 0, 0, u32::MAX), (0x06, 0, 0, 1)]).unwrap();
        assert!(!program.matches(&[], 0));
    }

    #[test]
    fn the_length_is_that_on_the_wire() {
        let length = program(&[(0x80, 0, 0, 0), (0x16, 0, 0, 0)]).unwrap();
        assert_eq!(length.run(&[1, 2], 1514), Some(1514));
    }
}
