//! packaging/tidewire-sensor.service.

use std::{fs, process::Command};

use tidewire_testing::{InTime as _, find, skip};

use crate::rig::TIDEWIRE;

const UNIT: &str = include_str!("../../../../packaging/tidewire-sensor.service");

/// The highest exposure that `systemd-analyze security` may find, in tenths: capturing itself costs three.
const EXPOSURE_MAX: &str = "35";

#[test]
fn the_unit_is_valid_and_hardened() {
    if find("systemd-analyze").is_none() {
        return skip("there is no systemd-analyze");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tidewire-sensor.service");
    fs::write(&path, UNIT.replace("@PREFIX@/bin/tidewire", TIDEWIRE)).expect("a file");
    let run = |words: &[&str]| {
        let output = Command::new("systemd-analyze").args(words).arg(&path).run_in_time().expect("it runs");
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (valid, said) = run(&["verify", "--man=no"]);
    if said.contains("--man") || said.contains("Failed to") {
        return skip(format!("systemd-analyze cannot verify here: {said}"));
    }
    assert!(valid && said.trim().is_empty(), "{said}");
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let (hardened, said) = run(&["security", "--offline=true", "--no-pager", &threshold]);
    assert!(hardened, "{said}");
}

#[test]
fn its_capabilities_are_those_that_the_supervisor_keeps() {
    let sets: Vec<&str> = UNIT.lines().filter_map(|line| line.split_once("Capabilit")).map(|(_, rest)| rest).collect();
    let values: Vec<&str> = sets.iter().filter_map(|line| line.split_once('=')).map(|(_, value)| value).collect();
    assert_eq!(values.len(), 2, "{UNIT}");
    assert_eq!(values[0], values[1]);
    for capability in ["CAP_NET_RAW", "CAP_BPF", "CAP_SETUID", "CAP_SETGID", "CAP_KILL"] {
        assert!(values[0].contains(capability), "{capability}");
    }
    for too_much in ["CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_SYS_PTRACE", "CAP_SYS_MODULE"] {
        assert!(!UNIT.contains(too_much), "{too_much}");
    }
}
