//! Classic BPF, to which filter expressions are compiled: programs, checked and decoded.
//!
//! Source: McCanne and Jacobson, "The BSD Packet Filter" (1993), libpcap's bpf_filter.c and linux/filter.h.

use std::{error, fmt};

/// Words of a program's memory (`BPF_MEMWORDS`).
pub const MEMORY_WORDS: usize = 16;
/// Offsets from here on address metadata of a live packet (SKF_AD_OFF and below); packets of files have none.
const EXTENSIONS_FROM: u32 = 0xffe0_0000;
/// `SKF_AD_OFF` (linux/filter.h): from here on, the kernel's metadata of a packet.
pub const KNOWN_FROM: u32 = 0xffff_f000;
/// Instructions of a program, at most (`BPF_MAXINSNS`).
pub const INSTRUCTIONS_MAX: usize = 4096;

/// An instruction of the classic BPF machine, as `struct bpf_insn` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation code.
    pub code: u16,
    /// Instructions to skip if the condition holds.
    pub jump_true: u8,
    /// Instructions to skip if it does not.
    pub jump_false: u8,
    /// Constant.
    pub k: u32,
}

/// Arithmetic of 32 bits.
#[derive(Clone, Copy, Debug)]
pub enum Alu {
    /// Wraps.
    Add,
    /// Wraps.
    Sub,
    /// Wraps.
    Mul,
    /// Rejects the packet if the divisor is 0.
    Div,
    /// Bit by bit.
    Or,
    /// Bit by bit.
    And,
    /// By 32 and more: 0.
    LeftShift,
    /// By 32 and more: 0.
    RightShift,
    /// Rejects the packet if the divisor is 0.
    Mod,
    /// Bit by bit.
    Xor,
}

/// How the accumulator is compared, without sign.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// Both are equal.
    Equal,
    /// The accumulator is greater.
    Greater,
    /// The accumulator is not less.
    GreaterOrEqual,
    /// They have a common bit.
    AnyBit,
}

/// Size of a load, in network order.
#[derive(Clone, Copy, Debug)]
pub enum Width {
    /// 4 bytes.
    Word,
    /// 2 bytes.
    Half,
    /// 1 byte.
    Byte,
}

/// The second operand: a constant or the index register.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A constant.
    K(u32),
    /// The index register.
    X,
}

/// Metadata that the kernel has of a live packet (`SKF_AD_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Known {
    /// EtherType, behind a tag that was removed from the frame.
    Protocol,
    /// To this host, to all, to others, or outgoing (`PACKET_…`).
    PacketType,
    /// The interface's number.
    Interface,
    /// The value of the removed tag.
    VlanTag,
    /// Whether a tag was removed.
    VlanPresent,
    /// The EtherType of the removed tag.
    VlanProtocol,
}

/// The kernel's metadata of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// EtherType, behind a tag that was removed from the frame.
    pub protocol: u16,
    /// `PACKET_…` (linux/if_packet.h).
    pub packet_type: u8,
    /// The interface's number.
    pub interface: u32,
    /// EtherType and value of the removed tag.
    pub tag: Option<(u16, u16)>,
}

/// A decoded instruction: the accumulator is A, the index register X.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A = bytes at an offset.
    Load(Width, u32),
    /// A = metadata. Live packets only: see [`Program::live`].
    LoadKnown(Known),
    /// A = bytes at X and an offset.
    LoadIndexed(Width, u32),
    /// A = a number.
    LoadImmediate(u32),
    /// A = a word of memory.
    LoadMemory(u8),
    /// A = the length on the wire.
    LoadLength,
    /// X = a number.
    IndexImmediate(u32),
    /// X = a word of memory.
    IndexMemory(u8),
    /// X = the length on the wire.
    IndexLength,
    /// X = four times the low nibble of a byte: the length of an IPv4 header.
    IndexHeaderLength(u32),
    /// A word of memory = A.
    Store(u8),
    /// A word of memory = X.
    StoreIndex(u8),
    /// A = A (operation) a value.
    Alu(Alu, Operand),
    /// A = -A.
    Negate,
    /// Jumps to this step.
    Jump(u32),
    /// Jumps to the first of these steps if the condition holds, else to the second.
    Branch(Test, Operand, u32, u32),
    /// Returns a number: 0 rejects the packet.
    ReturnConstant(u32),
    /// Returns A.
    ReturnAccumulator,
    /// X = A.
    ToIndex,
    /// A = X.
    ToAccumulator,
}

/// Why instructions are not a valid program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// More instructions than [`INSTRUCTIONS_MAX`].
    TooLong {
        /// Their number.
        instructions: usize,
    },
    /// An instruction that is invalid for packets of files, or a jump out of the program.
    NotOfFiles {
        /// Its number, from 0.
        at: u32,
        /// The instruction.
        instruction: Instruction,
    },
    /// An unknown instruction, or a jump out of the program.
    Unknown {
        /// Its number, from 0.
        at: u32,
        /// The instruction.
        instruction: Instruction,
    },
    /// The last instruction does not return.
    NoEnd,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { instructions } => {
                write!(f, "it has {instructions} instructions, and may have {INSTRUCTIONS_MAX}")
            }
            Self::NotOfFiles { at, instruction } => {
                write!(f, "it has an instruction that files do not know: number {at}, {instruction:x?}")
            }
            Self::Unknown { at, instruction } => {
                write!(f, "it has an instruction that cannot be run: number {at}, {instruction:x?}")
            }
            Self::NoEnd => f.write_str("it is a program without an end"),
        }
    }
}

impl error::Error for ProgramError {}

/// A program with all jumps inside.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Box<[Step]>,
}

impl Program {
    /// Checks a program over packets of files.
    ///
    /// # Errors
    /// The program could run past its end, or has an unknown instruction.
    pub fn new(instructions: &[Instruction]) -> Result<Self, ProgramError> {
        let unknown = |at, instruction| ProgramError::NotOfFiles { at, instruction };
        Self::checked(instructions, translate, unknown)
    }

    /// Checks a program for live packets, which may use the kernel's metadata.
    ///
    /// # Errors
    /// As [`Self::new`], or it has more than [`INSTRUCTIONS_MAX`] instructions.
    pub fn live(instructions: &[Instruction]) -> Result<Self, ProgramError> {
        if instructions.len() > INSTRUCTIONS_MAX {
            return Err(ProgramError::TooLong { instructions: instructions.len() });
        }
        let step = |instruction, at| known(instruction).map(Step::LoadKnown).or_else(|| translate(instruction, at));
        Self::checked(instructions, step, |at, instruction| ProgramError::Unknown { at, instruction })
    }

    fn checked(
        instructions: &[Instruction],
        translate: impl Fn(Instruction, u32) -> Option<Step>,
        unknown: impl Fn(u32, Instruction) -> ProgramError,
    ) -> Result<Self, ProgramError> {
        let count = instructions.len() as u32;
        let mut steps = Vec::with_capacity(instructions.len());
        for (at, instruction) in (0u32..).zip(instructions) {
            let step = translate(*instruction, at)
                .filter(|step| match *step {
                    Step::Jump(to) => to < count,
                    Step::Branch(_, _, one, other) => one < count && other < count,
                    _ => true,
                })
                .ok_or_else(|| unknown(at, *instruction))?;
            steps.push(step);
        }
        match steps.last() {
            Some(Step::ReturnConstant(_) | Step::ReturnAccumulator) => Ok(Self { steps: steps.into_boxed_slice() }),
            _ => Err(ProgramError::NoEnd),
        }
    }

    /// The decoded instructions; all jumps lead to existing steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether the program uses metadata.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::LoadKnown(_)))
    }

    /// Whether the program asks for the tag that the kernel removes from frames: it expects frames without it.
    #[must_use]
    pub fn knows_tags(&self) -> bool {
        let asks = [Known::VlanTag, Known::VlanPresent, Known::VlanProtocol];
        self.steps.iter().any(|step| matches!(step, Step::LoadKnown(known) if asks.contains(known)))
    }

    /// The program for one packet with this metadata: the result uses no metadata.
    #[must_use]
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
}

/// The metadata that the instruction uses, if any.
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

/// Decodes the instruction at `at`; codes as in `pcap/bpf.h`.
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
        // A signed distance: `protochain` jumps backwards.
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

    fn program(raw: &[(u16, u8, u8, u32)]) -> Result<Program, ProgramError> {
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
}
