//! SIGHUP.

use tidewire_testing::{Signal, skip};

use crate::rig::{Sensor, a_while, cannot_capture, live, part, process};

const TWO: &str = "[analyzer.stays]\ncommand = [\"sleep\", \"60\"]\n[analyzer.goes]\ncommand = [\"sleep\", \"61\"]\n";

#[test]
fn what_changed_of_the_analyzers_is_applied_and_the_capture_goes_on() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live(TWO);
    let before = sensor.until("both run", |status| part(status, "goes")["state"] == "running");
    let more = "[analyzer.stays]\ncommand = [\"sleep\", \"60\"]\n[analyzer.comes]\ncommand = [\"sleep\", \"62\"]\n";
    sensor.rewrite(&live(more));
    sensor.signal(Signal::HUP);
    sensor.log.until("configuration read again: 1 analyzers to start, 1 to end");
    let after = sensor
        .until("the change", |status| part(status, "comes")["state"] == "running" && part(status, "goes").is_null());
    for name in ["capture", "stays"] {
        assert_eq!(process(&after, name), process(&before, name), "{name}");
    }
    // A change that needs another capture is reported, and waits.
    let queues = live(more).replace("filter = \"tcp port 4\"", "filter = \"tcp port 5\"")
        + "[queue.other]\nmemory = \"1M\"\n[analyzer.late]\ncommand = [\"sleep\", \"63\"]\nqueue = \"other\"\n";
    let queues = queues.replace("[\"sleep\", \"62\"]", "[\"sleep\", \"62\"]\nqueue = \"streams\"");
    let queues = queues.replace("[\"sleep\", \"60\"]", "[\"sleep\", \"60\"]\nqueue = \"streams\"");
    sensor.rewrite(&queues);
    sensor.signal(Signal::HUP);
    sensor.log.until("the capture goes on as it is; after a restart of the sensor: capture, queue.other");
    sensor.log.until("not started before a restart of the sensor, which they need: late");
    let last =
        sensor.until("it is in the status", |status| status["pending"].as_array().is_some_and(|all| all.len() == 2));
    for name in ["capture", "stays", "comes"] {
        assert_eq!(process(&last, name), process(&after, name), "{name}");
    }
    sensor.end();
}

#[test]
fn with_mistakes_the_old_one_runs_on() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live(TWO);
    let before = sensor.until("both run", |status| part(status, "goes")["state"] == "running");
    for text in ["[capture]\ninterfces = 5\n", "x = [", "\0"] {
        sensor.rewrite(text);
        sensor.signal(Signal::HUP);
        sensor.log.until("the configuration has mistakes; the old one runs on:");
    }
    std::fs::remove_file(sensor.folder.path().join("sensor.toml")).expect("removed");
    sensor.signal(Signal::HUP);
    sensor.log.until("cannot read");
    a_while();
    let after = sensor.answer().expect("it runs");
    for name in ["capture", "stays", "goes"] {
        assert_eq!(process(&after, name), process(&before, name), "{name}");
    }
    sensor.end();
}
