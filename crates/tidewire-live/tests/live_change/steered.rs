//! Frames dropped by a steering program that several members share: each is counted by one of them.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use tidewire_live::{FanoutMode, LiveEngine, Membership, Sharing, sys::net::PacketSocket};
use tidewire_steer::{Compiled, Program, Settings};

use super::{
    groups::{fanout, members, play, sorted, steered, steering},
    rig::{FAR, NEAR, PATIENCE, Rig, compiled, frame, inside, ip, settings, udp},
};

/// By member.
fn counted(rigs: &[Rig]) -> Vec<u64> {
    rigs.iter().map(|rig| rig.live.monitor.steered_out().unwrap()).collect()
}

fn sum(rigs: &[Rig]) -> u64 {
    counted(rigs).iter().sum()
}

fn taken(rigs: &mut [Rig]) -> Vec<Vec<u8>> {
    rigs.iter_mut().flat_map(|rig| rig.take(0)).collect()
}

/// Counts of the kernel for their rings: received, dropped.
fn rings(rigs: &mut [Rig]) -> (u64, u64) {
    let counts = rigs.iter_mut().map(|rig| rig.live.workers[0].counts().unwrap());
    counts.fold((0, 0), |(received, dropped), one| (received + one.received, dropped + one.dropped))
}

#[test]
fn each_frame_is_received_by_a_member_or_counted_as_dropped_by_the_program() {
    inside(|| {
        let (flows, rest) = play();
        let all = [flows.clone(), rest.clone()].concat();
        // Programs, what of it they drop, and whether they make copies.
        for (text, dropped, doubles) in [
            ("steer_flow", &rest, false),
            ("inv udp", &flows, false),
            ("drop", &all, false),
            ("unit", &Vec::new(), false),
            ("double_steer_ip", &rest, true),
            ("udp >-> double_steer_ip", &rest, true),
        ] {
            for count in 1..=3_u32 {
                let sharing = Some(Sharing::default().with_members(doubles.then_some(count)));
                let mut rigs = members(count as usize, &steered(30, text).with_sharing(sharing));
                assert_eq!(sum(&rigs), 0, "{text}");
                rigs[0].send(&all);
                let got = taken(&mut rigs);
                let frames: BTreeSet<_> = got.iter().cloned().collect();
                assert_eq!(sum(&rigs), dropped.len() as u64, "{text}, {count} members: {:?}", counted(&rigs));
                assert_eq!(frames.len() + dropped.len(), all.len(), "{text}, {count} members");
                assert!(doubles || got.len() == frames.len(), "{text}: a frame came twice");
                assert!(dropped.iter().all(|one| !frames.contains(one)), "{text}");
                // Once a frame was counted it stays so.
                assert_eq!(sum(&rigs), dropped.len() as u64, "{text}");
                let reported = rigs.iter_mut().map(|rig| rig.live.monitor.report().unwrap()[0].steered_out);
                assert_eq!(reported.sum::<u64>(), dropped.len() as u64, "{text}");
            }
        }
    });
}

#[test]
fn what_a_member_leaves_out_is_not_dropped_by_the_program() {
    inside(|| {
        let (flows, rest) = play();
        let all = [flows.clone(), rest.clone()].concat();
        for count in [1, 3] {
            let mut rigs = members(count, &steered(31, "steer_flow"));
            let mut before = 0;
            for (filter, received, dropped) in [
                ("udp", flows.len(), 0),
                ("udp src port 53", flows.len() / 2, 0),
                ("ether proto 0x88b5", 0, rest.len()),
                ("not udp", 0, rest.len()),
            ] {
                let program = compiled(filter);
                rigs.iter_mut().for_each(|rig| rig.live.workers[0].set_filter(Some(&program)).unwrap());
                rigs[0].send(&all);
                assert_eq!(taken(&mut rigs).len(), received, "{filter}");
                assert_eq!(sum(&rigs) - before, dropped as u64, "{filter}");
                before = sum(&rigs);
            }
            rigs.iter_mut().for_each(|rig| rig.live.workers[0].set_filter(None).unwrap());
            rigs.iter_mut()
                .for_each(|rig| rig.live.workers[0].set_direction(tidewire_live::TrafficDirection::Out).unwrap());
            rigs[0].send(&all);
            assert_eq!((taken(&mut rigs).len(), sum(&rigs) - before), (0, 0), "incoming");
            rigs[0].back.send(&rest[0]).unwrap();
            assert_eq!((taken(&mut rigs).len(), sum(&rigs) - before), (0, 1), "outgoing");
        }
    });
}

#[test]
fn members_come_and_go_and_each_interface_counts_for_itself() {
    inside(|| {
        let (flows, rest) = play();
        let all = [flows.clone(), rest.clone()].concat();
        let sharing = Some(Sharing::default());
        let membership =
            Membership::new(fanout(32, FanoutMode::Ebpf)).with_steering(steering("steer_flow")).with_sharing(sharing);
        let mut rigs = members(3, &settings(LiveEngine::Packet));
        rigs[0].send(&rest);
        assert_eq!((taken(&mut rigs).len(), sum(&rigs)), (3 * rest.len(), 0), "in no group yet");
        rigs.iter_mut().for_each(|rig| rig.live.workers[0].join(&membership).unwrap());
        rigs[0].live.workers[0].join(&membership).unwrap_err();
        let mut expected = 0;
        while !rigs.is_empty() {
            let before = counted(&rigs);
            rigs[0].send(&all);
            assert_eq!(sorted(&taken(&mut rigs)), sorted(&flows), "{} members", rigs.len());
            expected = before.iter().sum::<u64>() + rest.len() as u64;
            assert_eq!(sum(&rigs), expected, "{} members", rigs.len());
            rigs.remove(0);
        }
        assert!(expected >= rest.len() as u64);
        // Frames that go into the one end leave the other.
        let settings = steered(33, "steer_flow").with_interfaces([FAR, NEAR]);
        let mut rigs = members(2, &settings);
        rigs[0].send(&all);
        assert_eq!(taken(&mut rigs).len(), 2 * flows.len());
        for interface in 0..2 {
            let of = |rig: &mut Rig| rig.live.monitor.report().unwrap()[interface].steered_out;
            assert_eq!(rigs.iter_mut().map(of).sum::<u64>(), rest.len() as u64);
        }
        assert_eq!(sum(&rigs), 2 * rest.len() as u64);
    });
}

/// Lets all look for what to gather until they are, or are not, in error.
fn until_troubled(rigs: &mut [Rig], troubled: bool) {
    let begun = Instant::now();
    loop {
        for rig in &mut *rigs {
            let worker = &mut rig.live.workers[0];
            worker.gather(8);
            worker.prepare_wait();
            worker.release();
        }
        if rigs.iter().all(|rig| rig.live.workers[0].is_troubled() == troubled) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "not troubled = {troubled}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn counting_goes_on_with_an_interface_that_is_made_again() {
    inside(|| {
        let (flows, rest) = play();
        let all = [flows.clone(), rest.clone()].concat();
        let mut rigs = members(2, &steered(35, "steer_flow"));
        for round in 1..=3 {
            rigs[0].send(&all);
            assert_eq!((taken(&mut rigs).len(), sum(&rigs)), (flows.len(), round * rest.len() as u64));
            ip(&format!("link del {FAR}"));
            until_troubled(&mut rigs, true);
            ip(&format!("link add {NEAR} type veth peer name {FAR}"));
            for interface in [NEAR, FAR] {
                ip(&format!("link set {interface} addrgenmode none up"));
            }
            for rig in &mut rigs {
                (rig.wire, rig.back) = (PacketSocket::open(NEAR).unwrap(), PacketSocket::open(FAR).unwrap());
            }
            until_troubled(&mut rigs, false);
        }
    });
}

#[test]
fn under_fire_of_several_processors_nothing_is_counted_twice_or_not_at_all() {
    const SENDERS: u64 = 3;
    const EACH: u64 = 20_000;
    inside(|| {
        for (text, copies) in [("steer_flow", 1..=1), ("double_steer_ip", 1..=2)] {
            let sharing = Some(Sharing::default().with_members(Some(3)));
            let retire = Duration::from_millis(20);
            let settings = steered(34, text).with_ring_bytes(64 << 20).with_block_timeout(retire).with_sharing(sharing);
            let mut rigs = members(3, &settings);
            let mut wires: Vec<_> = (0..SENDERS).map(|_| PacketSocket::open(NEAR).unwrap()).collect();
            thread::scope(|scope| {
                for wire in &mut wires {
                    scope.spawn(move || {
                        for number in 0..EACH {
                            let [a, b, ..] = number.to_le_bytes();
                            let steered = udp(a, b, (1000, 53), number as u16);
                            let one = if number % 3 == 0 { frame(0x88b5, number as u16) } else { steered };
                            while wire.send(&one).is_err() {}
                        }
                    });
                }
            });
            let dropped_by_program = SENDERS * EACH.div_ceil(3);
            let steered = SENDERS * EACH - dropped_by_program;
            let begun = Instant::now();
            while sum(&rigs) < dropped_by_program && begun.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(sum(&rigs), dropped_by_program, "{text}");
            let (received, dropped) = rings(&mut rigs);
            let came = received + dropped;
            assert!(copies.contains(&came.div_ceil(steered)) && came >= steered, "{text}: {came} of {steered}");
            println!("{text}: {steered} steered, {came} came, {dropped_by_program} dropped by the program");
        }
    });
}

/// Programs at every limit of the language, made to exhaust the compiler, the kernel's verifier or the workers: each runs as
/// it says, or is refused with a reason, soon; and who captures beside it loses nothing.
#[test]
fn hostile_programs_run_or_are_refused() {
    let repeated = |step: &str, count: usize| vec![step; count].join(" >-> ");
    let numbered = |step: fn(usize) -> String, count: usize| (0..count).map(step).collect::<Vec<_>>().join(" >-> ");
    let nested = |open: &str, depth: usize, inner: &str| open.repeat(depth) + inner + &")".repeat(depth);
    let mut programs = vec![
        // As many paths as there are subsets of conditions: none may be followed twice.
        numbered(|at| format!("when (any_bit ip_id {}) (inc {at})", 1 << (at % 16)), 16),
        numbered(|at| format!("conditional (any_bit ip_id {}) (mark {at}) (put_state {at})", 1 << (at % 16)), 32),
        numbered(|at| format!("when (has_state {at}) (put_state {})", at + 1), 100) + " >-> steer_flow",
        numbered(|at| format!("par (port {at}) (steer_to {})", at % 4), 100),
        // Nothing but drops, and drops of drops.
        nested("inv (", 60, "udp"),
        nested("par drop (", 60, "steer_flow"),
        "drop >-> double_steer_ip >-> inv drop".to_owned(),
        // Loads at the end of what there can be, and of every length.
        numbered(|at| format!("par (steer_field {} {}) unit", 1900 + 8 * at, 1 + at % 8), 30),
        "steer_field 1992 8".to_owned(),
        "steer_field 65535 8".to_owned(),
        "steer_field_symmetric 0 1999 1".to_owned(),
        "filter (ip_tot_len >= 0xffffffff) >-> steer_to 0".to_owned(),
        "steer_to 4294967295".to_owned(),
        // Longer than anything may be.
        "steer_flow >-> ".repeat(100_000) + "steer_flow",
        nested("inv (", 100_000, "udp"),
        format!("vlan_id_filter [{}]", vec!["7"; 50_000].join(",")),
    ];
    // Each length up to the compiler's limit and beyond it: where the kernel's own limit comes first, it must be said as well.
    for count in [100, 900, 5_000] {
        programs.push(repeated("when (has_port 53) (mark 1)", count) + " >-> steer_flow");
        programs.push(repeated("inc 63", count) + " >-> steer_flow");
        programs.push(repeated("steer_flow", count));
    }
    inside(move || {
        let (flows, rest) = play();
        let all = [flows, rest].concat();
        let mut beside = Rig::open(&settings(LiveEngine::Packet)).unwrap();
        let (mut ran, mut refused) = (0, 0);
        for text in programs {
            let short: String = text.chars().take(60).collect();
            let begun = Instant::now();
            let opened = Program::parse(&text)
                .and_then(|program| Compiled::new(&program, &Settings::default()))
                .map_err(|error| error.to_string())
                .and_then(|steering| {
                    let sharing = Some(Sharing::default().with_members(None));
                    let wanted = steered(40, "steer_flow").with_sharing(sharing).with_steering(steering);
                    (0..2).map(|_| Rig::open(&wanted)).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
                });
            let took = begun.elapsed();
            assert!(took < PATIENCE, "{short}: {took:?}");
            match opened {
                Ok(mut rigs) => {
                    ran += 1;
                    rigs[0].send(&all);
                    let got = taken(&mut rigs);
                    assert_eq!(got.len() as u64 + sum(&rigs), all.len() as u64, "{short}: each frame has one place");
                }
                Err(message) => {
                    refused += 1;
                    assert!(message.len() > 20 && message.len() < 2_000, "{short}: {} bytes: {message}", message.len());
                    println!("refused in {took:?}: {short}: {}", message.lines().next().unwrap_or_default());
                    beside.send(&all);
                }
            }
            assert_eq!(beside.take(all.len()).len(), all.len(), "{short}: who captures beside it loses frames");
        }
        assert!(ran > 6 && refused > 6, "{ran} ran, {refused} were refused");
    });
}
