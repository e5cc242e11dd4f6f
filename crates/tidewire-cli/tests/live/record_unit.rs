//! packaging/tidewire-record.service.

use std::{fs, process::Command};

use tidewire_testing::{InTime as _, as_unit, check_unit, missing, skip};

use crate::rig::{self, HERE, THERE_ADDRESS};

const UNIT: &str = include_str!("../../../../packaging/tidewire-record.service");
const TIDEWIRE: &str = env!("CARGO_BIN_EXE_tidewire");

#[test]
fn the_unit_of_the_recorder_is_valid_and_hardened() {
    let folder = tempfile::tempdir().expect("a folder");
    check_unit(folder.path(), "tidewire-record.service", &UNIT.replace("@PREFIX@/bin/tidewire", TIDEWIRE));
}

#[test]
fn the_unit_of_the_recorder_has_no_capability_too_many() {
    let lines = |name: &str| UNIT.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(lines("AmbientCapabilities="), lines("CapabilityBoundingSet="));
    for too_much in ["CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_SETUID", "CAP_KILL", "CAP_SYS_PTRACE", "CAP_CHOWN"] {
        assert!(!UNIT.contains(too_much), "{too_much}");
    }
    // Packets in memory are written at its end.
    assert_eq!(lines("KillSignal="), "SIGINT");
    // Packets of a busy machine are lost otherwise, and its group reads archives.
    assert_eq!((lines("Nice="), lines("StateDirectoryMode="), lines("UMask=")), ("-10", "0750", "0027"));
}

/// As the unit runs it: not root, these capabilities, and options from a file.
#[test]
fn the_capabilities_of_the_recorder_are_enough() {
    if let Some(reason) = missing(&["setpriv"]) {
        return skip(reason);
    }
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let folder = rig.directory.path();
        let (archive, options, program) = (folder.join("archive"), folder.join("record.toml"), folder.join("tidewire"));
        let place = archive.to_str().expect("text");
        let text = format!("interface = [\"{HERE}\"]\noutput = [\"{place}\"]\ncutoff = \"10K\"\nfilter = \"tcp\"\n");
        fs::write(&options, text).expect("written");
        fs::copy(TIDEWIRE, &program).expect("a copy that this user reaches");
        fs::create_dir(&archive).expect("a folder");
        std::os::unix::fs::chown(&archive, Some(65_534), Some(65_534)).expect("its owner");
        let mut command = as_unit(UNIT);
        // As ExecStart has it.
        assert!(UNIT.contains("tidewire record --config /etc/tidewire/record.toml"));
        command.arg(&program).args(["record", "--config", options.to_str().expect("text"), "--json"]);
        command.stdin(std::process::Stdio::null());
        let recorder = rig::Running::start(command);
        recorder.wait_for_said("packet socket");
        let url = format!("http://{THERE_ADDRESS}/big");
        let got = Command::new("curl").args(["-s", "-o", "/dev/null", &url]).status_in_time().expect("curl runs");
        assert!(got.success());
        rig::settle();
        let ended = recorder.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        // systemd sets the nice value; without it, that is said.
        assert!(ended.said.contains("the nice value stays as it is: -10 needs root"), "{}", ended.said);
        let summary: serde_json::Value = serde_json::from_str(&ended.out).expect("a summary");
        // The kernel drops what is beyond the cutoff: its programs could be loaded.
        assert!(summary["live"]["interfaces"][0]["kernel"]["received"].as_u64() > Some(10), "{summary}");
        assert!(summary["written_packets"].as_u64() > Some(5), "{summary}");
    });
}
