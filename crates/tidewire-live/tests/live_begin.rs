//! Frames that came while a capture was being opened are not the capture's, in any count. Needs root and `ip`; says so otherwise.
#![forbid(unsafe_code)]

use std::{
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

use tidewire_live::{
    Live, LiveEngine, LiveSettings, Role, open,
    sys::net::{PacketSocket, own_namespace},
};
use tidewire_testing::{InTime as _, wait_until};

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status_in_time().expect("ip").success(), "ip {arguments}");
}

/// Frames that are sent once the capture is open.
const AFTER: u64 = 100;

/// Sends frames while a capture is opened, and some more: how many, and the capture.
fn open_under_load(settings: &LiveSettings) -> (u64, Live) {
    let (sent, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let live = thread::scope(|scope| {
        scope.spawn(|| {
            let wire = PacketSocket::open("tw1").expect("a socket");
            // Of an unused type, so that no host answers.
            let mut frame = vec![0; 60];
            (frame[0], frame[6], frame[12], frame[13]) = (2, 2, 0x88, 0xb5);
            while !over.load(Relaxed) {
                wire.send(&frame).expect("sent");
                sent.fetch_add(1, Relaxed);
            }
            (0..AFTER).for_each(|_| wire.send(&frame).expect("sent"));
        });
        wait_until("frames come", || sent.load(Relaxed) > 0);
        let live = open(settings);
        over.store(true, Relaxed);
        live
    });
    thread::sleep(Duration::from_millis(50));
    (sent.into_inner(), live.expect("opened"))
}

/// Frames that the interface received by the capture's account, and those of them without an account.
fn received(mut live: Live) -> (u64, u64) {
    live.workers.iter_mut().for_each(tidewire_live::Worker::stop);
    live.monitor.stop();
    let report = live.monitor.report().expect("a report").swap_remove(0);
    let received = report.counts.expect("counts").rx_packets;
    let counts = live.workers.iter_mut().map(|worker| worker.counts().expect("counts"));
    let known: u64 = counts.map(|counts| counts.received + counts.dropped + counts.failed).sum();
    (received, received.saturating_sub(known))
}

#[test]
fn what_came_before_is_not_counted() {
    let test = || {
        if tidewire_testing::privileged(own_namespace).is_err() {
            println!("skipped: network namespaces need root");
            return;
        }
        ip("link add tw0 type veth peer name tw1");
        ip("link set tw0 up");
        ip("link set tw1 up");
        let settings = LiveSettings::new(["tw0"]).with_engine(LiveEngine::Packet).with_ring_bytes(4 << 20);
        let tap = settings.clone().with_engine(LiveEngine::Xdp).with_role(Role::Tap);
        for settings in [settings.with_workers(8), tap] {
            // Between looking at the interface and letting frames in, some may come; many where this is held up just then.
            let few = |_: &u32| {
                let (sent, live) = open_under_load(&settings);
                let (received, unknown) = received(live);
                println!("{:?}: {sent} sent, {received} received, {unknown} in no ring", settings.engine());
                assert!(received >= AFTER);
                unknown * 10 < sent
            };
            assert!((0..5).any(|attempt| few(&attempt)), "{:?}", settings.engine());
        }
    };
    thread::spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
