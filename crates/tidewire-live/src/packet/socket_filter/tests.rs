//! Programs that anybody may give: nothing of what is made of them may panic, and what is taken runs.

use super::*;
use tidewire_filter::check;
use tidewire_testing::filters::Numbers;

/// Valid codes, and a few invalid ones.
const CODES: [u16; 24] = [
    0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x00, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1, 0x02, 0x03, 0x04, 0x3c, 0x05, 0x15,
    0x1d, 0x06, 0x16, 0x85, 0xffff,
];

fn program(numbers: &mut Numbers, is_tame: bool) -> Vec<ClassicInstruction> {
    let count = numbers.below(40) as usize;
    let mut instruction = || {
        let at = numbers.below(if is_tame { 22 } else { 24 }) as usize;
        let k = match numbers.below(6) {
            0 => numbers.below(1 << 32) as u32,
            1 => PACKET_TYPE - 4 + 4 * numbers.below(20) as u32,
            2 => u32::MAX - numbers.below(70_000) as u32,
            _ => numbers.below(20) as u32,
        };
        let jump = |most: u64, next: u64| (next % most.max(1)) as u8;
        let most = if is_tame { 4 } else { 256 };
        ClassicInstruction {
            code: CODES[at],
            jump_true: jump(most, numbers.below(1 << 32)),
            jump_false: jump(most, numbers.below(1 << 32)),
            k,
        }
    };
    let mut program: Vec<_> = (0..count).map(|_| instruction()).collect();
    if is_tame {
        program.extend([step(RETURN_CONSTANT, 0); 5]);
    }
    program
}

#[test]
fn whatever_is_given_as_a_program_is_refused_or_translated() {
    let mut numbers = Numbers(0x5eed);
    let mut taken = 0;
    for round in 0..40_000 {
        let program = program(&mut numbers, round % 2 == 0);
        // Neither of these has been checked before.
        let _ = restored(&program);
        let Ok(checked) = check(&program) else { continue };
        taken += 1;
        let _ = checked.asks() && checked.knows_tags();
        let _ = tidewire_filter::matches(&checked.answered(&Default::default()), &[7; 60], 60);
        for direction in [TrafficDirection::Both, TrafficDirection::In, TrafficDirection::Out] {
            let frame_filter = FrameFilter {
                name: "tw0".into(),
                link: LinkType::ETHERNET,
                is_loopback: round % 3 == 0,
                snap_bytes: 96,
                direction,
                ignores_outgoing: round % 5 == 0,
                filter: Some(program.clone()),
                last: None,
                is_fixed: false,
            };
            let _ = (frame_filter.classic(), frame_filter.unmoved());
        }
    }
    assert!(taken > 1000, "{taken}");
}

#[test]
fn what_the_kernel_is_given_it_takes_or_refuses() {
    let Ok(socket) = RingSocket::open() else {
        println!("skipped: no packet socket");
        return;
    };
    let mut numbers = Numbers(0xbeef);
    let mut results = [0; 2];
    for _ in 0..3000 {
        let program = program(&mut numbers, true);
        if check(&program).is_err() {
            continue;
        }
        let frame_filter = FrameFilter {
            name: "tw0".into(),
            link: LinkType::ETHERNET,
            is_loopback: false,
            snap_bytes: 96,
            direction: TrafficDirection::In,
            ignores_outgoing: false,
            filter: Some(program),
            last: None,
            is_fixed: false,
        };
        results[usize::from(frame_filter.attach(&socket).is_ok())] += 1;
    }
    println!("{results:?} refused and taken");
    assert!(results.iter().all(|count| *count > 20), "{results:?}");
}
