//! Compiled steering programs in the kernel: the verifier accepts them, and their result for every packet is the evaluator's.
//! Needs root (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON); says so otherwise.
//!
//! `TIDEWIRE_STEER_PACKETS=1000000` is the full run.

use std::{io, os::fd::AsFd as _, sync::atomic::Ordering};

use super::common::{Random, packets, packets::frame, programs};
use tidewire_core::wire::LinkType;
use tidewire_live::sys::{
    bpf::{ARRAY, LRU_HASH, Map, PROGRAM_ARRAY, Program as Loaded, SOCKET_FILTER, XDP, XSK_MAP},
    mmap_array::MmapArray,
};
use tidewire_steer::{
    Compiled, DATAGRAMS_MAX, Fragments, Packet, Program, STATE_BYTES, Settings, State, Target,
    bpf::{Code, Copy, DROPPED_BYTES, Ending, Hook, MapUse, Output, dropped},
    language::{BUILTINS, BuiltinKind},
};

/// Ethernet and IPv6, in bytes.
const SHORT_BYTES: usize = 54;

/// The maps of a program; all programs of a test share them.
struct Maps {
    state: Map,
    datagrams: Map,
    sockets: Map,
    programs: Map,
    dropped: Map,
}

impl Maps {
    fn new() -> io::Result<Self> {
        Ok(Self {
            state: Map::new(ARRAY, 4, STATE_BYTES as u32, 1)?,
            datagrams: Map::new(LRU_HASH, 8, 8, DATAGRAMS_MAX as u32)?,
            sockets: Map::new(XSK_MAP, 4, 4, 64)?,
            programs: Map::new(PROGRAM_ARRAY, 4, 4, 8)?,
            dropped: Map::new_mappable(DROPPED_BYTES as u32, 1)?,
        })
    }

    fn load(&self, hook: Hook, code: &Code) -> io::Result<Loaded> {
        let kind = if hook == Hook::Xdp { XDP } else { SOCKET_FILTER };
        let bytes = code.bytes(|map| match map {
            MapUse::State => self.state.number(),
            MapUse::Datagrams => self.datagrams.number(),
            MapUse::Sockets => self.sockets.number(),
            MapUse::Programs => self.programs.number(),
            MapUse::Dropped => self.dropped.number(),
        });
        Loaded::load(kind, &bytes)
    }
}

/// The maps, or why nothing can be tested here.
fn maps() -> Option<Maps> {
    match Maps::new() {
        Ok(maps) => Some(maps),
        Err(error) => {
            println!("skipped: bpf(2) is not allowed here ({error}); needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
            None
        }
    }
}

fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::default();
    settings.wire.tunnel_depth = random.below(5) as u8;
    settings.fragments = random.pick(&[Fragments::Addresses, Fragments::FollowFirst]);
    settings.seed = random.pick(&[0, 0xdead_beef_dead_beef]);
    settings
}

/// Checks that a program in the kernel has the evaluator's results and counts for these frames.
fn agrees(text: &str, settings: &Settings, frames: &[Vec<u8>]) {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let compiled = Compiled::new(&program, settings).unwrap_or_else(|error| panic!("{text}: {error}"));
    for hook in [Hook::Socket, Hook::Xdp] {
        let code = compiled.code(hook, Output::Digest).unwrap_or_else(|error| panic!("{text}: {error}"));
        // New maps, without state of other packets.
        let maps = Maps::new().expect("maps");
        let loaded = maps.load(hook, &code).unwrap_or_else(|error| panic!("{hook:?} {text} {settings:?}: {error}"));
        let mut state = State::default();
        for (number, frame) in frames.iter().enumerate() {
            let found = match loaded.run(frame) {
                Ok(found) => found,
                // A test run requires an IP header behind an IP EtherType; real traffic need not have one.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && frame.len() < SHORT_BYTES => continue,
                Err(error) => panic!("{hook:?}, {} bytes: {error}", frame.len()),
            };
            let mut packet = Packet::new(LinkType::ETHERNET, frame);
            packet.rx_queue = (hook == Hook::Xdp).then_some(0);
            let expected = compiled.evaluate(&packet, &mut state);
            assert_eq!(found, expected.digest(), "{hook:?} {text} {settings:?}, {number}: {frame:x?} {expected:?}");
        }
        let counted = State::from_map(&maps.state.first().expect("the state's map")).expect("its size");
        assert_eq!(counted.cells(), state.cells(), "{text}");
    }
}

fn frames(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| frame(random)).filter(|frame| frame.len() < 3000).collect()
}

#[test]
fn every_function_says_the_same_in_the_kernel() {
    if maps().is_none() {
        return;
    }
    let mut random = Random(11);
    let count = packets(2000);
    let rounds = 2;
    for builtin in BUILTINS {
        for _ in 0..rounds {
            let term = programs::applied(&mut random, builtin, 1, programs::Allowed { metadata: true });
            let text = match builtin.kind {
                BuiltinKind::Function => term,
                BuiltinKind::Predicate => format!("conditional ({term}) (steer_to 1) (steer_to 2)"),
                BuiltinKind::Property => {
                    format!("conditional ({term} < 64) (steer_to 1) (filter ({term} >= 0) >-> steer_to 2)")
                }
                other => unreachable!("no program for {other:?}"),
            };
            let settings = settings(&mut random);
            // In parts, to bound memory.
            for part in 0..count.div_ceil(rounds).div_ceil(100_000) {
                let frames = frames(&mut random, (count.div_ceil(rounds) - part * 100_000).min(100_000));
                agrees(&text, &settings, &frames);
            }
        }
    }
}

#[test]
fn random_programs_say_the_same_in_the_kernel() {
    if maps().is_none() {
        return;
    }
    let mut random = Random(12);
    for _ in 0..packets(2000).div_ceil(20).min(5000) {
        let text = programs::program(&mut random, programs::Allowed { metadata: true });
        let settings = settings(&mut random);
        let frames = frames(&mut random, 20);
        agrees(&text, &settings, &frames);
    }
}

/// The filter of a shared group's members accepts what the evaluator does not drop, and counts what it drops; that of the
/// second copy counts nothing.
#[test]
fn what_a_shared_group_drops_is_counted_once() {
    let Some(maps) = maps() else { return };
    let mapped = MmapArray::new(maps.dropped.as_fd(), DROPPED_BYTES).expect("the map's memory");
    let counted = || dropped(mapped.words().iter().map(|word| word.load(Ordering::Acquire)));
    let mut random = Random(13);
    for text in ["steer_flow", "double_steer_ip", "tcp", "udp >-> double_steer_ip", "drop", "steer_to 1"] {
        let compiled = Compiled::new(&Program::parse(text).unwrap(), &settings(&mut random)).unwrap();
        let load = |copy, members| {
            maps.load(Hook::Socket, &compiled.code(Hook::Socket, Output::Kept { copy, members }).unwrap()).unwrap()
        };
        let first = [load(Copy::First, None), load(Copy::First, Some(3))];
        let second = [load(Copy::Second, None), load(Copy::Second, Some(3))];
        let (mut state, mut nowhere) = (State::default(), 0);
        for frame in frames(&mut random, 400).into_iter().filter(|frame| frame.len() >= SHORT_BYTES) {
            let verdict = compiled.evaluate(&Packet::new(LinkType::ETHERNET, &frame), &mut state);
            let is_dropped = verdict.target == Target::Drop;
            nowhere += u64::from(is_dropped);
            for kept in &first {
                let before = counted();
                assert_eq!(kept.run(&frame).unwrap() == 0, is_dropped, "{text}: {frame:x?}");
                assert_eq!(counted() - before, u64::from(is_dropped), "{text}: {frame:x?}");
            }
            for kept in &second {
                let before = counted();
                let took = kept.run(&frame).unwrap() != 0;
                assert!(!took || matches!(verdict.target, Target::Both(..)), "{text}: {frame:x?}");
                assert_eq!(counted(), before, "{text}: {frame:x?}");
            }
        }
        assert_eq!(nowhere > 0, compiled.may_drop(), "{text}");
    }
}

/// An ordinary frame: IPv4 and UDP.
fn udp() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0];
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39, 0, 53, 0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// The verifier accepts every ending of a program, also of the longest header walk.
#[test]
fn every_output_is_taken_by_the_verifier() {
    let Some(maps) = maps() else { return };
    let jump = |slot| Ending::Jump { slot, otherwise: 1 };
    for text in
        ["steer_flow", "double_steer_ip", "steer_to 1", "sample 2 >-> steer_key [key_5tuple, key_eth_src, key_ip_ecn]"]
    {
        let compiled = Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap();
        for (hook, output) in [
            (Hook::Socket, Output::Fanout { workers: 4, dropped: 4, copy: Copy::First }),
            (Hook::Socket, Output::Fanout { workers: 4, dropped: 4, copy: Copy::Second }),
            (Hook::Socket, Output::Filter { workers: 4, worker: 2 }),
            (Hook::Socket, Output::Group { copy: Copy::First }),
            (Hook::Socket, Output::Group { copy: Copy::Second }),
            (Hook::Socket, Output::Kept { copy: Copy::First, members: None }),
            (Hook::Socket, Output::Kept { copy: Copy::Second, members: Some(4) }),
            (Hook::Socket, Output::Kept { copy: Copy::Second, members: None }),
            (Hook::Socket, Output::Worker { workers: 4, dropped: 4 }),
            (
                Hook::Xdp,
                Output::Redirect { workers: 4, dropped: Ending::Return(1), absent: Ending::Return(2), stamp: false },
            ),
            (Hook::Xdp, Output::Redirect { workers: 4, dropped: jump(4), absent: jump(5), stamp: true }),
            (Hook::Xdp, Output::Worker { workers: 4, dropped: 4 }),
        ] {
            let code = compiled.code(hook, output).unwrap();
            let loaded = maps.load(hook, &code).unwrap_or_else(|error| panic!("{text} {hook:?} {output:?}: {error}"));
            let length = code.instructions(|_| 0).len();
            let took_ns = loaded.time(&udp(), 20_000).expect("a run");
            println!("{text} {hook:?} {output:?}: {length} instructions, {} verified, {took_ns} ns", loaded.verified);
        }
    }
}
