mod names;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidewire::{Direction, Gap, GapCause, Timestamp};
use tidewire_protocols::{Answer, DnsQuestion, Fields, Service, Transaction};

use self::names::NAMES;
use crate::{
    eve::{Stats, Types, push_alert, push_records, push_stats, push_transaction},
    testing::{Sample, exchange, found, hostile, key, key6, transactions},
};

/// Members with their types, except ours.
fn members(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(members_of) => {
            for (name, value) in members_of.iter().filter(|(name, _)| !path.is_empty() || *name != "tidewire") {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                members(value, &path, found);
            }
            return;
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            return items.iter().for_each(|item| members(item, path, found));
        }
        Value::Array(items) if items.iter().all(Value::is_string) => "[s]",
        Value::Array(_) => "[i]",
        Value::String(text) if is_time(text) => "t",
        Value::String(_) => "s",
        Value::Number(number) if number.is_u64() => "i",
        Value::Bool(_) => "b",
        _ => "?",
    };
    found.insert(path.to_owned(), kind);
}

/// The regular expression of Suricata's schema: `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}[+-][0-9]{4}$`.
fn is_time(text: &str) -> bool {
    const FORM: &str = "0000-00-00T00:00:00.000000+0000";
    let same = |(a, b): (char, char)| if b == '0' { a.is_ascii_digit() } else { a == b };
    text.len() == FORM.len() && text.chars().zip(FORM.chars()).all(same)
}

/// A query and an answer of multicast DNS.
fn multicast(text: &str) -> Transaction {
    let mut one = transactions(text).remove(1);
    one.service = Service::Mdns;
    one
}

/// An answer that contradicts an earlier one.
fn conflicting(text: &str) -> Transaction {
    let mut one = transactions(text).remove(1);
    let Fields::Dns(dns) = &mut one.fields else { panic!() };
    (dns.conflicting, dns.is_asked) = (true, false);
    one
}

fn records(text: &str) -> Vec<u8> {
    let (sample, mut out) = (Sample::new(text), Vec::new());
    let types = Types::default().with(Types::NETFLOW);
    for key in [key(6), key(17), key6(6), key6(58), key(132), key(200)] {
        push_records(&mut out, &sample.flow(key), &sample.anomalies, types);
    }
    let mut tagged = key(1);
    (tagged.vlans, tagged.icmp) = (tidewire::Vlans::new([5]), [8, 0]);
    push_records(&mut out, &sample.flow(tagged), &sample.anomalies, types);
    for transaction in transactions(text) {
        push_transaction(&mut out, &exchange(&transaction), types);
    }
    let multicast = multicast(text);
    push_transaction(&mut out, &exchange(&multicast), types);
    push_transaction(&mut out, &exchange(&conflicting(text)), types);
    push_alert(&mut out, &found(text));
    push_stats(&mut out, &Stats { dropped: Some(3), ..Stats::default() });
    out
}

#[test]
fn names_and_types_are_suricatas() {
    let mut found: BTreeMap<String, BTreeMap<String, &'static str>> = BTreeMap::new();
    for line in String::from_utf8(records("text")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        members(&line, "", found.entry(line["event_type"].as_str().unwrap().to_owned()).or_default());
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), Types::names().iter().collect::<Vec<_>>(), "every type is written");
    let entries =
        |names: &'static str| names.split(',').map(|one| one.trim().split_once(' ').expect("a name and a type"));
    let of_all = entries(NAMES[0].1);
    for (event, names) in &NAMES[1..] {
        let all = of_all.clone().filter(|_| *event != "stats");
        let known: BTreeMap<&str, &str> = all.chain(entries(names)).collect();
        let found = &found[*event];
        for (path, kind) in found {
            assert_eq!(known.get(path.as_str()), Some(kind), "{event}: {path}");
        }
        // All are written somewhere; these only where a flag is set, or of what packets a record is about.
        let rare = ["tcp.rst", "tcp.urg", "tcp.ecn", "tcp.cwr", "tcp.ts_gap", "tls.session_resumed"];
        for (path, _) in entries(names).filter(|(path, _)| !rare.contains(path)) {
            assert!(found.contains_key(path), "{event}: {path} is never written");
        }
    }
}

#[test]
fn a_flow_is_written_as_documented() {
    let (sample, mut out) = (Sample::new("eth0"), Vec::new());
    push_records(&mut out, &sample.flow(key(6)), &sample.anomalies, Types::FLOW);
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["timestamp"], "2026-11-22T06:30:02.123456+0000");
    assert_eq!(value["flow"]["start"], "2026-11-22T06:30:00.123456+0000");
    assert_eq!((&value["proto"], &value["in_iface"]), (&"TCP".into(), &"eth0".into()));
    assert_eq!((&value["flow"]["age"], &value["flow"]["bytes_toclient"]), (&2.into(), &2800.into()));
    assert_eq!((&value["flow"]["state"], &value["flow"]["reason"]), (&"closed".into(), &"timeout".into()));
    assert_eq!((&value["tcp"]["tcp_flags_ts"], &value["tcp"]["tc_gap"]), (&"1b".into(), &true.into()));
    assert!(value["flow_id"].as_u64().unwrap() < 1 << 51);
    assert_eq!(value["community_id"], tidewire::community_id(&key(6), 0));
}

/// Bytes that a cutoff kept back or `--urgent out` removed were not lost.
#[test]
fn only_lost_bytes_are_gaps() {
    let mut sample = Sample::new("eth0");
    for (cause, is_gap) in [(GapCause::NotCaptured, true), (GapCause::Cutoff, false), (GapCause::Urgent, false)] {
        sample.gaps = vec![Gap::new(Direction::ClientToServer, 5, 1, cause)];
        let mut out = Vec::new();
        push_records(&mut out, &sample.flow(key(6)), &sample.anomalies, Types::FLOW);
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["tcp"].get("ts_gap").is_some(), is_gap, "{cause:?}");
    }
}

#[test]
fn a_query_and_its_answer_are_two_records() {
    let all = transactions("a.example");
    let mut out = Vec::new();
    assert!(push_transaction(&mut out, &exchange(&all[1]), Types::default()));
    let lines: Vec<Value> =
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["dns"]["type"]).collect();
    assert_eq!(kinds, ["request", "response"]);
    assert_eq!(lines[0]["dns"]["queries"][0]["rrname"], "a.example");
    assert!(lines[0]["dns"].get("answers").is_none() && lines[0]["flow_id"] == lines[1]["flow_id"]);
    assert_eq!(lines[1]["dns"]["grouped"]["A"][0], "a.example");
    assert_eq!(lines[0]["dns"]["flags"], "110");
    assert!(lines[0]["dns"].get("qr").is_none() && lines[1]["dns"]["z"] == true, "{lines:?}");
}

/// Values of Suricata's tests `dns-udp-eve-log-srv`, `dns-sshfp`, `dns-udp-nxdomain-soa`, `bug-1158` and `decode-teredo-01`.
#[test]
fn answers_have_suricatas_form() {
    let mut one = transactions("a.example").remove(1);
    let Fields::Dns(dns) = &mut one.fields else { panic!("{one:?}") };
    let data = [
        ("SRV", "20 1 5060 sip-anycast-2.voice.google.com"),
        ("SSHFP", "1 1 198c34a92fc0b2ab1da52b688c2f191d2d960c09"),
        ("SOA", "ns-110.awsdns-13.com awsdns-hostmaster.amazon.com 1 7200 900 1209600 86400"),
        ("TXT", r#""AhvMAAO1kAFE5TE9QTjFFN09RN1lYSDk" """#),
        ("AAAA", "2001:4860:0:2001::68"),
        ("MX", "10 mail.example"),
        ("SSHFP", r"\# 1 01"),
        // Damaged: no preference and host, no name.
        ("MX", r"\# 1 0a"),
        ("CNAME", r"\# 2 c0ff"),
        ("NULL", r"\# 9 5641434b4403c5e901"),
    ];
    dns.answers = data.iter().map(|&(kind, data)| Answer::new("n", kind, 1, data)).collect();
    let mut out = Vec::new();
    push_transaction(&mut out, &exchange(&one), Types::default());
    let line: Value = serde_json::from_slice(out.split(|byte| *byte == b'\n').nth(1).unwrap()).unwrap();
    let answers = line["dns"]["answers"].as_array().unwrap();
    let service = json!({"priority": 20, "weight": 1, "port": 5060, "name": "sip-anycast-2.voice.google.com"});
    assert_eq!(answers[0]["srv"], service);
    let fingerprint = "19:8c:34:a9:2f:c0:b2:ab:1d:a5:2b:68:8c:2f:19:1d:2d:96:0c:09";
    assert_eq!(answers[1]["sshfp"], json!({"fingerprint": fingerprint, "algo": 1, "type": 1}));
    let authority = json!({"mname": "ns-110.awsdns-13.com", "rname": "awsdns-hostmaster.amazon.com", "serial": 1,
        "refresh": 7200, "retry": 900, "expire": 1_209_600, "minimum": 86_400});
    assert_eq!(answers[2]["soa"], authority);
    let texts: Vec<&Value> = answers[3..].iter().map(|answer| &answer["rdata"]).collect();
    assert_eq!(
        texts,
        [
            "AhvMAAO1kAFE5TE9QTjFFN09RN1lYSDk",
            "",
            "2001:4860:0000:2001:0000:0000:0000:0068",
            "mail.example",
            r"\# 1 01",
            r"\# 1 0a",
            r"\# 2 c0ff",
            "VACKD\u{3}\\xc5\\xe9\u{1}"
        ]
    );
    assert!(answers[..3].iter().all(|answer| answer.get("rdata").is_none()), "{answers:?}");
    let grouped = json!({"AAAA": ["2001:4860:0000:2001:0000:0000:0000:0068"], "CNAME": [r"\# 2 c0ff"],
        "MX": ["mail.example", r"\# 1 0a"], "NULL": ["VACKD\u{3}\\xc5\\xe9\u{1}"], "SOA": [authority], "SRV": [service],
        "SSHFP": [{"fingerprint": fingerprint, "algo": 1, "type": 1}],
        "TXT": ["AhvMAAO1kAFE5TE9QTjFFN09RN1lYSDk", ""]});
    assert_eq!(line["dns"]["grouped"], grouped);
}

#[test]
fn names_have_their_bytes_and_types_their_numbers() {
    let mut one = transactions("a.example").remove(1);
    let Fields::Dns(dns) = &mut one.fields else { panic!("{one:?}") };
    (dns.query, dns.kind) = (Some(r"a\032room\.\195\164.local".into()), Some("SVCB".into()));
    dns.flags = [0x0100, 0x818f];
    dns.answers = [
        ("PTR", r"\255.example"),
        ("PTR", r"\\xff.example"),
        ("TYPE65280", "x"),
        ("NS", "."),
        ("TXT", r#""\195" "\195\164""#),
    ]
    .map(|(kind, data)| Answer::new("n", kind, 1, data))
    .to_vec();
    let mut out = Vec::new();
    push_transaction(&mut out, &exchange(&one), Types::default());
    let lines: Vec<Value> =
        out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let question = json!([{"rrname": "a room.ä.local", "rrtype": "64"}]);
    assert_eq!((&lines[0]["dns"]["queries"], &lines[0]["dns"]["rcode"]), (&question, &"NOERROR".into()));
    assert_eq!((&lines[1]["dns"]["rcode"], &lines[1]["dns"]["answers"][2]["rrtype"]), (&"15".into(), &"65280".into()));
    assert_eq!(
        lines[1]["dns"]["grouped"],
        json!({"NS": [""], "PTR": [r"\xff.example", r"\x5cxff.example"], "TXT": [r"\xc3", "ä"]})
    );
    // An answer comes from the server.
    assert_eq!((&lines[0]["src_ip"], &lines[1]["src_ip"]), (&"192.0.2.1".into(), &"198.51.100.2".into()));
}

#[test]
fn multicast_dns_has_a_form_of_its_own() {
    let mut one = multicast("printer.local");
    let Fields::Dns(dns) = &mut one.fields else { panic!("{one:?}") };
    (dns.kind, dns.flags) = (Some("PTR".into()), [0, 0x8400]);
    dns.answers = [
        ("PTR", r"The\032printer.local"),
        ("TXT", r#""a=1" "b=2""#),
        ("TYPE47", r"\# 2 6162"),
        ("A", "192.0.2.7"),
        ("SRV", "x"),
    ]
    .map(|(kind, data)| Answer::new("n", kind, 1, data))
    .to_vec();
    let mut out = Vec::new();
    push_transaction(&mut out, &exchange(&one), Types::default());
    let lines: Vec<Value> =
        out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!((lines.len(), &lines[0]["event_type"], &lines[1]["src_ip"]), (2, &"mdns".into(), &"192.0.2.1".into()));
    let question = json!([{"rrname": "printer.local", "rrtype": "ptr"}]);
    assert_eq!(lines[0]["mdns"], json!({"type": "request", "id": 7, "opcode": 0, "rcode": 0, "queries": question}));
    let answers = json!([{"rrname": "n", "ptr": "The printer.local"}, {"rrname": "n", "txt": ["a=1", "b=2"]},
        {"rrname": "n", "47": "ab"}, {"rrname": "n", "a": "192.0.2.7"}, {"rrname": "n"}]);
    let expected = json!({"type": "response", "id": 7, "flags": ["aa"], "opcode": 0, "rcode": 0, "answers": answers});
    assert_eq!(lines[1]["mdns"], expected);
}

#[test]
fn versions_of_quic_are_numbers() {
    let mut one = transactions("a.example").remove(3);
    let service = one.clone();
    let Fields::Quic(quic) = &mut one.fields else { panic!("{one:?}") };
    for (version, expected) in [("1", "1"), ("2", "v2"), ("draft 29", "ff00001d"), ("0xfaceb002", "faceb002")] {
        quic.version = Some(version.into());
        let (one, mut out) = (
            Transaction::new(
                service.service,
                Fields::Quic(quic.clone()),
                Timestamp::from_nanos(service.start.as_nanos()),
                Timestamp::from_nanos(service.end.as_nanos()),
            ),
            Vec::new(),
        );
        push_transaction(&mut out, &exchange(&one), Types::default());
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["quic"]["version"], expected);
    }
}

/// Values of records of Suricata over captures: a session that was resumed, a hello without an answer, software without its comment.
#[test]
fn what_hellos_say_has_suricatas_form() {
    let all = transactions("a.example");
    let written = |fields: Fields, service| {
        let (one, mut out) = (
            Transaction::new(
                service,
                fields,
                Timestamp::from_nanos(all[0].start.as_nanos()),
                Timestamp::from_nanos(all[0].end.as_nanos()),
            ),
            Vec::new(),
        );
        push_transaction(&mut out, &exchange(&one), Types::default());
        serde_json::from_slice::<Value>(out.split(|byte| *byte == b'\n').next().unwrap()).unwrap()
    };
    let Fields::Tls(tls) = all[0].fields.clone() else { panic!("{all:?}") };
    let with = |version: Option<&str>, offered: Option<&str>, has_certificate: bool| {
        let mut tls = tls.clone();
        (tls.version, tls.client_version) =
            (version.map(|text| text.to_owned().into()), offered.map(|text| text.to_owned().into()));
        tls.certificate = tls.certificate.filter(|_| has_certificate);
        written(Fields::Tls(tls), Service::Tls)["tls"].clone()
    };
    let resumed = |line: &Value| line.get("session_resumed").is_some();
    assert!(resumed(&with(Some("TLS 1.2"), None, false)) && !resumed(&with(Some("TLS 1.2"), None, true)));
    assert!(!resumed(&with(Some("TLS 1.3"), None, false)));
    assert_eq!(with(None, Some("TLS 1.3"), false)["version"], "TLS 1.3");
    assert_eq!(with(None, Some("TLS 1.0"), false)["version"], "TLSv1");

    // How many alternative names are not in `subjectaltname`.
    assert_eq!(written(all[0].fields.clone(), Service::Tls)["tidewire"]["san_left_out"], 1);

    let Fields::Ssh(mut ssh) = all[4].fields.clone() else { panic!("{all:?}") };
    ssh.server_software = Some("OpenSSH_7.9p1 Ubuntu-10".into());
    let line = written(Fields::Ssh(ssh), Service::Ssh);
    assert_eq!(line["ssh"]["server"]["software_version"], "OpenSSH_7.9p1");

    let Fields::Http(mut http) = all[2].fields.clone() else { panic!("{all:?}") };
    (http.version, http.status, http.location) = (Some("0.9".into()), Some(201), Some("/new".into()));
    let line = written(Fields::Http(http), Service::Http);
    assert_eq!((line["http"].get("protocol"), &line["http"]["redirect"]), (None, &"/new".into()));
}

/// Both records `netflow` have the times of the stream; what answers a request of ICMP has its own type.
#[test]
fn netflow_is_of_a_side_of_a_stream() {
    let (sample, mut out) = (Sample::new("text"), Vec::new());
    let types = Types::FLOW.with(Types::NETFLOW);
    let mut echo = key(1);
    echo.icmp = [8, 0];
    let mut flow = sample.flow(echo);
    (flow.app, flow.stats[1].start) = (None, Some(Timestamp::from_nanos(flow.start.as_nanos() + 1_000_000_000)));
    push_records(&mut out, &flow, flow.anomalies, types);
    let lines: Vec<Value> =
        out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let [client, server, whole] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&client["icmp_type"], &server["icmp_type"], &whole["icmp_type"]), (&8.into(), &0.into(), &8.into()));
    assert_eq!((&whole["response_icmp_type"], &whole["response_icmp_code"]), (&0.into(), &0.into()));
    assert_eq!((&client["app_proto"], client["netflow"].get("tx_cnt")), (&"unknown".into(), None));
    assert!(whole.get("app_proto").is_none() && whole["flow"].get("tx_cnt").is_none(), "{whole}");
    assert_eq!(client["netflow"]["start"], server["netflow"]["start"]);
    assert!(client.get("ip_v").is_none() && whole["ip_v"] == 4);
}

#[test]
fn drafts_of_tls_have_suricatas_names() {
    let mut one = transactions("a.example").remove(0);
    let service = one.clone();
    let Fields::Tls(tls) = &mut one.fields else { panic!("{one:?}") };
    for (draft, expected) in [("TLS 1.3 draft 18", "TLS 1.3 draft-18"), ("TLS 1.3 draft 14", "TLS 1.3 draft-<16")] {
        tls.version = Some(draft.into());
        let (one, mut out) = (
            Transaction::new(
                service.service,
                Fields::Tls(tls.clone()),
                Timestamp::from_nanos(service.start.as_nanos()),
                Timestamp::from_nanos(service.end.as_nanos()),
            ),
            Vec::new(),
        );
        push_transaction(&mut out, &exchange(&one), Types::default());
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["tls"]["version"], expected);
    }
}

/// A body that was never sent is no file.
#[test]
fn an_empty_body_is_no_file() {
    let mut one = transactions("a.example").remove(2);
    let Fields::Http(http) = &mut one.fields else { panic!("{one:?}") };
    (http.request_bytes, http.response_bytes) = (None, Some(0));
    let mut out = Vec::new();
    push_transaction(&mut out, &exchange(&one), Types::default());
    let line: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&line["event_type"], &line["http"]["length"]), (&"http".into(), &0.into()));
}

#[test]
fn types_are_chosen() {
    let (sample, all) = (Sample::new("text"), transactions("text"));
    for (name, types) in Types::named() {
        let mut out = Vec::new();
        push_records(&mut out, &sample.flow(key(6)), &sample.anomalies, types);
        all.iter().for_each(|one| {
            push_transaction(&mut out, &exchange(one), types);
        });
        let lines: Vec<Value> =
            String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().all(|line| line["event_type"] == name), "{name}");
        assert!(!lines.is_empty() || matches!(name, "alert" | "mdns" | "stats"), "{name}");
    }
}

#[test]
fn addresses_have_all_digits() {
    let (sample, mut out) = (Sample::new("text"), Vec::new());
    push_records(&mut out, &sample.flow(key6(6)), &sample.anomalies, Types::default());
    let line: Value = serde_json::from_slice(out.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(line["src_ip"], "2001:0db8:0000:0000:0000:0000:0000:0001");
}

proptest! {
    #[test]
    fn no_text_breaks_a_line(text in hostile()) {
        let out = String::from_utf8(records(&text)).unwrap();
        prop_assert_eq!(out.lines().count(), out.matches('\n').count());
        for line in out.lines() {
            prop_assert!(!line.chars().any(tidewire::legible::is_hidden));
            let value: Value = serde_json::from_str(line).unwrap();
            if value["event_type"] == "quic" {
                prop_assert_eq!(&value["quic"]["sni"], text.as_str());
            }
        }
    }
}

/// All questions of a message, and an answer that contradicts an earlier one: in `dns`, and as an anomaly.
#[test]
fn questions_and_contradictions_of_dns_are_written() {
    let mut one = conflicting("a.example");
    let Fields::Dns(dns) = &mut one.fields else { panic!() };
    dns.more = vec![DnsQuestion::new("b.example", "AAAA", None)];
    let mut out = Vec::new();
    push_transaction(&mut out, &exchange(&one), Types::default());
    let lines: Vec<Value> = out.split(|&byte| byte == b'\n').flat_map(serde_json::from_slice).collect();
    let [anomaly, dns] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&anomaly["event_type"], &dns["event_type"]), (&"anomaly".into(), &"dns".into()));
    assert_eq!(anomaly["anomaly"]["event"], "tidewire.conflicting_answers");
    assert_eq!(anomaly["src_ip"], dns["src_ip"]);
    assert_eq!(dns["tidewire"]["conflicting"], true);
    let names: Vec<_> = dns["dns"]["queries"].as_array().unwrap().iter().map(|query| &query["rrname"]).collect();
    assert_eq!(names, ["a.example", "b.example"]);
    let only = |types| {
        let mut out = Vec::new();
        push_transaction(&mut out, &exchange(&one), types);
        out.iter().filter(|&&byte| byte == b'\n').count()
    };
    assert_eq!([Types::ANOMALY, Types::DNS, Types::HTTP].map(only), [1, 1, 0]);
}
