//! Groups whose members know nothing of each other but a number: here, each is opened by itself.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use tidewire_live::{
    Fanout, FanoutMode, LiveEngine, LiveSettings, Membership, Sharing, TrafficDirection, sys::net::PacketSocket,
};
use tidewire_steer::{Compiled, Program, Settings};
use tidewire_testing::wait_until;

use super::rig::{FAR, NEAR, Rig, compiled, frame, inside, settings, step, udp};

/// Blocks are handed over when they are full: none is read meanwhile.
const LONG: Duration = Duration::from_secs(30);

pub fn fanout(group: u16, mode: FanoutMode) -> Fanout {
    Fanout::new(mode).with_group(group)
}

fn member(group: u16, mode: FanoutMode) -> LiveSettings {
    let sharing = Some(Sharing::default());
    settings(LiveEngine::Packet).with_fanout(fanout(group, mode)).with_sharing(sharing)
}

pub fn steering(text: &str) -> Option<Compiled> {
    Some(Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap())
}

pub fn steered(group: u16, text: &str) -> LiveSettings {
    member(group, FanoutMode::Ebpf).with_steering(steering(text))
}

pub fn members(count: usize, settings: &LiveSettings) -> Vec<Rig> {
    (0..count).map(|_| Rig::open(settings).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Both directions of many flows, and frames without one.
pub fn play() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut flows = Vec::new();
    for round in 0..4 {
        for flow in 0..60_u8 {
            let (a, b, ports) = (flow, 100 + flow, (1000 + u16::from(flow), 53));
            let number = u16::from(flow) * 4 + round;
            flows.push(if round % 2 == 0 { udp(a, b, ports, number) } else { udp(b, a, (ports.1, ports.0), number) });
        }
    }
    (flows, (0..40).map(|number| frame(0x88b5, number)).collect())
}

/// The flow of a datagram of [`play`].
fn flow(frame: &[u8]) -> u8 {
    frame[29].min(frame[33])
}

fn got(rigs: &mut [Rig], wanted: usize) -> Vec<Vec<Vec<u8>>> {
    let first = rigs[0].take(0);
    let mut all: Vec<_> = rigs.iter_mut().map(|rig| rig.take(0)).collect();
    all[0].splice(0..0, first);
    assert_eq!(all.iter().map(Vec::len).sum::<usize>(), wanted, "{:?}", all.iter().map(Vec::len).collect::<Vec<_>>());
    all
}

pub fn sorted(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut frames = frames.to_vec();
    frames.sort();
    frames
}

#[test]
fn a_number_is_a_group_on_each_interface() {
    inside(|| {
        let (flows, _) = play();
        let mut far = members(3, &member(7, FanoutMode::Hash));
        // The same number elsewhere is another group; and other numbers are other groups.
        let mut near = members(2, &member(7, FanoutMode::RoundRobin).with_interfaces([NEAR]));
        let mut others = members(1, &member(255, FanoutMode::Cpu));
        far[0].send(&flows);
        for rigs in [&mut far, &mut near, &mut others] {
            let got = got(rigs, flows.len());
            assert!(got.iter().all(|mine| !mine.is_empty()), "{:?}", got.iter().map(Vec::len).collect::<Vec<_>>());
            assert_eq!(sorted(&got.concat()), sorted(&flows));
        }
    });
}

#[test]
fn a_steering_program_runs_in_a_group_of_any_size_and_drops() {
    inside(|| {
        let (flows, rest) = play();
        for text in ["steer_flow", "udp >-> steer_flow", "unless (has_dst_port 7) steer_p2p >-> udp"] {
            let mut homes: BTreeMap<usize, BTreeMap<u8, usize>> = BTreeMap::new();
            for count in [1, 3] {
                let mut rigs = members(count, &steered(1, text));
                rigs[0].send(&[flows.clone(), rest.clone()].concat());
                let got = got(&mut rigs, flows.len());
                assert_eq!(sorted(&got.concat()), sorted(&flows), "{text}");
                for (member, mine) in got.iter().enumerate() {
                    assert!(!mine.is_empty(), "{text}");
                    for one in mine {
                        assert_eq!(
                            *homes.entry(count).or_default().entry(flow(one)).or_insert(member),
                            member,
                            "{text}"
                        );
                    }
                }
            }
            // A process that comes later hashes as the others do.
            let mut rigs = members(3, &steered(1, text));
            rigs[0].send(&flows);
            for (member, mine) in got(&mut rigs, flows.len()).iter().enumerate() {
                assert!(mine.iter().all(|one| homes[&3][&flow(one)] == member));
            }
        }
    });
}

#[test]
fn members_have_filters_and_directions_of_their_own_before_what_steering_drops() {
    inside(|| {
        let (flows, rest) = play();
        let mut rigs = members(2, &steered(2, "steer_flow"));
        rigs[0].live.workers[0].set_filter(Some(&compiled("udp src port 53"))).unwrap();
        rigs[1].live.workers[0].set_direction(TrafficDirection::Out).unwrap();
        rigs[0].send(&[flows.clone(), rest.clone()].concat());
        let first = rigs[0].take(1);
        assert!(first.iter().all(|one| one[34..36] == [0, 53]) && first.len() > 20, "{}", first.len());
        assert!(rigs[1].take(0).is_empty());
        rigs[0].live.workers[0].set_direction(TrafficDirection::Out).unwrap();
        rigs[0].live.workers[0].set_filter(None).unwrap();
        for one in [&flows[..], &rest].concat() {
            rigs[0].back.send(&one).unwrap();
        }
        let got = got(&mut rigs, flows.len());
        assert!(got.iter().all(|mine| mine.len() > 20));
        rigs.iter_mut().for_each(|rig| rig.live.workers[0].set_direction(TrafficDirection::In).unwrap());
        rigs[0].send(&rest);
        rigs[0].back.send(&flows[0]).unwrap();
        rigs[0].wire.send(&flows[1]).unwrap();
        assert_eq!(super::groups::got(&mut rigs, 1).concat(), [flows[1].clone()]);
    });
}

#[test]
fn a_program_that_names_two_workers_gives_each_a_copy_and_no_one_two() {
    inside(|| {
        let (flows, rest) = play();
        for (sharing, least) in [(Sharing::default().with_members(Some(3)), 1), (Sharing::default(), 2)] {
            let settings = steered(9, "double_steer_ip").with_sharing(sharing);
            let mut rigs = members(3, &settings);
            rigs[0].send(&[flows.clone(), rest.clone()].concat());
            let all: Vec<_> = rigs.iter_mut().map(|rig| rig.take(1)).collect();
            for one in &flows {
                let copies: Vec<_> = all.iter().map(|mine| mine.iter().filter(|other| *other == one).count()).collect();
                let sum: usize = copies.iter().sum();
                assert!(sum <= 2 && sum >= least, "{copies:?}");
                assert!(sharing.members().is_none() || copies.iter().all(|count| *count <= 1), "{copies:?}");
            }
            assert!(all.iter().flatten().all(|one| one[12..14] == [8, 0]));
            // All traffic of a host is at one member.
            for host in 0..60_u8 {
                let of_host = flows.iter().filter(|one| one[29] == host || one[33] == host).collect::<Vec<_>>();
                let has_all = |mine: &Vec<Vec<u8>>| of_host.iter().all(|one| mine.contains(one));
                assert!(all.iter().any(has_all), "host {host}");
            }
        }
    });
}

#[test]
fn members_come_while_frames_do_and_no_frame_comes_twice() {
    inside(|| {
        for (settings, name) in [(member(3, FanoutMode::RoundRobin), "lb"), (steered(4, "udp >-> steer_flow"), "steer")]
        {
            let mut rigs = members(1, &settings.clone().with_ring_bytes(64 << 20).with_block_timeout(LONG));
            let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
            thread::scope(|scope| {
                let sender = scope.spawn(|| {
                    let wire = PacketSocket::open(NEAR).unwrap();
                    while !stop.load(Ordering::Relaxed) {
                        let number = sent.load(Ordering::Relaxed);
                        let [a, b, ..] = number.to_le_bytes();
                        while wire.send(&udp(a, b, (1000, 53), number as u16)).is_err() {}
                        sent.store(number + 1, Ordering::Relaxed);
                        if number.is_multiple_of(32) {
                            thread::sleep(Duration::from_micros(100));
                        }
                    }
                });
                for _ in 0..10 {
                    let mut rig =
                        Rig::open(&settings.clone().with_ring_bytes(16 << 20).with_block_timeout(LONG)).unwrap();
                    wait_until(&format!("{name}: frames come to a new member"), || {
                        rig.live.workers[0].counts().unwrap().received > 0
                    });
                    rigs.push(rig);
                }
                stop.store(true, Ordering::Relaxed);
                sender.join().unwrap();
            });
            let counts: Vec<_> = rigs.iter_mut().map(|rig| rig.live.workers[0].counts().unwrap()).collect();
            let (received, dropped): (u64, u64) =
                (counts.iter().map(|one| one.received).sum(), counts.iter().map(|one| one.dropped).sum());
            let sent = sent.load(Ordering::Relaxed);
            println!(
                "{name}: {sent} sent, {received} received, {dropped} dropped, {} lost",
                sent.saturating_sub(received)
            );
            assert_eq!(dropped, 0);
            // Frames that come to a member before its filter lets frames in are lost: its share of microseconds, ten times. Loading
            // its programs, or passing one to the group, takes a thousand times as long.
            assert!(received <= sent && received + sent / 100 + 100 >= sent, "{name}: {received} of {sent}");
        }
    });
}

#[test]
fn a_group_is_joined_after_the_capture_was_opened() {
    inside(|| {
        let (flows, rest) = play();
        for (mode, text) in [(FanoutMode::Hash, ""), (FanoutMode::Ebpf, "steer_flow")] {
            let steering = if text.is_empty() { None } else { steering(text) };
            let sharing = Some(Sharing::default());
            let membership = Membership::new(fanout(12, mode)).with_steering(steering).with_sharing(sharing);
            let direction = TrafficDirection::In;
            let mut rigs = members(3, &settings(LiveEngine::Packet).with_direction(direction));
            rigs[1].live.workers[0].set_filter(Some(&compiled("udp dst port 53"))).unwrap();
            rigs.iter_mut().for_each(|rig| rig.live.workers[0].join(&membership).unwrap());
            rigs[1].live.workers[0].set_filter(None).unwrap();
            rigs[0].send(&[flows.clone(), rest.clone()].concat());
            rigs[0].back.send(&flows[0]).unwrap();
            let wanted = flows.len() + if text.is_empty() { rest.len() } else { 0 };
            let got = got(&mut rigs, wanted);
            assert!(got.iter().all(|mine| mine.len() > 20));
            let error = rigs[0].live.workers[0].join(&membership).unwrap_err().with_hint().to_string();
            assert!(error.contains("already"), "{error}");
            rigs[0].live.workers[0].set_direction(TrafficDirection::Both).unwrap();
            rigs[0].send(&flows);
            assert_eq!(super::groups::got(&mut rigs, flows.len()).concat().len(), flows.len(), "still a member");
        }
        let double = Membership::new(fanout(12, FanoutMode::Ebpf))
            .with_steering(steering("double_steer_ip"))
            .with_sharing(Sharing::default());
        let mut rig = Rig::open(&settings(LiveEngine::Packet)).unwrap();
        assert!(rig.live.workers[0].join(&double).unwrap_err().with_hint().to_string().contains("two rings"));
        let mut xdp = Rig::open(&settings(LiveEngine::Xdp)).unwrap();
        assert!(xdp.live.workers[0].join(&double).unwrap_err().with_hint().to_string().contains("packet sockets"));
    });
}

#[test]
fn classic_programs_choose_and_a_program_may_be_another_s() {
    inside(|| {
        // The last byte of the payload's number, from the frame's beginning (`SKF_LL_OFF`), modulo members.
        let program = vec![step(0x30, 0xffe0_0000 + 15), step(0x16, 0)];
        let mut rigs = members(2, &member(20, FanoutMode::Cbpf).with_fanout_program(program));
        // Two more without a program: the group has one.
        rigs.extend(members(2, &member(20, FanoutMode::Cbpf)));
        let sent: Vec<_> = (0..80).map(|number| frame(0x88b5, number)).collect();
        rigs[0].send(&sent);
        for (member, mine) in got(&mut rigs, sent.len()).iter().enumerate() {
            assert!(mine.iter().all(|one| usize::from(one[15]) % 4 == member) && mine.len() == 20);
        }
        let mut rigs = members(1, &steered(21, "steer_to 1"));
        rigs.extend(members(1, &member(21, FanoutMode::Ebpf)));
        rigs[0].send(&sent);
        assert_eq!(got(&mut rigs, sent.len())[1].len(), sent.len());
    });
}

#[test]
fn what_keeps_a_socket_from_a_group_is_said() {
    inside(|| {
        let _first = members(2, &member(5, FanoutMode::Hash));
        let refused = |settings: LiveSettings| Rig::open(&settings).err().expect("refused").with_hint().to_string();
        let error = refused(member(5, FanoutMode::Cpu));
        assert!(error.contains("another mode, hash instead of cpu, and 2 members"), "{error}");
        let flags = member(5, FanoutMode::Hash).with_fanout(fanout(5, FanoutMode::Hash).with_defrag(true));
        let error = refused(flags);
        assert!(error.contains("in this mode, hash, but with other flags"), "{error}");
        for (group, what) in [(Some(256), "from 0 to 255"), (None, "needs a number")] {
            let fanout = Some(fanout(5, FanoutMode::Hash).with_group(group));
            let error = refused(member(5, FanoutMode::Hash).with_fanout(fanout));
            assert!(error.contains(what), "{error}");
        }
        let error = refused(member(5, FanoutMode::Hash).with_fanout(None));
        assert!(error.contains("needs a fan-out mode"), "{error}");
        let error = refused(steered(6, "sample 2 >-> steer_flow"));
        assert!(error.contains("each of them would count for itself"), "{error}");
        let error = refused(member(6, FanoutMode::Hash).with_steering(steering("steer_flow")));
        assert!(error.contains("mode ebpf"), "{error}");
        let number = tidewire_live::Interface::find(FAR).unwrap().index;
        let elsewhere = fanout(5, FanoutMode::Hash).with_group(Some((number as u16 & 0xff) << 8 | 5));
        let near = member(5, FanoutMode::Hash).with_interfaces([NEAR]).with_sharing(None).with_fanout(elsewhere);
        let error = refused(near);
        assert!(error.contains(&format!("on another interface, {FAR}, with 2 members")), "{error}");
    });
}
