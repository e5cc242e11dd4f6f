//! Messages of HTTP that end otherwise than their heads say, in every format.

use crate::common::*;
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};
use tidewire_testing::InTime as _;

/// A capture of `tests/corpus/http-messages`.
fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/http-messages");
    folder.join(format!("{name}.pcap")).to_str().unwrap().to_owned()
}

/// The transactions of a capture: their fields of HTTP.
fn transactions(name: &str) -> Vec<Value> {
    json(&["transactions", "--json", &capture(name)]).iter().map(|one| one["http"].clone()).collect()
}

/// Observed, announced and complete.
fn figures(http: &Value, side: &str) -> Value {
    json!([http[format!("{side}_bytes")], http[format!("{side}_announced_bytes")], http[format!("{side}_complete")]])
}

/// The lines of a log of Zeek.
fn zeek(name: &str, log: &str) -> Vec<Value> {
    let bench = Bench::new();
    let folder = bench.path("logs");
    assert!(run(&["flows", "--to", &format!("zeek-json:{}", folder.display()), &capture(name)]).status.success());
    file_lines(&folder.join(log))
}

#[test]
fn what_was_announced_is_not_what_was_seen() {
    let aborted = &transactions("aborted")[1];
    assert_eq!(figures(aborted, "response"), json!([1000, 30_000_000, false]));
    assert_eq!(figures(&transactions("refused")[0], "request"), json!([0, 50_208, false]));
    let bodies: Vec<_> = transactions("bodies").iter().map(|http| figures(http, "response")).collect();
    let expected = [
        json!([18, 20, false]),
        json!([4321, null, true]),
        json!([777, null, false]),
        json!([0, null, null]),
        json!([0, null, null]),
        json!([0, null, null]),
        json!([3, 3, true]),
        json!([0, 500, false]),
        json!([0, 0, true]),
        json!([15, null, false]),
    ];
    assert_eq!(bodies, expected);
    assert_eq!(figures(&transactions("bodies")[8], "request"), json!([40, 100, false]));
    let (table, _) = text(&["transactions", "--csv", "--where", "http.response_complete = false", &capture("aborted")]);
    assert!(table.lines().nth(1).is_some_and(|row| row.ends_with("\"GET /abort\",\"200 incomplete\"")), "{table}");
}

#[test]
fn other_formats_distinguish_observed_from_announced() {
    let logged: Vec<_> = zeek("bodies", "files.log")
        .iter()
        .map(|file| json!([file["seen_bytes"], file.get("total_bytes"), file["missing_bytes"]]))
        .collect();
    for file in [json!([18, 20, 0]), json!([777, null, 0]), json!([40, 100, 0]), json!([15, null, 0])] {
        assert!(logged.contains(&file), "{file} in {logged:?}");
    }
    let http = zeek("refused", "http.log");
    assert_eq!((&http[0]["request_body_len"], &http[0]["response_body_len"]), (&json!(0), &json!(0)));
    let eve = lines(&run(&["flows", "--format", "eve", &capture("bodies")]).stdout);
    let of = |event: &'static str, path: &'static str| {
        eve.iter().find(|record| record["event_type"] == event && record["http"]["url"] == path).unwrap()
    };
    let file = |path| (&of("fileinfo", path)["fileinfo"]["size"], &of("fileinfo", path)["fileinfo"]["state"]);
    assert_eq!(file("/short"), (&json!(18), &json!("TRUNCATED")));
    assert_eq!(file("/close"), (&json!(4321), &json!("CLOSED")));
    assert_eq!(file("/rst"), (&json!(777), &json!("TRUNCATED")));
    let short = of("http", "/short");
    assert_eq!(
        (&short["http"]["length"], figures(&short["tidewire"], "response")),
        (&json!(18), json!([null, 20, false]))
    );
}

/// Bytes that the recorder or a cutoff left out passed, and were seen.
#[test]
fn bytes_beyond_a_cutoff_were_seen() {
    let all = json(&["flows", "--json", "--cutoff", "1K", &capture("bodies")]);
    let close = all.iter().find(|flow| flow["app"]["http"]["path"] == "/close").unwrap();
    assert_eq!(figures(&close["app"]["http"], "response"), json!([4321, null, true]));
    let cut = json(&["flows", "--json", "--cutoff", "100", &capture("aborted")]);
    assert_eq!(cut[0]["app"]["transactions"], 2, "{cut:?}");
}

#[test]
fn the_last_transfer_coding_ends_a_body() {
    let bytes: Vec<_> = transactions("codings").iter().map(|http| http["response_bytes"].clone()).collect();
    assert_eq!(bytes, [10, 10, 5]);
    let forged = transactions("forged");
    assert_eq!((forged.len(), &forged[0]["status"]), (1, &json!(200)));
}

#[test]
fn the_target_names_the_host() {
    let record = &json(&["transactions", "--json", &capture("target")])[0];
    assert_eq!((&record["name"], &record["http"]["host"]), (&json!("real.example"), &json!("real.example")));
    assert_eq!(record["http"]["host_field"], "other.example");
    let eve = lines(&run(&["flows", "--format", "eve", &capture("target")]).stdout);
    let http = eve.iter().find(|record| record["event_type"] == "http").unwrap();
    assert_eq!(http["http"]["hostname"], "real.example");
    // Zeek's column is the field Host.
    assert_eq!(zeek("target", "http.log")[0]["host"], "other.example");
}

#[test]
fn a_stream_joined_within_a_response_is_recognised_by_what_follows() {
    let flow = &json(&["flows", "--json", &capture("joined")])[0];
    assert_eq!(flow["app"]["service"], "http");
    let found: Vec<_> = transactions("joined").iter().map(|http| json!([http["path"], http["status"]])).collect();
    assert_eq!(found, [json!(["/2", 202]), json!(["/3", 203]), json!(["/4", 204])]);
}

/// Two names that differ in bytes differ in every format, and each byte can be had back.
#[test]
fn bytes_that_are_not_text_differ_in_every_format() {
    let bench = Bench::new();
    let names: [&[u8]; 7] = [b"a\xe9", b"a\xea", b"a\\xe9", b"a\\x5cxe9", b"a\xef\xbf\xbd", b"a\x1b", b"a\\u{1b}"];
    let mut pcap = Pcap::new();
    for name in names {
        let request = [b"GET / HTTP/1.1\r\nHost: ", name, b"\r\n\r\n"].concat();
        conversation(&mut pcap, 80, &[(false, &request), (true, b"HTTP/1.1 204 x\r\n\r\n")]);
    }
    let capture = bench.file("names.pcap", pcap.bytes());
    let database = bench.path("names.db").to_str().unwrap().to_owned();
    assert!(run(&["flows", "--to", &format!("sqlite:{database}"), &capture]).status.success());
    let program = "import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute('select distinct name from transactions'): print(repr(row))";
    let listed = std::process::Command::new("python3").args(["-c", program, &database]).run_in_time().unwrap();
    assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().count(), names.len());
    let shown = |words: &[&str]| -> BTreeSet<String> {
        let printed = String::from_utf8(run(&[words, &[&capture]].concat()).stdout).unwrap();
        printed.lines().filter(|line| line.contains('a')).map(str::to_owned).collect()
    };
    for words in [["flows", "--csv", "--columns", "name"], ["flows", "--wide", "--columns", "name"]] {
        let header = usize::from(words[1] == "--csv");
        let values: BTreeSet<String> =
            shown(&words).into_iter().filter(|line| !line.contains("flows,") && !line.starts_with("name")).collect();
        assert_eq!(values.len(), names.len(), "{header} {values:?}");
    }
    let hosts = |records: Vec<Value>, host: fn(&Value) -> &Value| -> BTreeSet<String> {
        records.iter().map(host).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    assert_eq!(hosts(json(&["flows", "--json", &capture]), |one| &one["app"]["name"]).len(), names.len());
    let eve = lines(&run(&["flows", "--format", "eve", &capture]).stdout);
    assert_eq!(hosts(eve, |one| &one["http"]["hostname"]).len(), names.len());
    let folder = bench.path("tsv");
    assert!(run(&["flows", "--to", &format!("zeek:{}", folder.display()), &capture]).status.success());
    let log = std::fs::read_to_string(folder.join("http.log")).unwrap();
    let column = |line: &str| line.split('\t').nth(8).map(str::to_owned);
    let in_zeek: BTreeSet<String> = log.lines().filter(|line| !line.starts_with('#')).filter_map(column).collect();
    let expected = ["a\\xe9", "a\\xea", "a\\x5cxe9", "a\\x5cx5cxe9", "a\u{fffd}", "a\\x1b", "a\\x5cu{1b}"];
    assert_eq!(in_zeek, expected.map(str::to_owned).into());
}
