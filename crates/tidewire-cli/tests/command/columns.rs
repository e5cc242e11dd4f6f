//! Columns of tables where lines are 80 characters long.

use tidewire_testing::InTime as _;

use crate::common::*;

/// Addresses as long as IPv4 has them, names of protocols, and directions of which one is silent.
fn capture(bench: &Bench) -> String {
    let mut pcap = Pcap::new();
    let answer = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/vnd.tidewire.long+json;charset=utf-8\r\nContent-Length: 0\r\n\r\n";
    let said: [(bool, &[u8]); 2] =
        [(false, b"GET /a-rather-long-path HTTP/1.1\r\nHost: a-rather-long-name.example\r\n\r\n"), (true, answer)];
    conversation(&mut pcap, 40_000, &said);
    conversation(&mut pcap, 40_001, &said);
    bench.file("narrow.pcap", pcap.bytes())
}

fn narrow(arguments: &[&str]) -> Vec<String> {
    let output = command(arguments).env("COLUMNS", "80").run_in_time().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn eighty_columns_have_the_service() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let title = &narrow(&["flows", &capture])[0];
    assert!(title.contains("SERVICE") && !title.contains("START"), "{title}");
    for command in ["flows", "streams"] {
        let title = &narrow(&[command, &capture])[0];
        assert_eq!(title.contains("FLAGS>"), title.contains("<FLAGS"), "{title}");
        assert_eq!(title.contains("BYTES>"), title.contains("<BYTES"), "{title}");
    }
}

/// The client is as much of a transaction as its request.
#[test]
fn eighty_columns_have_the_client_of_transactions() {
    let bench = Bench::new();
    let lines = narrow(&["transactions", &capture(&bench)]);
    for part in ["STREAM", "CLIENT", "SERVICE", "NAME", "REQUEST", "RESPONSE"] {
        assert!(lines[0].contains(part), "{}", lines[0]);
    }
    assert!(lines[1].contains(":40000 ") && lines[1].contains(" http "), "{}", lines[1]);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
}

#[test]
fn columns_that_are_named_are_whole() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for columns in ["+service,+name", "+community_id", "client,server,name,community_id"] {
        let lines = narrow(&["flows", "--columns", columns, &capture]);
        assert!(!lines.iter().any(|line| line.contains('…')), "{lines:?}");
        // A title, two flows with a note of the name where it has no column, two lines of totals at most.
        assert!(lines.len() <= 7, "{lines:?}");
    }
}

#[test]
fn transactions_have_their_stream_and_say_nothing_twice() {
    let bench = Bench::new();
    let capture = capture(&bench);
    let lines = narrow(&["transactions", &capture]);
    assert!(lines[0].starts_with("STREAM"), "{lines:?}");
    let text = lines.join("\n");
    assert_eq!(text.matches("application/vnd").count(), 2, "{text}");
    assert_eq!(text.matches("404").count(), 2, "{text}");
    let [by_id, by_stream] =
        ["id,name", "stream,name"].map(|columns| narrow(&["transactions", "--columns", columns, &capture]));
    assert_eq!(by_id, by_stream);
}
