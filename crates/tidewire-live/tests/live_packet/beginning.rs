//! From the first frame on: filters and places hold before anything is delivered; and what finds no room is counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use tidewire_filter::Filter;
use tidewire_live::{
    ClassicInstruction,
    packet::{Filters, SocketFilter},
    sys::{
        bpf::{Program, SOCKET_FILTER},
        net::PacketSocket,
    },
};
use tidewire_steer::{Compiled, Program as Text, Settings};
use tidewire_wire::LinkType;

use super::craft::{frame, tagged, whole, whole6};
use super::rig::{NEAR, Rig, bytes, cable, inside, settings};

fn classic(code: u16, jump_true: u8, jump_false: u8, k: u32) -> ClassicInstruction {
    ClassicInstruction { code, jump_true, jump_false, k }
}

/// Takes frames of this EtherType.
fn only(ethertype: u32) -> SocketFilter {
    SocketFilter::Classic(vec![
        classic(0x28, 0, 0, 12),
        classic(0x15, 0, 1, ethertype),
        classic(0x06, 0, 0, 65_535),
        classic(0x06, 0, 0, 0),
    ])
}

/// Sends without a pause while `work` runs; how many frames.
fn under_fire(frames: Vec<Vec<u8>>, work: impl FnOnce()) -> u64 {
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let sender = thread::spawn({
        let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
        move || {
            let wire = PacketSocket::open(NEAR).unwrap();
            while !stop.load(Ordering::Relaxed) {
                for frame in &frames {
                    wire.send(frame).unwrap();
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    work();
    stop.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    sent.load(Ordering::Relaxed)
}

#[test]
fn no_frame_is_delivered_that_the_filter_does_not_take() {
    inside(|| {
        cable();
        let frames = vec![frame(64, 0x88b5, 1), frame(64, 0x88b6, 2), frame(64, 0x88b7, 3)];
        let filters = Filters { first: Some(only(0x88b6)), second: None };
        under_fire(frames, || {
            let mut taken = 0;
            for round in 0..8 {
                let mut rig = Rig::filtered(&settings(1 + round % 2), &filters).unwrap();
                let got = rig.some(200).concat();
                assert!(got.iter().all(|one| one.bytes[12..14] == [0x88, 0xb6]));
                taken += got.len();
            }
            assert!(taken > 200);
        });
    });
}

#[test]
fn no_frame_is_delivered_to_a_worker_that_it_is_not_steered_to() {
    inside(|| {
        cable();
        // Each step is a place in the group that would be wrong while members are missing.
        let text = "when (has_dst_port 9) (steer_to 2) >-> unless (has_dst_port 9) drop";
        let steering = Compiled::new(&Text::parse(text).unwrap(), &Settings::default()).unwrap();
        let settings = settings(3).with_steering(steering);
        let frames = vec![whole(1, false, 30, 1), whole(2, true, 30, 2), frame(64, 0x88b5, 3)];
        under_fire(frames, || {
            for _ in 0..8 {
                let mut rig = Rig::open(&settings).unwrap();
                let got = rig.some(100);
                assert!(got[0].is_empty() && got[1].is_empty(), "{} {}", got[0].len(), got[1].len());
                assert!(got[2].iter().all(|one| one.bytes == whole(1, false, 30, 1)));
            }
        });
    });
}

#[test]
fn a_loaded_program_filters() {
    inside(|| {
        cable();
        // r0 = 0; if the length is 100: r0 = -1. `struct __sk_buff` begins with it.
        let program = [
            0x0000_0000_0000_00b7_u64.to_ne_bytes(),
            0x0000_0000_0000_1261_u64.to_ne_bytes(),
            0x0000_0064_0001_0255_u64.to_ne_bytes(),
            0xffff_ffff_0000_00b7_u64.to_ne_bytes(),
            0x0000_0000_0000_0095_u64.to_ne_bytes(),
        ];
        let program = Program::load(SOCKET_FILTER, &program.concat()).unwrap();
        let filters = Filters { first: Some(SocketFilter::program(&program).unwrap()), second: None };
        drop(program);
        let mut rig = Rig::filtered(&settings(2).with_snap_bytes(70), &filters).unwrap();
        let wire = PacketSocket::open(NEAR).unwrap();
        for length in 90..110 {
            wire.send(&frame(length, 0x88b5, length)).unwrap();
        }
        let got = rig.collect(1).concat();
        assert_eq!(got.len(), 1);
        assert_eq!((got[0].frame.wire_bytes, &got[0].bytes[..]), (100, &frame(100, 0x88b5, 100)[..70]));
        assert_eq!(rig.counts(), (1, 0));
    });
}

#[test]
fn what_finds_no_room_is_counted_exactly() {
    inside(|| {
        cable();
        for workers in [1, 2] {
            let mut rig = Rig::open(&settings(workers).with_ring_bytes(256 << 10)).unwrap();
            let wire = PacketSocket::open(NEAR).unwrap();
            let (mut sent, mut delivered) = (0, 0);
            for round in 0..5 {
                for number in 0..4000 {
                    wire.send(&whole(number % 50, false, 200 + round, number)).unwrap();
                    sent += 1;
                }
                assert_eq!(rig.workers[0].level_permille(), 1000);
                // No reader takes frames meanwhile, and the counts are read more than once.
                let (received, dropped) = rig.counts();
                assert_eq!(received + dropped, sent);
                delivered += rig.collect(1).concat().len() as u64;
                let (received, dropped) = rig.counts();
                assert_eq!((received, received + dropped), (delivered, sent));
                assert!(dropped > 0);
                assert!(rig.workers[0].level_permille() <= 500);
            }
        }
    });
}

#[test]
fn nothing_comes_after_the_end_and_all_that_came_before_is_delivered() {
    inside(|| {
        cable();
        let frames: Vec<_> = (0..64).map(|flow| whole(flow, false, 100, flow)).collect();
        let mut result = None;
        let sent = under_fire(frames, || {
            let mut rig = Rig::open(&settings(2)).unwrap();
            let mut delivered = rig.some(5000).concat().len() as u64;
            rig.workers.iter_mut().for_each(|worker| worker.stop());
            thread::sleep(rig.workers[0].delay());
            delivered += rig.collect(0).concat().len() as u64;
            let (received, dropped) = rig.counts();
            assert_eq!(received, delivered);
            assert_eq!(rig.collect(0).concat().len(), 0);
            assert_eq!(rig.counts(), (received, dropped));
            result = Some(received + dropped);
        });
        assert!(result.unwrap() <= sent);
    });
}

#[test]
fn a_busy_ring_needs_no_system_calls() {
    inside(|| {
        cable();
        let mut rig = Rig::open(&settings(1)).unwrap();
        let wire = PacketSocket::open(NEAR).unwrap();
        let before = rig.workers[0].counts().unwrap().calls;
        let mut got = 0;
        for number in 0..40_000 {
            wire.send(&whole(number % 50, false, 30, number)).unwrap();
            if number % 5000 == 4999 {
                // Everything that is there, without waiting.
                for _ in 0..50 {
                    got += rig.workers[0].poll(std::time::Duration::ZERO, |_| ());
                }
            }
        }
        let calls = rig.workers[0].counts().unwrap().calls - before;
        println!("{calls} system calls for {got} frames");
        // The counts themselves are one; an error of the socket is looked for after many polls that found nothing.
        assert!(got > 30_000 && calls <= 1 + 8, "{calls} for {got}");
    });
}

#[test]
fn filters_mean_of_tagged_frames_what_they_mean_of_files() {
    inside(|| {
        cable();
        let mut sent = Vec::new();
        for number in 0..6 {
            for plain in [whole(number, number % 2 == 0, 90, number), whole6(number, false, 90, number)] {
                sent.push(tagged(&plain, &[(0x8100, 5)]));
                sent.push(tagged(&plain, &[(0x8100, 100 + number as u16)]));
                sent.push(tagged(&plain, &[(0x88a8, 5), (0x8100, 100)]));
                sent.push(plain);
            }
        }
        let wire = PacketSocket::open(NEAR).unwrap();
        for expression in [
            "vlan",
            "vlan 5",
            "vlan 5 and vlan 100",
            "vlan 100 and udp port 9",
            "not vlan",
            "udp",
            "ip6",
            "ether[12:2] = 0x88a8",
            "len > 147",
            "ether[len - 4:4] = 3",
            "ether[ether[15] & 31] & 2 = 2",
            "host 10.0.0.2 or (vlan 103 and host 10.0.0.3)",
        ] {
            let mut filter = Filter::new(expression).unwrap();
            let program = filter.classic(LinkType::ETHERNET).unwrap();
            let filters = Filters { first: Some(SocketFilter::Classic(program)), second: None };
            let mut rig = Rig::filtered(&settings(1), &filters).unwrap();
            let mut matches = |frame: &&Vec<u8>| filter.matches(LinkType::ETHERNET, frame, frame.len() as u32).unwrap();
            let wanted: Vec<_> = sent.iter().filter(&mut matches).collect();
            assert!(!wanted.is_empty() && wanted.len() < sent.len(), "{expression}: {}", wanted.len());
            sent.iter().for_each(|frame| wire.send(frame).unwrap());
            assert_eq!(bytes(&rig.collect(wanted.len())[0]), wanted, "{expression}");
        }
    });
}
