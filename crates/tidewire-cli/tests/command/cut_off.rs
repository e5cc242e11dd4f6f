//! Parts that a recorder cut off, in the output of commands that read its archive.

use std::process::Command;

use serde_json::Value;
use tidewire_testing::{InTime as _, missing};

use crate::{common::*, exports::ok};

/// A download of 60,000 bytes, the beginning of which is recorded; then one with the same ports that is whole.
fn archive(bench: &Bench) -> String {
    let mut pcap = Pcap::new();
    let body = vec![b'x'; 1000];
    let mut said: Vec<(bool, &[u8])> = vec![(false, b"GET / HTTP/1.1\r\nHost: one.example\r\n\r\n")];
    said.push((true, b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"));
    for _ in 0..60 {
        // The client acknowledges each with a byte of its own.
        said.extend([(true, &body[..]), (false, &b"+"[..])]);
    }
    conversation(&mut pcap, 40_000, &said);
    conversation(&mut pcap, 40_001, &said[..2]);
    let capture = bench.file("download.pcap", pcap.bytes());
    let place = bench.path("archive").to_str().unwrap().to_owned();
    let summary = &json(&["record", "-r", &capture, "-o", &place, "--cutoff-direction", "s2c=4K", "--json"])[0];
    assert!(summary["cut_off_packets"].as_u64().unwrap() > 50, "{summary}");
    place
}

#[test]
fn what_was_cut_off_is_shown_and_is_no_anomaly() {
    let bench = Bench::new();
    let place = archive(&bench);
    let cut = |of: &Value, name: &str| of[name].as_u64();
    for words in [vec!["flows", "--json", &place], vec!["recall", &place, "--flows", "--json"]] {
        let flows = json(&words);
        assert!(cut(&flows[0], "cut_off_packets_s2c").unwrap() > 50, "{words:?}: {}", flows[0]);
        assert!(cut(&flows[0], "cut_off_bytes_s2c").unwrap() > 50_000, "{words:?}: {}", flows[0]);
        assert_eq!(cut(&flows[0], "missing_bytes_s2c"), Some(0), "{words:?}");
        assert_eq!(cut(&flows[1], "cut_off_packets_s2c"), None, "{words:?}");
    }
    let streams = json(&["streams", "--json", &place]);
    assert!(cut(&streams[0]["s2c"], "cut_off_packets").unwrap() > 50);
    assert_eq!(cut(&streams[0]["s2c"], "missing_bytes"), Some(0));
    assert_eq!(streams[0]["anomalies"], Value::Array(Vec::new()), "{}", streams[0]);
    let gaps = streams[0]["s2c"]["gaps"].as_array().unwrap();
    assert!(gaps.iter().all(|gap| gap["cause"] == "cutoff"), "{gaps:?}");
    assert_eq!(cut(&streams[1]["s2c"], "cut_off_packets"), None);
    for command in ["flows", "streams"] {
        let (table, _) = text(&[command, "--wide", &place]);
        assert!(table.lines().next().unwrap().contains("CUT OFF"), "{table}");
        assert!(!table.contains(" missing"), "{table}");
    }
    // Whether records are printed or not.
    for words in
        [vec!["streams", "--limit", "0", &place], vec!["streams", &place], vec!["flows", "--limit", "0", &place]]
    {
        let (said, _) = text(&words);
        let last = said.lines().find(|line| line.starts_with("2 ")).unwrap_or_else(|| panic!("{words:?}: {said}"));
        assert!(last.contains(" cut off when recorded") && !last.contains(" missing"), "{words:?}: {last}");
    }
    assert_eq!(json(&["flows", "--json", "--where", "anomalies.any = invalid_ack", &place]).len(), 0);
    let records = json(&["streams", "--format", "eve", &place]);
    assert!(records.iter().all(|record| record["event_type"] != "anomaly"), "{records:?}");
    // The capture itself has nothing of it.
    let capture = bench.path("download.pcap");
    let flows = json(&["flows", "--json", capture.to_str().unwrap()]);
    assert!(flows.iter().all(|flow| flow["cut_off_packets_s2c"].is_null()));
}

#[test]
fn what_was_cut_off_is_no_loss_in_any_format() {
    let bench = Bench::new();
    let place = archive(&bench);
    let values = |text: &str, wanted: &[&str]| -> Vec<Vec<String>> {
        let split =
            |line: &str| -> Vec<String> { line.split(',').map(|value| value.trim_matches('"').into()).collect() };
        let header = split(text.lines().next().unwrap());
        let places = wanted.iter().map(|name| header.iter().position(|known| known == name).unwrap());
        let places: Vec<usize> = places.collect();
        text.lines().skip(1).map(|line| places.iter().map(|place| split(line)[*place].clone()).collect()).collect()
    };
    let names = ["cut_off_packets_c2s", "cut_off_packets_s2c", "cut_off_bytes_s2c", "missing_bytes_s2c"];
    for words in
        [&["flows", "--csv"][..], &["streams", "--csv"], &["flows", "--format", "csv"], &["streams", "--format", "csv"]]
    {
        let mut words = words.to_vec();
        words.insert(1, &place);
        let (said, code) = text(&words);
        let rows = values(&said, &names);
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{words:?}: {said}"));
        assert!(code == 0 && number(&rows[0][1]) > 50 && number(&rows[0][2]) > 50_000, "{words:?}: {said}");
        assert_eq!((&*rows[0][3], &rows[1][1..]), ("0", &["", "", "0"].map(String::from)[..]), "{words:?}: {said}");
    }
    let (chosen, _) = text(&["flows", &place, "--csv", "--columns", "cut_off"]);
    assert!(chosen.starts_with("cut_off_bytes_c2s,cut_off_bytes_s2c\n"), "{chosen}");
    assert_eq!(json(&["flows", "--json", "--where", "cut_off_bytes > 50000", &place]).len(), 1);
    let logs = bench.path("logs").to_str().unwrap().to_owned();
    let to = format!("zeek-json:{logs}");
    assert_eq!(text(&["streams", &place, "--to", &to]).1, 0);
    let conn = file_lines(&bench.path("logs/conn.log"));
    assert!(conn.iter().all(|line| line["missed_bytes"] == 0), "{conn:?}");
    let has_gap = |line: &Value| line["history"].as_str().unwrap().contains(['g', 'G']);
    assert!(!conn.iter().any(has_gap), "{conn:?}");
    for line in json(&["streams", "--format", "eve", "--eve-types", "flow", &place]) {
        assert!(line["tcp"]["ts_gap"].is_null() && line["tcp"]["tc_gap"].is_null(), "{line}");
    }
    let records = json(&["streams", "--format", "eve", &place]);
    let flow = records.iter().find(|record| record["event_type"] == "flow").unwrap();
    assert!(flow["tidewire"]["toclient"]["cut_off_packets"].as_u64().unwrap() > 50, "{flow}");
    let database = bench.path("flows.db");
    let to = format!("sqlite:{}", database.to_str().unwrap());
    assert_eq!(text(&["streams", &place, "--to", &to]).1, 0);
    if missing(&["python3"]).is_none() {
        let script = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(\"select count(*), min(cut_off_packets_s2c > 50), \
                      min(gaps not like '%not_captured%') from flows where cut_off_bytes_s2c > 50000\").fetchone())";
        let output = Command::new("python3").args(["-c", script, database.to_str().unwrap()]).run_in_time().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(said == "(1, 1, 1)" || said == "(1, 1, None)", "{said}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn archives_are_searched_by_time() {
    let bench = Bench::new();
    let place = archive(&bench);
    let flows = json(&["flows", "--json", &place]);
    let start_ns = flows[1]["start_ns"].as_u64().unwrap();
    // 1,700,000,000 seconds since 1970.
    assert_eq!(start_ns / 1_000_000_000, 1_700_000_000);
    let time = format!("2023-11-14T22:13:20.{:09}Z", start_ns % 1_000_000_000);
    for command in ["flows", "streams"] {
        let of = |option: &str| -> Vec<Value> { json(&[command, "--json", option, &time, &place]) };
        let ids = |records: &[Value]| -> Vec<u64> { records.iter().map(|one| one["id"].as_u64().unwrap()).collect() };
        assert_eq!(ids(&of("--until")), [flows[0]["id"].as_u64().unwrap()], "{command}");
        assert_eq!(ids(&of("--from")), [flows[1]["id"].as_u64().unwrap()], "{command}");
    }
    let capture = bench.path("download.pcap");
    let (said, code) = complaint(&["flows", "--from", "3h", capture.to_str().unwrap()]);
    assert!(code == 2 && said.contains("--from and --until search archives"), "{said}");
    let (said, code) = complaint(&["flows", "--until", "x", &place]);
    assert!(code == 2 && said.contains("--until: "), "{said}");
    assert!(ok(&["transactions", "--from", &time, &place]).contains("1 transaction"));
}
