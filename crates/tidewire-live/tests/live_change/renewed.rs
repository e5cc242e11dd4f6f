//! Interfaces that are removed and made again, captured by AF_XDP.

use std::{
    thread,
    time::{Duration, Instant},
};

use tidewire_live::{LiveEngine, sys::net::PacketSocket};

use super::rig::{FAR, NEAR, PATIENCE, Rig, compiled, frame, inside, ip, settings};

/// Sends frames until one arrives.
fn until_one_comes(rig: &mut Rig) -> Vec<u8> {
    let start = Instant::now();
    loop {
        for kind in [0x88b5, 0x88b6] {
            let _ = rig.wire.send(&frame(kind, 1));
        }
        let worker = &mut rig.live.workers[0];
        if worker.gather(1) > 0 {
            let batch = worker.batch();
            let first = batch.bytes(&batch.frames[0]).to_vec();
            worker.release();
            return first;
        }
        assert!(start.elapsed() < PATIENCE, "nothing comes: {:?}", worker.troubles());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn af_xdp_goes_on_with_an_interface_that_is_made_again() {
    inside(|| {
        for engine in [LiveEngine::Xdp, LiveEngine::XdpGeneric] {
            let program = Some(compiled("ether proto 0x88b6"));
            let mut rig = Rig::open(&settings(engine).with_program(program)).unwrap();
            assert_eq!(until_one_comes(&mut rig), frame(0x88b6, 1));
            for round in 0..2 {
                rig.take(0);
                ip(&format!("link del {FAR}"));
                let start = Instant::now();
                while rig.live.workers[0].troubles().is_empty() {
                    assert!(start.elapsed() < PATIENCE);
                    rig.live.workers[0].gather(8);
                    rig.live.workers[0].prepare_wait();
                    thread::sleep(Duration::from_millis(5));
                }
                ip(&format!("link add {NEAR} type veth peer name {FAR}"));
                for interface in [NEAR, FAR] {
                    ip(&format!("link set {interface} addrgenmode none up"));
                }
                (rig.wire, rig.back) = (PacketSocket::open(NEAR).unwrap(), PacketSocket::open(FAR).unwrap());
                assert_eq!(until_one_comes(&mut rig), frame(0x88b6, 1), "{engine:?}, round {round}");
            }
            // Filters can still be chosen; and nothing is left on the interface when the capture ends.
            rig.take(0);
            rig.live.workers[0].set_filter(Some(&compiled("ether proto 0x88b5"))).unwrap();
            assert_eq!(until_one_comes(&mut rig), frame(0x88b5, 1));
            rig.take(0);
            let frames = rig.live.workers[0].frames();
            let counts = rig.live.workers[0].counts().unwrap();
            assert_eq!((counts.received, counts.dropped, counts.failed), (frames, 0, 0));
            drop(rig);
            assert!(!tidewire_live::Interface::find(FAR).unwrap().has_xdp);
        }
    });
}
