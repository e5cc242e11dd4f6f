//! Interfaces that go and come.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tidewire_live::{Change, Error, Interface, LiveSettings, Watch, sys::wait::readable};
use tidewire_testing::InTime as _;

use super::craft::{conversations, frame};
use super::rig::{Delivered, FAR, NEAR, PATIENCE, Rig, bytes, cable, inside, ip, settings, wire};

/// Polls until every worker has reported its interface.
fn troubles(rig: &mut Rig) -> Vec<String> {
    let start = Instant::now();
    let mut reported: Vec<Vec<Error>> = rig.workers.iter().map(|_| Vec::new()).collect();
    while reported.iter().any(Vec::is_empty) && start.elapsed() < PATIENCE {
        for (worker, own) in rig.workers.iter_mut().zip(&mut reported) {
            worker.poll(Duration::from_millis(1), |_| panic!("a frame of nothing"));
            own.extend(worker.troubles());
        }
    }
    assert!(reported.iter().all(|own| own.len() == 1), "each is reported once: {reported:?}");
    reported.concat_to_text()
}

trait Text {
    fn concat_to_text(self) -> Vec<String>;
}

impl Text for Vec<Vec<Error>> {
    fn concat_to_text(self) -> Vec<String> {
        self.into_iter().flatten().map(|error| error.to_string()).collect()
    }
}

/// Sends the same until all of it arrives: rings notice a moment later that they can go on.
fn arrives_again(rig: &mut Rig, sent: &[Vec<u8>]) -> Vec<Vec<Delivered>> {
    let start = Instant::now();
    loop {
        let before = rig.counts().0;
        let wire = wire();
        sent.iter().for_each(|frame| wire.send(frame).unwrap());
        thread::sleep(Duration::from_millis(20));
        let got = rig.collect(0);
        if got.concat().len() == sent.len() {
            assert_eq!(rig.counts().0 - before, sent.len() as u64);
            return got;
        }
        assert!(start.elapsed() < PATIENCE, "nothing arrives any more");
    }
}

fn sent() -> Vec<Vec<u8>> {
    conversations(40, 6).into_iter().map(|one| one.1).collect()
}

fn homes(got: &[Vec<Delivered>]) -> Vec<Vec<&[u8]>> {
    got.iter().map(|mine| bytes(mine)).collect()
}

fn flaps(settings: &LiveSettings) {
    cable();
    let mut rig = Rig::open(settings).unwrap();
    let sent = sent();
    let before = arrives_again(&mut rig, &sent);
    for _ in 0..3 {
        ip(&format!("link set {FAR} down"));
        for text in troubles(&mut rig) {
            assert!(text.contains(FAR) && text.contains("is down"), "{text}");
        }
        ip(&format!("link set {FAR} up"));
        let after = arrives_again(&mut rig, &sent);
        assert!(homes(&before) == homes(&after), "every flow has the worker that it had");
    }
}

#[test]
fn an_interface_switched_off_and_on_is_reported_and_goes_on() {
    inside(|| flaps(&settings(1)));
}

#[test]
fn workers_keep_their_places_when_an_interface_is_switched_off_and_on() {
    inside(|| flaps(&settings(3)));
}

fn comes_back(settings: &LiveSettings) {
    cable();
    let mut rig = Rig::open(settings).unwrap();
    let sent = sent();
    let before = arrives_again(&mut rig, &sent);
    for round in 0..2 {
        // Frames that arrived before the end are delivered.
        let last: Vec<_> = (0..5).map(|salt| frame(80, 0x88b5, salt)).collect();
        let wire = wire();
        last.iter().for_each(|frame| wire.send(frame).unwrap());
        ip(&format!("link del {FAR}"));
        assert_eq!(rig.collect(last.len()).concat().len(), last.len(), "round {round}");
        for text in rig.workers.iter_mut().map(|worker| worker.troubles()).collect::<Vec<_>>().concat_to_text() {
            assert!(text.contains(FAR) && text.contains("is gone"), "{text}");
        }
        // Rings give up what they have; nothing of the name is there for a while.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(600) {
            for worker in &mut rig.workers {
                worker.poll(Duration::from_millis(1), |_| ());
            }
        }
        cable();
        let after = arrives_again(&mut rig, &sent);
        assert!(homes(&before) == homes(&after), "every flow has the worker that it had");
    }
}

#[test]
fn an_interface_that_is_gone_and_comes_back_is_captured_again() {
    inside(|| comes_back(&settings(1)));
}

#[test]
fn groups_are_there_again_when_their_interface_is() {
    inside(|| comes_back(&settings(3)));
}

#[test]
fn another_kind_of_interface_of_the_same_name_is_left_alone() {
    inside(|| {
        cable();
        let mut rig = Rig::open(&settings(1)).unwrap();
        ip(&format!("link del {FAR}"));
        assert!(troubles(&mut rig)[0].contains("is gone"));
        let made = Command::new("ip").args(["tuntap", "add", "dev", FAR, "mode", "tun"]).run_in_time();
        if !made.is_ok_and(|output| output.status.success()) {
            println!("skipped: no tunnels here");
            return;
        }
        ip(&format!("link set {FAR} up"));
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(700) {
            rig.workers[0].poll(Duration::from_millis(10), |_| panic!("a frame of another kind"));
        }
        ip(&format!("tuntap del dev {FAR} mode tun"));
        cable();
        arrives_again(&mut rig, &sent());
    });
}

#[test]
fn names_do_not_matter() {
    inside(|| {
        cable();
        let mut rig = Rig::open(&settings(2)).unwrap();
        let sent = sent();
        let before = arrives_again(&mut rig, &sent);
        ip(&format!("link set {FAR} name other0"));
        let after = arrives_again(&mut rig, &sent);
        assert!(homes(&before) == homes(&after));
        assert!(rig.workers.iter_mut().all(|worker| worker.troubles().is_empty()));
    });
}

#[test]
fn an_interface_that_is_down_is_captured_when_it_is_switched_on() {
    inside(|| {
        cable();
        ip(&format!("link set {FAR} down"));
        let mut rig = Rig::open(&settings(1)).unwrap();
        assert!(troubles(&mut rig)[0].contains("is down"));
        ip(&format!("link set {FAR} up"));
        arrives_again(&mut rig, &sent());
    });
}

#[test]
fn changes_are_reported_as_they_happen() {
    inside(|| {
        cable();
        let interfaces = [Interface::find("lo").unwrap(), Interface::find(FAR).unwrap()];
        // Between looking up and watching.
        ip(&format!("link set {FAR} down"));
        let mut watch = Watch::new(&interfaces).unwrap();
        let mut wait_for = |wanted: &[(usize, Change)]| {
            let start = Instant::now();
            let mut found = Vec::new();
            while found.len() < wanted.len() && start.elapsed() < PATIENCE {
                readable(&[watch.descriptor()], Duration::from_millis(20)).unwrap();
                let events = watch.events().unwrap();
                found.extend(events.into_iter().map(|event| (event.interface, event.change)));
            }
            assert_eq!(found, wanted);
        };
        wait_for(&[(1, Change::Down)]);
        ip(&format!("link set {FAR} up"));
        wait_for(&[(1, Change::Up)]);
        // The other end takes the connection away.
        ip(&format!("link set {NEAR} down"));
        wait_for(&[(1, Change::Down)]);
        ip(&format!("link set {NEAR} up"));
        wait_for(&[(1, Change::Up)]);
        ip(&format!("link set {FAR} name other0"));
        wait_for(&[(1, Change::Renamed("other0".into()))]);
        ip("link set lo up");
        wait_for(&[(0, Change::Up)]);
        ip("link del other0");
        wait_for(&[(1, Change::Down), (1, Change::Gone)]);
        cable();
        wait_for(&[(1, Change::Back), (1, Change::Up)]);
    });
}

#[test]
fn promiscuous_mode_goes_away_with_the_rings() {
    inside(|| {
        cable();
        let promiscuity = || {
            let output = Command::new("ip").args(["-d", "link", "show", FAR]).run_in_time().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            text.split("promiscuity ").nth(1).unwrap().split(' ').next().unwrap().parse::<u32>().unwrap()
        };
        let quiet = promiscuity();
        drop(Rig::open(&settings(2).with_promiscuous(false)).unwrap());
        assert_eq!(promiscuity(), quiet);
        let rig = Rig::open(&settings(2)).unwrap();
        assert!(promiscuity() > quiet);
        drop(rig);
        assert_eq!(promiscuity(), quiet);
    });
}
