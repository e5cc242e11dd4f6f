//! How long a packet takes in the kernel's programs, by the number of flows that take turns at random: a small program puts
//! another source address into the frame before each run (`BPF_PROG_TEST_RUN` with repetition). Needs CAP_BPF.
//!
//! `cargo run --profile quick -p tidewire-live --example kernel_speed`

use std::{
    net::Ipv4Addr,
    os::fd::{AsFd, BorrowedFd},
};

use tidewire_core::{Direction, Endpoint, FlowKey, Shunt};
use tidewire_live::{
    kernel::{KernelSettings, KernelXdp},
    sys::bpf::{ARRAY, Load, Map, PROGRAM_ARRAY, Program, XDP},
};

type Failure = Box<dyn std::error::Error>;

/// `BPF_XDP`, and frames of several buffers: as the programs are loaded.
const AS_THE_OTHERS: Load = Load { frags: true, attach: 37 };
const RUNS: u32 = 1_000_000;

fn main() -> Result<(), Failure> {
    println!("{:>10} {:>12} {:>12} {:>12}", "flows", "one writer", "shared", "unknown");
    let nothing = Program::load_with(XDP, &[op(0xb7, 0, 0, 1), op(0x95, 0, 0, 0)].concat(), AS_THE_OTHERS)?;
    for bits in [10, 16, 20] {
        let floor = time(nothing.as_fd(), bits)?;
        let mut row = Vec::new();
        for (is_shared, is_cut) in [(false, true), (true, true), (false, false)] {
            let settings = KernelSettings::default().with_flows_v4(1 << bits).with_is_shared(is_shared);
            let xdp = KernelXdp::load(&settings)?;
            let mut shunt = xdp.shunt(0);
            let cut = (0..1 << bits).filter(|id| is_cut && shunt.cut(&key(*id), Direction::ClientToServer)).count();
            row.push(time(xdp.entry()?, bits)? - floor);
            let counters = xdp.counters();
            let share = cut as f64 / f64::from(1 << bits);
            assert!((counters.cut as f64 / counters.received as f64 - share).abs() < 0.01, "{counters:?}");
        }
        println!(
            "{:>10} {:>9.1} ns {:>9.1} ns {:>9.1} ns   (less {floor:.1} ns of the loop)",
            1 << bits,
            row[0],
            row[1],
            row[2]
        );
    }
    Ok(())
}

/// The flow whose packets have the source address `id`.
fn key(id: u32) -> FlowKey {
    let end = |address: Ipv4Addr, port| Endpoint { address: address.into(), port };
    FlowKey::new(end(Ipv4Addr::from(id.to_le_bytes()), 1000), end(Ipv4Addr::new(10, 0, 0, 2), 80), 17)
}

/// An instruction: code, registers (destination, source << 4), offset, number.
fn op(code: u8, registers: u8, offset: i16, number: i32) -> Vec<u8> {
    let mut bytes = vec![code, registers];
    bytes.extend(offset.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes
}

/// A 64-bit number, or (1 << 4 in `registers`) a map's descriptor.
fn wide(registers: u8, number: u64) -> Vec<u8> {
    [op(0x18, registers, 0, number as u32 as i32), op(0, 0, 0, (number >> 32) as i32)].concat()
}

/// Nanoseconds of a run of `program` over frames of 2^`bits` flows, the loop included.
fn time(program: BorrowedFd<'_>, bits: u32) -> Result<f64, Failure> {
    use std::os::fd::AsRawFd;
    let state = Map::new(ARRAY, 4, 8, 1)?;
    let programs = Map::new(PROGRAM_ARRAY, 4, 4, 1)?;
    let code = [
        op(0xbf, 0x16, 0, 0),  // r6 = r1
        op(0x61, 0x67, 0, 0),  // r7 = data
        op(0x61, 0x68, 4, 0),  // r8 = end
        op(0xbf, 0x72, 0, 0),  // r2 = r7
        op(0x07, 0x02, 0, 54), // r2 += 54
        op(0x2d, 0x82, 21, 0), // if r2 > r8 goto out
        op(0x62, 0x0a, -4, 0), // *(u32 *)(r10 - 4) = 0
        op(0xbf, 0xa2, 0, 0),  // r2 = r10
        op(0x07, 0x02, 0, -4), // r2 -= 4
        wide(0x11, state.number() as u64),
        op(0x85, 0, 0, 1),     // call map_lookup
        op(0x15, 0x00, 14, 0), // if r0 == 0 goto out
        op(0x79, 0x01, 0, 0),  // r1 = *r0
        wide(0x03, 6_364_136_223_846_793_005),
        op(0x2f, 0x31, 0, 0),             // r1 *= r3
        op(0x07, 0x01, 0, 1_442_695_041), // r1 += …
        op(0x7b, 0x10, 0, 0),             // *r0 = r1
        op(0x77, 0x01, 0, 40),            // r1 >>= 40
        op(0x57, 0x01, 0, (1 << bits) - 1),
        op(0x63, 0x17, 26, 0), // source address = r1
        op(0xbf, 0x61, 0, 0),  // r1 = r6
        wide(0x12, programs.number() as u64),
        op(0xb7, 0x03, 0, 0), // r3 = 0
        op(0x85, 0, 0, 12),   // tail call
        op(0xb7, 0x00, 0, 2), // out: r0 = 2
        op(0x95, 0, 0, 0),    // exit
    ]
    .concat();
    let driver = Program::load_with(XDP, &code, AS_THE_OTHERS)?;
    programs.set(0, program.as_raw_fd())?;
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[30..42].copy_from_slice(&[10, 0, 0, 2, 3, 232, 0, 80, 0, 26, 0, 0]);
    let best = (0..12).map(|_| driver.time(&frame, RUNS)).collect::<Result<Vec<_>, _>>()?;
    Ok(f64::from(best.into_iter().min().unwrap_or(0)))
}
