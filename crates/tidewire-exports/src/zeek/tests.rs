use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;
use tidewire::{Anomaly, AnomalyKind, Explanation, Timestamp};
use tidewire_protocols::{Answer, DnsQuestion, Fields, QuicEntry, Transaction, text_of_bytes};

use crate::{
    Explained,
    testing::{Sample, exchange, filled, hostile, key, key6, transactions},
    zeek::{
        Form, History, Log, log_of, push_conn, push_explained, push_files, push_footer, push_header, push_quic,
        push_quic_entry, push_transaction, push_weird_answer, push_weirds,
    },
};

/// A log as a reader sees it that knows its header only.
struct Read {
    path: String,
    rows: Vec<BTreeMap<String, String>>,
    types: BTreeMap<String, String>,
}

/// Reads a log: separators and names as its header states them. A line that does not fit fails.
fn read(text: &str) -> Read {
    let mut lines = text.lines();
    let separator = lines.next().unwrap().strip_prefix("#separator ").unwrap();
    assert_eq!(separator, "\\x09");
    let mut head = BTreeMap::new();
    let mut rows = Vec::new();
    for line in lines {
        let values: Vec<&str> = line.split('\t').collect();
        if let Some(name) = values[0].strip_prefix('#') {
            assert!(head.insert(name, values[1..].to_vec()).is_none(), "{name} twice");
            continue;
        }
        let names = &head["fields"];
        assert_eq!(values.len(), names.len(), "{line:?}");
        rows.push(names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect());
    }
    assert_eq!((head["unset_field"][0], head["empty_field"][0], head["set_separator"][0]), ("-", "(empty)", ","));
    assert!(head.contains_key("open") && head.contains_key("close"));
    let types = head["fields"].iter().zip(&head["types"]).map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned()));
    Read { path: head["path"][0].to_owned(), types: types.collect(), rows }
}

/// A value with its escapes undone.
fn unescaped(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        if first == b'\\' {
            assert_eq!(behind[0], b'x', "{value}");
            bytes.push(u8::from_str_radix(std::str::from_utf8(&behind[1..3]).unwrap(), 16).unwrap());
            rest = &behind[3..];
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    text_of_bytes(&bytes).into_owned()
}

fn logs(text: &str, form: Form) -> BTreeMap<Log, String> {
    let sample = Sample::new(text);
    let mut logs: BTreeMap<Log, Vec<u8>> = BTreeMap::new();
    for log in Log::ALL {
        push_header(logs.entry(log).or_default(), form, log, 1_795_329_000);
    }
    for key in [key(6), key(17), key6(58), key(1), key(47)] {
        let flow = sample.flow(key);
        push_conn(logs.entry(Log::Conn).or_default(), form, &flow, &History::default());
        push_weirds(logs.entry(Log::Weird).or_default(), form, &flow, flow.anomalies);
    }
    for transaction in transactions(text) {
        let exchange = exchange(&transaction);
        push_files(logs.entry(Log::Files).or_default(), form, &exchange);
        push_quic(logs.entry(Log::Quic).or_default(), form, &exchange);
        if let Some(log) = log_of(&exchange) {
            push_transaction(logs.entry(log).or_default(), form, &exchange);
        }
    }
    logs.values_mut().for_each(|out| push_footer(out, form, 1_795_329_060));
    logs.into_iter().map(|(log, out)| (log, String::from_utf8(out).unwrap())).collect()
}

#[test]
fn a_log_is_read_by_its_header() {
    let logs = logs("text", Form::Tsv);
    let read: BTreeMap<Log, Read> = logs.iter().map(|(&log, text)| (log, read(text))).collect();
    assert!(read.iter().all(|(log, read)| log.name() == read.path));
    let conn = &read[&Log::Conn].rows[0];
    assert_eq!(
        (conn["ts"].as_str(), conn["id.resp_p"].as_str(), conn["proto"].as_str()),
        ("1795329000.123456", "443", "tcp")
    );
    assert_eq!(
        (conn["duration"].as_str(), conn["service"].as_str(), conn["history"].as_str()),
        ("2.000000", "ssl", "-")
    );
    assert_eq!((conn["uid"].len(), conn["tunnel_parents"].as_str(), conn["local_orig"].as_str()), (18, "-", "F"));
    let http = &read[&Log::Http].rows[0];
    assert_eq!(
        (http["tags"].as_str(), http["host"].as_str(), http["uid"] == conn["uid"]),
        ("(empty)", "text:8080", true)
    );
    // The body of a response has one name in both logs.
    let files = &read[&Log::Files].rows;
    assert!(files.iter().any(|file| file["fuid"] == http["resp_fuids"] && file["seen_bytes"] == "2"));
    assert_eq!(files.iter().map(|file| file["source"].as_str()).collect::<Vec<_>>(), ["SSL", "HTTP", "HTTP"]);
    let dns = &read[&Log::Dns].rows[0];
    let values = ["answers", "TTLs", "rtt", "trans_id"].map(|name| dns[name].as_str());
    let answers = "text,text,TXT 4 text,2001:4860::68,text,SSHFP: 198c34,text";
    assert_eq!(values, [answers, &["60.000000"; 7].join(","), "0.001500", "7"]);
    // The hello of QUIC has a line, too.
    let quic_hello = &read[&Log::Ssl].rows[1];
    let values = ["version", "server_name", "established", "ja4", "uid"].map(|name| quic_hello[name].as_str());
    assert_eq!(values, ["TLSv13", "text", "F", "text", &*conn["uid"]]);
    // And its beginning one: an empty identifier is one, history is not kept.
    let [quic] = &read[&Log::Quic].rows[..] else { panic!("{}", logs[&Log::Quic]) };
    let names = ["client_initial_dcid", "client_scid", "server_scid", "client_protocol", "history", "uid"];
    let values = names.map(|name| quic[name].as_str());
    assert_eq!(values, ["8394c8f0", "(empty)", "-", "h3", "(empty)", &*conn["uid"]]);
    let ssl = &read[&Log::Ssl].rows[0];
    assert_eq!((ssl["last_alert"].as_str(), ssl["resumed"].as_str()), ("handshake_failure", "T"));
    let chain = format!("{},{}", "ab".repeat(32), "cd".repeat(32));
    assert_eq!((&ssl["cert_chain_fps"], &*ssl["client_cert_chain_fps"]), (&chain, "(empty)"));
    assert_eq!((&*quic_hello["cert_chain_fps"], &*quic_hello["client_cert_chain_fps"]), ("-", "-"));
    assert_eq!(read[&Log::Weird].rows.len(), 5 * tidewire::AnomalyKind::ALL.len());
    assert!(logs[&Log::Conn].contains("#open\t2026-11-22-06-30-00\n"));
    assert!(logs[&Log::Conn].ends_with("#close\t2026-11-22-06-31-00\n"));
}

/// Forms of Zeek's script for DNS, and what its baselines have.
#[test]
fn values_have_zeeks_form() {
    let mut all = transactions("A.Example");
    let row = |transaction: &Transaction| {
        let (exchange, mut out) = (exchange(transaction), Vec::new());
        let log = log_of(&exchange).unwrap();
        push_header(&mut out, Form::Tsv, log, 0);
        push_transaction(&mut out, Form::Tsv, &exchange);
        push_footer(&mut out, Form::Tsv, 0);
        read(&String::from_utf8(out).unwrap()).rows.remove(0)
    };
    let Fields::Dns(dns) = &mut all[1].fields else { panic!() };
    dns.kind = Some("TYPE65534".into());
    let answers = [
        ("CNAME", "WWW.a.Example", "www.a.example"),
        ("TXT", r#""This one" "and \"b\"""#, "TXT 8 This one TXT 7 and \"b\""),
        ("SPF", "\"v=spf1\"", "SPF 6 v=spf1"),
        ("SRV", "0 0 22 Gemini.local", "gemini.local"),
        ("MX", "10 M.example", "m.example"),
        ("SOA", "NS.example root.example 1 2 3 4 5", "ns.example"),
        ("DNSKEY", "257 3 5 AAL+DQ==", "DNSKEY 5"),
        ("DS", "18463 5 1 0c45", "DS 5 1"),
        ("RRSIG", "DNSKEY 5 2 60 2 1 49291 UPenn.edu AA==", "RRSIG 48 upenn.edu"),
        ("RRSIG", "NS 5 2 60 2 1 49291 . AA==", "RRSIG 2 <Root>"),
        ("NSEC", "B.example A MX", "NSEC n b.example"),
        ("NSEC3PARAM", "\\# 1 00", "NSEC3PARAM"),
        ("LOC", "\\# 16 001215138805025065d2d40000989680", "LOC:  18 21 19"),
        ("HIP", "\\# 1 00", "\\x5c# 1 00"),
        ("SSHFP", "2 1 a6b9", "SSHFP: a6b9"),
        ("TYPE65534", "\\# 5 077d120001", "BIND9 signing signal"),
        ("WKS", "\\# 1 00", ""),
    ];
    dns.answers = answers.iter().map(|&(kind, data, _)| Answer::new("n", kind, 1, data)).collect();
    let dns = row(&all[1]);
    let expected: Vec<&str> = answers.iter().map(|answer| answer.2).filter(|text| !text.is_empty()).collect();
    assert_eq!(dns["answers"].split(',').collect::<Vec<_>>(), expected);
    assert_eq!(dns["TTLs"].split(',').count(), expected.len());
    assert_eq!((dns["query"].as_str(), dns["qtype_name"].as_str()), ("a.example", "query-65534"));
    let Fields::Http(http) = &mut all[2].fields else { panic!() };
    (http.path, http.version, http.response_version) =
        (Some("/a%20b%FC%09".into()), Some("1.0".into()), Some("1.1".into()));
    let http = row(&all[2]);
    assert_eq!(["uri", "version", "host"].map(|name| http[name].as_str()), ["/a b\\xfc\\x09", "1.1", "A.Example:8080"]);
    let Fields::Http(http) = &mut all[2].fields else { panic!() };
    http.status = None;
    assert_eq!(row(&all[2])["version"], "-");
}

/// Zeek's event `dns_rejected`: an answer without records, whatever its code; and its script: an error without the question.
#[test]
fn answers_that_say_nothing_are_rejected() {
    let mut one = transactions("a.example").remove(1);
    for (rcode, questions, counts, is_answered, is_rejected) in [
        ("NOERROR", 1, [0, 0, 0], true, "T"),
        ("REFUSED", 1, [0, 0, 0], true, "T"),
        ("NXDOMAIN", 1, [0, 1, 0], true, "F"),
        ("REFUSED", 1, [0, 0, 1], true, "F"),
        ("NOERROR", 1, [1, 0, 0], true, "F"),
        ("REFUSED", 0, [0, 0, 0], true, "T"),
        ("NOERROR", 0, [0, 0, 0], true, "F"),
        ("NOERROR", 1, [0, 0, 0], false, "F"),
    ] {
        let Fields::Dns(dns) = &mut one.fields else { panic!() };
        (dns.rcode, dns.questions, dns.counts) = (Some(rcode.into()), questions, counts);
        dns.is_answered = is_answered;
        let mut out = Vec::new();
        push_transaction(&mut out, Form::Tsv, &exchange(&one));
        let line = String::from_utf8(out).unwrap();
        assert_eq!(line.trim_end().rsplit('\t').next(), Some(is_rejected), "{rcode} {questions} {counts:?}");
    }
}

/// Type and code stand in the place of ports; of both of a pair, its own type and the other's.
#[test]
fn icmp_has_its_counterpart() {
    for (proto, icmp, expected) in [
        (1, [8, 0], ["8", "0"]),
        (1, [0, 0], ["0", "8"]),
        (1, [14, 0], ["14", "13"]),
        (1, [18, 0], ["18", "17"]),
        (1, [9, 0], ["9", "10"]),
        (1, [3, 1], ["3", "1"]),
        (58, [134, 0], ["134", "133"]),
        (58, [136, 0], ["136", "135"]),
        (58, [131, 0], ["131", "130"]),
        (58, [145, 0], ["145", "144"]),
        (58, [1, 4], ["1", "4"]),
    ] {
        let (sample, mut out) = (Sample::new("text"), Vec::new());
        let mut key = key6(proto);
        key.icmp = icmp;
        push_conn(&mut out, Form::Tsv, &sample.flow(key), &History::default());
        let line = String::from_utf8(out).unwrap();
        let values: Vec<&str> = line.split('\t').collect();
        assert_eq!([values[3], values[5]], expected, "{proto} {icmp:?}");
    }
}

/// Bytes that are no text are counted and written as they came.
#[test]
fn texts_of_answers_have_their_bytes() {
    let mut one = transactions("a.example").remove(1);
    let Fields::Dns(dns) = &mut one.fields else { panic!() };
    let answer = |data: &str| Answer::new("n", "TXT", 1, data);
    dns.answers = vec![answer(r#""\255\254a,""#), answer(r"\# 1 ff")];
    for (form, expected) in
        [(Form::Tsv, r"	TXT 4 \xff\xfea\x2c,\x5c# 1 ff	"), (Form::Json, r#"["TXT 4 \\xff\\xfea,","\\# 1 ff"]"#)]
    {
        let mut out = Vec::new();
        push_transaction(&mut out, form, &exchange(&one));
        let line = String::from_utf8(out).unwrap();
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn both_forms_say_the_same() {
    let (tsv, json) = (logs("a,b", Form::Tsv), logs("a,b", Form::Json));
    for log in Log::ALL {
        let read = read(&tsv[&log]);
        let objects: Vec<Value> = json[&log].lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read.rows.len(), objects.len());
        for (row, object) in read.rows.iter().zip(&objects) {
            let members: BTreeSet<&String> = object.as_object().unwrap().keys().collect();
            let is_set = |(name, value): (&'_ String, &'_ String)| (value != "-").then(|| name.clone());
            let set: BTreeSet<String> = row.iter().filter_map(is_set).collect();
            assert!(members.into_iter().eq(set.iter()), "{log:?}");
            for (name, value) in row.iter().filter(|(_, value)| *value != "-") {
                let matches = match (&object[name], read.types[name].as_str()) {
                    (Value::String(text), _) if text.is_empty() => value == "(empty)",
                    (Value::String(text), _) => *text == unescaped(value),
                    (Value::Bool(truth), "bool") => *value == if *truth { "T" } else { "F" },
                    (Value::Number(number), "count" | "port") => number.to_string() == *value,
                    (Value::Number(number), "time" | "interval") => number.as_f64() == value.parse().ok(),
                    (Value::Array(items), _) if items.is_empty() => value == "(empty)",
                    (Value::Array(items), _) => items.len() == value.split(',').count(),
                    _ => false,
                };
                assert!(matches, "{log:?} {name}: {value} and {}", object[name]);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_text_breaks_a_line_or_adds_a_field(text in hostile()) {
        let text = text_of_bytes(text.as_bytes()).into_owned();
        for (log, out) in logs(&text, Form::Tsv) {
            let read = read(&out);
            prop_assert!(!out.chars().any(|c| c != '\t' && c != '\n' && tidewire::legible::is_hidden(c)));
            if log == Log::Http {
                prop_assert_eq!(read.rows.len(), 1);
                let agent = &read.rows[0]["user_agent"];
                prop_assert!(agent != "-");
                prop_assert_eq!(if agent == "(empty)" { String::new() } else { unescaped(agent) }, text.clone());
            }
        }
        for (_, out) in logs(&text, Form::Json) {
            for line in out.lines() {
                prop_assert!(serde_json::from_str::<Value>(line).is_ok());
            }
        }
    }
}

#[test]
fn a_history_of_quic_has_zeeks_names_of_versions() {
    let key = key(17);
    for (version, name) in [
        (1, "1"),
        (0x6b33_43cf, "quicv2"),
        (0xff00_001d, "draft-29"),
        (0xface_b002, "mvfst (faceb002)"),
        (0x1001_0000, "unknown-10010000"),
    ] {
        let entry = filled!(QuicEntry {
            start: Timestamp::from_nanos(1_795_329_000_000_000_000),
            version: version,
            client_dcid: Some([0xab, 1].into()),
            client_scid: Some([].into()),
            history: "ISX".into(),
        });
        let mut text = Vec::new();
        push_header(&mut text, Form::Tsv, Log::Quic, 1);
        push_quic_entry(&mut text, Form::Tsv, (1, 2, &key), &entry);
        push_footer(&mut text, Form::Tsv, 1);
        let read = read(&String::from_utf8(text).unwrap());
        let names = ["version", "client_initial_dcid", "client_scid", "server_scid", "server_name", "history"];
        assert_eq!(names.map(|name| read.rows[0][name].as_str()), [name, "ab01", "(empty)", "-", "-", "ISX"]);
    }
}

/// RFC 6763 section 4.1.1: names have the bytes that were sent, in small letters; of several questions Zeek keeps the last one.
#[test]
fn names_of_services_have_their_bytes() {
    let mut one = transactions("a.example").remove(1);
    let Fields::Dns(dns) = &mut one.fields else { panic!() };
    let answer = |kind: &'static str, data: &str| Answer::new("n", kind, 1, data);
    dns.query = Some("B\u{fc}ro 2\\.\\233.local".into());
    dns.answers = vec![answer("PTR", "B\u{fc}ro X.local"), answer("SRV", r"0 0 631 The\032Printer.local")];
    let values = |one: &Transaction, form: Form| {
        let mut out = Vec::new();
        push_transaction(&mut out, form, &exchange(one));
        String::from_utf8(out).unwrap()
    };
    let line = values(&one, Form::Tsv);
    let cells: Vec<&str> = line.split('\t').collect();
    assert_eq!((cells[9], cells[21]), ("b\u{fc}ro 2.\\xe9.local", "b\u{fc}ro x.local,the printer.local"));
    assert!(values(&one, Form::Json).contains("\"query\":\"b\u{fc}ro 2.\\\\xe9.local\""));
    let Fields::Dns(dns) = &mut one.fields else { panic!() };
    dns.more = ["x", "y"].map(|name| DnsQuestion::new(name, "AAAA", Some(3))).into();
    let line = values(&one, Form::Tsv);
    assert_eq!(line.split('\t').collect::<Vec<_>>()[9..14], ["y", "3", "C_CHAOS", "28", "AAAA"]);
    // An answer that contradicts an earlier one has a line of its own.
    let weird = |one: &Transaction| {
        let mut out = Vec::new();
        push_weird_answer(&mut out, Form::Tsv, &exchange(one));
        String::from_utf8(out).unwrap()
    };
    assert_eq!(weird(&one), "");
    let Fields::Dns(dns) = &mut one.fields else { panic!() };
    dns.conflicting = true;
    assert_eq!(
        weird(&one).split('\t').collect::<Vec<_>>()[6..8],
        ["tidewire_dns_conflicting_answers", "b\u{fc}ro 2.\\xe9.local"]
    );
}

/// An anomaly that the point of the capture explains has one line, of no connection; each protocol has Zeek's name for its checksum.
#[test]
fn explained_anomalies_have_one_line() {
    let line = |kind, proto| {
        let explained = Explained {
            kind,
            proto,
            explanation: Explanation::ChecksumOffload,
            streams: 2092,
            first: Timestamp::from_nanos(1_000_000_000),
            last: Timestamp::from_nanos(2_000_000_000),
        };
        let mut out = Vec::new();
        push_explained(&mut out, Form::Tsv, &explained);
        String::from_utf8(out).unwrap()
    };
    let udp = "2.000000\t-\t-\t-\t-\t-\tbad_UDP_checksum\t2092 connections: checksum_offload\tF\ttidewire\tUDP\n";
    assert_eq!(line(AnomalyKind::BadChecksum, 17), udp);
    let name = |proto| line(AnomalyKind::BadChecksum, proto).split('\t').nth(6).unwrap().to_owned();
    assert_eq!(
        [6, 1, 58, 132].map(name),
        ["bad_TCP_checksum", "bad_ICMP_checksum", "bad_ICMP_checksum", "tidewire_bad_checksum"]
    );
    let (sample, mut out) = (Sample::new("x"), Vec::new());
    push_weirds(&mut out, Form::Tsv, &sample.flow(key(17)), &[Anomaly::new(AnomalyKind::BadChecksum, 3)]);
    assert!(String::from_utf8(out).unwrap().contains("\tbad_UDP_checksum\tpacket 3\tF\ttidewire\tUDP\n"));
}
