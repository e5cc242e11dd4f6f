//! What is read is not written over, by whatever name and option.

use std::{fs, process::Command};

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
            command.args(["events", "--store", read]).args(extra).stdout(appended).stderr(std::process::Stdio::piped());
            let output = command.spawn().unwrap().output_in_time("events");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains("that is read"), "{extra:?}: {said}");
            assert!(fs::read(read).unwrap() == before, "{extra:?}");
        }
    }
    // Another file beside them is none of them.
    let words = ["events", "--store", &lines, "--to", &to("json", &path("l/new.json"))];
    let output = Command::new(env!("CARGO_BIN_EXE_tidewire")).args(words).run_in_time().unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
