//! The evaluator and the compiled programs agree, packet by packet.

use crate::common::machine::{Machine, TIME};
use crate::common::packets::{Made, frame};
use crate::common::programs::{Allowed, applied, program};
use crate::common::{Random, packets};
use tidewire_steer::bpf::{Copy, Ending, Hook, Output};
use tidewire_steer::language::{BUILTINS, BuiltinKind};
use tidewire_steer::{Compiled, Fragments, Packet, Program, Settings, State, Target, Unsteered, Verdict};
use tidewire_wire::LinkType;

const WORKERS: u32 = 4;
const DROPPED: u32 = 77;

fn made(random: &mut Random) -> Made {
    let known = |random: &mut Random| random.once_in(2).then(|| random.below(5) as u32);
    Made { frame: frame(random), rss_hash: known(random), rx_queue: known(random) }
}

fn packet(made: &Made) -> Packet<'_> {
    let mut packet = Packet::new(LinkType::ETHERNET, &made.frame);
    (packet.rss_hash, packet.rx_queue) = (made.rss_hash, made.rx_queue);
    packet
}

fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::default();
    settings.wire.tunnel_depth = random.below(5) as u8;
    settings.fragments = random.pick(&[Fragments::Addresses, Fragments::FollowFirst]);
    settings.unsteered = random.pick(&[Unsteered::Flow, Unsteered::First]);
    settings.seed = random.pick(&[0, 1, 0xdead_beef_dead_beef]);
    settings
}

/// Every hook's program says what the evaluator says of `count` packets, and counts the same.
fn agrees(text: &str, settings: &Settings, random: &mut Random, count: usize) {
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(Program::parse(&program.to_string()), Ok(program.clone()), "{text} is printed as {program}");
    let compiled = Compiled::new(&program, settings).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut machines = [Hook::Socket, Hook::Xdp].map(|hook| {
        let code = compiled.code(hook, Output::Digest).unwrap_or_else(|error| panic!("{text}: {error}"));
        Machine::new(hook, &code)
    });
    // XDP knows no hash of the card, and always a queue.
    let mut states = [State::default(), State::default()];
    for number in 0..count {
        let mut made = made(random);
        let [socket, xdp] = &mut machines;
        socket.linear_bytes = if random.once_in(4) { 14 + random.below(40) as usize } else { usize::MAX };
        let expected = compiled.evaluate(&packet(&made), &mut states[0]);
        assert_eq!(
            socket.run(&made),
            expected.digest(),
            "{text} {settings:?}, packet {number}: {made:x?} {expected:?}"
        );
        made.rss_hash = None;
        made.rx_queue = Some(made.rx_queue.unwrap_or(0));
        let expected = compiled.evaluate(&packet(&made), &mut states[1]);
        assert_eq!(xdp.run(&made), expected.digest(), "{text} {settings:?}, packet {number}: {made:x?} {expected:?}");
    }
    for (machine, state) in machines.iter().zip(&states) {
        assert_eq!(State::from_map(&machine.state).map(|s| s.cells().to_vec()), Some(state.cells().to_vec()), "{text}");
    }
}

#[test]
fn every_function_by_itself() {
    let mut random = Random(1);
    let allowed = Allowed { metadata: true };
    let count = packets(3000);
    for builtin in BUILTINS {
        // A different argument, and other settings, every few packets.
        let rounds = 10;
        for _ in 0..rounds {
            let settings = settings(&mut random);
            let term = applied(&mut random, builtin, 1, allowed);
            let text = match builtin.kind {
                BuiltinKind::Function => term,
                BuiltinKind::Predicate => format!("conditional ({term}) (steer_to 1) (steer_to 2)"),
                BuiltinKind::Property => {
                    format!("conditional ({term} < 64) (steer_to 1) (filter ({term} >= 0) >-> steer_to 2)")
                }
                other => unreachable!("no program for {other:?}"),
            };
            agrees(&text, &settings, &mut random, count.div_ceil(rounds));
        }
    }
}

#[test]
fn random_programs() {
    let mut random = Random(2);
    for _ in 0..packets(3000).div_ceil(10) {
        let settings = settings(&mut random);
        let text = program(&mut random, Allowed { metadata: true });
        agrees(&text, &settings, &mut random, 20);
    }
}

/// The actions of a fan-out group, a filter and a redirect for verdicts.
#[test]
fn outputs_are_the_verdict_s_workers() {
    let (mut random, mut all) = (Random(3), 0);
    for text in
        ["steer_flow", "double_steer_ip", "double_steer_mac", "tcp", "par (tcp >-> steer_to 3) drop", "steer_rrobin"]
    {
        let compiled = Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap();
        let code = |hook, output| Machine::new(hook, &compiled.code(hook, output).unwrap());
        let fanout = |copy| Output::Fanout { workers: WORKERS, dropped: DROPPED, copy };
        let mut first = code(Hook::Socket, fanout(Copy::First));
        let mut second = code(Hook::Socket, fanout(Copy::Second));
        let mut filters: Vec<_> =
            (0..WORKERS).map(|worker| code(Hook::Socket, Output::Filter { workers: WORKERS, worker })).collect();
        let mut shared = [Copy::First, Copy::Second].map(|copy| {
            [
                Output::Group { copy },
                Output::Kept { copy, members: Some(WORKERS) },
                Output::Kept { copy, members: None },
            ]
            .map(|output| code(Hook::Socket, output))
        });
        let mut redirect = code(
            Hook::Xdp,
            Output::Redirect { workers: WORKERS, dropped: Ending::Return(1), absent: Ending::Return(2), stamp: false },
        );
        let jump = |slot| Ending::Jump { slot, otherwise: 2 };
        let counted =
            || code(Hook::Xdp, Output::Redirect { workers: WORKERS, dropped: jump(4), absent: jump(5), stamp: true });
        // Each counts for itself.
        let mut counting = [(true, counted()), (false, counted())];
        let (mut state, mut nowhere) = (State::default(), 0);
        for _ in 0..packets(3000) {
            let made = made(&mut random);
            let verdict: Verdict = compiled.evaluate(&packet(&made), &mut state);
            assert_eq!(first.run(&made), verdict.first(WORKERS).unwrap_or(DROPPED));
            assert_eq!(second.run(&made), verdict.second(WORKERS).unwrap_or(DROPPED));
            for (worker, filter) in (0..).zip(&mut filters) {
                filter.data_at = 0;
                filter.linear_bytes = if random.once_in(4) { 20 } else { usize::MAX };
                let takes = verdict.workers(WORKERS).any(|w| w == worker);
                assert_eq!(filter.run(&made), if takes { u32::MAX } else { 0 }, "{text}");
            }
            // A group of any size agrees with one of this size, where its members' filters take what comes.
            let copies = [(Copy::First, verdict.first(WORKERS)), (Copy::Second, verdict.second(WORKERS))];
            for ((copy, worker), programs) in copies.into_iter().zip(&mut shared) {
                let [group, kept, open] = programs;
                let processor = random.below(300) as u32;
                [&mut *kept, &mut *open]
                    .into_iter()
                    .for_each(|filter| (filter.data_at, filter.processor) = (0, processor));
                let (number, takes, may_take) = (group.run(&made), kept.run(&made), open.run(&made));
                assert!(takes == 0 || (may_take == u32::MAX && takes == u32::MAX), "{text}, {copy:?}");
                if let Some(worker) = worker {
                    assert_eq!((number % WORKERS, takes), (worker, u32::MAX), "{text}, {copy:?}");
                } else if copy == Copy::Second {
                    assert_eq!(takes, 0, "{text}");
                } else if verdict.first(u32::MAX).is_none() {
                    assert_eq!((number, takes), (0, 0), "{text}");
                }
            }
            nowhere += u64::from(verdict.target == Target::Drop);
            redirect.redirected = None;
            let action = redirect.run(&made);
            let queue = u64::from(made.rx_queue.unwrap_or(0));
            let expected = verdict.first(WORKERS).map(|w| (queue * u64::from(WORKERS) + u64::from(w), 2));
            assert_eq!((action, redirect.redirected), (if expected.is_some() { 4 } else { 1 }, expected));
            for (has_socket, counted) in &mut counting {
                (counted.redirected, counted.jumped, counted.has_socket) = (None, None, *has_socket);
                (counted.stamp, counted.has_metadata) = (None, random.once_in(2));
                let action = counted.run(&made);
                let (returns, jumps) = match (expected, has_socket) {
                    (None, _) => (2, Some(4)),
                    (Some(_), true) => (4, None),
                    (Some(_), false) => (2, Some(5)),
                };
                assert_eq!((action, counted.jumped, counted.redirected), (returns, jumps, expected), "{text}");
                assert_eq!(counted.stamp, (expected.is_some() && counted.has_metadata).then_some(TIME), "{text}");
            }
        }
        let [of_first, of_second] = shared.map(|[_, kept, open]| [kept.dropped(), open.dropped()]);
        assert_eq!((of_first, of_second), ([nowhere; 2], [0; 2]), "{text}");
        all += nowhere;
    }
    assert!(all > 0, "nothing was dropped");
}

/// Packet sockets see frames without their outermost tag. Nothing changes by that.
#[test]
fn a_tag_that_the_kernel_took_out_counts_as_if_it_were_there() {
    let mut random = Random(4);
    let mut seen = 0;
    for _ in 0..packets(3000) / 10 {
        let settings = settings(&mut random);
        let text = program(&mut random, Allowed { metadata: false });
        let compiled = Compiled::new(&Program::parse(&text).unwrap(), &settings).unwrap();
        let mut machine = Machine::new(Hook::Socket, &compiled.code(Hook::Socket, Output::Digest).unwrap());
        let [mut with, mut without] = [State::default(), State::default()];
        for _ in 0..20 {
            let mut made = made(&mut random);
            if made.frame.len() < 18
                || ![0x8100, 0x88a8].contains(&u16::from_be_bytes([made.frame[12], made.frame[13]]))
            {
                continue;
            }
            seen += 1;
            let expected = compiled.evaluate(&packet(&made), &mut with);
            let tag = u16::from_be_bytes([made.frame[14], made.frame[15]]);
            made.frame.drain(12..16);
            let mut removed = packet(&made);
            removed.vlan_tag = Some(tag);
            assert_eq!(compiled.evaluate(&removed, &mut without), expected, "{text}: {made:x?}");
            machine.vlan_tag = Some(tag);
            assert_eq!(machine.run(&made), expected.digest(), "{text}: {made:x?}");
        }
    }
    assert!(seen > 100, "{seen} tagged frames");
}
