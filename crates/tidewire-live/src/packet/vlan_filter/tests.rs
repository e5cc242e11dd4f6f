//! Moved programs over frames without their tag against the originals over whole frames.

use super::{TAG, TAG_PRESENT, TPID, code, restored};
use crate::ClassicInstruction;
use tidewire_filter::Filter;
use tidewire_filter::Program;
use tidewire_testing::filters::{EXPRESSIONS, Numbers, random_packet};
use tidewire_wire::LinkType;

/// The program with the kernel's answers about one frame put in: our machine knows none of its extensions.
fn answered(program: &[ClassicInstruction], tag: Option<[u8; 4]>) -> Program {
    let [a, b, c, d] = tag.unwrap_or_default();
    let answer = |instruction: &ClassicInstruction| {
        let known = match instruction.k {
            TAG => u16::from_be_bytes([c, d]).into(),
            TPID => u16::from_be_bytes([a, b]).into(),
            TAG_PRESENT => u32::from(tag.is_some()),
            _ => return *instruction,
        };
        ClassicInstruction { code: code::LD_IMM, jump_true: 0, jump_false: 0, k: known }
    };
    Program::new(&program.iter().map(answer).collect::<Vec<_>>()).unwrap()
}

fn matches(program: &[ClassicInstruction], packet: &[u8], is_tagged: bool) -> bool {
    if !is_tagged {
        return tidewire_filter::matches(&answered(program, None), packet, packet.len() as u32);
    }
    let tag = packet[12..16].try_into().unwrap();
    let rest = [&packet[..12], &packet[16..]].concat();
    tidewire_filter::matches(&answered(program, Some(tag)), &rest, rest.len() as u32)
}

fn whole(program: &[ClassicInstruction], packet: &[u8]) -> bool {
    tidewire_filter::matches(&Program::new(program).unwrap(), packet, packet.len() as u32)
}

#[test]
fn every_expression_means_the_same_with_and_without_the_tag() {
    let mut numbers = Numbers(11);
    for expression in EXPRESSIONS {
        let program = Filter::new(expression).unwrap().classic(LinkType::ETHERNET).unwrap();
        // The kernel takes no classic program that jumps back, ours or the user's.
        if expression.contains("protochain") {
            continue;
        }
        let moved = restored(&program).unwrap();
        for _ in 0..600 {
            let packet = random_packet(&mut numbers);
            assert_eq!(matches(&moved, &packet, false), whole(&program, &packet), "{expression}: {packet:02x?}");
            if packet.len() >= 18 {
                assert_eq!(matches(&moved, &packet, true), whole(&program, &packet), "{expression}: {packet:02x?}");
            }
        }
    }
}

fn instruction(code: u16, k: u32) -> ClassicInstruction {
    ClassicInstruction { code, jump_true: 0, jump_false: 0, k }
}

#[test]
fn every_load_around_the_tag_is_moved() {
    let packet: Vec<u8> = (0..40_u8).map(|at| at.wrapping_mul(37).wrapping_add(11)).collect();
    let loads = [
        (code::LD_B_ABS, 0),
        (code::LD_H_ABS, 0),
        (code::LD_W_ABS, 0),
        (code::LD_B_IND, 3),
        (code::LD_H_IND, 3),
        (code::LD_W_IND, 3),
        (code::LDX_MSH, 0),
    ];
    for (load, index) in loads {
        for k in 0..44 {
            // The index is set before, and added to the result afterwards: it must be what it was.
            let mut program = vec![instruction(0x01, index), instruction(load, k)];
            if load == code::LDX_MSH {
                program = vec![instruction(code::LD_IMM, 1000), program[1]];
            }
            program.extend([instruction(0x0c, 0), instruction(0x16, 0)]);
            let moved = answered(&restored(&program).unwrap(), Some(packet[12..16].try_into().unwrap()));
            let rest = [&packet[..12], &packet[16..]].concat();
            let original = Program::new(&program).unwrap();
            assert_eq!(
                tidewire_filter::returned(&moved, &rest, rest.len() as u32),
                tidewire_filter::returned(&original, &packet, packet.len() as u32),
                "code {load:#x} at {k}"
            );
        }
    }
}

#[test]
fn metadata_is_loaded_in_both_programs_and_programs_made_for_taken_tags_stay() {
    for known in [0, 4, 8] {
        let program = [instruction(code::LD_H_ABS, 0xffff_f000 + known), instruction(0x16, 0)];
        let moved = restored(&program).unwrap();
        assert_eq!(moved.iter().filter(|one| **one == program[0]).count(), 2, "{known}");
    }
    for known in [TAG, TAG_PRESENT, TPID] {
        let program = [instruction(code::LD_B_ABS, known), instruction(code::LD_H_ABS, 12), instruction(0x16, 0)];
        assert_eq!(restored(&program).unwrap(), program);
    }
}

#[test]
fn jumps_that_become_too_long_go_on_to_long_ones() {
    // 250 loads that straddle the tag's end, jumped over or not.
    let mut program = vec![
        instruction(code::LD_B_ABS, 0),
        ClassicInstruction { code: code::JEQ, jump_true: 250, jump_false: 0, k: 7 },
    ];
    program.extend((0..250).map(|_| instruction(code::LD_W_ABS, 14)));
    program.extend([instruction(code::LD_B_ABS, 20), instruction(0x16, 0)]);
    let moved = restored(&program).unwrap();
    for first in [7, 8] {
        let packet: Vec<u8> = [first].into_iter().chain(1..40).collect();
        assert!(matches(&moved, &packet, true) && matches(&moved, &packet, false));
        // Too short for what is jumped over, unless it is.
        assert!(!matches(&moved, &packet[..17], true));
    }
}

#[test]
fn a_program_that_uses_all_memory_is_refused_only_where_it_has_to_be() {
    let mut program: Vec<_> = (0..16).map(|word| instruction(code::ST, word)).collect();
    program.extend([instruction(code::LD_H_ABS, 12), instruction(0x16, 0)]);
    assert!(restored(&program).is_some());
    program[16] = instruction(code::LD_W_ABS, 13);
    assert!(restored(&program).is_none());
}
