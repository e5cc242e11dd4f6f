//! Captures that are refused, and the messages.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use crate::{
    common::complaint,
    rig::{self, HERE, Running},
};

#[test]
fn what_makes_no_sense() {
    let cases: &[(&[&str], &str)] = &[
        (&["flows", "--duration", "1s", "x.pcap"], "--duration needs an interface: name one with -i"),
        (&["flows", "--tap", "x.pcap"], "--tap needs an interface"),
        (&["flows", "--no-pin", "x.pcap"], "--no-pin needs an interface"),
        (&["flows", "-i", "lo", "x.pcap"], "cannot read a file"),
        (&["flows"], "or an interface (-i eth0)"),
        (&["flows", "-i", "no-such0"], "there is no interface no-such0; there are: "),
        (&["flows", "-i", "lo:no-such0"], "there is no interface no-such0; there are: "),
        (&["flows", "-i", "lo", "-c", "0"], "--packets must be at least 1"),
        (&["flows", "-i", "lo", "--tap", "--host"], "cannot be used with"),
        (&["flows", "-i", "lo", "--engine", "pf_ring"], "invalid value 'pf_ring'"),
        (&["flows", "-i", "lo", "--fanout", "7", "hsh"], "unknown mode 'hsh'; expected hash, lb, cpu"),
        (&["flows", "-i", "lo", "--fanout", "65536", "hash"], "group must be 0 to 65535"),
        (&["flows", "-i", "lo", "--fanout", "7"], "2 values required"),
        (&["flows", "-i", "lo", "--ring", "10K"], "--ring must be at least 1 MiB"),
        (&["flows", "-i", "lo", "--steer", "tcp >-> nonsense"], "--steer: line 1, column 9: `nonsense` is not a name"),
        (&["flows", "-i", "lo", "--steer", "@/no/such/file"], "/no/such/file"),
        (&["flows", "-i", "lo", "-F", "tcp prt 80"], "cannot be used"),
        (&["count"], "no interface: name one"),
        (&["count", "-i", "no-such0"], "there is no interface no-such0"),
        (&["count", "-i", "lo", "--interval", "0"], "--interval must be more than 0"),
    ];
    for (words, expected) in cases {
        let (said, code) = complaint(words);
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(code, 2, "{words:?}: {said}");
    }
}

/// Of an argument that points at a place the place is shown.
#[test]
fn a_steering_program_is_pointed_at() {
    let (said, _) = complaint(&["flows", "-i", "lo", "--steer", "tcp >-> nonsense"]);
    assert!(said.contains("\n  tcp >-> nonsense\n          ^\n"), "{said}");
}

/// Without privileges the message names the missing ones, and how to grant them.
#[test]
fn a_user_without_privileges_may_not_capture() {
    rig::run(&["setpriv"], |rig| {
        let folder = rig.directory.path();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("permissions");
        let copy = folder.join("tidewire");
        fs::copy(env!("CARGO_BIN_EXE_tidewire"), &copy).expect("a copy");
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
        let ended = Running::start({
            command.args(["flows", "-i", HERE]);
            command
        })
        .wait();
        assert_eq!(ended.code(), 3, "{}", ended.said);
        assert!(ended.said.contains("cap_net_raw") && ended.said.contains("setcap"), "{}", ended.said);
        assert_eq!(ended.out, "");
    });
}
