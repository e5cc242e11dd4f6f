//! `--where`: records that are selected by their fields, printed and written.

use std::path::Path;

use tidewire_testing::InTime as _;

use crate::{
    common::*,
    exports::{capture, ok},
};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/demo/demo.pcap");

fn ids(arguments: &[&str]) -> Vec<u64> {
    json(arguments).iter().map(|record| record.get("id").or(record.get("stream")).unwrap().as_u64().unwrap()).collect()
}

#[test]
fn streams_and_transactions_are_selected() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let all = json(&["flows", "--json", &capture]);
    let expected = |of: &dyn Fn(&serde_json::Value) -> bool| -> Vec<u64> {
        all.iter().filter(|flow| of(flow)).map(|flow| flow["id"].as_u64().unwrap()).collect()
    };
    let number = |flow: &serde_json::Value, name: &str| flow[name].as_u64().unwrap();
    for command in ["flows", "streams"] {
        let of_http = ids(&[command, "--json", "--where", "http.host = ONE.example", &capture]);
        assert_eq!(of_http, expected(&|flow| flow["app"]["http"]["host"] == "one.example"), "{command}");
        assert_eq!(of_http.len(), 200);
        let large = ids(&[command, "--json", "--where", "bytes > 1K or proto = udp", &capture]);
        let is_large = |flow: &serde_json::Value| number(flow, "bytes_c2s") + number(flow, "bytes_s2c") > 1024;
        assert_eq!(large, expected(&|flow| is_large(flow) || flow["proto"] == "udp"), "{command}");
        let ports =
            ids(&[command, "--json", "--where", "client.port in (41000, 41001) and not service = dns", &capture]);
        assert_eq!(ports.len(), 2);
    }
    // The names that are shown are there as without it.
    let selected = json(&["flows", "--json", "--where", "http.status = 200", &capture]);
    assert!(selected.iter().all(|flow| all.contains(flow)) && selected.len() >= 200);
    let said = ok(&["flows", "--where", "client_port = 41000", &capture]);
    assert!(said.contains("\n1 flow, "), "{said}");
    let requests = json(&["transactions", "--json", "--where", "http.user_agent contains 'y'", &capture]);
    assert_eq!(requests.len(), 200);
}

#[test]
fn what_is_written_is_selected_too() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let records = json(&["flows", "--format", "eve", "--where", "client_port < 41010 and http.host", &capture]);
    let flows = records.iter().filter(|record| record["event_type"] == "flow").count();
    assert_eq!((flows, records.iter().filter(|record| record["event_type"] == "http").count()), (10, 0));
    let rows = json(&["transactions", "--format", "json", "--where", "client_port < 41010 and http.host", &capture]);
    assert_eq!(rows.len(), 10);
    let packets = bench.path("out.pcapng");
    ok(&["flows", "--where", "client_port = 41000", "-w", packets.to_str().unwrap(), &capture]);
    assert_eq!(json(&["flows", "--json", packets.to_str().unwrap()]).len(), 1);
}

/// `!=` of either end means neither; a bare count has to be more than 0; protocols have numbers, too.
#[test]
fn exclusions_and_counts_mean_what_they_say() {
    let chosen = |test: &str| ids(&["flows", "--json", "--where", test, DEMO]);
    assert_eq!(chosen("port != 80"), [1, 2, 4, 112, 118, 120, 155]);
    assert_eq!(chosen("not port = 80"), chosen("port != 80"));
    assert_eq!(chosen("addr != 192.0.2.0/24"), [1, 54, 155]);
    assert_eq!(chosen("retransmitted_bytes"), [122]);
    assert_eq!(chosen("anomalies"), [] as [u64; 0]);
    assert_eq!(chosen("proto = 6"), chosen("proto = tcp"));
    assert_eq!(chosen("app.service = dns and c2s.packets = 1"), [2, 4]);
    // Names that are tested have a column, also where there is little room.
    let mut command = command(&["flows", "--where", "name contains gauge", DEMO]);
    let output = command.env("COLUMNS", "80").run_in_time().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("NAME") && said.contains(" gauge.tidewire.example "), "{said}");
}

/// The closing line counts all flows, and says how many are printed; protocols are named in any case.
#[test]
fn what_a_limit_leaves_out_is_said() {
    const FRAGMENTS: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/tunnel-fragments-gre/capture.pcap");
    for (words, expected) in [
        (&["flows", DEMO, "--limit", "2"][..], "10 flows (2 shown), 153 packets"),
        (&["flows", DEMO, "--top", "bytes", "--limit", "10"], "10 flows, 153 packets"),
        (&["flows", DEMO, "--limit", "0"], "10 flows, 153 packets"),
        (&["streams", DEMO, "--limit", "3"], "10 streams (3 shown), "),
        (&["transactions", DEMO, "--service", "DNS"], "2 transactions\n"),
        (&["transactions", DEMO, "--service", "DNS", "--limit", "1"], "2 transactions (1 shown)\n"),
        (&["match", DEMO, "-e", "GET ", "-e", "HTTP/1", "--limit", "2"], " matches (2 shown) in "),
        (&["match", DEMO, "-e", "GET ", "-e", "HTTP/1", "--limit", "2", "--count"], " matches in "),
        (&["datagrams", FRAGMENTS, "--limit", "1"], "34 datagrams rebuilt, 0 rejected (1 shown)\n"),
    ] {
        let said = ok(words);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn tests_of_fields_as_arguments_get_their_option() {
    for (words, expected) in [
        (&["tls.sni contains x"][..], "--where 'tls.sni contains x'"),
        (&["tls.sni", "contains", "x"], "--where 'tls.sni contains x'"),
        (&["proto", "=", "6"], "--where 'proto = 6'"),
        (&["dns"], "--where 'service = dns'"),
    ] {
        let (complaint, code) = complaint(&[&["flows", DEMO], words].concat());
        assert!(
            code == if words.len() == 1 && words[0] == "dns" { 3 } else { 2 } && complaint.contains(expected),
            "{words:?}: {complaint}"
        );
    }
    let (complaint, code) = complaint(&["transactions", "--where", "bytes > 1M", DEMO]);
    assert!(code == 2 && complaint.contains("'bytes' is a field of flows and streams"), "{complaint}");
}

#[test]
fn mistakes_have_a_place_and_a_suggestion() {
    for (text, expected) in [
        ("tls.snj = a", "--where: at character 1: unknown field 'tls.snj'; did you mean tls.sni?"),
        ("bytes > many", "--where: at character 9: 'many' is not a size"),
        ("bytes > 1M and", "--where: at character 15: expected the name of a field"),
    ] {
        for command in ["flows", "streams", "transactions"] {
            let (complaint, code) = complaint(&[command, "--where", text, "absent.pcap"]);
            let is_flows_only = text.starts_with("bytes") && command == "transactions";
            assert!(code == 2 && (is_flows_only || complaint.contains(expected)), "{command} {text}: {complaint}");
        }
    }
}

/// A column of a table whose fields have other names leads to them.
#[test]
fn columns_of_tables_name_their_fields() {
    for (column, field) in [
        ("client", "client_addr or client_port"),
        ("server", "server_addr or server_port"),
        ("end", "end_reason"),
        ("flags_c2s", "tcp_flags_c2s"),
        ("flags_s2c", "tcp_flags_s2c"),
        ("retransmitted", "retransmitted_bytes"),
        ("reordered", "out_of_order_packets"),
        ("missing", "missing_bytes"),
        ("cut_off", "cut_off_bytes"),
        ("tunnel", "tunnel_id or tunnel_kind"),
    ] {
        let (said, _) = complaint(&["flows", "--where", &format!("{column} > 0"), "absent.pcap"]);
        assert!(said.contains(&format!("did you mean {field}")), "{column}: {said}");
    }
}

#[test]
fn matches_are_written() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let printed = json(&["match", "--json", "-e", "one.example", "-e", "200 OK", &capture]);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let [eve, lines, values] =
        [("eve", "m.eve"), ("json", "m.json"), ("csv", "m.csv")].map(|(format, name)| place(format, name));
    let database = place("sqlite", "m.db");
    let mut words = vec!["match", "-e", "one.example", "-e", "200 OK", "--to", &eve, "--to", &lines, "--to", &values];
    if cfg!(feature = "live") {
        words.extend(["--to", &database]);
    }
    words.push(&capture);
    let said = ok(&words);
    assert!(said.starts_with(&format!("{} matches in ", printed.len())), "{said}");
    assert_eq!(file_lines(&bench.path("m.json")).len(), printed.len());
    let alerts = file_lines(&bench.path("m.eve"));
    let alerts: Vec<_> = alerts.iter().filter(|record| record["event_type"] == "alert").collect();
    assert_eq!(alerts.len(), printed.len());
    let answers = alerts.iter().filter(|alert| alert["alert"]["signature"] == "200 OK");
    assert!(answers.clone().count() > 100);
    assert!(answers.clone().all(|alert| alert["direction"] == "to_client" && alert["alert"]["signature_id"] == 2));
    let text = std::fs::read_to_string(bench.path("m.csv")).unwrap();
    assert_eq!(text.lines().count(), printed.len() + 1);
    assert!(cfg!(not(feature = "live")) || Path::new(&bench.path("m.db")).exists());
    let (complaint, code) = complaint(&["match", "-e", "x", "--to", "zeek:logs", &capture]);
    assert!(
        code == 2
            && complaint.contains("zeek has no place for matches; eve, json, csv, sqlite, parquet and arrow have"),
        "{complaint}"
    );
}
