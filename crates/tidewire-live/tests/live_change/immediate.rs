//! Frames that are handed over at once.

use std::{
    net::UdpSocket,
    thread,
    time::{Duration, Instant},
};

use tidewire_live::{Fanout, FanoutMode, LiveEngine, LiveSettings, Sharing, TimestampSource, sys::wait};

use super::rig::{FAR, NEAR, PATIENCE, Rig, compiled, frame, inside, ip, settings, tagged};

fn at_once() -> LiveSettings {
    // The age of blocks plays no part.
    settings(LiveEngine::Packet).with_immediate(true).with_block_timeout(Duration::from_secs(30))
}

#[test]
fn each_frame_wakes_up_and_is_there() {
    inside(|| {
        let mut rig = Rig::open(&at_once()).unwrap();
        assert!(rig.live.workers[0].delay() <= Duration::from_millis(1));
        let mut slowest = Duration::ZERO;
        for number in 0..200 {
            let start = Instant::now();
            rig.send(&[frame(0x88b5, number)]);
            let descriptors: Vec<_> = rig.live.workers[0].descriptors().collect();
            wait::readable(&descriptors, PATIENCE).unwrap();
            drop(descriptors);
            while rig.live.workers[0].gather(8) == 0 {
                assert!(start.elapsed() < PATIENCE / 2);
            }
            slowest = slowest.max(start.elapsed());
            let batch = rig.live.workers[0].batch();
            assert_eq!((batch.frames.len(), batch.bytes(&batch.frames[0])), (1, &frame(0x88b5, number)[..]));
            assert_eq!(batch.frames[0].wire_bytes, 64);
            rig.live.workers[0].release();
        }
        println!("slowest: {slowest:?}");
        assert_eq!(rig.live.workers[0].counts().unwrap().received, 200);
    });
}

#[test]
fn all_sizes_and_tags_arrive_byte_by_byte() {
    inside(|| {
        for interface in [NEAR, FAR] {
            ip(&format!("link set {interface} mtu 9000"));
        }
        for snap_bytes in [262_144, 200, 61] {
            let mut rig = Rig::open(&at_once().with_snap_bytes(snap_bytes)).unwrap();
            let mut sent = Vec::new();
            for length in (60..200).chain((200..9000).step_by(397)).chain(9000..=9014) {
                let mut plain = frame(0x88b5, length as u16);
                plain.resize(length, length as u8);
                if length <= 9010 {
                    sent.push(tagged(&tagged(&plain, 7), 9));
                }
                sent.extend([tagged(&plain, 5), plain]);
            }
            let mut got = Vec::new();
            for some in sent.chunks(20) {
                rig.send(some);
                got.extend(rig.take(some.len()));
            }
            let wanted: Vec<_> = sent.iter().map(|one| one[..one.len().min(snap_bytes as usize)].to_vec()).collect();
            let first = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
            assert!(first.is_none() && got.len() == wanted.len(), "{snap_bytes}: {first:?}");
            assert_eq!(rig.live.workers[0].counts().unwrap().received, sent.len() as u64);
        }
    });
}

#[test]
fn frames_of_64_kib_are_whole() {
    inside(|| {
        ip("link set lo up");
        let mut rig = Rig::open(&at_once().with_interfaces(["lo"])).unwrap();
        let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        for length in [65_507, 65_000, 40_000, 1] {
            one.send_to(&vec![length as u8; length], other.local_addr().unwrap()).unwrap();
        }
        let got = rig.take(4);
        assert_eq!(got.iter().map(Vec::len).collect::<Vec<_>>(), [65_549, 65_042, 40_042, 43]);
        assert!(got.iter().all(|one| one[42..].iter().all(|byte| *byte == (one.len() - 42) as u8)));
    });
}

#[test]
fn what_finds_no_slot_is_counted_exactly() {
    inside(|| {
        let mut rig = Rig::open(&at_once().with_ring_bytes(1 << 20)).unwrap();
        let (mut sent, mut taken) = (0, 0);
        for round in 0..5_u16 {
            for number in 0..300 {
                rig.send(&[frame(0x88b5, round * 300 + number)]);
                sent += 1;
            }
            assert_eq!(rig.live.workers[0].level_permille(), 1000);
            let counts = rig.live.workers[0].counts().unwrap();
            assert_eq!(counts.received + counts.dropped, sent);
            assert!(counts.dropped > 0);
            while rig.live.workers[0].gather(7) > 0 {}
            assert_eq!(rig.live.workers[0].held_permille(), 1000);
            taken += rig.live.workers[0].batch().frames.len() as u64;
            rig.live.workers[0].release();
            assert_eq!(rig.live.workers[0].counts().unwrap().received, taken);
        }
        rig.live.workers[0].stop();
        rig.send(&[frame(0x88b5, 1)]);
        assert!(rig.take(0).is_empty());
    });
}

#[test]
fn groups_filters_and_lost_interfaces_are_as_ever() {
    inside(|| {
        let fanout = Fanout::new(FanoutMode::RoundRobin).with_group(3);
        let sharing = Some(Sharing::default());
        let settings =
            at_once().with_fanout(fanout).with_sharing(sharing).with_program(Some(compiled("ether proto 0x88b5")));
        let mut rigs: Vec<_> = (0..2).map(|_| Rig::open(&settings).unwrap()).collect();
        let sent: Vec<_> = (0..20).map(|number| frame(0x88b5 + number % 2, number)).collect();
        rigs[0].send(&sent);
        let got: Vec<_> = rigs.iter_mut().map(|rig| rig.take(0).len()).collect();
        assert_eq!(got.iter().sum::<usize>(), 10, "{got:?}");
        drop(rigs);

        let mut rig = Rig::open(&at_once()).unwrap();
        rig.send(&sent);
        assert_eq!(rig.take(20), sent);
        ip(&format!("link del {FAR}"));
        rig.take(0);
        ip(&format!("link add {NEAR} type veth peer name {FAR}"));
        for interface in [NEAR, FAR] {
            ip(&format!("link set {interface} addrgenmode none up"));
        }
        let wire = tidewire_live::sys::net::PacketSocket::open(NEAR).unwrap();
        let start = Instant::now();
        loop {
            let _ = wire.send(&sent[0]);
            let worker = &mut rig.live.workers[0];
            if worker.gather(8) > 0 {
                break;
            }
            assert!(start.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(5));
        }
        let batch = rig.live.workers[0].batch();
        assert_eq!(batch.bytes(&batch.frames[0]), sent[0]);
    });
}

#[test]
fn stamps_of_a_card_that_has_none_are_refused() {
    inside(|| {
        for stamp in [TimestampSource::Adapter, TimestampSource::AdapterUnsynced] {
            let error =
                Rig::open(&settings(LiveEngine::Packet).with_stamp(stamp)).err().unwrap().with_hint().to_string();
            assert!(error.contains(FAR) && error.contains("time stamps") && error.contains("host"), "{error}");
            let error = Rig::open(&settings(LiveEngine::Xdp).with_stamp(stamp)).err().unwrap().with_hint().to_string();
            assert!(error.contains("AF_XDP"), "{error}");
            let interfaces = [NEAR, FAR];
            let several = settings(LiveEngine::Packet).with_stamp(stamp).with_interfaces(interfaces);
            assert!(Rig::open(&several).err().unwrap().with_hint().to_string().contains("one interface"));
        }
    });
}
