//! Files that are read are not written over, by whatever name and option.

use std::{
    fs,
    process::{Command, Stdio},
};

use tidewire_event_store::{Batch, Store};
use tidewire_testing::{Ends as _, InTime as _};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");

#[test]
fn an_output_that_is_read_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (capture, link, archive) = (path("a.pcap"), path("b.pcap"), path("archive"));
    fs::copy(DEMO, &capture).unwrap();
    std::os::unix::fs::symlink(&capture, &link).unwrap();
    let run = |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_tidewire")).args(words).run_in_time().unwrap();
    assert!(run(&["record", "-q", "-r", &capture, "-o", &archive]).status.success());
    let inside = format!("{archive}/new.pcapng");
    let [to_json, to_link] = [&capture, &link].map(|place| format!("json:{place}"));
    for words in [
        vec!["flows", &capture, "-w", &link],
        vec!["flows", &capture, "--to", &to_json],
        vec!["streams", &link, "--to", &to_json],
        vec!["transactions", &capture, "--to", &to_link],
        vec!["recall", &archive, "-w", &inside],
        vec!["flows", &archive, "-w", &inside],
    ] {
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("that is read"), "{words:?}: {said}");
        assert!(fs::read(&capture).unwrap() == fs::read(DEMO).unwrap(), "{words:?}");
        assert!(!fs::exists(&inside).unwrap(), "{words:?}");
    }
}

/// Standard input is a file where the shell redirects it, and standard output may be appended to what is read.
#[test]
fn a_file_on_standard_input_or_output_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("a.pcap");
    fs::copy(DEMO, &capture).unwrap();
    let path = capture.to_str().unwrap();
    let to = |format: &str, place: &str| format!("{format}:{place}");
    for (words, is_appended) in [
        (vec!["flows", "-", "-w", path], false),
        (vec!["flows", "-", "-w", "/dev/stdin"], false),
        (vec!["flows", "-", "--to", &to("json", path)], false),
        (vec!["flows", "-", "--to", &to("ipfix", path)], false),
        (vec!["flows", "-", "--to", "json:/dev/stdin"], false),
        (vec!["flows", "-", "--json"], true),
        (vec!["flows", path, "--json"], true),
        (vec!["transactions", path], true),
        (vec!["extract", path, "-o", folder.path().join("extracted").to_str().unwrap()], true),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
        command.args(&words).stdin(fs::File::open(&capture).unwrap()).stderr(Stdio::piped());
        match is_appended {
            true => command.stdout(fs::OpenOptions::new().append(true).open(&capture).unwrap()),
            false => command.stdout(Stdio::null()),
        };
        let output = command.spawn().unwrap().output_in_time("tidewire");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("that is read"), "{words:?}: {said}");
        assert!(fs::read(&capture).unwrap() == fs::read(DEMO).unwrap(), "{words:?}");
    }
    // Printing to another file is allowed.
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    command.args(["flows", "-", "--json"]).stdin(fs::File::open(&capture).unwrap());
    command.stdout(fs::File::create(folder.path().join("printed")).unwrap()).stderr(Stdio::null());
    assert!(command.status_in_time().unwrap().success());
}

/// Without it, what is encrypted to it is lost.
#[test]
fn an_identity_that_is_read_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (identity, archive) = (path("me.id"), path("archive"));
    let run = |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_tidewire")).args(words).run_in_time().unwrap();
    assert!(run(&["keys", "identity", "-o", &identity]).status.success());
    let recipient = String::from_utf8(run(&["keys", "recipient", &identity]).stdout).unwrap();
    let recorded = run(&["record", "-q", "-r", DEMO, "-o", &archive, "--encrypt-to", recipient.trim()]);
    assert!(recorded.status.success(), "{recorded:?}");
    let before = fs::read(&identity).unwrap();
    let tos: Vec<String> = ["json", "csv", "ipfix", "sqlite"].map(|format| format!("{format}:{identity}")).to_vec();
    let mut all = Vec::new();
    for command in ["flows", "streams", "recall"] {
        all.push(vec![command, &archive, "--identity", &identity, "-w", &identity]);
    }
    for command in ["flows", "transactions"] {
        all.extend(
            tos.iter()
                .filter(|to| command == "flows" || !to.starts_with("ipfix"))
                .map(|to| vec![command, &archive, "--to", to, "--identity", &identity]),
        );
    }
    for words in all {
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("that is read"), "{words:?}: {said}");
        assert!(fs::read(&identity).unwrap() == before, "{words:?}");
    }
    assert!(run(&["flows", &archive, "--identity", &identity, "-w", &path("w")]).status.success());
}

/// Files that are no captures: stores of events and lines of them, patterns, configuration.
#[test]
fn what_is_read_beside_captures_stays_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (store, lines, patterns, config) = (path("s/events.db"), path("l/e.jsonl"), path("patterns"), path("c.toml"));
    [path("s"), path("l")].iter().for_each(|path| fs::create_dir(path).unwrap());
    let (mut made, _) = Store::open(folder.path().join("s/events.db").as_path()).unwrap();
    made.append(&Batch::default()).unwrap();
    drop(made);
    let line = r#"{"time_ns":1,"analyzer":"a","kind":"k","severity":"low"}"#;
    fs::write(&lines, format!("{line}\n")).unwrap();
    fs::write(&patterns, "GET\n").unwrap();
    fs::write(&config, "").unwrap();
    let to = |format: &str, place: &str| format!("{format}:{place}");
    for (words, read) in [
        (vec!["events", "--store", &lines, "--to", &to("csv", &lines)], &lines),
        (vec!["events", "--store", &path("l"), "--to", &to("json", &lines)], &lines),
        (vec!["events", "--store", &store, "--to", &to("json", &store)], &store),
        (vec!["events", "--store", &path("s"), "--to", &to("sqlite", &store)], &store),
        (vec!["match", DEMO, "-f", &patterns, "-w", &patterns], &patterns),
        (vec!["match", DEMO, "-f", &patterns, "--to", &to("json", &patterns)], &patterns),
        (vec!["flows", DEMO, "--config", &config, "--to", &to("json", &config)], &config),
    ] {
        let before = fs::read(read).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tidewire")).args(&words).run_in_time().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("that is read"), "{words:?}: {said}");
        assert!(fs::read(read).unwrap() == before, "{words:?}");
    }
    // The shell's `>>` is an output like any other.
    for read in [&lines, &store] {
        for extra in [&[][..], &["--json"], &["--json", "--expand"], &["--to", "json:-"]] {
            let before = fs::read(read).unwrap();
            let appended = fs::OpenOptions::new().append(true).open(read).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
            command.args(["events", "--store", read]).args(extra).stdout(appended).stderr(Stdio::piped());
            let output = command.spawn().unwrap().output_in_time("events");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains("that is read"), "{extra:?}: {said}");
            assert!(fs::read(read).unwrap() == before, "{extra:?}");
        }
    }
    // Another file beside them is not one of them.
    let words = ["events", "--store", &lines, "--to", &to("json", &path("l/new.json"))];
    let output = Command::new(env!("CARGO_BIN_EXE_tidewire")).args(words).run_in_time().unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
