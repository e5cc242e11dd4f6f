use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    process::{Command, Stdio},
};

use tidewire_testing::{InTime as _, Signal, missing, skip};

use crate::rig::{CAPTURE, Sensor, TIDEWIRE, cannot_capture, live, part};

/// Exit code, output and errors of a command in an empty folder.
fn run(words: &[&str], file: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), file).expect("a file");
    let output = Command::new(TIDEWIRE).args(words).current_dir(folder.path()).run_in_time().expect("tidewire");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn wrong_usage_says_what_would_be_right() {
    for (words, code, said) in [
        (&["sensor"][..], 2, "name a configuration file, or use -i or -r"),
        (&["sensor", "s.toml"], 2, "s.toml: nothing to capture; write interfaces = [\"eth1\"]"),
        (&["sensor", "nowhere.toml"], 2, "cannot read nowhere.toml"),
        (&["sensor", "--chek", "s.toml"], 2, "a similar argument exists: '--check'"),
        (&["sensor", "-i", "lo", "-r", "a.pcap"], 2, "cannot be used with"),
        (&["sensor", "-i", "lo,eth0"], 2, "join names by colons"),
        (&["sensor", "-r", "nowhere.pcap"], 2, "nowhere.pcap cannot be read"),
        (&["sensor", "-i", "lo", "--wait-for", "1"], 2, "cannot be used with"),
        (&["sensor", "-r", CAPTURE, "--directory", "/proc/x"], 3, "/proc/x: "),
        (&["sensor", "-r", CAPTURE, "--directory", "d", "--metrics", "nonsense"], 2, "invalid --metrics 'nonsense'"),
        (&["sensor", "status", "--directory", "nowhere"], 3, "no sensor runs in nowhere; start one"),
        (&["sensor-capture"], 2, "use 'tidewire sensor'"),
        (&["sensor", "-r", CAPTURE, "s.toml"], 2, "write FILE first: tidewire sensor s.toml -r"),
        (
            &["sensor", "stat"],
            2,
            "there is no file stat, and no such subcommand; to see a running sensor: tidewire sensor status",
        ),
        (&["sensor", "-i", "nosuch0"], 2, "there is no interface nosuch0; there are: "),
    ] {
        let (found, _, errors) = run(words, "");
        assert!(found == Some(code) && errors.contains(said), "{words:?}: {found:?} {errors}");
        assert_eq!(errors.matches(said).count(), 1, "{words:?}: said twice: {errors}");
    }
    let live = "[capture]\ninterfaces = [\"lo\"]\n";
    let (code, _, errors) = run(&["sensor", "s.toml", "--wait-for", "1"], live);
    assert!(code == Some(2) && errors.contains("interfaces cannot wait for readers; leave --wait-for out"), "{errors}");
}

/// An interface of FILE may come later: the capture says that it is not there, and a service manager starts the sensor again.
#[test]
fn a_missing_interface_of_the_file_is_said_once() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let words = ["sensor", "s.toml", "--directory", "d"];
    let (code, _, errors) = run(&words, "[capture]\ninterfaces = [\"nosuch0\"]\n");
    assert_eq!((code, errors.matches("there is no interface nosuch0").count()), (Some(3), 1), "{errors}");
}

#[test]
fn check_prints_every_mistake_or_what_would_be_started() {
    let wrong = "[capture]\ninterfaces = [\"lo\"]\nworker = 2\n[queue.q]\ncutof = 5\nfilter = \"tcp prt\"\n[analyzer.a]\ncommand = [\"no-such-program\"]\nuser = \"no-such-user\"\n";
    let (code, output, errors) = run(&["sensor", "--check", "s.toml"], wrong);
    assert_eq!((code, output.as_str()), (Some(2), ""));
    let lines: Vec<&str> = errors.lines().filter(|line| line.starts_with("tidewire: s.toml: line ")).collect();
    assert_eq!(lines.len(), 5, "{errors}");
    assert!(lines[0].ends_with("line 3, column 1: [capture] has no key 'worker'; did you mean 'workers'?"), "{errors}");
    let right = "[capture]\ninterfaces = [\"lo\", \"nosuch0\"]\n[queue.q]\ncount = 2\ncutoff = \"16K\"\n[analyzer.a]\ncommand = [\"sh\", \"-c\", \"x\"]\ninstances = 2\n";
    let (code, output, errors) = run(&["sensor", "--check", "s.toml"], right);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("warning: s.toml: line 2, column 21: ") && errors.contains("nosuch0"), "{errors}");
    assert!(
        errors.contains(
            "own user, whose files they can change, and whose processes they can end before Linux 6.12: a; write user"
        ),
        "{errors}"
    );
    for said in ["capture: lo, nosuch0: 1 worker", "q.0 to .1", "CUTOFF", "16 KiB", "flow-hash", "sh -c x"] {
        assert!(output.contains(said), "{said}: {output}");
    }
    assert!(output.lines().all(|line| line.chars().count() <= 120), "{output}");
}

/// The one who checks may lack rights that the sensor needs.
#[test]
fn check_warns_of_missing_rights() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
    let (directory, file) = (folder.path().join("sensor"), folder.path().join("s.toml"));
    fs::write(&file, "[analyzer.a]\ncommand = [\"sh\"]\nuser = \"root\"\n").expect("a file");
    let mut command = Command::new(TIDEWIRE);
    command.args(["sensor", "--check", "-i", "lo", "--directory"]).arg(&directory).arg(&file);
    command.uid(65_534).current_dir("/");
    let Ok(output) = command.run_in_time() else { return skip("no right to run as another user") };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let cannot = format!("warning: as this user: {} cannot be made or written to: ", directory.display());
    for said in ["warning: as this user: ", "cap_net_raw", "analyzer a cannot run", &cannot] {
        assert!(errors.contains(said), "{said}: {errors}");
    }
    assert!(!directory.exists());
}

#[test]
fn without_a_file_nothing_is_read_again() {
    let mut sensor = Sensor::start_with("", &[], |command, folder| {
        *command = Command::new(TIDEWIRE);
        command.args(["sensor", "-r", CAPTURE, "--wait-for", "1", "--metrics", "127.0.0.1:0", "--directory"]);
        command.arg(folder.join("sensor")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    sensor.log.until("tidewire: metrics: http://127.0.0.1:");
    sensor.until("it runs", |status| status["state"] == "running");
    sensor.signal(Signal::HUP);
    sensor.log.until("there is no configuration file to read again");
    sensor.signal(Signal::TERM);
    assert_eq!(sensor.ended().code(), Some(130));
}

#[test]
fn one_directory_has_one_sensor() {
    let tables = "[analyzer.idle]\ncommand = [\"sleep\", \"60\"]\n";
    let text =
        format!("[sensor]\nstop = \"300ms\"\n[capture]\nfiles = [\"{CAPTURE}\"]\n[queue.q]\nwait-for = 2\n{tables}");
    let mut first = Sensor::start(&text, &[]);
    let waits = |status: &serde_json::Value| status["capture"]["queues"][0]["awaited"] == 2;
    first.until("it waits for readers", |status| part(status, "idle")["state"] == "running" && waits(status));
    let directory = first.directory();
    let words = ["sensor", "-r", CAPTURE, "--directory", directory.to_str().expect("UTF-8")];
    let (code, _, errors) = run(&words, "");
    assert_eq!(code, Some(3), "{errors}");
    assert!(
        errors.contains(&format!(
            "a sensor runs already, process {}; stop it, or use another --directory",
            first.child.id()
        )),
        "{errors}"
    );
    // The status is a table of 80 columns as well.
    let output = run(&["sensor", "status", "--directory", directory.to_str().expect("UTF-8")], "").1;
    assert!(output.contains("capture") && output.contains("idle") && output.contains("QUEUE"), "{output}");
    assert!(output.contains("0 of 2"), "the readers that it waits for: {output}");
    // The path of the capture is as long as the checkout's.
    let mut table = output.lines().filter(|line| line.trim() != CAPTURE);
    assert!(table.all(|line| line.chars().count() <= 80), "{output}");
    first.signal(Signal::INT);
    assert_eq!(first.ended().code(), Some(130));
    assert!(!directory.exists());
}

#[test]
fn without_privileges_it_says_what_is_needed() {
    if let Some(why) = cannot_capture().or_else(|| missing(&["setpriv"])) {
        return skip(why);
    }
    let sensor = Sensor::start_with(&live(""), &[], |command, _| {
        let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let program = command.get_program().to_owned();
        *command = Command::new("setpriv");
        command.args(["--bounding-set=-net_raw", "--inh-caps=-net_raw"]).arg(program).args(words);
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    });
    let line = sensor.log.until("cap_net_raw");
    assert!(line.contains("needs cap_net_raw; run it as root"), "{line}");
    let mut sensor = sensor;
    assert_eq!(sensor.ended().code(), Some(3));
}

/// The names of the status, as docs/output.md has them.
#[test]
fn the_status_has_the_documented_names_and_so_do_the_metrics() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let tables = format!(
        "[analyzer.all]\ncommand = [\"sh\", \"-c\", \"exec '{TIDEWIRE}' attach streams --json --socket $TIDEWIRE_SOCKET\"]\n"
    );
    let sensor = Sensor::start(&live(&tables), &["--metrics", "127.0.0.1:0"]);
    let has_reader = |status: &serde_json::Value| status["capture"]["queues"][0]["readers"][0].is_object();
    let status = sensor.until("a reader", has_reader);
    let names = |value: &serde_json::Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&status),
        [
            "capture",
            "directory",
            "events",
            "figures_age",
            "inputs",
            "metrics",
            "parts",
            "pending",
            "process",
            "seconds",
            "spool",
            "state",
            "store",
            "totals",
            "version"
        ]
    );
    assert!(status["events"].is_object() && status["spool"].is_null() && status["figures_age"].is_number());
    assert_eq!(names(part(&status, "all")), ["last_exit", "name", "process", "queue", "restarts", "seconds", "state"]);
    let queue = &status["capture"]["queues"][0];
    assert_eq!(
        names(queue),
        [
            "awaited",
            "bytes",
            "name",
            "overload_records",
            "readers",
            "records",
            "shed_bytes",
            "shed_records",
            "unit",
            "waited_ns"
        ]
    );
    assert_eq!(
        names(&queue["readers"][0]),
        ["first", "group", "lag", "lost", "lost_bytes", "name", "process", "read", "user"]
    );
    let address = status["metrics"].as_str().expect("an address").to_owned();
    // They are published a moment after the status.
    let mut text = String::new();
    tidewire_testing::wait_until("metrics of the reader", || {
        text = scrape(&address);
        text.contains("tidewire_reader_read_records_total{")
    });
    for name in [
        "tidewire_part_up{part=\"capture\"} 1.0",
        "tidewire_part_up{part=\"events\"} 1.0",
        "tidewire_events_stored_total",
        "tidewire_event_store_failing 0.0",
        "tidewire_queue_readers{queue=\"streams\"}",
        "# EOF",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // Readers of one name are distinguished.
    let process = &queue["readers"][0]["process"];
    let read = format!("tidewire_reader_read_records_total{{queue=\"streams\",reader=\"all\",process=\"{process}\"}}");
    assert!(text.contains(&read), "{read}: {text}");
    sensor.end();
}

fn scrape(address: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).expect("a server");
    stream.set_read_timeout(Some(tidewire_testing::PATIENCE)).expect("a limit");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}
