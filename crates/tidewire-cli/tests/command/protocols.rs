//! Protocol fields in the output: contract, hostile names, and the same from every subcommand.

use crate::common::*;
use serde_json::{Value, json};
use tidewire::legible::is_hidden;

/// Escape sequences, line ends, quotes and separators in what a client and a server send.
const HOSTILE: &[u8] = b"GET /\x1b[2J\x07,\"\xe2\x80\xae HTTP/1.1\r\nHost: a\x1b]0;b\x07\x0c\xc2\x9b31m,\"c\r\nUser-Agent: \xff\x00\r\n\r\n";

fn web() -> Pcap {
    let mut pcap = Pcap::new();
    let said: [(bool, &[u8]); 4] = [
        (false, b"GET /a HTTP/1.1\r\nHost: one.example\r\n\r\nGET /b HTTP/1.1\r\nHost: two.example\r\n\r\n"),
        (true, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi"),
        (true, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        (false, HOSTILE),
    ];
    conversation(&mut pcap, 8080, &said);
    conversation(&mut pcap, 22, &[(true, b"SSH-2.0-Server_1\r\n"), (false, b"SSH-2.0-Client_2\r\n")]);
    pcap
}

#[test]
fn flows_and_streams_have_the_fields_of_the_first_transaction() {
    let bench = Bench::new();
    let capture = bench.file("web.pcap", web().bytes());
    let expected = json!({"service": "http", "name": "one.example", "transactions": 3, "http": {
        "method": "GET", "host": "one.example", "path": "/a", "version": "1.1", "status": 200, "reason": "OK",
        "content_type": "text/plain", "response_bytes": 2, "response_announced_bytes": 2, "response_complete": true,
    }});
    for words in [vec!["flows"], vec!["streams"], vec!["flows", "-j", "3"], vec!["streams", "--mode", "fast"]] {
        let records = json(&[&words[..], &["--json", &capture]].concat());
        assert_eq!(records[0]["app"], expected, "{words:?}");
        assert_eq!((&records[1]["app"]["service"], &records[1]["app"]["name"]), (&json!("ssh"), &json!("Server_1")));
        let (table, _) = text(&[&words[..], &["--columns", "id,service,name", &capture]].concat());
        let rows: Vec<Vec<&str>> = table.lines().take(3).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[..2], [vec!["ID", "SERVICE", "NAME"], vec!["1", "http", "one.example"]], "{words:?}");
        let (csv, _) = text(&[&words[..], &["--csv", &capture]].concat());
        let ends: Vec<&str> = csv.lines().map(|line| line.rsplit_once(",").unwrap().1).collect();
        assert_eq!(ends, ["name", "\"one.example\"", "\"Server_1\""]);
    }
    for off in [["--mode", "track"], ["--cutoff", "0"]] {
        let flows = json(&[&["flows", "--json", &capture], &off[..]].concat());
        assert!(flows.iter().all(|flow| flow["app"].is_null()), "{off:?}");
    }
}

/// Beyond the beginning of a direction nothing is delivered, and figures are the same.
#[test]
fn flows_look_at_beginnings_only() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n";
    let body = vec![b'x'; 1000];
    let mut said: Vec<(bool, &[u8])> = vec![(false, b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"), (true, head)];
    said.extend((0..60).map(|_| (true, &body[..])));
    conversation(&mut pcap, 80, &said);
    let capture = bench.file("long.pcap", pcap.bytes());
    let records = json(&["flows", "--json", "--stats=json", &capture]);
    assert_eq!(records[0]["app"]["http"]["response_bytes"], 60_000);
    assert_eq!(records[1]["detail"]["delivered_bytes"], (16 << 10) + 35);
    let figures = |mode: &[&str]| {
        let mut flow = json(&[&["flows", "--json", &capture], mode].concat()).remove(0);
        flow.as_object_mut().unwrap().remove("app");
        flow
    };
    assert_eq!(figures(&[]), figures(&["--mode", "track"]));
}

#[test]
fn transactions_are_listed_in_order_of_time() {
    let bench = Bench::new();
    let capture = bench.file("web.pcap", web().bytes());
    let all = json(&["transactions", "--json", &capture]);
    let paths: Vec<&Value> = all.iter().map(|one| &one["http"]["path"]).collect();
    assert_eq!(paths[..2], [&json!("/a"), &json!("/b")]);
    for one in &all {
        let mut expected = vec!["stream", "proto", "client", "server", "start_ns", "end_ns", "service", "name"];
        expected.push(one["service"].as_str().unwrap());
        let mut found = names(one);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
        assert!(one["start_ns"].as_u64() <= one["end_ns"].as_u64());
    }
    assert_eq!(json(&["transactions", "--json", "-j", "4", &capture]), all);
    // As they are complete, where the input may not end.
    let piped = piped(&["transactions", "--json", "-"], web().bytes());
    let mut lines = lines(&piped.stdout);
    lines.sort_by_key(|one| (one["start_ns"].as_u64(), one["stream"].as_u64()));
    assert_eq!(lines, all);
    assert_eq!(json(&["transactions", "--json", "--service", "ssh", &capture]).len(), 1);
    let (csv, _) = text(&["transactions", "--csv", &capture]);
    let header =
        "stream,proto,client_addr,client_port,server_addr,server_port,start_ns,end_ns,service,name,request,response";
    assert_eq!(csv.lines().next(), Some(header));
    assert!(csv.lines().nth(1).unwrap().ends_with(",http,\"one.example\",\"GET /a\",\"200 text/plain\""), "{csv}");
    let (said, code) = complaint(&["transactions", "--service", "gopher", &capture]);
    assert!(code == 2 && said.contains("unknown protocol; expected dhcp, dns, ftp"), "{said}");
    let (said, code) = complaint(&["transactions", "--mode", "track", &capture]);
    assert!(code == 2 && said.contains("transactions needs"), "{said}");
}

#[test]
fn hostile_names_break_no_line_and_no_terminal() {
    let bench = Bench::new();
    let capture = bench.file("web.pcap", web().bytes());
    for words in
        [["transactions", "--wide"], ["transactions", "--csv"], ["transactions", "--json"], ["flows", "--wide"]]
    {
        let (printed, code) = text(&[&words[..], &[&capture]].concat());
        assert_eq!(code, 0);
        assert!(!printed.chars().any(|c| is_hidden(c) && c != '\n'), "{words:?}: {printed:?}");
        let records = printed.lines().filter(|line| line.contains("GET /") || line.contains("\"path\"")).count();
        assert!(records == 3 || words[0] == "flows", "{words:?}: {printed}");
    }
    let hostile = &json(&["transactions", "--json", &capture])[2]["http"];
    assert_eq!(hostile["path"], "/\u{1b}[2J\u{7},\"\u{202e}");
    assert_eq!(hostile["host"], "a\u{1b}]0;b\u{7}\u{c}\u{9b}31m,\"c");
    assert_eq!(hostile["user_agent"], "\\xff\0");
}

/// A response that has no body, whatever its length states: neither bytes nor a file in any format.
#[test]
fn a_body_that_was_never_sent_is_no_file() {
    let bench = Bench::new();
    let mut pcap = Pcap::new();
    let said: [(bool, &[u8]); 4] = [
        (false, b"HEAD /iso HTTP/1.1\r\nHost: one.example:8080\r\n\r\n"),
        (true, b"HTTP/1.1 200 OK\r\nContent-Type: x/y\r\nContent-Length: 4700000000\r\n\r\n"),
        (false, b"GET /a%20b HTTP/1.1\r\n\r\n"),
        (true, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4700000000\r\n\r\n"),
    ];
    conversation(&mut pcap, 8080, &said);
    // An invalid request is answered, and a server's greeting is no other protocol for the client's port.
    conversation(
        &mut pcap,
        8000,
        &[(false, b"get / HTTP/1.1\r\n\r\n"), (true, b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")],
    );
    conversation(&mut pcap, 2525, &[(true, b"220 FTP Service\r\n"), (false, b"USER bob\r\n")]);
    let capture = bench.file("head.pcap", pcap.bytes());
    let all = json(&["transactions", "--json", &capture]);
    let bytes: Vec<_> =
        all.iter().filter(|one| one["service"] == "http").map(|one| &one["http"]["response_bytes"]).collect();
    assert_eq!(bytes, [0, 0, 0]);
    assert_eq!(all.iter().filter(|one| one["service"] == "ftp").count(), 1);
    let eve = lines(&run(&["flows", "--format", "eve", &capture]).stdout);
    assert!(
        eve.iter()
            .all(|record| record["event_type"] != "fileinfo" && record["http"]["length"].as_u64().unwrap_or(0) == 0)
    );
    let folder = bench.path("logs").to_str().unwrap().to_owned();
    assert!(run(&["flows", "--to", &format!("zeek-json:{folder}"), &capture]).status.success());
    let logged = file_lines(&bench.path("logs/http.log"));
    assert!(logged.iter().all(|line| line["response_body_len"] == 0 && line.get("resp_fuids").is_none()), "{logged:?}");
    assert!(
        logged.iter().any(|line| line["uri"] == "/a b") && logged.iter().any(|line| line["host"] == "one.example:8080")
    );
    let files = bench.path("logs/files.log");
    assert!(!files.exists() || file_lines(&files).is_empty());
}

/// A connection that was open when the capture began: its first answer has no request here, and each later one has its own.
#[test]
fn requests_of_a_connection_joined_midway_have_their_own_answers() {
    let bench = Bench::new();
    for (turns, body) in [(3, 10), (200, 1000)] {
        let (mut pcap, mut talk) = (Pcap::new(), Talk::new(40_000));
        for turn in 0..turns {
            let answer = format!("HTTP/1.1 200 R{turn}\r\nContent-Length: {body}\r\n\r\n{}", "x".repeat(body));
            talk.say(&mut pcap, true, answer.as_bytes());
            talk.say(&mut pcap, false, format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", turn + 1).as_bytes());
        }
        let capture = bench.file("open.pcap", pcap.bytes());
        let found = json(&["transactions", "--json", &capture]);
        assert_eq!(found.len(), turns + 1);
        for (at, one) in found.iter().enumerate() {
            let path = (at > 0).then(|| format!("/{at}"));
            let reason = (at < turns).then(|| format!("R{at}"));
            assert_eq!(
                (one["http"]["path"].as_str(), one["http"]["reason"].as_str()),
                (path.as_deref(), reason.as_deref())
            );
            // A packet each millisecond.
            let start_ms = (one["start_ns"].as_u64().unwrap() / 1_000_000) as usize % 1_000_000;
            assert_eq!(start_ms, if at == 0 { 0 } else { 2 * at - 1 });
        }
    }
}
