//! Ends in order.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use tidewire_testing::{Ends as _, Signal, skip};

use crate::rig::{CAPTURE, Sensor, TIDEWIRE, cannot_capture, part};

fn counting(name: &str, more: &str) -> String {
    format!(
        "[analyzer.{name}]\ncommand = [\"sh\", \"-c\", \"'{TIDEWIRE}' attach streams --json --socket $TIDEWIRE_SOCKET | grep -c data\"]\n{more}"
    )
}

#[test]
fn files_reach_all_analyzers_whole() {
    let tables = counting("one", "") + &counting("two", "instances = 3");
    let mut sensor = Sensor::start(&format!("[capture]\nfiles = [\"{CAPTURE}\"]\n{tables}"), &[]);
    let status = sensor.ended();
    let (mut lines, log) = (sensor.output.rest(), sensor.log.rest());
    assert_eq!(status.code(), Some(0), "{log:#?}");
    lines.sort();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "two.0", "two.1", "two.2"], "{lines:?} {log:#?}");
    let counts: Vec<&str> = lines.iter().filter_map(|line| line.split_once(": ")).map(|(_, count)| count).collect();
    assert!(counts[0] != "0" && counts.iter().all(|count| *count == counts[0]), "{lines:?}");
    assert!(!sensor.directory().exists(), "{log:#?}");
}

#[test]
fn standard_input_reaches_all_analyzers() {
    let counts = |input: &dyn Fn(&mut Command, &Path), words: &[&str]| {
        let mut sensor = Sensor::start_with(&counting("one", ""), words, |command, folder| input(command, folder));
        let status = sensor.ended();
        let (lines, log) = (sensor.output.rest(), sensor.log.rest());
        assert_eq!(status.code(), Some(0), "{log:#?}");
        assert!(!sensor.directory().exists(), "{log:#?}");
        lines
    };
    let piped = |command: &mut Command, _: &Path| {
        let mut cat = Command::new("cat").arg(CAPTURE).stdout(Stdio::piped()).spawn().expect("cat");
        command.stdin(cat.stdout.take().expect("a pipe"));
        std::thread::spawn(move || cat.wait_in_time("cat"));
    };
    let of_file = counts(&|_, _| {}, &["-r", CAPTURE]);
    assert!(of_file.len() == 1 && of_file[0].starts_with("one: ") && of_file[0] != "one: 0", "{of_file:?}");
    assert_eq!(counts(&piped, &["-r", "-"]), of_file);
}

/// A pipe whose other end is never closed, as that of a capture on another machine.
#[test]
fn standard_input_that_never_ends_is_followed_until_a_signal() {
    let tables = "[analyzer.follows]\ncommand = [\"sh\", \"-c\", \"'TIDEWIRE' attach streams --json --socket $TIDEWIRE_SOCKET | grep --line-buffered -m 1 -o '.kind.:.open.'\"]\n";
    let tables = tables.replace("TIDEWIRE' attach", &format!("{TIDEWIRE}' attach"));
    let mut sensor = Sensor::start_with(&tables, &["-r", "-"], |command, _| {
        command.stdin(Stdio::piped());
    });
    let mut input = sensor.child.stdin.take().expect("a pipe");
    input.write_all(&std::fs::read(CAPTURE).expect("a capture")).expect("the capture reads");
    sensor.output.until("follows: ");
    sensor.signal(Signal::TERM);
    let (status, log) = (sensor.ended(), sensor.log.rest());
    assert_eq!(status.code(), Some(130), "{log:#?}");
    assert!(!sensor.directory().exists(), "{log:#?}");
    drop(input);
}

#[test]
fn files_without_a_reader_are_not_passed_over() {
    let mut sensor = Sensor::start(&format!("[capture]\nfiles = [\"{CAPTURE}\"]\n"), &[]);
    assert_eq!(sensor.ended().code(), Some(0));
    let log = sensor.log.rest().join("\n");
    assert!(log.contains("capture: the end: ") && log.contains("no reader attached; with --wait-for 1"), "{log}");
}

#[test]
fn sigterm_ends_all_parts_even_one_that_will_not() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let stubborn =
        "[analyzer.stubborn]\ncommand = [\"sh\", \"-c\", \"trap '' TERM; echo begun; while :; do sleep 0.1; done\"]\n";
    let sensor = Sensor::live(&(stubborn.to_owned() + &counting("reads", "")));
    sensor.output.until("stubborn: begun");
    sensor.until("a reader", |status| status["capture"]["queues"][0]["readers"][0].is_object());
    let log = sensor.end();
    let text = log.join("\n");
    for said in
        ["SIGTERM: the capture ends, then the analyzers", "SIGTERM to stubborn", "stubborn does not end: it is killed"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_second_signal_is_faster_and_nothing_is_started_any_more() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let text = crate::rig::live(
        "[analyzer.stubborn]\ncommand = [\"sh\", \"-c\", \"trap '' TERM; echo begun; while :; do sleep 0.1; done\"]\nrestart = \"always\"\n",
    );
    let mut sensor = Sensor::start(&text.replace("500ms", "1h"), &[]);
    sensor.output.until("stubborn: begun");
    sensor.signal(Signal::INT);
    sensor.log.until("SIGINT: the capture ends");
    sensor.until("only the analyzer is left", |status| part(status, "capture")["state"] == "ended");
    // timeout(1) may signal twice at once, which is one request.
    crate::rig::a_while();
    sensor.signal(Signal::INT);
    sensor.log.until("SIGTERM to stubborn");
    sensor.signal(Signal::INT);
    sensor.log.until("again: analyzers are killed");
    assert_eq!(sensor.ended().code(), Some(0));
    assert!(!sensor.directory().exists());
}

#[test]
fn a_daemon_that_an_analyzer_left_ends_with_it() {
    if let Some(why) = cannot_capture().or_else(|| tidewire_testing::missing(&["setsid"])) {
        return skip(why);
    }
    let tables = "[analyzer.leaves]\ncommand = [\"sh\", \"-c\", \"setsid sleep 61 & sleep 0.5; echo left $!\"]\n";
    let sensor = Sensor::live(tables);
    let line = sensor.output.until("leaves: left ");
    let daemon: u32 = line.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    sensor.until("its starter has ended", |status| part(status, "leaves")["state"] == "ended");
    tidewire_testing::wait_until("the end of its daemon", || !crate::rig::runs(daemon));
    sensor.end();
}
