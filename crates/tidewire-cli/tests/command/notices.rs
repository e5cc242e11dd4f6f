//! Notices of the summary, and lists of the help, against what is accepted.

use crate::common::*;

/// A capture of the project's corpus.
fn corpus(case: &str) -> String {
    format!("{}/../../tests/corpus/{case}/capture.pcap", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_capture_of_one_direction_is_named_and_its_missing_bytes_are_in_every_form() {
    let bench = Bench::new();
    let capture = corpus("tcp-one-sided");
    let (said, status) = text(&["flows", &capture]);
    assert!(status == 0 && said.contains("\n1 stream was captured in one direction only\n"), "{said}");
    let (said, _) = text(&["flows", &corpus("tcp-sack-wrong-checksum")]);
    assert!(!said.contains("in one direction only"), "{said}");
    let flow = &json(&["streams", "--json", &capture])[0];
    assert_eq!(flow["s2c"]["missing_bytes"], 79, "{flow}");
    let folder = bench.path("logs");
    assert!(run(&["flows", "--to", &format!("zeek-json:{}", folder.display()), &capture]).status.success());
    let conn = &file_lines(&folder.join("conn.log"))[0];
    assert_eq!(conn["missed_bytes"], 79, "{conn}");
    let eve = lines(&run(&["flows", "--format", "eve", &capture]).stdout);
    let flow = eve.iter().find(|record| record["event_type"] == "flow").unwrap();
    assert_eq!(flow["tcp"]["tc_gap"], true, "{flow}");
}

#[test]
fn a_mirror_of_both_directions_is_named() {
    let (said, status) = complaint(&["flows", &corpus("duplicates-mirror")]);
    assert_eq!(status, 0);
    assert!(said.contains("9 of 18 packets left out as copies within "), "{said}");
    assert!(said.contains("a mirror of both directions? (--duplicates keep processes them)"), "{said}");
    let (said, _) = complaint(&["flows", "--duplicates", "keep", &corpus("duplicates-mirror")]);
    assert!(!said.contains("copies"), "{said}");
}

#[test]
fn the_length_of_cut_frames_can_be_stated() {
    let capture = corpus("link-sliced");
    let of = |sliced: &str| {
        let lines = json(&["flows", "--json", "--stats", "json", "--sliced", sliced, &capture]);
        lines.last().unwrap()["detail"]["sliced_packets"].as_u64().unwrap_or_default()
    };
    assert_eq!([of("auto"), of("128"), of("never"), of("127")], [10, 10, 0, 0]);
    let (said, status) = complaint(&["flows", "--sliced", "often", &capture]);
    assert!(status == 2 && said.contains("--sliced"), "{said}");
}

/// A connection joined midway between two high ports, whose first packet is of the server: its banner, or its response, says so.
#[test]
fn a_banner_and_a_response_say_who_is_the_server() {
    for (first, second) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..], &b"GET /next HTTP/1.1\r\nHost: a.example\r\n\r\n"[..]),
        (b"220 mx.example.org ESMTP Postfix\r\n", b"EHLO a.example\r\n"),
    ] {
        let bench = Bench::new();
        let mut pcap = Pcap::new();
        let mut talk = Talk::new(50_001);
        talk.server.1 = 50_002;
        talk.say(&mut pcap, true, first);
        talk.say(&mut pcap, false, second);
        let flow = &json(&["flows", "--json", &bench.file("midway.pcap", pcap.bytes())])[0];
        let sides = (&flow["server"]["port"], &flow["client"]["port"], &flow["client_by"]);
        assert_eq!(sides, (&50_002.into(), &50_001.into(), &"message".into()), "{flow}");
    }
}

#[test]
fn patterns_without_a_match_are_counted_as_0() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    conversation(&mut pcap, 40_000, &[(false, b"GET / HTTP/1.1\r\n\r\n")]);
    let capture = bench.file("one.pcap", pcap.bytes());
    let (said, status) = text(&["match", "--count", "-e", "GET", "-e", "absent", &capture]);
    assert_eq!(status, 0, "{said}");
    let counts: Vec<_> = said.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(counts.contains(&"1") && counts.contains(&"0") && said.contains("absent"), "{said}");
}

/// The help lists what is accepted, and nothing else.
#[test]
fn help_lists_the_formats_and_the_fields_that_are_accepted() {
    let (bench, capture) = (Bench::new(), corpus("tcp-one-sided"));
    let line = br#"{"time_ns":1,"analyzer":"a","kind":"k.k","severity":"low"}"#;
    let store = bench.file("events.jsonl", &[&line[..], b"\n"].concat());
    for command in ["flows", "streams", "transactions", "match", "events"] {
        let (help, _) = text(&[command, "--help"]);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let listed = help.split("Write every record to PLACE, as in ").nth(1).unwrap();
        let listed = listed.split(" (repeatable)").next().unwrap().split_once(": ").unwrap().1;
        let listed: Vec<_> = listed.split(", ").map(|name| name.split(' ').next().unwrap()).collect();
        for format in ["eve", "zeek", "zeek-json", "ipfix", "json", "csv", "sqlite", "parquet", "arrow"] {
            let place = format!("{format}:/dev/null/at/all");
            let words: Vec<&str> = match command {
                "match" => vec![command, "-e", "x", "--to", &place, &capture],
                "events" => vec![command, "--to", &place, "--store", &store],
                _ => vec![command, "--to", &place, &capture],
            };
            let (said, _) = complaint(&words);
            assert_eq!(
                listed.contains(&format),
                !said.contains("has no place for"),
                "{command} {format}: {listed:?}: {said}"
            );
        }
    }
    let (help, _) = text(&["flows", "--help"]);
    for field in ["client_addr", "bytes_s2c", "tls.sni", "http.status"] {
        assert!(help.contains(field), "{field} is not in the help");
    }
}

/// A connection whose clock went back lasts in Zeek's log, too, until the latest of its packets.
#[test]
fn a_connection_lasts_until_its_latest_packet_in_every_format() {
    let bench = Bench::new();
    let (capture, folder) = (corpus("time-back"), bench.path("logs"));
    let record = &json(&["flows", "--json", &capture])[0];
    let of = |name: &str| record[name].as_u64().unwrap();
    let seconds = (of("end_ns") - of("start_ns")) as f64 / 1e9;
    assert!(seconds >= 5.0, "{record}");
    assert!(run(&["flows", "--to", &format!("zeek-json:{}", folder.display()), &capture]).status.success());
    let conn = &file_lines(&folder.join("conn.log"))[0];
    assert!((conn["duration"].as_f64().unwrap() - seconds).abs() < 1e-6, "{conn}");
}
