//! Translation of classic BPF to eBPF.
//!
//! A filter has the same result for a frame as for the same frame in a file: loads see the frame as it was on the wire,
//! with the tag that the kernel removed, and `len` is the length on the wire. A load past the end and a division by
//! zero reject the frame.

use std::{error, fmt};

use crate::{
    assembler::{Label, Value},
    classic::{Alu, Known, Operand, Program, Step, Test},
    hook::{A, Assembler, CONTEXT, FilterEnding, FilterHook, X},
    instruction::{
        alu, helper,
        register::{FRAME, R0, R1, R2, R3},
        when,
    },
    load::{self, Loads},
};

/// Why a program of classic BPF cannot run in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranslateError {
    /// It uses the protocol that the kernel found (`SKF_AD_PROTOCOL`), at XDP.
    Protocol,
    /// It jumps backwards.
    Loop,
    /// A jump reaches over more than 32,767 instructions.
    TooLong,
}

impl fmt::Display for TranslateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protocol => {
                "it asks for the protocol that the kernel found, which XDP does not know yet; use packet sockets"
            }
            Self::Loop => {
                "protochain loops over headers, which a filter in the kernel may not; \
                 name the protocol with `proto`, or filter a capture file"
            }
            Self::TooLong => "its program is longer than a jump of eBPF reaches (32,767 instructions); make it shorter",
        })
    }
}

impl error::Error for TranslateError {}

/// The place of a word of the classic machine's memory, relative to the frame pointer.
fn memory_at(slot: u8) -> i16 {
    -8 * (i16::from(slot) + 1)
}

/// Translates a program to eBPF with the same meaning, in the form that `bpf(BPF_PROG_LOAD)` expects.
///
/// # Errors
/// It cannot run in the kernel.
pub fn translate(program: &Program, hook: FilterHook, ending: FilterEnding) -> Result<Vec<u8>, TranslateError> {
    let steps = program.steps();
    let reached = reached(steps)?;
    let asks = |known: &[Known]| steps.iter().any(|step| matches!(step, Step::LoadKnown(what) if known.contains(what)));
    if hook == FilterHook::Xdp && asks(&[Known::Protocol]) {
        return Err(TranslateError::Protocol);
    }
    let mut asm = Assembler::default();
    let labels: Vec<Label> = steps.iter().map(|_| asm.label()).collect();
    let (matched, refused) = (asm.label(), asm.label());
    let to = |step: u32| labels.get(step as usize).copied().unwrap_or(refused);

    asm.copy(CONTEXT, R1);
    asm.set32(A, 0);
    asm.set32(X, 0);
    for slot in memory_used(steps) {
        asm.store_zero(FRAME, memory_at(slot));
    }
    let is_bare = asks(&[Known::VlanTag, Known::VlanPresent, Known::VlanProtocol]);
    let loads = Loads { hook, refused, is_bare };
    loads.begin(&mut asm);
    for ((step, label), reached) in steps.iter().zip(&labels).zip(&reached) {
        if !reached {
            continue;
        }
        asm.place(*label);
        match *step {
            Step::Jump(at) => asm.goto(to(at)),
            Step::Branch(test, operand, one, other) => {
                asm.jump32(condition(test), A, value(operand), to(one));
                asm.goto(to(other));
            }
            Step::ReturnConstant(0) => asm.goto(refused),
            Step::ReturnConstant(_) => asm.goto(matched),
            Step::ReturnAccumulator => {
                asm.jump32(when::EQUAL, A, Value::Number(0), refused);
                asm.goto(matched);
            }
            _ => straight(&mut asm, &loads, *step),
        }
    }
    for (label, is_match) in [(matched, true), (refused, false)] {
        if asm.is_used(label) {
            asm.place(label);
            end(&mut asm, ending, is_match);
        }
    }
    let code = asm.finish().map_err(|_| TranslateError::TooLong)?;
    Ok(code.bytes(|descriptor| descriptor))
}

/// Translates a step; control continues with the next one, or ends.
fn straight(asm: &mut Assembler, loads: &Loads, step: Step) {
    match step {
        Step::Load(width, at) => loads.fixed(asm, A, at, load::bytes(width)),
        Step::LoadIndexed(width, at) => loads.indexed(asm, at, load::bytes(width)),
        Step::IndexHeaderLength(at) => {
            loads.fixed(asm, X, at, 1);
            asm.alu32(alu::AND, X, Value::Number(15));
            asm.alu32(alu::SHL, X, Value::Number(2));
        }
        Step::LoadKnown(known) => loads.known(asm, known),
        Step::LoadImmediate(k) => asm.set32(A, k),
        Step::IndexImmediate(k) => asm.set32(X, k),
        Step::LoadMemory(slot) => asm.load(A, FRAME, memory_at(slot), 4),
        Step::IndexMemory(slot) => asm.load(X, FRAME, memory_at(slot), 4),
        Step::Store(slot) => asm.store(FRAME, memory_at(slot), A, 4),
        Step::StoreIndex(slot) => asm.store(FRAME, memory_at(slot), X, 4),
        Step::LoadLength => loads.length(asm, A),
        Step::IndexLength => loads.length(asm, X),
        Step::Alu(operation, operand) => arithmetic(asm, loads, operation, operand),
        Step::Negate => asm.alu32(alu::NEG, A, Value::Number(0)),
        Step::ToIndex => asm.alu32(alu::MOVE, X, Value::Register(A)),
        Step::ToAccumulator => asm.alu32(alu::MOVE, A, Value::Register(X)),
        Step::Jump(_) | Step::Branch(..) | Step::ReturnConstant(_) | Step::ReturnAccumulator => {}
    }
}

fn arithmetic(asm: &mut Assembler, loads: &Loads, operation: Alu, operand: Operand) {
    let simple = match operation {
        Alu::Add => alu::ADD,
        Alu::Sub => alu::SUB,
        Alu::Mul => alu::MUL,
        Alu::Or => alu::OR,
        Alu::And => alu::AND,
        Alu::Xor => alu::XOR,
        Alu::Div | Alu::Mod => {
            let operation = if matches!(operation, Alu::Div) { alu::DIV } else { alu::MOD };
            match operand {
                Operand::K(0) => return asm.goto(loads.refused),
                Operand::X => asm.jump32(when::EQUAL, X, Value::Number(0), loads.refused),
                Operand::K(_) => {}
            }
            operation
        }
        Alu::LeftShift | Alu::RightShift => {
            let operation = if matches!(operation, Alu::LeftShift) { alu::SHL } else { alu::SHR };
            return shift(asm, operation, operand);
        }
    };
    asm.alu32(simple, A, value(operand));
}

/// By 32 bits and more, everything is shifted out; eBPF would shift by the remainder.
fn shift(asm: &mut Assembler, operation: u8, operand: Operand) {
    match operand {
        Operand::K(32..) => asm.set32(A, 0),
        Operand::K(by) => asm.alu32(operation, A, Value::Number(by)),
        Operand::X => {
            let (fits, done) = (asm.label(), asm.label());
            asm.set32(R1, 31);
            asm.jump32(when::GREATER_OR_EQUAL, R1, Value::Register(X), fits);
            asm.set32(A, 0);
            asm.goto(done);
            asm.place(fits);
            asm.alu32(operation, A, Value::Register(X));
            asm.place(done);
        }
    }
}

fn value(operand: Operand) -> Value {
    match operand {
        Operand::K(k) => Value::Number(k),
        Operand::X => Value::Register(X),
    }
}

fn condition(test: Test) -> u8 {
    match test {
        Test::Equal => when::EQUAL,
        Test::Greater => when::GREATER,
        Test::GreaterOrEqual => when::GREATER_OR_EQUAL,
        Test::AnyBit => when::ANY_BIT,
    }
}

fn end(asm: &mut Assembler, ending: FilterEnding, is_match: bool) {
    let returned = match ending {
        FilterEnding::Return { matched, refused } => {
            if is_match {
                matched
            } else {
                refused
            }
        }
        FilterEnding::Jump { programs, matched, refused, otherwise } => {
            asm.copy(R1, CONTEXT);
            asm.map(R2, programs);
            asm.set32(R3, if is_match { matched } else { refused });
            asm.call(helper::TAIL_CALL);
            otherwise
        }
    };
    asm.set32(R0, returned);
    asm.exit();
}

/// Which steps are reachable: the verifier rejects others. Jumps must lead forwards.
fn reached(steps: &[Step]) -> Result<Vec<bool>, TranslateError> {
    let mut reached = vec![false; steps.len()];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for (at, step) in steps.iter().enumerate() {
        if reached.get(at) != Some(&true) {
            continue;
        }
        let next = match *step {
            Step::Jump(to) => [to as usize, to as usize],
            Step::Branch(_, _, one, other) => [one as usize, other as usize],
            Step::ReturnConstant(_) | Step::ReturnAccumulator => continue,
            Step::Alu(Alu::Div | Alu::Mod, Operand::K(0)) => continue,
            _ => [at + 1, at + 1],
        };
        for to in next {
            if to <= at {
                return Err(TranslateError::Loop);
            }
            if let Some(place) = reached.get_mut(to) {
                *place = true;
            }
        }
    }
    Ok(reached)
}

/// Words of memory that are used; they start as zeroes.
fn memory_used(steps: &[Step]) -> Vec<u8> {
    let mut used: Vec<u8> = steps
        .iter()
        .filter_map(|step| match *step {
            Step::LoadMemory(slot) | Step::IndexMemory(slot) | Step::Store(slot) | Step::StoreIndex(slot) => Some(slot),
            _ => None,
        })
        .collect();
    used.sort_unstable();
    used.dedup();
    used
}
