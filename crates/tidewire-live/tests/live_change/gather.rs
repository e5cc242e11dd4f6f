//! Batches that grow while earlier frames are held, and blocks that are handed over at another age.

use std::{
    thread,
    time::{Duration, Instant},
};

use tidewire_live::LiveEngine;
use tidewire_testing::wait_until;

use super::rig::{PATIENCE, Rig, frame, inside, settings};

#[test]
fn frames_are_gathered_while_earlier_ones_are_held_until_the_ring_is_full() {
    inside(|| {
        for engine in [LiveEngine::Packet, LiveEngine::Xdp] {
            let mut rig = Rig::open(&settings(engine).with_ring_bytes(1 << 20)).unwrap();
            let (mut sent, mut held) = (0_u16, 0);
            let start = Instant::now();
            // Nothing is released: at last there is no room.
            while rig.live.workers[0].held_permille() < 1000 {
                assert!(start.elapsed() < PATIENCE, "{engine:?}: {} ‰", rig.live.workers[0].held_permille());
                for _ in 0..50 {
                    let _ = rig.wire.send(&frame(0x88b5, sent));
                    sent += 1;
                }
                thread::sleep(Duration::from_millis(2));
                while rig.live.workers[0].gather(64) > 0 {}
                let batch = rig.live.workers[0].batch();
                // Those of before are still there, and as they were.
                let number = |one| u16::from_be_bytes(batch.bytes(one)[14..16].try_into().unwrap());
                assert!(batch.frames.iter().all(|one| batch.bytes(one) == frame(0x88b5, number(one))));
                assert!(batch.frames.is_sorted_by(|one, next| number(one) < number(next)), "{engine:?}");
                assert!(
                    batch.frames.len() >= held
                        && batch.frames.iter().map(|one| one.number).eq(1..=batch.frames.len() as u64)
                );
                held = batch.frames.len();
            }
            assert!(held > 300, "{engine:?}: {held}");
            rig.live.workers[0].release();
            assert!(rig.live.workers[0].batch().frames.is_empty() && rig.live.workers[0].held_permille() < 200);
            rig.take(0);
            rig.send(&[frame(0x88b6, 1)]);
            assert_eq!(rig.take(1), [frame(0x88b6, 1)], "{engine:?}");
        }
    });
}

#[test]
fn a_block_is_handed_over_at_the_configured_age() {
    inside(|| {
        for (retire_ms, least_ms) in [(1, 0), (400, 200)] {
            let retire = Duration::from_millis(retire_ms);
            let mut rig = Rig::open(&settings(LiveEngine::Packet).with_block_timeout(retire)).unwrap();
            assert!(rig.live.workers[0].delay() >= retire);
            let start = Instant::now();
            rig.send(&[frame(0x88b5, 1)]);
            wait_until("a frame", || rig.live.workers[0].gather(8) > 0);
            // Two ages at most, and whatever else this machine does.
            assert!(start.elapsed() >= Duration::from_millis(least_ms), "{:?}", start.elapsed());
            assert_eq!(rig.live.workers[0].batch().frames.len(), 1);
        }
        for wrong in [Duration::ZERO, Duration::from_micros(999), Duration::from_secs(61)] {
            let error = Rig::open(&settings(LiveEngine::Packet).with_block_timeout(wrong)).err().unwrap();
            assert!(error.to_string().contains("1 ms to"), "{error}");
        }
    });
}

#[test]
fn descriptors_become_readable() {
    inside(|| {
        for engine in [LiveEngine::Packet, LiveEngine::Xdp] {
            let mut rig = Rig::open(&settings(engine)).unwrap();
            rig.take(0);
            assert!(rig.live.workers[0].prepare_wait() && !rig.live.workers[0].waits());
            rig.send(&[frame(0x88b5, 1)]);
            let descriptors: Vec<_> = rig.live.workers[0].descriptors().collect();
            assert_eq!(descriptors.len(), 1);
            let start = Instant::now();
            tidewire_live::sys::wait::readable(&descriptors, PATIENCE).unwrap();
            assert!(start.elapsed() < PATIENCE / 2);
            assert!(!rig.live.workers[0].prepare_wait());
            assert_eq!(rig.take(1).len(), 1);
        }
    });
}
