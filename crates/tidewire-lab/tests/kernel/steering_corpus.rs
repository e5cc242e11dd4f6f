//! Steering over real captures: the evaluator, the compiled programs in a machine of the tests and in the kernel,
//! and the decoder agree on every frame.
//!
//! The corpus lies in `../shared/corpus` beside the checkout, or where `TIDEWIRE_CORPUS` says; without it the test says
//! that it was skipped. The kernel's part needs root.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::common::{machine::Machine, packets::Made};
use tidewire_files::Block;
use tidewire_live::sys::bpf::{ARRAY, Map, Program as Loaded, SOCKET_FILTER, XDP};
use tidewire_steer::{
    Compiled, Packet, Program, STATE_BYTES, Settings, State,
    bpf::{Hook, Output},
};
use tidewire_wire::LinkType;

/// Programs that read every field.
const PROGRAMS: &[&str] = &[
    "steer_flow",
    "when (has_port 53) (mark 1 >-> steer_to 0) >-> unless (has_mark 1) steer_p2p",
    "conditional is_ip6 (steer_key [key_5tuple, key_ip_dscp]) (steer_local_ip 10.0.0.0/8)",
    "par (vlan >-> steer_vlan) (par (filter (ip_ttl < 64 .&&. not is_frag) >-> class 3 >-> steer_p2p) (steer_field 30 4))",
    "par (icmp >-> filter (icmp_type == 8) >-> inc 1 >-> double_steer_ip) (sample 3 >-> steer_link)",
];

/// Most frames of each capture.
const FRAMES_MAX: usize = 400;

fn captures() -> Vec<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("TIDEWIRE_CORPUS").map_or_else(beside, PathBuf::from);
    let mut found = Vec::new();
    gather(&corpus.join("captures"), &mut found);
    found.sort();
    found
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { gather(&path, found) } else { found.push(path) }
    }
}

fn frames(path: &PathBuf) -> Vec<(LinkType, Vec<u8>)> {
    let Ok(mut source) = tidewire_files::open(std::slice::from_ref(path)) else { return Vec::new() };
    let (mut block, mut found) = (Block::new(), Vec::new());
    while found.len() < FRAMES_MAX && source.fill(&mut block).unwrap_or(false) {
        let batch = block.batch();
        found.extend(batch.frames.iter().map(|frame| (frame.link, batch.bytes(frame).to_vec())));
    }
    found.truncate(FRAMES_MAX);
    found
}

struct Checked {
    compiled: Compiled,
    machines: [Machine; 2],
    in_kernel: Option<[(Loaded, Map); 2]>,
    states: [State; 4],
}

fn checked(text: &str) -> Checked {
    let compiled = Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap();
    let codes = [Hook::Socket, Hook::Xdp].map(|hook| compiled.code(hook, Output::Digest).unwrap());
    let machines = [Machine::new(Hook::Socket, &codes[0]), Machine::new(Hook::Xdp, &codes[1])];
    let loaded = [(SOCKET_FILTER, &codes[0]), (XDP, &codes[1])].map(|(kind, code)| {
        let map = Map::new(ARRAY, 4, STATE_BYTES as u32, 1).ok()?;
        Some((Loaded::load(kind, &code.bytes(|_| map.number())).unwrap_or_else(|e| panic!("{text}: {e}")), map))
    });
    let in_kernel = match loaded {
        [Some(socket), Some(xdp)] => Some([socket, xdp]),
        _ => None,
    };
    Checked { compiled, machines, in_kernel, states: [(); 4].map(|()| State::default()) }
}

impl Checked {
    fn check(&mut self, link: LinkType, frame: &[u8], whence: &str) {
        let expected = self.compiled.evaluate(&Packet::new(link, frame), &mut self.states[0]);
        if link != LinkType::ETHERNET || frame.len() < 14 {
            return;
        }
        let made = Made { frame: frame.to_vec(), ..Made::default() };
        let again = self.compiled.evaluate(&Packet::new(link, frame), &mut self.states[1]);
        for machine in &mut self.machines {
            assert_eq!(machine.run(&made), again.digest(), "{whence}: {expected:?}");
        }
        if let Some(programs) = &self.in_kernel {
            // A test run refuses frames that it cannot turn into a packet; the hooks differ in that.
            for ((program, _), state) in programs.iter().zip(&mut self.states[2..]) {
                if let Ok(found) = program.run(frame) {
                    let expected = self.compiled.evaluate(&Packet::new(link, frame), state);
                    assert_eq!(found, expected.digest(), "{whence} in the kernel: {expected:?}");
                }
            }
        }
    }
}

#[test]
fn every_engine_says_the_same_of_real_frames() {
    let captures = captures();
    if captures.is_empty() {
        eprintln!("skipped: no corpus at ../shared/corpus or in TIDEWIRE_CORPUS");
        return;
    }
    let mut programs: Vec<_> = PROGRAMS.iter().map(|text| checked(text)).collect();
    if programs.iter().any(|program| program.in_kernel.is_none()) {
        println!("skipped: bpf(2) is not allowed here; needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
    }
    let settings = Settings::default();
    let walk = super::decode::whole_walk(&settings);
    let (mut compared, mut count, mut differences) = (0, 0, Vec::new());
    for path in &captures {
        for (number, (link, frame)) in frames(path).iter().enumerate() {
            let whence = format!("{} frame {}", path.display(), number + 1);
            programs.iter_mut().for_each(|program| program.check(*link, frame, &whence));
            count += 1;
            match super::decode::difference(*link, frame, &settings, &walk) {
                Ok(agreed) => compared += usize::from(agreed),
                Err(difference) => differences.push(format!("{whence}: {}", &difference[..difference.len().min(900)])),
            }
        }
    }
    println!("{count} frames, {compared} compared with the decoder, {} differ", differences.len());
    for difference in differences.iter().take(12) {
        println!("{difference}");
    }
    // Beyond the bounds of the header walk, or decoded by the decoder only (see docs/steering.md).
    assert!(differences.len() * 10_000 <= compared, "{} of {compared} differ", differences.len());
}
