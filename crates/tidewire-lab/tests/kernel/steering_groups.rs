//! Steering programs in fan-out groups of packet sockets, over a veth pair: every frame arrives once at each of the
//! workers that the evaluator names, and nowhere else. Needs root and `ip`; says so otherwise.

use std::{process::Command, thread};

use super::common::{Random, packets, packets::frame};
use tidewire_core::wire::LinkType;
use tidewire_lab::oracle::network::missing;
use tidewire_live::sys::{
    bpf::{ARRAY, Map, Program as Loaded, SOCKET_FILTER},
    net::{PacketSocket, own_namespace},
};
use tidewire_steer::{
    Compiled, Packet, Program, STATE_BYTES, Settings, State,
    bpf::{Copy, Hook, Output},
};
use tidewire_testing::InTime as _;

const WORKERS: u32 = 3;

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

/// A frame as a packet socket delivers it: the kernel removes the outermost tag.
fn delivered(frame: &[u8]) -> Vec<u8> {
    match frame.get(12..14) {
        Some([0x81, 0] | [0x88, 0xa8]) => [&frame[..12], &frame[16..]].concat(),
        _ => frame.to_vec(),
    }
}

/// Sends frames and returns what each socket received.
fn play(wire: &PacketSocket, sockets: &[PacketSocket], frames: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    for frame in frames {
        wire.send(frame).expect("sending");
    }
    let all = |socket: &PacketSocket| std::iter::from_fn(|| socket.receive(200).expect("receiving")).collect();
    sockets.iter().map(all).collect()
}

/// The frames that each worker must receive, in order.
fn expected(compiled: &Compiled, frames: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let mut state = State::default();
    let mut workers = vec![Vec::new(); WORKERS as usize];
    for frame in frames {
        let verdict = compiled.evaluate(&Packet::new(LinkType::ETHERNET, frame), &mut state);
        for worker in verdict.workers(WORKERS) {
            workers[worker as usize].push(delivered(frame));
        }
    }
    workers
}

fn compiled(text: &str) -> Compiled {
    Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap()
}

/// A filter is charged to its socket, which may have 128 KiB (net.core.optmem_max): two tunnels fit.
fn compiled_small(text: &str) -> Compiled {
    let mut settings = Settings::default();
    settings.wire.tunnel_depth = 2;
    Compiled::new(&Program::parse(text).unwrap(), &settings).unwrap()
}

fn load(compiled: &Compiled, output: Output) -> (Loaded, Map) {
    let map = Map::new(ARRAY, 4, STATE_BYTES as u32, 1).expect("a map");
    let code = compiled.code(Hook::Socket, output).unwrap();
    (Loaded::load(SOCKET_FILTER, &code.bytes(|_| map.number())).unwrap_or_else(|e| panic!("{e}")), map)
}

fn same(text: &str, worker: usize, found: &[Vec<u8>], wanted: &[Vec<u8>]) {
    let first = found.iter().zip(wanted).position(|(found, wanted)| found != wanted);
    let pair = first.map(|at| (at, &found[at], &wanted[at]));
    assert!(pair.is_none(), "{text}, worker {worker}: {pair:x?}");
    assert_eq!(found.len(), wanted.len(), "{text}, worker {worker}");
}

/// One group, or two where packets may go to two workers; each with a socket that receives dropped packets.
fn through_groups(text: &str, wire: &PacketSocket, frames: &[Vec<u8>], group: u16) {
    let compiled = compiled(text);
    let copies: &[Copy] = if compiled.may_double() { &[Copy::First, Copy::Second] } else { &[Copy::First] };
    let mut programs = Vec::new();
    let mut sockets = Vec::new();
    for (copy, group) in copies.iter().zip(group..) {
        let program = load(&compiled, Output::Fanout { workers: WORKERS, dropped: WORKERS, copy: *copy });
        for member in 0..=WORKERS {
            let socket = PacketSocket::open("tw1").expect("a socket");
            if member == WORKERS {
                socket.filter(None).expect("a filter");
            }
            socket.join_fanout(group, program.0.number()).expect("a group");
            sockets.push(socket);
        }
        programs.push(program);
    }
    let got = play(wire, &sockets, frames);
    let expected = expected(&compiled, frames);
    for (worker, wanted) in expected.iter().enumerate() {
        let mut found: Vec<_> =
            (0..copies.len()).flat_map(|copy| got[copy * (WORKERS as usize + 1) + worker].clone()).collect();
        let mut wanted = wanted.clone();
        if copies.len() > 1 {
            found.sort();
            wanted.sort();
        }
        same(text, worker, &found, &wanted);
    }
}

/// Sockets without a group, each with the filter of its worker.
fn through_filters(text: &str, wire: &PacketSocket, frames: &[Vec<u8>]) {
    let compiled = compiled_small(text);
    let programs: Vec<_> =
        (0..WORKERS).map(|worker| load(&compiled, Output::Filter { workers: WORKERS, worker })).collect();
    let sockets: Vec<_> = programs
        .iter()
        .map(|program| {
            let socket = PacketSocket::open("tw1").expect("a socket");
            socket.filter(Some(program.0.number())).expect("a filter");
            socket
        })
        .collect();
    for (worker, (found, wanted)) in play(wire, &sockets, frames).iter().zip(&expected(&compiled, frames)).enumerate() {
        same(text, worker, found, wanted);
    }
}

fn run() {
    own_namespace().expect("a namespace");
    ip("link add tw0 type veth peer name tw1");
    for interface in ["tw0", "tw1"] {
        ip(&format!("link set {interface} addrgenmode none"));
        ip(&format!("link set {interface} mtu 9000"));
        ip(&format!("link set {interface} up"));
    }
    let wire = PacketSocket::open("tw0").expect("a socket");
    let mut random = Random(31);
    // The kernel drops a tagged frame that is too short for its tag.
    let frames: Vec<_> =
        (0..packets(1000)).map(|_| frame(&mut random)).filter(|frame| (20..4000).contains(&frame.len())).collect();
    for (text, group) in [
        "steer_flow",
        "steer_rrobin",
        "steer_link",
        "steer_vlan",
        "when (has_port 53) (steer_to 0) >-> unless (has_port 53) steer_p2p",
        "sample 2 >-> tcp >-> steer_key key_5tuple",
        "par (vlan >-> steer_field 12 2) (steer_field 26 8)",
        "double_steer_ip",
        "steer_local_net 10.0.0.0 8 16",
        "double_steer_mac",
    ]
    .into_iter()
    .zip((100..).step_by(2))
    {
        through_groups(text, &wire, &frames, group);
    }
    through_filters("steer_flow", &wire, &frames);
    through_filters("double_steer_ip", &wire, &frames);
}

#[test]
fn frames_arrive_at_the_workers_that_the_evaluator_names() {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    // The namespace and its interfaces end with the thread.
    if let Err(panic) = thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}
