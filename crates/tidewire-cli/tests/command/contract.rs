//! The output for programs: every name, type and order. A change here breaks a user's program.

use crate::common::*;
use serde_json::{Value, json};

/// serde_json sorts names, so that only their set is compared.
fn assert_names(value: &Value, expected: &[&str]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    let mut found = names(value);
    found.sort_unstable();
    assert_eq!(found, expected);
}

const IDENTITY: [&str; 12] = [
    "id",
    "proto",
    "client",
    "server",
    "client_known",
    "vlan",
    "tunnel",
    "start_ns",
    "end_ns",
    "state",
    "end_reason",
    "community_id",
];

fn assert_identity(record: &Value) {
    for name in ["id", "start_ns", "end_ns"] {
        assert!(record[name].is_u64(), "{name}");
    }
    for side in ["client", "server"] {
        assert_names(&record[side], &["addr", "port"]);
        assert!(record[side]["addr"].is_string() && record[side]["port"].is_u64());
    }
    for name in ["proto", "state", "end_reason", "community_id"] {
        assert!(record[name].is_string(), "{name}");
    }
    assert!(record["client_known"].is_boolean());
    assert!(record["vlan"].as_array().unwrap().iter().all(Value::is_u64));
    assert!(record["tunnel"].is_null() || record["tunnel"]["kind"].is_string() && record["tunnel"]["id"].is_u64());
}

/// Members that say how the client was inferred and how times went: only where there is something to say.
fn assert_inferred(record: &Value) -> Vec<&'static str> {
    let named = |name: &&str| !record[*name].is_null();
    let there: Vec<_> = ["client_by", "time_back_ns", "time_outliers"].into_iter().filter(named).collect();
    for &name in &there {
        let value = &record[name];
        assert!(
            value.as_u64().is_some_and(|number| number > 0) || ["message", "ports"].contains(&value.as_str().unwrap())
        );
    }
    there
}

/// Evidence of who is the client, and times that went back or are wrong, are members of both commands.
#[test]
fn inferred_clients_and_irregular_times_are_named() {
    let cases = [
        ("client-dns-answer", "client_by", json!("message")),
        ("client-mid-8080", "client_by", json!("ports")),
        ("time-back", "time_back_ns", json!(5_000_000_000_u64)),
        ("time-outlier", "time_outliers", json!(1)),
        ("vlan-tenants", "client_by", Value::Null),
    ];
    for (case, name, expected) in cases {
        let capture = format!("{}/../../tests/corpus/{case}/capture.pcap", env!("CARGO_MANIFEST_DIR"));
        for command in ["flows", "streams"] {
            for record in json(&[command, "--json", &capture]) {
                assert_identity(&record);
                assert_inferred(&record);
                assert_eq!(record[name], expected, "{case}");
                assert!(record["start_ns"].as_u64() <= record["end_ns"].as_u64(), "{record}");
            }
        }
        let lines = json(&["flows", "--json", "--stats", "json", &capture]);
        let ledger = lines.last().unwrap();
        assert_eq!(ledger["detail"]["time_outliers"].as_u64(), (case == "time-outlier").then_some(1));
    }
}

/// Subflows of Multipath TCP are named by both commands, and nothing else is. What they carry together is the first one's stream.
#[test]
fn subflows_of_multipath_tcp_are_named() {
    let bench = Bench::new();
    let plain = bench.file("mixed.pcap", mixed().bytes());
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/tcp-mptcp/capture.pcap");
    for command in ["flows", "streams"] {
        let of = |path: &str| json(&[command, "--json", path]).into_iter().map(|mut record| record["mptcp"].take());
        let token = "e9facdea";
        let first = json!({"subflow": "first", "token": token, "together": true, "subflows": 2, "bytes_c2s": 38, "bytes_s2c": 4041});
        let expected = [first, json!({"subflow": "joined", "token": token, "together": true})];
        assert!(of(capture).eq(expected), "{command}");
        assert!(of(&plain).all(|mptcp| mptcp.is_null()), "{command}");
    }
}

/// Checks `app`, which only streams of a known protocol have; returns its name if it is there.
fn assert_app(record: &Value) -> &'static [&'static str] {
    let app = &record["app"];
    if app.is_null() {
        return &[];
    }
    let service = app["service"].as_str().unwrap();
    let named: &[&str] = if app["name"].is_null() { &[] } else { &["name"] };
    assert_names(app, &[&["service", "transactions", service], named].concat());
    assert!(app["transactions"].is_u64() && app[service].is_object());
    &["app"]
}

#[test]
fn flows() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let flows = json(&["flows", "--json", &capture]);
    let ids: Vec<u64> = flows.iter().map(|flow| flow["id"].as_u64().unwrap()).collect();
    // One conversation each, and that of the rebuilt datagram, whose flow begins with the fragment that completed it.
    assert_eq!(ids, [1, 9, 18, 20, 23]);
    let pairs = [
        "packets",
        "bytes",
        "frames",
        "frame_bytes",
        "payload_bytes",
        "tcp_flags",
        "retransmitted_bytes",
        "out_of_order_packets",
        "missing_bytes",
    ];
    let figures: Vec<String> = pairs.iter().flat_map(|name| [format!("{name}_c2s"), format!("{name}_s2c")]).collect();
    let mut all = IDENTITY.to_vec();
    all.extend(figures.iter().map(String::as_str));
    for flow in &flows {
        assert_identity(flow);
        figures.iter().for_each(|name| assert!(flow[name].is_u64(), "{name}"));
        let is_icmp = flow["proto"] == "icmp";
        let icmp: &[&str] = if is_icmp { &["icmp_type", "icmp_code"] } else { &[] };
        assert_names(flow, &[&all, icmp, assert_app(flow), &assert_inferred(flow)].concat());
    }
    let first = &flows[0];
    assert_eq!(first["proto"], "tcp");
    assert_eq!(first["client"], json!({"addr": "192.0.2.1", "port": 40_000}));
    assert_eq!(first["server"], json!({"addr": "198.51.100.2", "port": 80}));
    assert_eq!(first["client_known"], true);
    assert_eq!(first["start_ns"], 1_700_000_000_000_000_000_u64);
    assert_eq!(first["end_ns"], 1_700_000_000_007_000_000_u64);
    assert_eq!(first["state"], "closed");
    assert_eq!(first["end_reason"], "fin");
    assert_eq!((&first["packets_c2s"], &first["packets_s2c"]), (&json!(5), &json!(3)));
    assert_eq!((&first["bytes_c2s"], &first["bytes_s2c"]), (&json!(5 * 40 + 18), &json!(3 * 40 + 24)));
    assert_eq!((&first["frame_bytes_c2s"], &first["frame_bytes_s2c"]), (&json!(5 * 54 + 18), &json!(3 * 54 + 24)));
    assert_eq!(first["tcp_flags_c2s"], u64::from(FIN | SYN | PSH | ACK));
    assert_eq!(flows[1]["vlan"], json!([100]));
    assert_eq!(flows[2]["proto"], "udp");
    assert_eq!(flows[2]["state"], "stateless");
    assert_eq!(flows[2]["client_known"], false);
    assert_eq!((&flows[3]["icmp_type"], &flows[3]["icmp_code"]), (&json!(8), &json!(0)));
    assert_eq!((&flows[4]["packets_c2s"], &flows[4]["frames_c2s"]), (&json!(1), &json!(2)));
}

#[test]
fn streams() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let streams = json(&["streams", "--json", "--digest", "sha256", &capture]);
    let direction = [
        "packets",
        "payload_bytes_on_wire",
        "reassembled_bytes",
        "delivered_bytes",
        "retransmitted_bytes",
        "out_of_order_packets",
        "missing_bytes",
        "ignored_bytes",
        "cutoff_bytes",
        "shed_packets",
        "shed_bytes",
        "chunks",
        "start_ns",
        "end_ns",
    ];
    for stream in &streams {
        assert_identity(stream);
        let icmp: &[&str] = if stream["proto"] == "icmp" { &["icmp_type", "icmp_code"] } else { &[] };
        let own = [&["priority", "c2s", "s2c", "anomalies"], assert_app(stream)].concat();
        assert_names(stream, &[&IDENTITY[..], &own, icmp].concat());
        for name in ["c2s", "s2c"] {
            let half = &stream[name];
            assert_names(half, &[&direction[..], &["gaps", "overlap_conflicts", "sha256"]].concat());
            direction.iter().for_each(|name| assert!(half[name].is_u64(), "{name}"));
            assert_eq!(half["sha256"].as_str().unwrap().len(), 64);
        }
    }
    let [first, second] = [&streams[0], &streams[1]];
    assert_eq!(first["c2s"]["reassembled_bytes"], 18);
    assert_eq!(first["c2s"]["payload_bytes_on_wire"], 18);
    // With a digest requested, SHA-256 of nothing is printed, too; that of the request is the digest of its bytes.
    assert_eq!(first["c2s"]["sha256"], sha256(b"GET / HTTP/1.0\r\n\r\n"));
    assert_eq!(second["c2s"]["gaps"], json!([{"offset": 4, "bytes": 4, "cause": "not_captured"}]));
    assert_eq!(second["c2s"]["missing_bytes"], 4);
    assert_eq!(second["c2s"]["sha256"], sha256(b"one three"));
    assert_eq!(second["s2c"]["gaps"], json!([]));
    for anomaly in second["anomalies"].as_array().unwrap() {
        assert_names(anomaly, &["kind", "packet"]);
        assert!(anomaly["kind"].is_string() && anomaly["packet"].is_u64());
    }
    // Without a digest the name is absent.
    let plain = json(&["streams", "--json", &capture]);
    assert!(plain[0]["c2s"].get("sha256").is_none());
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn overlap_conflicts() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let mut talk = Talk::new(1234);
    talk.handshake(&mut pcap);
    let begin = talk.sequence(false);
    // Two versions of the same bytes, both before the preceding hole is filled.
    talk.segment(&mut pcap, false, begin + 4, ACK, b"BBBB");
    talk.segment(&mut pcap, false, begin + 4, ACK, b"BxyB");
    talk.segment(&mut pcap, false, begin, ACK, b"AAAA");
    talk.skip(false, 8);
    talk.goodbye(&mut pcap);
    let capture = bench.file("overlap.pcap", pcap.bytes());
    let streams = json(&["streams", "--json", &capture]);
    assert_eq!(streams[0]["c2s"]["overlap_conflicts"], json!([{"offset": 5, "bytes": 2}]));
    let kinds: Vec<&Value> = streams[0]["anomalies"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&json!("overlap_conflict")), "{kinds:?}");
    assert_eq!(streams[0]["c2s"]["retransmitted_bytes"], 4);
    assert!(streams[0]["c2s"]["out_of_order_packets"].as_u64().unwrap() > 0);
}

#[test]
fn datagrams() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let datagrams = json(&["datagrams", "--json", &capture]);
    let all =
        ["packet", "src", "dst", "ip_id", "proto", "fragments", "bytes", "sha256", "policy", "overlaps", "rejected"];
    assert_eq!(datagrams.len(), 2);
    datagrams.iter().for_each(|datagram| assert_names(datagram, &all));
    let rebuilt = &datagrams[0];
    assert_eq!(rebuilt["packet"], 23);
    assert_eq!((&rebuilt["src"], &rebuilt["dst"]), (&json!("192.0.2.1"), &json!("198.51.100.2")));
    assert_eq!((&rebuilt["ip_id"], &rebuilt["proto"]), (&json!(77), &json!("udp")));
    assert_eq!((&rebuilt["fragments"], &rebuilt["bytes"], &rebuilt["overlaps"]), (&json!(2), &json!(48), &json!(0)));
    assert_eq!((&rebuilt["policy"], &rebuilt["rejected"]), (&json!("linux"), &Value::Null));
    let (a, b) = ("192.0.2.1".parse().unwrap(), "198.51.100.2".parse().unwrap());
    assert_eq!(rebuilt["sha256"], sha256(&udp(a, b, (6000, 7), &[b'x'; 40])));
    let rejected = &datagrams[1];
    assert_eq!((&rejected["ip_id"], &rejected["bytes"]), (&json!(78), &json!(0)));
    assert!(rejected["rejected"].is_string() && rejected["sha256"].is_null());
}

#[test]
fn ledger() {
    let bench = Bench::new();
    let pcap = mixed();
    let capture = bench.file("mixed.pcap", pcap.bytes());
    for command in ["flows", "streams", "datagrams"] {
        let lines = json(&[command, "--json", "--limit", "1", "--stats", "json", &capture]);
        assert_eq!(lines.len(), 2, "{command}");
        let ledger = &lines[1];
        let fates: Vec<&str> =
            names(ledger).into_iter().filter(|name| !matches!(*name, "received" | "detail")).collect();
        // Copies are named where there are some.
        let common = tidewire::Fate::ALL.iter().filter(|fate| **fate != tidewire::Fate::Duplicate);
        let expected: Vec<&str> = common.map(|fate| fate.name()).collect();
        assert_names(ledger, &[&["received", "detail"], &expected[..]].concat());
        assert_eq!(ledger["received"], u64::from(pcap.packets));
        assert_eq!(fates.iter().map(|name| ledger[*name].as_u64().unwrap()).sum::<u64>(), u64::from(pcap.packets));
        assert_eq!((&ledger["arp"], &ledger["fragment_rebuilt"]), (&json!(1), &json!(2)));
        assert_eq!(ledger["fragment_unfinished"], 1);
    }
    let mirror = format!("{}/../../tests/corpus/duplicates-mirror/capture.pcap", env!("CARGO_MANIFEST_DIR"));
    let lines = json(&["flows", "--json", "--stats", "json", &mirror]);
    assert_eq!((&lines[1]["tracked"], &lines[1]["duplicate"]), (&json!(9), &json!(9)));
    assert_eq!(lines[1]["detail"]["duplicates"], json!([{"interface": 0, "packets": 9}]));
    // No records, only the totals.
    let (text, code) = text(&["streams", "--json", "--limit", "0", &capture]);
    assert_eq!((text.lines().count(), code), (1, 0));
    assert!(text.starts_with("{\"received\":"));
}

#[test]
fn matches() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let matches = json(&["match", "--json", &capture, "-e", "HTTP", "-e", "hello"]);
    let all = ["stream", "direction", "offset", "length", "pattern", "pattern_index", "proto", "client", "server"];
    matches.iter().for_each(|one| assert_names(one, &all));
    let brief: Vec<Value> = matches
        .iter()
        .map(|one| {
            json!([one["stream"], one["direction"], one["offset"], one["length"], one["pattern"], one["pattern_index"]])
        })
        .collect();
    assert_eq!(
        brief,
        [json!([1, "c2s", 6, 4, "HTTP", 0]), json!([1, "s2c", 0, 4, "HTTP", 0]), json!([1, "s2c", 19, 5, "hello", 1])]
    );
    let counts = json(&["match", "--json", "--count", &capture, "-e", "HTTP", "-e", "hello"]);
    assert_eq!(counts[0], json!({"pattern": "HTTP", "pattern_index": 0, "matches": 2}));
}

#[test]
fn followed() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let pieces = json(&["follow", "--as", "json", &capture, "9"]);
    assert_names(&pieces[0], &["stream", "direction", "offset", "bytes", "timestamp_ns", "data"]);
    let client: Vec<&Value> = pieces.iter().filter(|piece| piece["direction"] == "c2s").collect();
    assert_eq!((&client[0]["data"], &client[0]["offset"]), (&json!("6f6e6520"), &json!(0)));
    assert_eq!(client[1]["gap"], json!({"offset": 4, "bytes": 4, "cause": "not_captured"}));
    assert_eq!((&client[2]["data"], &client[2]["offset"]), (&json!("7468726565"), &json!(8)));
}

#[test]
fn index_of_extracted_files() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let out = bench.path("out");
    let (_, code) = text(&["extract", &capture, "-o", out.to_str().unwrap()]);
    assert_eq!(code, 0);
    let index = file_lines(&out.join("index.jsonl"));
    let all = [
        "name",
        "stream",
        "direction",
        "proto",
        "client",
        "server",
        "vlan",
        "tunnel",
        "start_ns",
        "end_ns",
        "end_reason",
        "bytes",
        "sha256",
        "gaps",
    ];
    index.iter().for_each(|line| assert_names(line, &all));
    let second = index.iter().find(|line| line["stream"] == 9 && line["direction"] == "c2s").unwrap();
    assert_eq!(second["name"], "00000009-tcp-192.0.2.1.40001-198.51.100.2.80.c2s");
    assert_eq!(second["gaps"], json!([[4, 4, "not_captured"]]));
    assert_eq!((&second["bytes"], &second["sha256"]), (&json!(9), &json!(sha256(b"one three"))));
    for line in &index {
        let bytes = std::fs::read(out.join(line["name"].as_str().unwrap())).unwrap();
        assert_eq!((&line["bytes"], &line["sha256"]), (&json!(bytes.len()), &json!(sha256(&bytes))));
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), index.len() + 1);
}

#[test]
fn comma_separated_values_have_as_many_columns_as_names() {
    let bench = Bench::new();
    let capture = bench.file("mixed.pcap", mixed().bytes());
    let commands: [&[&str]; 4] =
        [&["flows"], &["streams", "--digest", "sha256"], &["datagrams"], &["match", "-e", "hello", "-e", "HTTP"]];
    for command in commands {
        let (text, _) = text(&[command, &["--csv", &capture]].concat());
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(columns.len() > 1 && columns.iter().all(|count| *count == columns[0]), "{command:?}: {text}");
    }
}
