//! Inputs that cannot be captured, and their errors.

use std::process::Command;

use tidewire_live::{Error, Fanout, FanoutMode, LiveSettings, packet::Plan, sys::net::PacketSocket};
use tidewire_steer::{Compiled, Program, Settings};
use tidewire_testing::{InTime as _, missing};

use super::craft::whole;
use super::rig::{FAR, NEAR, Rig, cable, inside, ip, settings};

fn refused(settings: &LiveSettings) -> Error {
    Rig::open(settings).err().expect("refused")
}

#[test]
fn groups_with_other_settings_are_refused_with_the_reason() {
    inside(|| {
        cable();
        let fanout = Fanout::new(FanoutMode::Hash).with_group(5);
        let with = |fanout| settings(1).with_fanout(fanout);
        let _first = Rig::open(&with(fanout)).unwrap();
        drop(Rig::open(&with(fanout)).unwrap());
        for (other, what) in [
            (fanout.with_mode(FanoutMode::Cpu), "another mode, hash instead of cpu"),
            (fanout.with_defrag(true), "other flags"),
            (fanout.with_rollover(true), "other flags"),
        ] {
            let error = refused(&with(other)).with_hint().to_string();
            assert!(error.contains(FAR) && error.contains("group 5") && error.contains(what), "{error}");
        }
        let elsewhere = with(fanout).with_interfaces([NEAR]);
        assert!(refused(&elsewhere).with_hint().to_string().contains("on another interface"));
    });
}

#[test]
fn rings_too_large_for_memory_are_refused_with_what_fits() {
    let settings = settings(1).with_workers(255).with_ring_bytes(3 << 30);
    let error = Plan::new(&settings).unwrap_err().with_hint().to_string();
    assert!(error.contains("do not fit into memory") && error.contains("would fit"), "{error}");
    let text = error.split("a ring of ").nth(1).unwrap();
    let fits: usize = text.split(' ').next().unwrap().parse().unwrap();
    assert!(fits < 3 << 10, "{error}");
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let steering = |text: &str| Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap();
    let group = |mode, rollover| Some(Fanout::new(mode).with_rollover(rollover));
    let hash = settings(2).with_steering(steering("steer_flow"));
    let error = Plan::new(&hash.clone().with_fanout(group(FanoutMode::Hash, false))).unwrap_err();
    assert!(error.with_hint().to_string().contains("mode ebpf"), "{error}");
    let error = Plan::new(&hash.with_fanout(group(FanoutMode::Ebpf, true))).unwrap_err();
    assert!(error.with_hint().to_string().contains("rollover"), "{error}");
    let error = Plan::new(&settings(2).with_steering(steering("steer_to 7"))).unwrap_err();
    assert!(matches!(error, Error::Steering(_)), "{error}");
    let error = Plan::new(&settings(2).with_workers(300)).unwrap_err();
    assert!(error.with_hint().to_string().contains("255"), "{error}");
    let fanout = Fanout::new(FanoutMode::Hash).with_group(65_535);
    inside(move || {
        cable();
        let two = settings(1).with_interfaces([FAR, NEAR]).with_fanout(fanout);
        assert!(refused(&two).with_hint().to_string().contains("65535"));
    });
}

/// Run by the next test in another process, without the capability.
#[test]
#[ignore = "a part of another test"]
fn without_capability() {
    match Rig::open(&settings(1)).err() {
        Some(Error::Privilege { what, capabilities }) => println!("refused {what}: {capabilities}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_capability_is_named() {
    inside(|| {
        cable();
        let mut child = Command::new("setpriv");
        child.arg("--bounding-set=-net_raw").arg(std::env::current_exe().unwrap());
        child.args(["--exact", "refusals::without_capability", "--ignored", "--nocapture"]);
        if let Some(reason) = missing(&["setpriv"]) {
            return println!("skipped: {reason}");
        }
        let output = child.run_in_time().expect("setpriv");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("refused capturing on tw1: cap_net_raw"), "{text}");
    });
}

/// Run by the next test in another process, without the capabilities.
#[test]
#[ignore = "a part of another test"]
fn without_programs() {
    let plan = Plan::new(&settings(2)).unwrap();
    println!("remark: {:?}", plan.remark());
    let mut rig = Rig::open(&settings(2)).unwrap();
    let wire = PacketSocket::open(NEAR).unwrap();
    for number in 0..40 {
        wire.send(&whole(number, number % 3 == 0, 50, number)).unwrap();
    }
    println!("got {}", rig.collect(40).concat().len());
}

#[test]
fn without_programs_in_the_kernel_its_hash_is_used_and_that_is_said() {
    inside(|| {
        cable();
        assert_eq!(Plan::new(&settings(2)).unwrap().remark(), None);
        let mut child = Command::new("setpriv");
        child.arg("--bounding-set=-bpf,-sys_admin").arg(std::env::current_exe().unwrap());
        child.args(["--exact", "refusals::without_programs", "--ignored", "--nocapture"]);
        if let Some(reason) = missing(&["setpriv"]) {
            return println!("skipped: {reason}");
        }
        let output = child.run_in_time().expect("setpriv");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("by the kernel's hash") && text.contains("cap_bpf"), "{text}");
        assert!(text.contains("got 40"), "{text}");
    });
}

#[test]
fn a_kind_of_interface_that_is_not_known_is_refused_by_name() {
    inside(|| {
        let made = Command::new("ip").args(["link", "add", "odd0", "type", "gre", "local", "10.0.0.1"]).run_in_time();
        if !made.is_ok_and(|output| output.status.success()) {
            println!("skipped: this kernel has no GRE");
            return;
        }
        ip("link set odd0 up");
        let error = refused(&settings(1).with_interfaces(["odd0"])).with_hint().to_string();
        assert!(error.contains("odd0") && error.contains("778"), "{error}");
    });
}
