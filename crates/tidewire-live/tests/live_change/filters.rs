//! Filters and directions that are replaced while frames come.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use tidewire_live::{ClassicInstruction, LiveEngine, TrafficDirection, sys::net::PacketSocket};

use super::rig::{FAR, NEAR, Rig, compiled, frame, inside, ip, settings, step, tagged};

const ENGINES: [LiveEngine; 3] = [LiveEngine::Packet, LiveEngine::Xdp, LiveEngine::XdpGeneric];
/// `SKF_AD_OFF`
const KNOWN: u32 = 0xffff_f000;

fn kinds(frames: &[Vec<u8>]) -> Vec<u16> {
    let mut kinds: Vec<_> = frames.iter().map(|frame| u16::from_be_bytes([frame[12], frame[13]])).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_filter_is_replaced_and_what_was_queued_under_the_old_one_does_not_come() {
    inside(|| {
        let frames: Vec<_> = (0..90).map(|number| frame(0x88b5 + number % 3, number)).collect();
        for engine in ENGINES {
            let program = Some(compiled("ether proto 0x88b5"));
            let mut rig = Rig::open(&settings(engine).with_program(program)).unwrap();
            rig.send(&frames);
            assert_eq!(kinds(&rig.take(30)), [0x88b5], "{engine:?}");
            // Thirty wait in the ring when the filter is replaced.
            rig.send(&frames);
            thread::sleep(std::time::Duration::from_millis(30));
            rig.live.workers[0].set_filter(Some(&compiled("ether proto 0x88b6"))).unwrap();
            rig.send(&frames);
            let got = rig.take(30);
            assert_eq!((kinds(&got), got.len()), (vec![0x88b6], 30), "{engine:?}");
            assert_eq!(rig.live.workers[0].counts().unwrap().stale, 30, "{engine:?}");
            rig.live.workers[0].set_filter(None).unwrap();
            rig.send(&frames);
            assert_eq!(rig.take(90), frames, "{engine:?}");
            // Those that both take come although they were queued.
            rig.send(&frames);
            thread::sleep(std::time::Duration::from_millis(30));
            rig.live.workers[0].set_filter(Some(&compiled("ether proto 0x88b7"))).unwrap();
            let got = rig.take(30);
            assert_eq!((kinds(&got), got.len()), (vec![0x88b7], 30), "{engine:?}");
        }
    });
}

#[test]
fn filters_change_under_fire_without_a_gap() {
    inside(|| {
        for engine in ENGINES {
            let mut rig = Rig::open(&settings(engine)).unwrap();
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                let sender = scope.spawn(|| {
                    let wire = PacketSocket::open(NEAR).unwrap();
                    let mut number = 0_u16;
                    while !stop.load(Ordering::Relaxed) {
                        for kind in 0..2 {
                            let _ = wire.send(&frame(0x88b5 + kind, number));
                        }
                        number = number.wrapping_add(1);
                        if number.is_multiple_of(64) {
                            thread::sleep(std::time::Duration::from_micros(500));
                        }
                    }
                });
                for round in 0..20_u16 {
                    let kind = 0x88b5 + round % 2;
                    rig.live.workers[0].set_filter(Some(&compiled(&format!("ether proto {kind}")))).unwrap();
                    for _ in 0..20 {
                        let worker = &mut rig.live.workers[0];
                        worker.gather(512);
                        let batch = worker.batch();
                        for one in batch.frames {
                            assert_eq!(batch.bytes(one)[12..14], kind.to_be_bytes(), "{engine:?}, round {round}");
                        }
                        worker.release();
                        thread::sleep(std::time::Duration::from_micros(300));
                    }
                }
                stop.store(true, Ordering::Relaxed);
                sender.join().unwrap();
            });
            assert!(rig.live.workers[0].frames() > 100, "{engine:?}: {}", rig.live.workers[0].frames());
        }
    });
}

#[test]
fn programs_may_ask_for_what_the_kernel_knows_of_a_packet() {
    inside(|| {
        let outgoing = |jump_true, jump_false| {
            let test = ClassicInstruction { code: 0x15, jump_true, jump_false, k: 4 };
            vec![step(0x28, KNOWN + 4), test, step(0x06, 65_535), step(0x06, 0)]
        };
        let number = tidewire_live::Interface::find(FAR).unwrap().index;
        let here = |index| {
            let test = ClassicInstruction { code: 0x15, jump_true: 0, jump_false: 1, k: index };
            vec![step(0x20, KNOWN + 8), test, step(0x06, 65_535), step(0x06, 0)]
        };
        // Tagged, too: the program is there a second time for those.
        let (come, leave) = (vec![frame(0x88b5, 1), tagged(&frame(0x88b5, 2), 5)], vec![tagged(&frame(0x88b6, 3), 6)]);
        let cases = [
            (outgoing(0, 1), leave.clone()),
            (outgoing(1, 0), come.clone()),
            (here(number), [come.clone(), leave.clone()].concat()),
            (here(number + 1), vec![]),
            // Made for frames without their tag: `vlan and ether proto 0x88b5`.
            (
                vec![
                    step(0x30, KNOWN + 48),
                    ClassicInstruction { code: 0x15, jump_true: 0, jump_false: 3, k: 1 },
                    step(0x28, 12),
                    ClassicInstruction { code: 0x15, jump_true: 0, jump_false: 1, k: 0x88b5 },
                    step(0x06, 65_535),
                    step(0x06, 0),
                ],
                come[1..].to_vec(),
            ),
        ];
        for (immediate, (program, wanted)) in
            [false, true].into_iter().flat_map(|one| cases.iter().map(move |case| (one, case)))
        {
            let mut rig = Rig::open(&settings(LiveEngine::Packet).with_immediate(immediate)).unwrap();
            rig.live.workers[0].set_filter(Some(program)).unwrap();
            rig.send(&come);
            leave.iter().for_each(|frame| rig.back.send(frame).unwrap());
            assert_eq!(rig.take(wanted.len()), *wanted, "{program:x?}");
            // The same of those that wait when the filter is set.
            rig.live.workers[0].set_filter(None).unwrap();
            rig.send(&come);
            leave.iter().for_each(|frame| rig.back.send(frame).unwrap());
            thread::sleep(std::time::Duration::from_millis(30));
            rig.live.workers[0].set_filter(Some(program)).unwrap();
            assert_eq!(rig.take(wanted.len()), *wanted, "queued: {program:x?}");
        }
    });
}

#[test]
fn invalid_programs_are_refused_and_change_nothing() {
    inside(|| {
        let jump = |k| ClassicInstruction { code: 0x15, jump_true: 200, jump_false: 0, k };
        let wrong: Vec<Vec<ClassicInstruction>> = vec![
            vec![],
            vec![step(0x20, 12)],
            vec![jump(1), step(0x06, 1)],
            vec![step(0x05, u32::MAX), step(0x06, 1)],
            vec![step(0x60, 16), step(0x06, 1)],
            vec![step(0xffff, 0), step(0x06, 1)],
            vec![step(0x28, KNOWN + 500), step(0x06, 1)],
            vec![step(0x00, 1); 5000],
            [vec![step(0x00, 1); 4095], vec![step(0x34, 0)], vec![step(0x06, 1)]].concat(),
        ];
        for engine in ENGINES {
            let mut rig = Rig::open(&settings(engine)).unwrap();
            rig.live.workers[0].set_filter(Some(&compiled("ether proto 0x88b6"))).unwrap();
            for program in &wrong {
                let opened = Rig::open(&settings(LiveEngine::Packet).with_program(Some(program.clone())));
                assert!(opened.is_err(), "{program:x?}");
                let error = rig.live.workers[0].set_filter(Some(program)).unwrap_err().with_hint().to_string();
                assert!(error.contains("program") || error.contains("filter"), "{error}");
            }
            let frames: Vec<_> = (0..30).map(|number| frame(0x88b5 + number % 3, number)).collect();
            rig.send(&frames);
            let got = rig.take(10);
            assert_eq!((kinds(&got), got.len()), (vec![0x88b6], 10), "{engine:?}");
        }
        let both = settings(LiveEngine::Packet).with_program(Some(compiled("udp"))).with_filter("udp");
        assert!(Rig::open(&both).err().unwrap().with_hint().to_string().contains("both"));
        let mut rig = Rig::open(&settings(LiveEngine::Xdp).with_replaceable_filter(false)).unwrap();
        assert!(rig.live.workers[0].set_filter(None).unwrap_err().with_hint().to_string().contains("without a filter"));
    });
}

#[test]
fn a_long_program_runs_as_a_loaded_one() {
    inside(|| {
        // Twice its length is more than a classic program may have.
        let program = [vec![step(0x00, 1); 3000], compiled("ether proto 0x88b6")].concat();
        let mut rig = Rig::open(&settings(LiveEngine::Packet).with_program(Some(program))).unwrap();
        let sent = [frame(0x88b5, 1), frame(0x88b6, 2), tagged(&frame(0x88b6, 3), 5), frame(0x88b6, 4)];
        rig.send(&sent);
        assert_eq!(rig.take(2), [sent[1].clone(), sent[3].clone()]);
    });
}

#[test]
fn directions_are_chosen_at_any_time() {
    inside(|| {
        let (come, leave) = ([frame(0x88b5, 1), frame(0x88b5, 2)], [frame(0x88b6, 3)]);
        let wanted = |direction| match direction {
            TrafficDirection::Both => [&come[..], &leave].concat(),
            TrafficDirection::In => come.to_vec(),
            TrafficDirection::Out => leave.to_vec(),
        };
        let all = [
            TrafficDirection::Out,
            TrafficDirection::In,
            TrafficDirection::Both,
            TrafficDirection::Out,
            TrafficDirection::Both,
        ];
        for first in [TrafficDirection::Both, TrafficDirection::In, TrafficDirection::Out] {
            let program = Some(compiled("ether[14:2] < 1000"));
            let settings = settings(LiveEngine::Packet).with_direction(first).with_program(program);
            let mut rig = Rig::open(&settings).unwrap();
            for (round, direction) in [&[first][..], &all].concat().into_iter().enumerate() {
                if round > 0 {
                    // Waiting frames have to be of the new direction, too.
                    come.iter().for_each(|frame| rig.wire.send(frame).unwrap());
                    leave.iter().for_each(|frame| rig.back.send(frame).unwrap());
                    thread::sleep(std::time::Duration::from_millis(30));
                    rig.live.workers[0].set_direction(direction).unwrap();
                    let kinds = kinds(&rig.take(0));
                    let mine = super::filters::kinds(&wanted(direction));
                    assert!(kinds.iter().all(|kind| mine.contains(kind)), "{direction:?}: {kinds:x?}");
                }
                come.iter().for_each(|frame| rig.wire.send(frame).unwrap());
                leave.iter().for_each(|frame| rig.back.send(frame).unwrap());
                assert_eq!(rig.take(wanted(direction).len()), wanted(direction), "{first:?} to {direction:?}");
            }
        }
        for engine in [LiveEngine::Xdp, LiveEngine::XdpGeneric] {
            let out = settings(engine).with_direction(TrafficDirection::Out);
            assert!(
                Rig::open(&out).err().unwrap().with_hint().to_string().contains("does not see what the machine sends")
            );
            let mut rig = Rig::open(&settings(engine)).unwrap();
            assert!(rig.live.workers[0].set_direction(TrafficDirection::Out).is_err());
            rig.live.workers[0].set_direction(TrafficDirection::In).unwrap();
        }
    });
}

#[test]
fn of_the_loopback_interface_outgoing_copies_are_never_taken() {
    inside(|| {
        ip("link set lo up");
        let settings = settings(LiveEngine::Packet).with_interfaces(["lo"]);
        let mut rig = Rig::open(&settings).unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        for (direction, wanted) in [
            (TrafficDirection::Both, 10),
            (TrafficDirection::Out, 0),
            (TrafficDirection::In, 10),
            (TrafficDirection::Both, 10),
        ] {
            rig.live.workers[0].set_direction(direction).unwrap();
            for _ in 0..10 {
                assert_eq!(socket.send_to(b"hello", to).unwrap(), 5);
            }
            assert_eq!(rig.take(wanted).len(), wanted, "{direction:?}");
        }
    });
}
