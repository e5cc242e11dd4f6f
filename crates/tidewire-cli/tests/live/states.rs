//! Interfaces that change while they are used: every command goes through the table of states (docs/live.md).

use std::net::UdpSocket;

use serde_json::Value;
use tidewire_live::{
    Change,
    split::{OUTPUTS_MAX, Split, SplitSettings},
    sys::bpf::XdpMode,
};
use tidewire_testing::InTime as _;

use crate::rig::{self, Rig, Running, ip};

/// The interface that changes.
const LATE: &str = "late0";

fn make() {
    ip("link add late0 type veth peer name late1");
    ip("link set late1 up");
    ip("link set late0 up");
}

/// The command, the line that reports it, how many of these lines there are by then, and the state then.
const STEPS: [(&str, &str, usize, &str); 8] = [
    ("link set late0 down", "late0 is down", 1, "down"),
    ("link set late0 up", "late0 is up", 1, "up"),
    // The other end takes the carrier away.
    ("link set late1 down", "late0 is down", 2, "down"),
    ("link set late1 up", "late0 is up", 2, "up"),
    ("link set late0 name other0", "late0 was renamed to other0", 1, "up"),
    // It is known by its index.
    ("link set other0 down", "late0 is down", 3, "down"),
    ("link del other0", "late0 is gone", 1, "gone"),
    ("", "late0 is back", 1, "up"),
];

/// Goes through the table. `until` waits until the state is shown, where the command shows it while it runs.
fn go_through(running: &Running, until: &dyn Fn(&str, Option<&str>)) {
    for (change, said, count, state) in STEPS {
        match change {
            "" => make(),
            change => ip(change),
        }
        rig::wait_for(said, || running.said().matches(said).count() == count);
        let is_renamed = said.contains("other0") || change.contains("set other0");
        until(state, is_renamed.then_some("other0"));
    }
    rig::wait_for("the last line", || running.said().matches("late0 is up").count() == 3);
}

fn not_shown(_: &str, _: Option<&str>) {}

/// The entry of the interface in a ledger's JSON.
fn entry(all: &Value) -> &Value {
    all.as_array().and_then(|all| all.iter().find(|one| one["name"] == LATE)).unwrap_or(&Value::Null)
}

#[test]
fn a_capture_says_what_becomes_of_its_interfaces() {
    rig::run(&["curl"], |rig: &Rig| {
        make();
        let words = ["flows", "--json", "--stats=json", "--metrics", "127.0.0.1:19606", "-i", LATE];
        let running = rig.tidewire(&words);
        let metrics = || rig.here(&["curl", "-s", "--noproxy", "*", "http://127.0.0.1:19606/metrics"]);
        go_through(&running, &|state, _| {
            let is = |name: &str, holds: bool| format!("{name}{{interface=\"late0\"}} {}", u8::from(holds));
            rig::wait_for(state, || {
                let shown = metrics();
                let present = format!("engine=\"packet\"}} {}", u8::from(state != "gone"));
                shown.contains(&is("tidewire_interface_up", state == "up")) && shown.contains(&present)
            });
        });
        let ledger = running.interrupt().ledger();
        let entry = entry(&ledger["detail"]["live"]["interfaces"]);
        assert_eq!((&entry["state"], &entry["current_name"]), (&"up".into(), &Value::Null), "{ledger}");
    });
}

#[test]
fn a_recorder_and_a_counter_say_what_becomes_of_their_interfaces() {
    rig::run(&[], |rig: &Rig| {
        make();
        let place = rig.directory.path().join("archive");
        let place = place.to_str().expect("text");
        for words in [&["record", "-i", LATE, "--json", "-o", place][..], &["count", "-i", LATE, "--json"]] {
            let running = rig.tidewire(words);
            go_through(&running, &not_shown);
            let ended = running.interrupt();
            assert_eq!(ended.code(), 0, "{}", ended.said);
            let summary = ended.ledger().to_string();
            assert!(summary.contains("\"state\":\"up\""), "{words:?}: {summary}");
        }
    });
}

/// The input of one link that is split, and an output of another.
#[test]
fn a_split_says_what_becomes_of_its_interfaces() {
    rig::run(&[], |_: &Rig| {
        make();
        ip("link add other1 type veth peer name other2");
        ip("link set other1 up");
        ip("link set other2 up");
        for (words, last) in [
            (["split", LATE, "other1", "--mode", "generic", "--json"], "nothing is split until it is back"),
            (["split", "other1", LATE, "--mode", "generic", "--json"], "its share is lost until it is back"),
        ] {
            let running = Running::start(crate::common::command(&words));
            running.wait_for_said("splitting ");
            go_through(&running, &not_shown);
            let ended = running.interrupt();
            assert!(ended.code() == 0 && ended.said.contains(last), "{}", ended.said);
            let summary = ended.ledger();
            assert_eq!((&summary["state"], &summary["outputs"][0]["state"]), (&"up".into(), &"up".into()), "{summary}");
        }
    });
}

/// A link that is split to one output.
fn split(input: &str, output: &str) -> Split {
    let program = tidewire_steer::Program::parse("steer_link").expect("a program");
    let steering = tidewire_steer::Compiled::new(&program, &tidewire_steer::Settings::default()).expect("a program");
    let (input, outputs, mode) = (input.into(), vec![output.into()], Some(XdpMode::Generic));
    Split::start(&SplitSettings { input, outputs, steering, mode }).expect("it is split")
}

/// Another program took its place: the change is reported all the same, and the next look tries again.
#[test]
fn a_change_is_reported_where_the_interface_cannot_be_used_again() {
    rig::run(&[], |_: &Rig| {
        make();
        ip("link add other1 type veth peer name other2");
        ip("link set other1 up");
        ip("link set other2 up");
        let mut ours = split(LATE, "other1");
        ip("link del late0");
        make();
        let theirs = split(LATE, "other2");
        let seen = ours.look();
        assert!(seen.failure.is_some(), "{seen:?}");
        assert!(seen.changes.iter().any(|event| event.change == Change::Back), "{seen:?}");
        drop(theirs);
        let seen = ours.look();
        assert!(seen.failure.is_none(), "{seen:?}");
    });
}

/// More often than there may be outputs: the program keeps no place of one that was there before.
#[test]
fn an_output_is_made_again_more_often_than_there_may_be_outputs() {
    rig::run(&[], |_: &Rig| {
        make();
        ip("link add in0 type veth peer name far0");
        ip("link set in0 up");
        ip("link set far0 up");
        let find = |name: &str| tidewire_live::Interface::find(name).expect("an interface");
        let mut split = split("in0", LATE);
        for _ in 0..OUTPUTS_MAX + 1 {
            let before = find(LATE).index;
            ip("link del late0");
            make();
            assert_ne!(find(LATE).index, before);
            let seen = split.look();
            assert!(seen.failure.is_none(), "{seen:?}");
        }
    });
}

/// The status of a sensor says of each interface whether frames can come, and when the last one came: so do metrics.
#[test]
fn a_sensor_says_what_its_interfaces_are() {
    rig::run(&["curl"], |rig: &Rig| {
        let folder = rig.directory.path();
        let text = format!(
            "[sensor]\ndirectory = \"{}\"\nmetrics = \"127.0.0.1:19605\"\n[capture]\ninterfaces = [\"late0\"]\n[events]\n\
             enabled = false\n[queue.a]\nmemory = \"1M\"\n",
            folder.join("sensor").display()
        );
        let file = folder.join("sensor.toml");
        std::fs::write(&file, text).expect("a file");
        make();
        let running = rig.tidewire(&["sensor", file.to_str().expect("text")]);
        let directory = folder.join("sensor");
        let ask = |words: &[&str]| {
            let all = [&["sensor", "status", "--directory", directory.to_str().expect("text")], words].concat();
            crate::common::command(&all).run_in_time().expect("tidewire").stdout
        };
        let interface = || -> Value {
            let status: Value = serde_json::from_slice(&ask(&["--json"])).unwrap_or_default();
            status["capture"]["interfaces"][0].clone()
        };
        let until = |state: &str, current: Option<&str>| {
            let current = current.map_or(Value::Null, Value::from);
            rig::wait_for(state, || interface()["state"] == state && interface()["current_name"] == current);
        };
        until("up", None);
        // The question who has the address is a frame.
        ip("addr add 10.9.9.1/24 dev late0");
        let socket = UdpSocket::bind(("10.9.9.1", 0)).expect("an address");
        socket.send_to(b"tide", ("10.9.9.2", 9)).expect("a route");
        rig::wait_for("a frame", || interface()["idle_seconds"].is_number());
        go_through(&running, &until);
        // They follow the status a little later.
        rig::wait_for("metrics", || {
            let metrics = rig.here(&["curl", "-s", "--noproxy", "*", "http://127.0.0.1:19605/metrics"]);
            metrics.contains("tidewire_interface_up{interface=\"late0\"} 1")
                && metrics.contains("tidewire_interface_idle_seconds{interface=\"late0\"}")
        });
        ip("link set late0 name other0");
        until("up", Some("other0"));
        let shown = String::from_utf8(ask(&[])).expect("text");
        assert!(shown.contains("late0      up as other0"), "a row of its own: {shown}");
        assert_eq!(running.interrupt().code(), 0);
    });
}
