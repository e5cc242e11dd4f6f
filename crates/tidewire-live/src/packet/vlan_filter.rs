//! Classic filters over frames whose VLAN tag the kernel took out.
//!
//! A filter is compiled for frames as they are on the wire, and a packet socket's filter sees them without their outermost
//! tag: `vlan 5` would match nothing, and `udp` what is inside a tag. So the program is there twice: as it is, for frames
//! without a tag, and with every load moved, for frames with one; the tag's own bytes are loaded from the kernel's metadata
//! (`SKF_AD_VLAN_TAG`, `SKF_AD_VLAN_TPID`; linux/filter.h).

use crate::ClassicInstruction;

/// `SKF_AD_OFF` with `SKF_AD_VLAN_TAG`, `…_TAG_PRESENT` and `…_TPID` added.
const TAG: u32 = 0xffff_f000 + 44;
const TAG_PRESENT: u32 = 0xffff_f000 + 48;
const TPID: u32 = 0xffff_f000 + 60;
/// Where a tag is, and where what follows it is.
const TAG_AT: u32 = 12;
const BEHIND: u32 = 16;
const TAG_BYTES: u32 = BEHIND - TAG_AT;
/// From here on offsets mean something else to the kernel (`SKF_NET_OFF` and so on are negative).
const OFFSETS_END: u32 = 1 << 31;
/// `SKF_AD_OFF`
const KNOWN_FROM: u32 = 0xffff_f000;
/// Words of the machine's memory (`BPF_MEMWORDS`).
const WORDS: u32 = 16;

/// Instructions' codes (linux/bpf_common.h).
mod code {
    pub const LD_W_ABS: u16 = 0x20;
    pub const LD_H_ABS: u16 = 0x28;
    pub const LD_B_ABS: u16 = 0x30;
    pub const LD_W_IND: u16 = 0x40;
    pub const LD_H_IND: u16 = 0x48;
    pub const LD_B_IND: u16 = 0x50;
    pub const LD_IMM: u16 = 0x00;
    pub const LD_MEM: u16 = 0x60;
    pub const LD_LEN: u16 = 0x80;
    pub const LDX_MEM: u16 = 0x61;
    pub const LDX_LEN: u16 = 0x81;
    pub const LDX_MSH: u16 = 0xb1;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const ADD: u16 = 0x04;
    pub const SUB: u16 = 0x14;
    pub const OR_X: u16 = 0x4c;
    pub const AND: u16 = 0x54;
    pub const LSH: u16 = 0x64;
    pub const RSH: u16 = 0x74;
    pub const JA: u16 = 0x05;
    pub const JEQ: u16 = 0x15;
    pub const JGE: u16 = 0x35;
    pub const RET: u16 = 0x06;
    pub const TAX: u16 = 0x07;
    pub const TXA: u16 = 0x87;
    /// Class of jumps.
    pub const CLASS: u16 = 0x07;
    pub const JUMP: u16 = 0x05;
}

fn step(code: u16, k: u32) -> ClassicInstruction {
    ClassicInstruction { code, jump_true: 0, jump_false: 0, k }
}

/// The program for frames as a packet socket's filter sees them, or `None` where it leaves no memory free to compute with.
///
/// One that asks for the tag is made for such frames, and stays as it is.
pub(super) fn restored(program: &[ClassicInstruction]) -> Option<Vec<ClassicInstruction>> {
    let asks = |instruction: &ClassicInstruction| {
        matches!(instruction.code, code::LD_W_ABS | code::LD_H_ABS | code::LD_B_ABS)
            && [TAG, TAG_PRESENT, TPID].contains(&instruction.k)
    };
    if program.iter().any(asks) {
        return Some(program.to_vec());
    }
    let free = free_words(program);
    let moved = program.iter().map(|instruction| moved(instruction, &free)).collect::<Option<Vec<_>>>()?;
    let moved = linked(program, moved)?;
    let over = u32::try_from(program.len()).ok()?;
    let mut whole = vec![
        step(code::LD_B_ABS, TAG_PRESENT),
        ClassicInstruction { code: code::JEQ, jump_true: 1, jump_false: 0, k: 0 },
        step(code::JA, over),
    ];
    whole.extend_from_slice(program);
    // As at the beginning: the accumulator is 0.
    whole.push(step(code::LD_IMM, 0));
    whole.extend(moved);
    Some(whole)
}

/// Words of memory that the program leaves alone.
fn free_words(program: &[ClassicInstruction]) -> Vec<u32> {
    let uses = |word: u32| {
        let memory = [code::LD_MEM, code::LDX_MEM, code::ST, code::STX];
        program.iter().any(|instruction| memory.contains(&instruction.code) && instruction.k == word)
    };
    (0..WORDS).rev().filter(|word| !uses(*word)).collect()
}

/// The instructions that replace one where a tag was taken out.
fn moved(instruction: &ClassicInstruction, free: &[u32]) -> Option<Vec<ClassicInstruction>> {
    let ClassicInstruction { code, k, .. } = *instruction;
    let width = match code {
        code::LD_W_ABS | code::LD_W_IND => 4,
        code::LD_H_ABS | code::LD_H_IND => 2,
        code::LD_B_ABS | code::LD_B_IND | code::LDX_MSH => 1,
        code::LD_LEN => return Some(vec![*instruction, step(code::ADD, TAG_BYTES)]),
        code::LDX_LEN => {
            let keep = *free.first()?;
            let load = [step(code::ST, keep), step(code::LD_LEN, 0), step(code::ADD, TAG_BYTES)];
            return Some([&load[..], &[step(code::TAX, 0), step(code::LD_MEM, keep)]].concat());
        }
        _ => return Some(vec![*instruction]),
    };
    let indexed = matches!(code, code::LD_W_IND | code::LD_H_IND | code::LD_B_IND);
    if k >= KNOWN_FROM && !indexed && code != code::LDX_MSH {
        // Metadata of a packet beside its bytes, as the kernel has it.
        return Some(vec![*instruction]);
    }
    if k >= OFFSETS_END {
        // Beyond any frame.
        return Some(vec![step(code::RET, 0)]);
    }
    if k >= BEHIND {
        return Some(vec![ClassicInstruction { k: k - TAG_BYTES, ..*instruction }]);
    }
    if indexed {
        return composed(width, free, |place| computed(k + place));
    }
    if k + width <= TAG_AT {
        return Some(vec![*instruction]);
    }
    match (code, k) {
        (code::LD_H_ABS, TAG_AT) => Some(vec![step(code::LD_W_ABS, TPID)]),
        (code::LD_H_ABS, 14) => Some(vec![step(code::LD_W_ABS, TAG)]),
        (code::LDX_MSH, _) => {
            let keep = *free.first()?;
            let mut steps = vec![step(code::ST, keep)];
            steps.extend(byte(k));
            steps.extend([step(code::AND, 15), step(code::LSH, 2), step(code::TAX, 0), step(code::LD_MEM, keep)]);
            Some(steps)
        }
        (code::LD_B_ABS, _) => Some(byte(k)),
        _ => composed(width, free, |place| byte(k + place)),
    }
}

/// Loads so many bytes one by one, each by the steps that `one` gives for it. The index is as before, for each and afterwards.
fn composed(width: u32, free: &[u32], one: impl Fn(u32) -> Vec<ClassicInstruction>) -> Option<Vec<ClassicInstruction>> {
    let (sum, index) = (*free.first()?, *free.get(1)?);
    let mut steps = vec![step(code::STX, index), step(code::LD_IMM, 0), step(code::ST, sum)];
    for place in 0..width {
        steps.extend(one(place));
        steps.extend([step(code::LSH, 8 * (width - 1 - place)), step(code::LDX_MEM, sum), step(code::OR_X, 0)]);
        steps.extend([step(code::ST, sum), step(code::LDX_MEM, index)]);
    }
    Some(steps)
}

/// Loads the byte at this distance from the index; the index is lost.
fn computed(k: u32) -> Vec<ClassicInstruction> {
    let mut steps = vec![step(code::TXA, 0), step(code::ADD, k)];
    let here = [step(code::TAX, 0), step(code::LD_B_IND, 0)];
    let mut cases: Vec<(u16, u32, Vec<ClassicInstruction>)> =
        vec![(code::JGE, BEHIND, [&[step(code::SUB, TAG_BYTES)][..], &here].concat())];
    cases.extend((TAG_AT..BEHIND).map(|at| (code::JEQ, at, byte(at))));
    let mut rest = here.len() as u32;
    let mut tail = here.to_vec();
    // From the last case to the first: each knows how much comes after it.
    for (test, k, load) in cases.into_iter().rev() {
        let mut case = vec![ClassicInstruction { code: test, jump_true: 0, jump_false: load.len() as u8 + 1, k }];
        case.extend(load);
        case.push(step(code::JA, rest));
        rest += case.len() as u32;
        case.append(&mut tail);
        tail = case;
    }
    steps.append(&mut tail);
    steps
}

/// Loads the byte that is at this place on the wire.
fn byte(at: u32) -> Vec<ClassicInstruction> {
    match at {
        12 => vec![step(code::LD_W_ABS, TPID), step(code::RSH, 8)],
        13 => vec![step(code::LD_W_ABS, TPID), step(code::AND, 0xff)],
        14 => vec![step(code::LD_W_ABS, TAG), step(code::RSH, 8)],
        15 => vec![step(code::LD_W_ABS, TAG), step(code::AND, 0xff)],
        0..TAG_AT => vec![step(code::LD_B_ABS, at)],
        _ => vec![step(code::LD_B_ABS, at - TAG_BYTES)],
    }
}

/// The pieces one behind the other, with jumps to where their targets are now. Those that become too long for a conditional
/// jump's 8 bits go on to an unconditional one.
fn linked(program: &[ClassicInstruction], pieces: Vec<Vec<ClassicInstruction>>) -> Option<Vec<ClassicInstruction>> {
    let is_jump = |at: usize| program.get(at).is_some_and(|instruction| instruction.code & code::CLASS == code::JUMP);
    let mut long = vec![false; pieces.len()];
    loop {
        let mut starts = Vec::with_capacity(pieces.len() + 1);
        let mut end = 0;
        for (piece, long) in pieces.iter().zip(&long) {
            starts.push(end);
            end += piece.len() + if *long { 2 } else { 0 };
        }
        let (mut linked, mut grew) = (Vec::with_capacity(end), false);
        for (at, piece) in pieces.iter().enumerate() {
            let Some(jump) = piece.first().filter(|_| is_jump(at)) else {
                linked.extend_from_slice(piece);
                continue;
            };
            // Distances count from behind the jump.
            let distance = |over: u32, behind: usize| {
                let target = *starts.get(at + 1 + over as usize)?;
                u32::try_from(target.checked_sub(starts.get(at)? + behind)?).ok()
            };
            if jump.code == code::JA {
                linked.push(step(code::JA, distance(jump.k, 1)?));
                continue;
            }
            let (yes, no) = (u32::from(jump.jump_true), u32::from(jump.jump_false));
            if *long.get(at)? {
                linked.push(ClassicInstruction { jump_true: 0, jump_false: 1, ..*jump });
                linked.extend([step(code::JA, distance(yes, 2)?), step(code::JA, distance(no, 3)?)]);
                continue;
            }
            match (u8::try_from(distance(yes, 1)?), u8::try_from(distance(no, 1)?)) {
                (Ok(jump_true), Ok(jump_false)) => linked.push(ClassicInstruction { jump_true, jump_false, ..*jump }),
                _ => {
                    *long.get_mut(at)? = true;
                    grew = true;
                    linked.push(*jump);
                }
            }
        }
        if !grew {
            return Some(linked);
        }
    }
}

#[cfg(test)]
mod tests;
