//! Groups: every mode, and what our own steering promises.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
};

use tidewire_live::{ClassicInstruction, Fanout, FanoutMode, LiveSettings};
use tidewire_steer::{Compiled, Packet, Program, Settings, State};
use tidewire_testing::{Ends as _, Lines};
use tidewire_wire::LinkType;

use super::craft::{conversations, fragments, frame, whole};
use super::rig::{Delivered, FAR, NEAR, Rig, bytes, cable, inside, settings, wire};

const WORKERS: usize = 3;

fn group(mode: FanoutMode) -> Fanout {
    Fanout::new(mode)
}

fn with(mode: FanoutMode) -> LiveSettings {
    settings(WORKERS).with_fanout(group(mode))
}

fn steered(text: &str, workers: usize) -> LiveSettings {
    let steering = Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap();
    settings(workers).with_steering(steering)
}

fn send(frames: &[Vec<u8>]) {
    let wire = wire();
    for frame in frames {
        wire.send(frame).unwrap();
    }
}

/// How many each worker got, after a check that every frame arrived once.
fn shares(mut rig: Rig, sent: &[Vec<u8>]) -> Vec<Vec<Delivered>> {
    send(sent);
    let got = rig.collect(sent.len());
    let mut all: Vec<_> = got.iter().flat_map(|mine| bytes(mine)).collect();
    let mut sent: Vec<_> = sent.iter().map(Vec::as_slice).collect();
    all.sort_unstable();
    sent.sort_unstable();
    assert!(all == sent, "{} arrived of {}", all.len(), sent.len());
    assert_eq!(rig.counts(), (sent.len() as u64, 0));
    for mine in &got {
        assert!(mine.is_sorted_by_key(|one| one.frame.timestamp.as_nanos()), "in the order of arrival");
    }
    got
}

fn counts(got: &[Vec<Delivered>]) -> Vec<usize> {
    got.iter().map(Vec::len).collect()
}

fn play() -> Vec<Vec<u8>> {
    conversations(60, 10).into_iter().map(|one| one.1).collect()
}

#[test]
fn every_mode_delivers_every_frame_once() {
    inside(|| {
        cable();
        let sent = play();
        for (name, mode) in FanoutMode::ALL {
            let got = match mode {
                FanoutMode::Ebpf | FanoutMode::Cbpf => continue,
                _ => counts(&shares(Rig::open(&with(*mode)).unwrap(), &sent)),
            };
            println!("{name}: {got:?}");
            match mode {
                FanoutMode::RoundRobin => {
                    assert!(got.iter().max().unwrap() - got.iter().min().unwrap() <= 1, "{name}: {got:?}");
                }
                FanoutMode::Hash | FanoutMode::Random => assert!(got.iter().all(|n| *n > 0), "{name}: {got:?}"),
                FanoutMode::Rollover => assert_eq!(got.iter().filter(|n| **n > 0).count(), 1, "{name}: {got:?}"),
                _ => {}
            }
        }
    });
}

#[test]
fn a_classic_program_chooses() {
    inside(|| {
        cable();
        // The last byte of the destination, modulo members. Without SKF_LL_OFF a fan-out program counts from the network
        // header.
        let load = ClassicInstruction { code: 0x30, jump_true: 0, jump_false: 0, k: 0xffe0_0005 };
        let result = ClassicInstruction { code: 0x16, jump_true: 0, jump_false: 0, k: 0 };
        let sent: Vec<_> = (0..300)
            .map(|salt| {
                let mut frame = frame(80, 0x88b5, salt);
                frame[5] = (salt % 10) as u8;
                frame
            })
            .collect();
        let settings = with(FanoutMode::Cbpf).with_fanout_program(vec![load, result]);
        let got = shares(Rig::open(&settings).unwrap(), &sent);
        for (worker, mine) in got.iter().enumerate() {
            assert!(mine.iter().all(|one| one.bytes[5] as usize % WORKERS == worker));
        }
    });
}

#[test]
fn without_a_word_both_directions_and_all_fragments_of_a_flow_go_to_one_worker() {
    inside(|| {
        cable();
        let flows = conversations(60, 10);
        let mut sent: Vec<_> = flows.iter().map(|one| one.1.clone()).collect();
        // Neither IP nor anything else that has a flow: the first worker's.
        sent.extend((0..10).map(|salt| frame(64, 0x88b5, 1000 + salt)));
        let mut rig = Rig::open(&settings(WORKERS)).unwrap();
        assert!(rig.groups[0].is_some());
        assert_eq!(rig.steered_out.remove(0).frames().unwrap(), 0);
        let got = shares(rig, &sent);
        println!("{:?}", counts(&got));
        assert!(got.iter().all(|mine| mine.len() > sent.len() / 10), "{:?}", counts(&got));
        assert!(got[1..].iter().flatten().all(|one| one.bytes[12..14] != [0x88, 0xb5]));
        let mut homes = BTreeMap::new();
        for (worker, mine) in got.iter().enumerate() {
            for one in mine.iter().filter(|one| one.bytes[12..14] != [0x88, 0xb5]) {
                let flow = flows.iter().find(|flow| flow.1 == one.bytes).unwrap().0;
                assert_eq!(*homes.entry(flow).or_insert(worker), worker, "flow {flow}");
            }
        }
        assert_eq!(homes.len(), 60);
    });
}

#[test]
fn defragmentation_delivers_datagrams() {
    inside(|| {
        cable();
        let fanout = group(FanoutMode::Hash).with_defrag(true);
        let mut rig = Rig::open(&settings(WORKERS).with_fanout(fanout)).unwrap();
        let (mut sent, mut wanted) = (Vec::new(), Vec::new());
        for number in 0..30 {
            let mut pieces = fragments(number, false, 2000, number, 512);
            if number % 2 == 0 {
                pieces.reverse();
            }
            sent.extend(pieces);
            wanted.push(whole(number, false, 2000, number));
        }
        send(&sent);
        let mut got: Vec<_> = rig.collect(wanted.len()).concat().into_iter().map(|one| one.bytes).collect();
        // The kernel writes a checksum of its own into the header, which is the same here.
        got.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(got.iter().map(Vec::len).collect::<Vec<_>>(), wanted.iter().map(Vec::len).collect::<Vec<_>>());
        assert!(got == wanted);
    });
}

#[test]
fn rolling_over_uses_the_next_ring_when_one_is_full() {
    inside(|| {
        cable();
        let fanout = group(FanoutMode::Hash).with_rollover(true);
        // However long sending takes, no block is handed over before it is full.
        let retire = std::time::Duration::from_secs(2);
        let small = settings(WORKERS).with_ring_bytes(1 << 20).with_block_timeout(retire);
        let sent: Vec<_> = (0..1500).map(|number| whole(7, false, 1400, number)).collect();
        let mut alone = Rig::open(&small.clone().with_fanout(group(FanoutMode::Hash))).unwrap();
        let mut together = Rig::open(&small.with_fanout(fanout)).unwrap();
        send(&sent);
        // One flow, one worker: without rolling over what does not fit is lost, and counted.
        let (received, dropped) = alone.counts();
        assert!(dropped > 0 && received + dropped == 1500, "{received} {dropped}");
        assert_eq!(together.counts(), (1500, 0));
        assert_eq!(alone.collect(received as usize).concat().len() as u64, received);
        assert_eq!(together.collect(1500).concat().len(), 1500);
    });
}

/// Frames that each worker must get, in order, by the evaluator.
fn expected(compiled: &Compiled, frames: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let mut state = State::default();
    let mut workers = vec![Vec::new(); WORKERS];
    for frame in frames {
        let verdict = compiled.evaluate(&Packet::new(LinkType::ETHERNET, frame), &mut state);
        for worker in verdict.workers(WORKERS as u32) {
            workers[worker as usize].push(frame.clone());
        }
    }
    workers
}

#[test]
fn steering_programs_choose_as_their_evaluator_does_and_what_they_drop_is_counted() {
    inside(|| {
        cable();
        let mut sent = play();
        sent.extend((0..40).map(|salt| frame(64, 0x88b5, salt)));
        for text in [
            "steer_flow",
            "steer_rrobin",
            "when (has_src_port 9) (steer_to 2) >-> unless (has_src_port 9) steer_p2p",
            "double_steer_ip",
            "steer_local_net 10.0.0.0 8 32",
        ] {
            let settings = steered(text, WORKERS);
            let wanted = expected(settings.steering().unwrap(), &sent);
            let mut rig = Rig::open(&settings).unwrap();
            send(&sent);
            let all: usize = wanted.iter().map(Vec::len).sum();
            let got = rig.collect(all);
            for (worker, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                // Two rings of one interface may hand over frames of the same nanosecond in either order.
                let (mut got, mut wanted) = (bytes(got), wanted.clone());
                got.sort_unstable();
                wanted.sort_unstable();
                assert!(got == wanted, "{text}, worker {worker}: {} of {}", got.len(), wanted.len());
            }
            assert_eq!(rig.counts(), (all as u64, 0), "{text}");
            let nowhere = sent.len() - wanted.iter().flatten().collect::<std::collections::BTreeSet<_>>().len();
            assert_eq!(rig.steered_out.remove(0).frames().unwrap(), nowhere as u64, "{text}");
        }
    });
}

#[test]
fn every_interface_has_a_group_of_its_own() {
    inside(|| {
        cable();
        let fanout = group(FanoutMode::Hash).with_group(Some(300));
        let both = settings(2).with_interfaces([FAR, NEAR]).with_fanout(fanout);
        let mut rig = Rig::open(&both).unwrap();
        assert_eq!(rig.groups, [Some(300), Some(301)]);
        let sent = play();
        send(&sent);
        // Each frame leaves by one of them and arrives at the other.
        let got = rig.collect(2 * sent.len());
        for interface in 0..2 {
            let count = got.iter().flatten().filter(|one| one.frame.interface == interface).count();
            assert_eq!(count, sent.len());
        }
        assert_eq!(rig.counts(), (2 * sent.len() as u64, 0));
    });
}

/// Run by the next test in another process: a member of the group that it names.
#[test]
#[ignore = "a part of another test"]
fn other_process() {
    let Ok(number) = std::env::var("TIDEWIRE_TEST_GROUP") else { return };
    let fanout = group(FanoutMode::RoundRobin).with_group(Some(number.parse().unwrap()));
    let mut rig = Rig::open(&settings(1).with_fanout(fanout)).unwrap();
    println!("joined");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("got {}", rig.collect(0).concat().len());
}

#[test]
fn another_process_shares_a_group_s_frames() {
    inside(|| {
        cable();
        let fanout = group(FanoutMode::RoundRobin).with_group(Some(77));
        let mut rig = Rig::open(&settings(1).with_fanout(fanout)).unwrap();
        assert_eq!(rig.groups, [Some(77)]);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "fanout::other_process", "--ignored", "--nocapture"])
            .env("TIDEWIRE_TEST_GROUP", "77")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Lines::new(child.stdout.take().unwrap());
        lines.until("joined");
        send(&(0..200).map(|salt| frame(90, 0x88b5, salt)).collect::<Vec<_>>());
        let mine = rig.collect(100).concat().len();
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let theirs = lines.until("got ").split("got ").nth(1).and_then(|count| count.parse::<usize>().ok());
        assert!(child.wait_in_time("the process").success());
        assert_eq!((mine, theirs), (100, Some(100)));
    });
}
