//! Notifications to a service manager, which is a socket of this test.

use std::os::unix::net::UnixDatagram;

use tempfile::TempDir;
use tidewire_testing::{PATIENCE, Signal, skip};

use crate::rig::{Sensor, cannot_capture, live};

/// So many ports in a filter compile for a second or so.
const PORTS: u32 = 300;

/// A sensor with these tables, whose manager wants a sign of life in so many microseconds; the manager, and where its socket is.
fn managed(tables: &str, watchdog_us: &str) -> (Sensor, UnixDatagram, TempDir) {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let sensor = Sensor::start_with(&live(tables), &[], |command, _| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", watchdog_us).env_remove("WATCHDOG_PID");
    });
    (sensor, manager, place)
}

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
    // The parts do not see the manager.
    let tables =
        "[analyzer.env]\ncommand = [\"sh\", \"-c\", \"echo manager=$NOTIFY_SOCKET.$WATCHDOG_USEC.; exec sleep 60\"]\n";
    let (mut sensor, manager, _place) = managed(tables, "200000");
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

/// A filter that takes long to compile keeps neither the manager's watchdog nor a client of the status waiting.
#[test]
fn a_reload_that_takes_long_stops_nothing_else() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let (mut sensor, manager, _place) = managed("", "80000");
    next(&manager, "READY=1");
    let ports: Vec<String> = (1..PORTS).map(|port| format!("port {port}")).collect();
    let slow = format!("[queue.slow]\nmemory = \"1M\"\nfilter = \"{}\"\n", ports.join(" or "));
    sensor.rewrite(&live(&slow));
    sensor.signal(Signal::HUP);
    next(&manager, "RELOADING=1");
    assert_eq!(sensor.answer().expect("a status")["pending"], serde_json::json!([]), "it is not read yet");
    let (mut room, mut alive) = ([0; 4096], 0);
    loop {
        let bytes = manager.recv(&mut room).expect("the end of the reload");
        match &room[..bytes] {
            b"WATCHDOG=1\n" => alive += 1,
            ready if ready.starts_with(b"READY=1") => break,
            _ => {}
        }
    }
    assert!(alive >= 3, "{alive} signs of life");
    sensor.log.until("after a restart of the sensor: queue.slow");
    // A signal to end does not wait for a reload.
    sensor.signal(Signal::HUP);
    next(&manager, "RELOADING=1");
    sensor.signal(Signal::TERM);
    assert_eq!(sensor.ended().code(), Some(0));
    assert!(!sensor.log.rest().iter().any(|line| line.contains("configuration read again")));
}
