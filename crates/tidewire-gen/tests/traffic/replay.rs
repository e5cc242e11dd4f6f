//! Replays: the same frames in the first loop, other conversations in the next, at the capture's pace.

use std::time::Duration;

use super::common::{arrived, capture, engine, inside, made, send};
use tidewire::{EndReason, Handler, Stream};
use tidewire_gen::{
    Plan, Rate, RunEnd, Sender,
    net::Layout,
    traffic::{Connections, Replay, ReplaySettings, TcpSettings, Traffic},
};
use tidewire_live::sys::net::PacketSocket;

/// Counts streams by how they ended.
#[derive(Default)]
struct Ends {
    fin: u64,
    other: u64,
}

impl Handler for Ends {
    type Data = ();

    fn close(&mut self, _: &mut Stream<'_, ()>, reason: EndReason) {
        if reason == EndReason::Fin {
            self.fin += 1;
        } else {
            self.other += 1;
        }
    }
}

/// A capture of 30 connections, without numbers.
fn recorded(ipv6: bool) -> Vec<Vec<u8>> {
    let mut settings =
        TcpSettings { concurrent: 6, connections: Some(30), numbered: false, ..TcpSettings::new().unwrap() };
    settings.link.ipv6 = ipv6;
    made(&mut Connections::new(settings).unwrap(), u64::MAX)
}

fn settings(frames: &[Vec<u8>], folder: &tempfile::TempDir) -> ReplaySettings {
    let path = folder.path().join("capture.pcap");
    std::fs::write(&path, capture(frames)).unwrap();
    ReplaySettings::new(vec![path])
}

#[test]
fn every_loop_has_conversations_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for ipv6 in [false, true] {
        let frames = recorded(ipv6);
        let mut replay =
            Replay::load(ReplaySettings { loops: Some(5), numbered: false, ..settings(&frames, &folder) }).unwrap();
        let looped = made(&mut replay, u64::MAX);
        assert_eq!(looped.len(), 5 * frames.len());
        assert!(looped[..frames.len()] == frames, "the first loop changes nothing");
        let outcome = engine(&looped, Ends::default());
        assert_eq!((outcome.handler().fin, outcome.handler().other), (150, 0), "each connection five times, all whole");
        assert!(outcome.ledger.anomalies().all(|(_, count)| count == 0));
        assert_eq!(replay.tally()[1], ("loops_finished", 5));
    }
}

#[test]
fn what_was_loaded_is_what_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let frames = recorded(false);
    inside(&Layout::default(), |_| {
        for sender in [Sender::Kernel, Sender::Socket] {
            let socket = PacketSocket::open("rx0").unwrap();
            // With a rate the capture's timestamps, here an hour, do not count.
            let slow = ReplaySettings { loops: Some(2), speed: 1e-7, ..settings(&frames, &folder) };
            let mut replay = Replay::load(slow).unwrap();
            let mut plan = Plan::new(["tx0"]);
            (plan.sender, plan.rate) = (sender, Rate::Packets(100_000.0));
            let report = send(&mut replay, &plan);
            assert_eq!(report.packets, 2 * frames.len() as u64);
            replay.rewind();
            assert!(arrived(&socket) == made(&mut replay, u64::MAX));
        }
    });
}

#[test]
fn its_own_pace_and_faster() {
    let folder = tempfile::tempdir().unwrap();
    // 660 frames, a microsecond apart in the capture: at a thousandth of the pace they last 0.66 s.
    let frames = recorded(false);
    inside(&Layout::default(), |_| {
        for sender in [Sender::Kernel, Sender::Socket] {
            for (speed, wanted_s) in [(0.001, 0.659), (0.002, 0.3295)] {
                let mut replay = Replay::load(ReplaySettings { speed, ..settings(&frames, &folder) }).unwrap();
                let mut plan = Plan::new(["tx0"]);
                (plan.sender, plan.rate) = (sender, Rate::Timed);
                let report = send(&mut replay, &plan);
                let took_s = report.elapsed.as_secs_f64();
                println!("{} at {speed}: {took_s} s", sender.name());
                assert_eq!((report.packets, report.ended), (660, RunEnd::Done));
                assert!(took_s >= wanted_s - 0.01, "{} at {speed}: {took_s} s", sender.name());
            }
        }
        let mut replay =
            Replay::load(ReplaySettings { speed: 0.001, loops: None, ..settings(&frames, &folder) }).unwrap();
        let mut plan = Plan::new(["tx0"]);
        (plan.rate, plan.duration) = (Rate::Timed, Some(Duration::from_millis(200)));
        let report = send(&mut replay, &plan);
        assert_eq!(report.ended, RunEnd::Duration);
        assert!(report.packets <= 220, "{}", report.packets);
    });
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let frames = recorded(false);
    let message = |settings: ReplaySettings| Replay::load(settings).expect_err("refused").to_string();
    let small = ReplaySettings { memory_bytes: 10_000, ..settings(&frames, &folder) };
    assert!(message(small).contains("needs more than the 10000 bytes"));
    let short = ReplaySettings { frame_bytes_max: 20, ..settings(&frames, &folder) };
    assert!(message(short).contains("660 frames are too long"));
    assert!(message(ReplaySettings { speed: 0.0, ..settings(&frames, &folder) }).contains("above 0"));
    assert!(message(ReplaySettings::new(vec!["/nonexistent.pcap".into()])).contains("no such file"));
}
