//! Events: from scripts to the store, through ends and kills.

use std::{
    fs,
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tidewire_testing::{Ends as _, InTime as _, Signal, skip, wait_until};

use crate::rig::{CAPTURE, Sensor, TIDEWIRE, cannot_capture, kill, live, part, process, runs};

/// A subcommand with the sensor's directory.
fn command(sensor: &Sensor, words: &[&str]) -> Command {
    let mut command = Command::new(TIDEWIRE);
    command.args(words).arg("--directory").arg(sensor.directory());
    command
}

/// The events of a sensor that runs.
fn events(sensor: &Sensor, words: &[&str]) -> Vec<Value> {
    let all = [&["events", "--expand", "--json"], words].concat();
    let output = command(sensor, &all).run_in_time().expect("tidewire");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Emits lines of standard input.
fn emit(sensor: &Sensor, lines: &str) -> Output {
    emit_to(&sensor.directory(), lines)
}

fn emit_to(directory: &Path, lines: &str) -> Output {
    let mut command = Command::new(TIDEWIRE);
    command
        .args(["event", "emit", "--directory"])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("tidewire");
    let mut input = child.stdin.take().expect("a pipe");
    // One that refuses the first line reads no other.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    child.output_in_time("tidewire event emit")
}

#[test]
fn what_was_emitted_is_stored_once_although_the_event_processor_is_killed() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live("");
    let words =
        ["event", "emit", "--kind", "backup.failed", "--severity", "high", "--field", "host=db1", "--field", "n=-5"];
    let one = command(&sensor, &[&words[..], &["--client", "192.0.2.1:4", "--server", "[198.51.100.2]:22"]].concat());
    let wrong = { one }.run_in_time().expect("tidewire");
    assert_eq!(wrong.status.code(), Some(2), "an invalid address");
    let mut one = command(&sensor, &[&words[..], &["--client", "192.0.2.1:4", "--server", "198.51.100.2:22"]].concat());
    assert!(one.run_in_time().expect("tidewire").status.success());
    let capture = process(&sensor.answer().expect("a status"), "capture");
    let mut restarts = 0;
    for round in 0..3 {
        let lines: String = (0..500)
            .map(|number| format!("{{\"kind\":\"test.round{round}\",\"fields\":{{\"n\":{number}}}}}\n"))
            .collect();
        let emitted = std::thread::scope(|scope| {
            let directory = sensor.directory();
            let lines = &lines;
            let emitted = scope.spawn(move || emit_to(&directory, lines));
            let status = sensor.until("it runs, and has said what the first one received", |status| {
                let has_said = round > 0 || status["events"]["events"].as_u64().is_some_and(|events| events > 0);
                part(status, "events")["state"] == "running" && has_said
            });
            kill(process(&status, "events"));
            restarts += 1;
            sensor.until("its successor", |status| {
                part(status, "events")["restarts"] == restarts && part(status, "events")["state"] == "running"
            });
            emitted.join().expect("no panic")
        });
        assert!(emitted.status.success(), "{}", String::from_utf8_lossy(&emitted.stderr));
        let kind = format!("test.round{round}");
        let stored = events(&sensor, &["--kind", &kind]);
        let numbers: Vec<u64> = stored.iter().map(|event| event["fields"]["n"].as_u64().expect("a number")).collect();
        assert!(numbers.iter().copied().eq(0..500), "round {round}: {} of them", numbers.len());
    }
    let status = sensor.answer().expect("a status");
    assert_eq!(process(&status, "capture"), capture, "the capture goes on");
    assert_eq!(part(&status, "events")["last_exit"], "killed by signal 9 (SIGKILL)");
    // With those of the processes before: the first had reported what it received.
    sensor.until("totals over restarts", |status| {
        let [all, last] = [&status["totals"], &status["events"]].map(|figures| figures["events"].as_u64());
        all.zip(last).is_some_and(|(all, last)| all > last)
    });
    let found = events(&sensor, &["--kind", "backup.*", "tcp", "and", "dst", "port", "22"]);
    let [event] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&event["analyzer"], &event["severity"]), (&Value::from("command"), &Value::from("high")));
    assert_eq!(event["fields"], serde_json::json!({"host": "db1", "n": -5}));
    let log = sensor.end().join("\n");
    assert!(log.contains("the event processor ended: killed by signal 9 (SIGKILL); started again in 100ms"), "{log}");
    assert!(log.contains("events: the end: "), "{log}");
}

/// Names belong to users, as the kernel states them: no user silences or forges reports of a part or of another user's analyzer.
#[test]
fn no_user_sends_events_under_anothers_name() {
    const STRANGER: u32 = 65_532;
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let tables = "[analyzer.ids]\ncommand = [\"sleep\", \"60\"]\nuser = \"65533\"\n\
                  [analyzer.mine]\ncommand = [\"sleep\", \"60\"]\nuser = \"65532\"\n";
    let text = live(tables).replace("[sensor]", "[sensor]\nusers = [\"65532\"]");
    let sensor = Sensor::start(&text, &[]);
    sensor.until("it runs", |status| status["state"] == "running");
    let folder = sensor.directory();
    for folder in folder.ancestors().take(2) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let emit = |user: u32, name: &str| {
        let mut command = command(&sensor, &["event", "emit", "--analyzer", name, "--kind", "test.name"]);
        // The other user may not see the working directory.
        command.uid(user).gid(user).current_dir("/");
        command.run_in_time()
    };
    if emit(STRANGER, "anything").is_err() {
        return skip("no right to run as another user");
    }
    for (name, is_refused) in [
        ("ids", true),
        ("scan", true),
        ("match", true),
        ("anomaly", true),
        ("capture", true),
        ("events", true),
        ("spool", true),
        ("tidewire", true),
        ("mine", false),
        ("another", false),
    ] {
        let output = emit(STRANGER, name).expect("tidewire");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !is_refused, "{name}: {said}");
        assert!(!is_refused || name == "tidewire" || said.contains("user 65532 may not send events as"), "{said}");
    }
    // Two users may have one name that belongs to no user: each is counted, and made to wait, alone.
    assert!(emit(0, "another").expect("tidewire").status.success());
    let stored = events(&sensor, &["--kind", "test.name"]);
    let names: Vec<_> = stored.iter().map(|event| event["analyzer"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["anything", "mine", "another", "another"]);
    let status = sensor.until("they are counted", |status| {
        status["events"]["analyzers"]
            .as_array()
            .is_some_and(|all| all.iter().filter(|one| one["name"] == "another").count() == 2)
    });
    let of: Vec<_> = status["events"]["analyzers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["name"] == "another")
        .collect();
    assert!(of[0]["user"] == 0 && of[1]["user"] == STRANGER, "{of:?}");
}

#[test]
fn a_wrong_line_is_named_and_the_others_are_stored() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live("");
    let output = emit(&sensor, "{\"kind\":\"a\"}\nrubbish\n\n{\"kind\":\"b\"}\n{\"kind\":\"c d\"}\n{\"kind\":\"e\"}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for words in
        ["line 2: no event: ", "line 5: no event: 'c d' is no name", "2 lines were not emitted; all others are stored"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let kinds: Vec<Value> = events(&sensor, &[]).into_iter().map(|mut event| event["kind"].take()).collect();
    assert_eq!(kinds, ["a", "b", "e"]);
    let unserved = Command::new(TIDEWIRE)
        .args(["event", "emit", "--kind", "a", "--directory", "/nowhere"])
        .run_in_time()
        .expect("tidewire");
    assert_eq!(unserved.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&unserved.stderr).contains("does a sensor with events run there?"));
    sensor.end();
}

/// Analyzers find the socket by their environment; a sensor over files ends when all is stored.
#[test]
fn analyzers_emit_and_everything_is_stored_before_the_end() {
    let script = format!(
        "'{TIDEWIRE}' attach streams --json --socket $TIDEWIRE_SOCKET | grep -c '\\\"kind\\\":\\\"close\\\"' > /dev/null; exec '{TIDEWIRE}' event emit --kind done.reading"
    );
    let tables = format!("[analyzer.counts]\ncommand = [\"sh\", \"-c\", \"{script}\"]\n");
    let mut sensor =
        Sensor::start(&format!("[capture]\nfiles = [\"{CAPTURE}\"]\n{}", tables.replace("\\\"", "\\\\\\\"")), &[]);
    let status = sensor.ended();
    let log = sensor.log.rest().join("\n");
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!sensor.directory().exists(), "{log}");
    // No part runs any more: the store is read alone.
    let store = sensor.folder.path().join("events.db");
    let words = ["events", "--kind", "done.reading", "--json", "--store", store.to_str().expect("UTF-8")];
    let output = Command::new(TIDEWIRE).args(words).run_in_time().expect("tidewire");
    let found: Value = serde_json::from_slice(&output.stdout).expect("one row");
    assert_eq!((&found["analyzer"], &found["count"]), (&Value::from("counts"), &Value::from(1)), "{log}");
    let lines = ["the event processor ended: exit code 0", "capture: the end: queue streams: "];
    assert!(lines.iter().all(|line| log.contains(line)), "{log}");
}

/// Events that were acknowledged to analyzers, and those on their way when the signal came, are in the store and in the folder at the end.
#[test]
fn what_was_emitted_before_the_end_is_stored_and_delivered() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let out = tempfile::tempdir().expect("a folder");
    let script = out.path().join("emits.sh");
    let lines = r#"n=0; while [ $n -lt 100000 ]; do n=$((n+1)); echo '{"kind":"number.is","fields":{"n":'$n'}}'; done"#;
    let text = format!("trap '' TERM\n({lines}) | '{TIDEWIRE}' event emit\necho done $?\n");
    std::fs::write(&script, text).expect("a script");
    // Files are whole after an hour: only the end completes them.
    let folder = out.path().join("spool");
    std::fs::create_dir(&folder).expect("a folder");
    let tables = format!(
        "[destination.near]\ntype = \"folder\"\npath = \"{}\"\nevery = \"1h\"\nkinds = [\"number.*\"]\n\
         [analyzer.emits]\ncommand = [\"sh\", \"{}\"]\nrestart = \"never\"\n",
        folder.display(),
        script.display()
    );
    let mut sensor = Sensor::start(&live(&tables).replace("500ms", "20s"), &[]);
    sensor.until("it runs", |status| status["state"] == "running");
    wait_until("events", || events(&sensor, &["--kind", "number.*", "--limit", "1000"]).len() == 1000);
    let store = sensor.folder.path().join("events.db");
    sensor.signal(Signal::TERM);
    let (status, log) = (sensor.ended(), sensor.log.rest().join("\n"));
    assert_eq!(status.code(), Some(0), "{log}");
    let said = sensor.output.rest().join("\n");
    let words = ["events", "--kind", "number.*", "--expand", "--json", "--store", store.to_str().expect("UTF-8")];
    let output = Command::new(TIDEWIRE).args(words).run_in_time().expect("tidewire");
    let numbers = |text: &str| {
        let number = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["fields"]["n"].as_u64();
        text.lines().filter_map(number).collect::<Vec<u64>>()
    };
    let stored = numbers(&String::from_utf8(output.stdout).expect("UTF-8"));
    assert!(stored.len() > 1000 && stored.iter().copied().eq(1..=stored.len() as u64), "{} {log}", stored.len());
    if said.contains("emits: done 0") {
        assert_eq!(stored.len(), 100_000, "all were acknowledged to the analyzer: {said}");
    }
    let files = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
    let text: String = files.map(|path| std::fs::read_to_string(path).expect("text")).collect();
    let counts = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["count"].as_u64().unwrap_or(1);
    assert_eq!(text.lines().map(counts).sum::<u64>(), stored.len() as u64, "delivered before the end: {log}");
}

#[test]
fn a_destination_that_a_reload_brings_gets_everything() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live("");
    assert!(emit(&sensor, &"{\"kind\":\"before\"}\n".repeat(10)).status.success());
    let folder = sensor.folder.path().join("spool");
    std::fs::create_dir(&folder).expect("a folder");
    let destination =
        format!("[destination.near]\ntype = \"folder\"\npath = \"{}\"\nevery = \"1s\"\n", folder.display());
    sensor.rewrite(&live(&destination));
    sensor.signal(Signal::HUP);
    let status = sensor.until("the spooler", |status| part(status, "spool")["state"] == "running");
    let spooler = process(&status, "spool");
    // Nice 10, and the idle I/O class.
    let stat = std::fs::read_to_string(format!("/proc/{spooler}/stat")).expect("it runs");
    let nice = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(16));
    assert_eq!(nice, Some("10"), "{stat}");
    assert!(emit(&sensor, &"{\"kind\":\"after\"}\n".repeat(10)).status.success());
    let lines = || {
        let entries = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
        let done =
            entries.filter(|path| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")));
        done.map(|path| std::fs::read_to_string(path).unwrap_or_default().lines().count()).sum::<usize>()
    };
    wait_until("all events in files", || lines() == 20);
    let status = sensor.until("its position", |status| {
        status["spool"]["destinations"][0]["lag_records"] == 0 && status["spool"]["destinations"][0]["events"] == 20
    });
    assert_eq!(status["spool"]["destinations"][0]["name"], "near");
    let output = command(&sensor, &["sensor", "status"]).run_in_time().expect("tidewire");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("DESTINATION") && shown.contains("near") && shown.contains("events: "), "{shown}");
    // A spooler that is killed is started again; one without a destination ends.
    kill(spooler);
    sensor.until("its successor", |status| part(status, "spool")["restarts"] == 1);
    sensor.rewrite(&live(""));
    sensor.signal(Signal::HUP);
    let status = sensor.until("no spooler", |status| part(status, "spool").is_null());
    assert!(status["spool"].is_null());
    let processes = sensor.processes();
    sensor.end();
    assert!(processes.into_iter().all(|process| !runs(process)));
}

#[test]
fn changed_settings_restart_the_event_processor_and_nothing_else() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live("[analyzer.idle]\ncommand = [\"sleep\", \"60\"]\n");
    let before = sensor.until("all run", |status| {
        part(status, "idle")["state"] == "running" && part(status, "events")["state"] == "running"
    });
    let store = sensor.folder.path().join("events.db");
    let text = format!(
        "[analyzer.idle]\ncommand = [\"sleep\", \"60\"]\n[events]\nstore = \"{}\"\nage = \"1h\"\n[inline.scan]\nhosts = 9\n",
        store.display()
    );
    sensor.rewrite(&live(&text));
    sensor.signal(Signal::HUP);
    sensor.log.until("the event processor is started again with its new settings");
    sensor.log.until("after a restart of the sensor: inline");
    let after = sensor.until("its successor", |status| part(status, "events")["restarts"] == 1);
    for name in ["capture", "idle"] {
        assert_eq!(process(&after, name), process(&before, name), "{name}");
    }
    assert!(emit(&sensor, "{\"kind\":\"a\"}").status.success());
    sensor.end();
}

#[test]
fn without_events_there_is_no_event_processor() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live("[events]\nenabled = false\n");
    let status = sensor.answer().expect("a status");
    assert!(part(&status, "events").is_null() && status["events"].is_null() && status["store"].is_null());
    assert!(!sensor.directory().join("events.sock").exists());
    sensor.end();
}
