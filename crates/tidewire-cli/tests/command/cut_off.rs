//! What a recorder cut off, in the output of commands that read its archive.

use serde_json::Value;

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
