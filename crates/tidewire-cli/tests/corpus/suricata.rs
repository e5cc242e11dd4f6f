//! EVE against what Suricata's own test suite expects of Suricata: counts of records with given members and values.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::{common, corpus};

/// Types of records that are compared.
const TYPES: [&str; 6] = ["dns", "flow", "http", "quic", "ssh", "tls"];

/// Members that are compared, those of objects by their path; a test that asks for another one is left out.
const MEMBERS: &[&str] = &[
    "event_type",
    "src_ip",
    "src_port",
    "dest_ip",
    "dest_port",
    "proto",
    "icmp_type",
    "icmp_code",
    "vlan",
    "ip_v",
    "dns.version",
    "dns.tx_id",
    "dns.type",
    "dns.flags",
    "dns.qr",
    "dns.aa",
    "dns.tc",
    "dns.rd",
    "dns.ra",
    "dns.z",
    "dns.grouped.A[0]",
    "dns.grouped.A[1]",
    "dns.grouped.CNAME[0]",
    "dns.rcode",
    "dns.queries[0].rrname",
    "dns.queries[0].rrtype",
    "dns.answers[0].rrname",
    "dns.answers[0].rrtype",
    "dns.answers[0].rdata",
    "dns.answers[0].ttl",
    "dns.answers[1].rrname",
    "dns.answers[1].rrtype",
    "dns.answers[1].rdata",
    "dns.answers[1].ttl",
    "dns.answers[2].rrname",
    "dns.answers[2].rrtype",
    "dns.answers[2].rdata",
    "dns.answers[2].ttl",
    "dns.opcode",
    "dns.id",
    "http.hostname",
    "http.url",
    "http.http_user_agent",
    "http.http_method",
    "http.protocol",
    "http.status",
    "http.http_refer",
    "http.http_content_type",
    "http.length",
    "http.redirect",
    "tls.sni",
    "tls.version",
    "tls.ja3.hash",
    "tls.ja4",
    "tls.client_alpns[0]",
    "tls.client_alpns[1]",
    "tls.server_alpns[0]",
    "tls.session_resumed",
    "tls.fingerprint",
    "tls.serial",
    "tls.subject",
    "tls.issuerdn",
    "tls.notbefore",
    "tls.notafter",
    "ssh.client.software_version",
    "ssh.client.proto_version",
    "ssh.server.software_version",
    "ssh.server.proto_version",
    "ssh.client.hassh.hash",
    "ssh.server.hassh.hash",
    "quic.version",
    "quic.sni",
    "quic.ja3.hash",
    "quic.ja4",
    "flow.pkts_toserver",
    "flow.pkts_toclient",
    "flow.bytes_toserver",
    "flow.bytes_toclient",
    "flow.age",
    "tcp.syn",
    "tcp.fin",
    "tcp.rst",
    "tcp.psh",
    "tcp.ack",
    "tcp.tcp_flags",
    "tcp.tcp_flags_ts",
    "tcp.tcp_flags_tc",
];

/// Tests whose counts differ, by the beginnings of their names; docs/formats.md explains them.
const KNOWN: [&str; 7] = [
    // ERSPAN type I is not read; flows are one whatever their VLAN ids; packets of tunnels are in their inner flows only.
    "decode-erspan-typeI-01",
    "eve-flow-vlan",
    "flow-pkt-recursion/",
    // DNS over HTTP/2, and what comes after a gap.
    "dns-over-http2",
    "http-gap-whole-body",
    "dns-tcp-ts-gap",
    // Drafts are TLS 1.3.
    "tls/tls13-draft",
];

/// The member of a record at `path`, as `dns.answers[0].rrname`.
fn member<'a>(record: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(record, |value, part| match part.split_once('[') {
        None => value.get(part),
        Some((name, index)) => value.get(name)?.get(index.trim_end_matches(']').parse::<usize>().ok()?),
    })
}

/// The records that are written of a capture.
fn records(capture: &Path) -> Vec<Value> {
    let output = common::run(&["streams", "--checksum", "ignore", "--format", "eve", capture.to_str().unwrap()]);
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn values_are_suricatas() {
    let Some(corpus) = corpus::find() else { return };
    let index = fs::read_to_string(corpus.join("suricata_verify_index.json")).unwrap();
    let index: Vec<Value> = serde_json::from_str(&index).unwrap();
    let (mut same, mut known, mut others, mut read) = (0, 0, Vec::new(), BTreeMap::new());
    for test in &index {
        let (Some(name), Some(capture)) = (test["test"].as_str(), test["pcap"].as_str()) else { continue };
        // Options and configurations that change what Suricata looks at or writes: its rules drop, its policies stop, its logs are off.
        let options = test["args"].to_string();
        let is_changed = |word: &&str| options.contains(word) || name.contains(word);
        if ["--set", "--simulate-ips", "exception-policy", "bug-8205"].iter().any(is_changed) {
            continue;
        }
        for check in test["checks"].as_array().into_iter().flatten() {
            let Some(wanted) = check["filter"]["match"].as_object() else { continue };
            let kind = wanted.get("event_type").and_then(Value::as_str).unwrap_or_default();
            let is_compared =
                TYPES.contains(&kind) && wanted.len() > 1 && wanted.keys().all(|key| MEMBERS.contains(&key.as_str()));
            // Of version 2.
            let is_old = wanted.get("dns.type").is_some_and(|kind| kind == "query" || kind == "answer");
            if !is_compared || is_old {
                continue;
            }
            let found = read.entry(capture.to_owned()).or_insert_with(|| records(&corpus.join(capture)));
            let fits = |record: &&Value| wanted.iter().all(|(path, value)| member(record, path) == Some(value));
            let count = found.iter().filter(fits).count() as u64;
            match check["filter"]["count"].as_u64() {
                Some(expected) if expected == count => same += 1,
                _ if KNOWN.iter().any(|known| name.starts_with(known)) => known += 1,
                expected => others.push(format!("{name}: {count} of {expected:?}: {}", check["filter"]["match"])),
            }
        }
    }
    println!("{same} counts are Suricata's, {known} differ for known reasons");
    assert!(others.is_empty(), "{}", others.join("\n"));
    assert!(same >= 60 && known <= 11, "{same} are the same, {known} known");
}
