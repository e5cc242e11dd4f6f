//! packaging/tidewire-sensor.service.

use std::{fs, process::Stdio};

use tidewire_testing::{Signal, as_unit, check_unit, missing, skip};

use crate::rig::{Sensor, TIDEWIRE, cannot_capture, live};

const UNIT: &str = include_str!("../../../../packaging/tidewire-sensor.service");

#[test]
fn the_unit_is_valid_and_hardened() {
    let folder = tempfile::tempdir().expect("a folder");
    check_unit(folder.path(), "tidewire-sensor.service", &UNIT.replace("@PREFIX@/bin/tidewire", TIDEWIRE));
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

/// As the unit runs it: not root, these capabilities, and no way to others.
#[test]
fn its_capabilities_are_enough() {
    if let Some(why) = cannot_capture().or_else(|| missing(&["setpriv"])) {
        return skip(why);
    }
    let tables =
        "[analyzer.other]\ncommand = [\"sh\", \"-c\", \"id -u; exec sleep 60\"]\nuser = \"65533:65533\"\nnice = -3\n";
    // Its store is in its directory, which is its user's.
    let tables = format!("{tables}[events]\nsize = \"2M\"\n");
    let sensor = Sensor::start_with(&live(&tables), &[], |command, folder| {
        let program = folder.join("tidewire");
        fs::copy(TIDEWIRE, &program).expect("a copy that this user reaches");
        let directory = folder.join("sensor");
        fs::create_dir(&directory).expect("a folder");
        std::os::unix::fs::chown(&directory, Some(65_534), Some(65_534)).expect("its owner");
        let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        *command = as_unit(UNIT);
        command.arg(program).args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    sensor.output.until("other: 65533");
    let runs = |status: &serde_json::Value| status["state"] == "running" && status["events"]["failing"].is_null();
    sensor.until("it captures, and stores events", |status| {
        runs(status) && crate::rig::part(status, "events")["state"] == "running"
    });
    // Its memory and descriptors are its own: the kernel gives these files to root.
    use std::os::unix::fs::MetadataExt as _;
    for process in sensor.processes() {
        let words = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if words.contains("sensor.toml") || words.contains("run-watchdog") {
            let owner = fs::metadata(format!("/proc/{process}/environ")).expect("it runs").uid();
            assert_eq!(owner, 0, "{words}");
        }
    }
    sensor.signal(Signal::TERM);
    let mut sensor = sensor;
    assert_eq!(sensor.ended().code(), Some(0));
    let left = fs::read_dir(sensor.directory()).expect("it was there before").flatten();
    let left: Vec<String> = left.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    assert!(left.iter().all(|name| name.starts_with("events.db")) && !left.is_empty(), "{left:?}");
}
