//! The end of a program: turns the verdict in its slots into what the kernel expects.

use tidewire_ebpf::{
    Value,
    instruction::{alu, helper, when, xdp},
};

use super::slots::{Assembler, Slots as _, mix, reg};
use super::{Copy, DROPPED_PLACES, DROPPED_SHIFT, Ending, Hook, MapUse, Output};
use crate::ir::Label;
use crate::lower::target;
use crate::walk::slot;

/// Return value of a socket filter that accepts the whole packet.
const WHOLE_PACKET: u64 = 0xffff_ffff;

/// Return value of a successful redirect.
const XDP_REDIRECT: u64 = 4;

pub(super) fn emit(asm: &mut Assembler, hook: Hook, output: Output) {
    let dropped = asm.label();
    match output {
        Output::Fanout { workers, dropped: index, copy } => {
            match copy {
                Copy::First => first(asm, workers, dropped),
                Copy::Second => second(asm, workers, dropped),
            }
            asm.exit();
            end(asm, dropped, index);
        }
        Output::Worker { workers, dropped: number } => {
            first(asm, workers, dropped);
            asm.exit();
            end(asm, dropped, number);
        }
        Output::Group { copy } => {
            group(asm, copy, dropped);
            asm.exit();
            end(asm, dropped, 0);
        }
        Output::Kept { copy, members } => {
            kept(asm, copy, members, dropped);
            asm.set(reg::R0, WHOLE_PACKET);
            asm.exit();
            asm.place(dropped);
            if copy == Copy::First {
                count_dropped(asm);
            }
            asm.set(reg::R0, 0);
            asm.exit();
        }
        Output::Filter { workers, worker } => filter(asm, workers, worker, dropped),
        Output::Redirect { workers, dropped: ending, absent, stamp } => {
            first(asm, workers, dropped);
            if hook == Hook::Xdp {
                if stamp {
                    write_stamp(asm);
                }
                redirect(asm, workers, absent);
            } else {
                asm.exit();
            }
            asm.place(dropped);
            finish(asm, ending);
        }
        Output::Digest => digest(asm),
    }
}

/// Writes the time before the frame. Register 0 is preserved; the packet's addresses are not needed any more.
fn write_stamp(asm: &mut Assembler) {
    const STAMP_BYTES: u64 = 8;
    let (worker, time) = (reg::DATA, reg::DATA_END);
    let none = asm.label();
    asm.copy(worker, reg::R0);
    asm.call(helper::KTIME);
    asm.copy(time, reg::R0);
    asm.copy(reg::R1, reg::CONTEXT);
    asm.set(reg::R2, STAMP_BYTES.wrapping_neg());
    asm.call(helper::XDP_ADJUST_META);
    asm.jump_wide(when::NOT_EQUAL, reg::R0, 0, reg::R2, none);
    asm.load(reg::R1, reg::CONTEXT, xdp::DATA_META, 4);
    asm.load(reg::R2, reg::CONTEXT, xdp::DATA, 4);
    asm.copy(reg::R3, reg::R1);
    asm.alu_wide(alu::ADD, reg::R3, STAMP_BYTES, reg::R4);
    asm.jump64(when::GREATER, reg::R3, Value::Register(reg::R2), none);
    asm.store(reg::R1, 0, time, 8);
    asm.place(none);
    asm.copy(reg::R0, worker);
}

/// Redirects to the worker in register 0.
fn redirect(asm: &mut Assembler, workers: u32, absent: Ending) {
    asm.load(reg::R2, reg::CONTEXT, xdp::RX_QUEUE, 4);
    asm.alu_wide(alu::MUL, reg::R2, workers.into(), reg::R3);
    asm.alu64(alu::ADD, reg::R2, Value::Register(reg::R0));
    asm.map(reg::R1, MapUse::Sockets);
    let (Ending::Return(action) | Ending::Jump { otherwise: action, .. }) = absent;
    asm.set(reg::R3, action.into());
    asm.call(helper::REDIRECT_MAP);
    if matches!(absent, Ending::Return(_)) {
        asm.exit();
        return;
    }
    let nowhere = asm.label();
    asm.jump_wide(when::NOT_EQUAL, reg::R0, XDP_REDIRECT, reg::R2, nowhere);
    asm.exit();
    asm.place(nowhere);
    finish(asm, absent);
}

/// Ends the program, here or in another one. A jump to another program returns only if there is none.
fn finish(asm: &mut Assembler, ending: Ending) {
    let (Ending::Return(action) | Ending::Jump { otherwise: action, .. }) = ending;
    if let Ending::Jump { slot, .. } = ending {
        asm.copy(reg::R1, reg::CONTEXT);
        asm.map(reg::R2, MapUse::Programs);
        asm.set(reg::R3, slot.into());
        asm.call(helper::TAIL_CALL);
    }
    asm.set(reg::R0, action.into());
    asm.exit();
}

fn end(asm: &mut Assembler, dropped: Label, result: u32) {
    asm.place(dropped);
    asm.set(reg::R0, result.into());
    asm.exit();
}

/// Register 0 = the first worker; jumps to `dropped` if there is none, or its number is too high.
fn first(asm: &mut Assembler, workers: u32, dropped: Label) {
    let [explicit, pass, found] = [(); 3].map(|()| asm.label());
    asm.load_slot(reg::R1, slot::TARGET);
    asm.load_slot(reg::R0, slot::FIRST);
    asm.jump_wide(when::EQUAL, reg::R1, target::DROP, reg::R2, dropped);
    asm.jump_wide(when::EQUAL, reg::R1, target::PASS, reg::R2, pass);
    asm.jump_wide(when::EQUAL, reg::R1, target::WORKER, reg::R2, explicit);
    asm.alu32(alu::MOD, reg::R0, Value::Number(workers.max(1)));
    asm.goto(found);
    asm.place(pass);
    asm.set(reg::R0, 0);
    asm.place(explicit);
    asm.jump_wide(when::GREATER_OR_EQUAL, reg::R0, workers.into(), reg::R2, dropped);
    asm.place(found);
}

/// Register 0 = the second worker; jumps to `dropped` if there is none other than the first.
fn second(asm: &mut Assembler, workers: u32, dropped: Label) {
    asm.load_slot(reg::R1, slot::TARGET);
    asm.jump_wide(when::NOT_EQUAL, reg::R1, target::BOTH, reg::R2, dropped);
    asm.load_slot(reg::R1, slot::FIRST);
    asm.load_slot(reg::R0, slot::SECOND);
    asm.alu32(alu::MOD, reg::R0, Value::Number(workers.max(1)));
    asm.alu32(alu::MOD, reg::R1, Value::Number(workers.max(1)));
    asm.jump64(when::EQUAL, reg::R0, Value::Register(reg::R1), dropped);
}

/// Register 0 = a number for the first or the second worker, which is taken modulo workers elsewhere; jumps to
/// `dropped` if there is none. Unsteered packets are for the first worker.
fn group(asm: &mut Assembler, copy: Copy, dropped: Label) {
    asm.load_slot(reg::R1, slot::TARGET);
    if copy == Copy::Second {
        asm.jump_wide(when::NOT_EQUAL, reg::R1, target::BOTH, reg::R2, dropped);
        asm.load_slot(reg::R0, slot::SECOND);
        asm.truncate(reg::R0);
        return;
    }
    let [pass, found] = [(); 2].map(|()| asm.label());
    asm.load_slot(reg::R0, slot::FIRST);
    asm.jump_wide(when::EQUAL, reg::R1, target::DROP, reg::R2, dropped);
    asm.jump_wide(when::EQUAL, reg::R1, target::PASS, reg::R2, pass);
    asm.truncate(reg::R0);
    asm.goto(found);
    asm.place(pass);
    asm.set(reg::R0, 0);
    asm.place(found);
}

/// Jumps to `dropped` if the packet is not for the socket that has it.
fn kept(asm: &mut Assembler, copy: Copy, members: Option<u32>, dropped: Label) {
    match (copy, members) {
        (Copy::First, _) => {
            asm.load_slot(reg::R1, slot::TARGET);
            asm.jump_wide(when::EQUAL, reg::R1, target::DROP, reg::R2, dropped);
        }
        (Copy::Second, Some(members)) => second(asm, members, dropped),
        (Copy::Second, None) => {
            group(asm, copy, dropped);
            asm.load_slot(reg::R1, slot::FIRST);
            asm.truncate(reg::R1);
            asm.jump64(when::EQUAL, reg::R0, Value::Register(reg::R1), dropped);
        }
    }
}

/// Counts a packet, in a cache line that this processor shares with few others.
fn count_dropped(asm: &mut Assembler) {
    asm.call(helper::PROCESSOR);
    asm.alu_wide(alu::AND, reg::R0, DROPPED_PLACES as u64 - 1, reg::R2);
    asm.alu_wide(alu::SHL, reg::R0, DROPPED_SHIFT as u64, reg::R2);
    asm.map_value(reg::R1, MapUse::Dropped, 0);
    asm.alu64(alu::ADD, reg::R1, Value::Register(reg::R0));
    asm.set(reg::R2, 1);
    asm.atomic_add(reg::R1, reg::R2, false);
}

/// Accepts the packet if either worker is this one.
fn filter(asm: &mut Assembler, workers: u32, worker: u32, dropped: Label) {
    let [not_first, take] = [(); 2].map(|()| asm.label());
    first(asm, workers, not_first);
    asm.jump_wide(when::EQUAL, reg::R0, worker.into(), reg::R2, take);
    asm.place(not_first);
    second(asm, workers, dropped);
    asm.jump_wide(when::NOT_EQUAL, reg::R0, worker.into(), reg::R2, dropped);
    asm.place(take);
    asm.set(reg::R0, WHOLE_PACKET);
    asm.exit();
    end(asm, dropped, 0);
}

/// [`crate::Verdict::digest`]
fn digest(asm: &mut Assembler) {
    let [no_first, no_second, known] = [(); 3].map(|()| asm.label());
    asm.load_slot(reg::R4, slot::TARGET);
    asm.set(reg::R0, 0);
    asm.jump_wide(when::EQUAL, reg::R4, target::DROP, reg::R2, no_first);
    asm.jump_wide(when::EQUAL, reg::R4, target::PASS, reg::R2, no_first);
    asm.jump_wide(when::NOT_EQUAL, reg::R4, target::BOTH, reg::R2, no_second);
    asm.goto(known);
    asm.place(no_first);
    asm.store_slot(slot::FIRST, reg::R0);
    asm.place(no_second);
    asm.store_slot(slot::SECOND, reg::R0);
    asm.place(known);
    asm.set(reg::R1, 0);
    for slot in [slot::TARGET, slot::FIRST, slot::SECOND, slot::CLASS, slot::MARK, slot::STATE] {
        asm.load_slot(reg::R4, slot);
        asm.truncate(reg::R4);
        asm.alu64(alu::XOR, reg::R1, Value::Register(reg::R4));
        mix(asm);
    }
    asm.copy(reg::R0, reg::R1);
    asm.truncate(reg::R0);
    asm.exit();
}
