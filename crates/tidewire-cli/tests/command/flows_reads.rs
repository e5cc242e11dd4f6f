//! Bytes that `flows` reads of streams: beginnings, or as much as `--where` and `--to` need; and options that contradict each other.

use std::net::UdpSocket;

use serde_json::Value;

use crate::{common::*, exports::ok};

/// Two requests, of which the second is answered behind 20,000 bytes.
fn long(bench: &Bench) -> String {
    let mut pcap = Pcap::new();
    let body = vec![b'x'; 1000];
    let mut said: Vec<(bool, &[u8])> = vec![
        (false, b"GET /a HTTP/1.1\r\nHost: one.example\r\n\r\nGET /b HTTP/1.1\r\nHost: one.example\r\n\r\n"),
        (true, b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n"),
    ];
    said.extend((0..20).map(|_| (true, &body[..])));
    said.push((true, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    conversation(&mut pcap, 80, &said);
    bench.file("long.pcap", pcap.bytes())
}

#[test]
fn streams_are_read_to_the_end_for_tests_of_fields() {
    let bench = Bench::new();
    let capture = long(&bench);
    let count = |arguments: &[&str]| json(&[arguments, &["--json", &capture]].concat()).len();
    let test = ["--where", "http.status = 404"];
    for command in ["flows", "streams", "transactions"] {
        assert_eq!(count(&[&[command][..], &test].concat()), 1, "{command}");
        // A cutoff that is given is honoured.
        assert_eq!(count(&[&[command, "--cutoff", "16K"][..], &test].concat()), 0, "{command}");
        assert_eq!(count(&[&[command, "--cutoff", "30K"][..], &test].concat()), 1, "{command}");
        assert_eq!(count(&[&[command, "--cutoff", "0", "--cutoff-class", "port 80=all"][..], &test].concat()), 1);
    }
    let said = ok(&["flows", "--limit", "0", "--where", "http.status = 404", &capture]);
    assert!(said.starts_with("1 flow, "), "{said}");
    let delivered = |options: &[&str]| {
        let lines = json(&[&["flows", "--json", "--stats=json", &capture], options].concat());
        lines.last().unwrap()["detail"]["delivered_bytes"].as_u64().unwrap()
    };
    assert!(delivered(&["--where", "bytes > 1"]) < 17_000 && delivered(&["--where", "name = one.example"]) > 20_000);
    assert!(delivered(&["--cutoff", "all"]) > 20_000 && delivered(&["--cutoff", "18K"]) > 18_000);
}

#[test]
fn a_field_that_the_options_leave_empty_is_refused() {
    let bench = Bench::new();
    let capture = long(&bench);
    for options in [["--mode", "track"], ["--cutoff", "0"]] {
        for command in ["flows", "streams"] {
            for test in ["service = http", "name", "transactions > 1", "http.status = 404", "gaps > 0"] {
                let (said, code) = complaint(&[&[command, "--where", test, &capture], &options[..]].concat());
                let field = test.split(' ').next().unwrap();
                let expected = format!(
                    "'{field}' needs the streams' bytes, of which {} delivers none; leave it out",
                    options.join(" ")
                );
                assert!(code == 2 && said.contains(&expected), "{said}");
            }
            assert_eq!(text(&[&[command, "--where", "bytes > 1", &capture], &options[..]].concat()).1, 0);
        }
        assert_eq!(complaint(&[&["transactions", &capture], &options[..]].concat()).1, 2, "{options:?}");
    }
}

/// The formats with transactions have their answers, and cost what `streams` does.
#[test]
fn formats_with_transactions_have_whole_ones() {
    let bench = Bench::new();
    let capture = long(&bench);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    for command in ["flows", "streams"] {
        let (eve, logs) = (place("eve", &format!("{command}.json")), place("zeek-json", command));
        let said = ok(&[command, "--to", &eve, "--to", &logs, &capture]);
        assert!(said.starts_with("1 flow and 2 transactions written"), "{said}");
        let mut records = file_lines(&bench.path(&format!("{command}.json")));
        records.retain(|record| record["event_type"] == "http");
        let of = |records: &[Value], path: &str| -> Vec<Value> {
            records.iter().filter_map(|record| record.pointer(path).cloned()).collect()
        };
        assert_eq!(of(&records, "/http/status"), [200, 404], "{command}");
        assert_eq!(of(&records, "/http/length"), [20_000, 0], "{command}");
        assert_eq!(of(&file_lines(&bench.path(command).join("http.log")), "/status_code"), [200, 404], "{command}");
    }
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert_eq!(read("flows.json"), read("streams.json"));
    // Types of EVE without transactions need none; a cutoff holds here, too.
    for options in [&["--eve-types", "flow,stats"][..], &["--cutoff", "16K"]] {
        let words = [&["flows", "--format", "eve", "--stats=text", &capture], options].concat();
        let output = run(&words);
        let delivered = String::from_utf8(output.stderr).unwrap();
        let line = delivered.lines().find(|line| line.starts_with("delivered bytes")).unwrap().to_owned();
        assert!(line.trim_end().ends_with(" 16,460"), "{options:?}: {line}");
    }
}

#[test]
fn the_summary_names_what_the_format_has() {
    let bench = Bench::new();
    let capture = long(&bench);
    let place = |format: &str| format!("{format}:{}", bench.path(format).display());
    for format in ["json", "csv", "ipfix"] {
        let said = ok(&["flows", "--to", &place(format), &capture]);
        assert!(said.starts_with("1 flow written, "), "{format}: {said}");
    }
    let said = ok(&["flows", "--to", &place("eve"), "--where", "http.status = 404", &capture]);
    assert!(said.starts_with("1 flow written, "), "{said}");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let bench = Bench::new();
    let capture = long(&bench);
    let zeek = format!("zeek:{}", bench.path("logs").display());
    let cases: [(&[&str], &str); 9] = [
        (&["--json", "--csv"], "cannot be used with"),
        (&["--csv", "--json"], "cannot be used with"),
        (&["--json", "--columns", "client"], "cannot be used with"),
        (&["--json", "--wide"], "cannot be used with"),
        (&["--csv", "--wide"], "cannot be used with"),
        (&["--to", &zeek, "--eve-types", "flow"], "--eve-types is for EVE"),
        (&["--where", "port = 70000"], "port is at most 65535, got 70000"),
        (&["--where", "client.port in (80, 65536)"], "client_port is at most 65535, got 65536"),
        (&["--where", "dns"], "unknown field 'dns'; did you mean service = dns?"),
    ];
    for (options, expected) in cases {
        let (said, code) = complaint(&[&["flows", &capture], options].concat());
        assert!(code == 2 && said.contains(expected), "{options:?}: {said}");
    }
    assert!(!bench.path("logs").exists());
    // A setting of a configuration is overridden instead.
    let config = bench.file("tidewire.toml", b"json = true\n[flows]\ncolumns = ['client']\n");
    let of_file = text(&["flows", "--config", &config, "--csv", &capture]);
    assert_eq!(of_file, text(&["flows", "--csv", "--columns", "client", &capture]));
}

#[test]
fn refused_messages_are_counted_in_words() {
    let bench = Bench::new();
    let capture = long(&bench);
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (said, code) = complaint(&["flows", "--to", &format!("ipfix:udp://127.0.0.1:{port}"), &capture]);
    assert_eq!(code, 4);
    assert!(said.contains("1 message was refused; the one before each refused one was lost too"), "{said}");
}

/// Features that README praises are in the short help.
#[test]
fn the_short_help_has_what_is_praised() {
    let of = |command: &str| text(&[command, "-h"]).0;
    for (command, options) in [
        ("flows", &["--where", "--to", "--cutoff"][..]),
        ("streams", &["--where", "--to"]),
        ("transactions", &["--where", "--to", "--service"]),
        #[cfg(feature = "live")]
        ("record", &["--keep-last", "--encrypt-to", "--config"]),
    ] {
        let help = of(command);
        let (listed, _) = help.split_once("xamples:").unwrap();
        assert!(options.iter().all(|option| listed.contains(&format!("{option} <"))), "{help}");
    }
}
