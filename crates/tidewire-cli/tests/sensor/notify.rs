//! Notifications to a service manager, which is a socket of this test.

use std::os::unix::net::UnixDatagram;

use tidewire_testing::{PATIENCE, Signal, skip};

use crate::rig::{Sensor, cannot_capture, live};

/// The next notification with this text, after any others.
fn next(manager: &UnixDatagram, text: &str) -> String {
    let mut room = [0; 4096];
    let mut before = Vec::new();
    for _ in 0..10_000 {
        let bytes = manager.recv(&mut room).unwrap_or_else(|error| panic!("no '{text}': {error}; {before:?}"));
        let found = String::from_utf8_lossy(&room[..bytes]).into_owned();
        if found.contains(text) {
            return found;
        }
        before.push(found);
    }
    panic!("no '{text}' among many");
}

#[test]
fn a_manager_hears_of_everything_in_order() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a limit");
    // The parts do not see the manager.
    let tables =
        "[analyzer.env]\ncommand = [\"sh\", \"-c\", \"echo manager=$NOTIFY_SOCKET.$WATCHDOG_USEC.; exec sleep 60\"]\n";
    let mut sensor = Sensor::start_with(&live(tables), &[], |command, _| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000").env_remove("WATCHDOG_PID");
    });
    assert_eq!(next(&manager, "READY=1"), format!("READY=1\nMAINPID={}\n", sensor.child.id()));
    sensor.output.until("env: manager=..");
    next(&manager, "STATUS=capturing: ");
    next(&manager, "WATCHDOG=1");
    next(&manager, "WATCHDOG=1");
    sensor.signal(Signal::HUP);
    assert!(next(&manager, "RELOADING=1").contains("MONOTONIC_USEC="));
    next(&manager, "READY=1");
    sensor.signal(Signal::TERM);
    next(&manager, "STOPPING=1");
    assert_eq!(sensor.ended().code(), Some(0));
}
