//! Other output: tables, files, a single conversation.

use std::fs;

use crate::{
    common::{command, file_lines},
    rig::{self, HERE, Running, THERE_ADDRESS, settle, wait_for},
};

#[test]
fn a_table_keeps_to_80_columns() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let mut tidewire = command(&["flows", "-i", HERE, "--stats", "-F", "tcp"]);
        tidewire.env("COLUMNS", "80");
        let running = Running::start(tidewire);
        running.wait_for_said(HERE);
        let page = || rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/")]);
        page();
        running.wait_for_out(&format!("{THERE_ADDRESS}:80"));
        page();
        wait_for("another page of the table", || running.out().matches(":80 ").count() >= 2);
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert_eq!(ended.out.matches("SERVICE").count(), 1, "titles come once: {}", ended.out);
        assert!(ended.out.lines().last().expect("a line").starts_with("2 flows, "), "{}", ended.out);
        // Messages are sentences, which terminals wrap.
        let ledger = ended.said.lines().filter(|line| !line.starts_with("tidewire: "));
        for line in ended.out.lines().chain(ledger) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    });
}

#[test]
fn the_largest_come_at_the_end() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let words = ["flows", "-i", HERE, "--top", "bytes", "--limit", "1", "--json", "-F", "tcp"];
        let running = rig.tidewire(&words);
        for page in ["", "big", ""] {
            rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/{page}")]);
        }
        settle();
        assert_eq!(running.out(), "");
        let ended = running.interrupt();
        let flows = crate::common::lines(ended.out.as_bytes());
        assert_eq!(flows.len(), 1);
        assert!(flows[0]["payload_bytes_s2c"].as_u64() > Some(1 << 20), "{}", flows[0]);
    });
}

/// Files are made, renamed and, of a database, locked and synced by a process that gave up its privileges.
#[test]
fn records_are_written_without_privileges() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let folder = rig.directory.path().join("exports");
        fs::create_dir(&folder).expect("a folder");
        let place = |format: &str, name: &str| format!("{format}:{}", folder.join(name).display());
        let places = [place("sqlite", "a.db"), place("json", "a.json"), place("zeek", "logs")];
        let [database, lines, logs] = &places;
        let words = ["flows", "-i", HERE, "-F", "tcp port 80", "--to", database, "--to", lines, "--to", logs];
        let running = rig.tidewire(&words);
        for _ in 0..2 {
            rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/")]);
        }
        settle();
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert!(ended.out.starts_with("2 flows and 2 transactions written"), "{}", ended.out);
        assert_eq!(file_lines(&folder.join("a.json")).len(), 2);
        assert!(fs::read(folder.join("a.db")).expect("a database").starts_with(b"SQLite format 3\0"));
        let names = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["a.db", "a.json", "logs"], "nothing hidden is left");
    });
}

/// A reader that follows a file sees that the capture lives, and its losses, before it ends.
#[test]
fn counters_are_written_before_the_end() {
    rig::run(&["ping"], |rig| {
        let folder = rig.directory.path().join("counters");
        fs::create_dir(&folder).expect("a folder");
        let place = format!("eve:{}", folder.join("eve.json").display());
        let running = rig.tidewire(&["flows", "-i", HERE, "--to", &place, "--eve-types", "stats"]);
        rig.here(&["ping", "-c", "1", THERE_ADDRESS]);
        let hidden = || fs::read_dir(&folder).expect("a folder").flatten().next().expect("a file").path();
        wait_for("the first record", || fs::read_to_string(hidden()).is_ok_and(|text| text.ends_with('\n')));
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let lines = file_lines(&folder.join("eve.json"));
        assert!(lines.len() > 1, "{lines:?}");
        let of = |line: &serde_json::Value, name: &str| line["stats"]["decoder"][name].as_u64().expect("a number");
        assert!(of(&lines[0], "pkts") > 1 && lines[0]["stats"]["uptime"].as_u64() >= Some(8), "{lines:?}");
        assert!(of(&lines[0], "bytes") <= of(&lines[lines.len() - 1], "bytes"));
    });
}

#[test]
fn files_and_their_index_grow_while_it_runs() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let folder = rig.directory.path().join("out");
        let path = folder.to_str().expect("a path");
        let words = ["extract", "-i", HERE, "-o", path, "-F", "tcp port 80", "-j", "2"];
        let running = rig.tidewire(&words);
        rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/big")]);
        let index = folder.join("index.jsonl");
        wait_for("the index", || fs::read_to_string(&index).is_ok_and(|text| text.lines().count() == 2));
        rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/")]);
        settle();
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let lines = file_lines(&index);
        assert_eq!(lines.len(), 4);
        for line in &lines {
            let file = fs::read(folder.join(line["name"].as_str().expect("a name"))).expect("a file");
            assert_eq!(Some(file.len() as u64), line["bytes"].as_u64());
        }
        assert!(ended.out.contains("4 files, "), "{}", ended.out);
        let hidden = fs::read_dir(&folder).expect("a folder").flatten();
        assert_eq!(hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).count(), 0);
    });
}

#[test]
fn one_conversation_ends_with_it() {
    rig::run(&["nginx", "curl"], |rig| {
        rig.nginx();
        let words = ["follow", "-i", HERE, "1", "--direction", "s2c", "-F", "tcp port 80"];
        let running = rig.tidewire(&words);
        rig.here(&["curl", "-s", &format!("http://{THERE_ADDRESS}/")]);
        running.wait_for_out("the tide is high");
        // The stream has ended, and so has the run.
        let ended = running.wait();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        assert!(ended.out.starts_with("HTTP/1.1 200 OK\n"), "{}", ended.out);
    });
}
