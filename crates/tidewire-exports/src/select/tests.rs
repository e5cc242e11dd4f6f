use proptest::prelude::*;

use crate::{
    select::{Seen, Select, fields},
    table::{EVENTS, FLOWS, MATCHES, Row, TRANSACTIONS},
    testing::{Sample, exchange, key, key6, transactions},
};

/// Whether a sample's stream with all of its transactions is selected.
fn flow(text: &str) -> bool {
    let select = Select::new(text, &FLOWS).unwrap_or_else(|error| panic!("{text}: {error}"));
    let sample = Sample::new("www.Example.org");
    let mut seen = Seen::default();
    transactions("www.Example.org").iter().for_each(|transaction| select.see(transaction, &mut seen));
    select.matches(&Row::Flow(&sample.flow(key(6))), seen)
}

/// A quote in a text has a backslash, and so has a backslash before a quote.
#[test]
fn quotes_are_escaped() {
    let matches = |name: &str, text: &str| {
        let select = Select::new(text, &TRANSACTIONS).unwrap_or_else(|error| panic!("{text}: {error}"));
        let all = transactions(name);
        select.matches(&Row::Transaction(&exchange(&all[2])), Seen::default())
    };
    for (name, text) in [
        ("it's", r"http.user_agent = 'it\'s'"),
        ("it's", r#"http.user_agent = "it's""#),
        (r#"say "a" \ 'b'"#, r#"http.user_agent = "say \"a\" \\ 'b'""#),
        (r"end\", r"http.user_agent = 'end\\' and http.status = 302"),
        (r"a\032b\", r"http.user_agent = 'a\032b\\'"),
        ("'", r"http.user_agent in ('x', '\'')"),
    ] {
        assert!(matches(name, text), "{text}");
    }
    for text in [r"name = 'a\'", r"name = 'a\\\'", r"name = '"] {
        let error = Select::new(text, &TRANSACTIONS).unwrap_err().to_string();
        assert!(error.contains("no end"), "{error}");
    }
}

#[test]
fn fields_are_compared_by_their_types() {
    for (text, expected) in [
        ("tls.sni ends with example.org and bytes > 2K", true),
        ("tls.sni ends with example.org and bytes > 1M", false),
        ("bytes = 3000", true),
        ("bytes_c2s = 1000 and bytes_s2c == 2000", true),
        ("packets >= 30 and packets <= 30 and not packets < 30", true),
        ("duration = 2s", true),
        ("duration > 1m", false),
        ("duration >= 1999ms", true),
        ("proto = TCP", true),
        ("proto != tcp", false),
        ("client.addr in 192.0.2.0/24", true),
        ("client_addr in (10.0.0.0/8, 192.0.2.0/24)", true),
        ("addr = 198.51.100.2", true),
        ("addr = 2001:db8::1", false),
        ("client_addr != 192.0.2.1", false),
        ("port = 443 or port = 53", true),
        ("port in (80, 443)", true),
        ("port in (80, 81)", false),
        ("addr != 198.51.100.2", false),
        ("addr != 192.0.2.0/24", false),
        ("addr != 203.0.113.1", true),
        ("not addr != 203.0.113.1", false),
        ("port != 443", false),
        ("port != 80", true),
        ("port", true),
        ("gaps", true),
        ("anomalies", true),
        ("overlap_conflicts", false),
        ("gaps.cause = not_captured and gaps.bytes > 0", true),
        ("gaps.cause != not_captured", false),
        ("gaps.any != not_captured", false),
        ("gaps.any != snapped", true),
        ("anomalies.any != blind_reset", false),
        ("anomalies.kind", true),
        ("proto = 6", true),
        ("proto in (6, 17)", true),
        ("proto != 6", false),
        ("c2s.bytes = 1000", true),
        ("c2s.payload_bytes_on_wire >= 0", true),
        ("app.service = tls", true),
        ("app.tls.sni contains example", true),
        ("Client.Addr = 192.0.2.1", true),
        ("tls.certificate.san != b", false),
        ("tls.certificate.san != other", true),
        ("dns.answers.type != A", false),
        ("dns.answers.data != 9.9.9.9", true),
        ("tls.version != 'TLS 1.0'", true),
        ("http.status != 302", false),
        ("server.port > 443", false),
        ("client_known", true),
        ("client_known = false", false),
        ("vlan", false),
        ("vlan != 5", false),
        ("gaps > 0", true),
        ("gaps.any = not_captured", true),
        ("anomalies >= 2", true),
        ("name starts with WWW", true),
        ("name contains 'EXAMPLE.o'", true),
        (r#"name contains "www\"" or name = 'it\'s'"#, false),
        ("service", true),
        ("service = dns", false),
        ("http.status >= 300 and http.status < 400", true),
        ("dns.answers.ttl = 60", true),
        ("tls.certificate.san = b", true),
        ("tls.certificate.not_before < 1", true),
        ("tls.resumed", true),
        ("smtp.server", false),
        ("not smtp.server", true),
        ("dns.latency_ns < 2ms", true),
        ("not (proto = udp or proto = icmp)", true),
        ("proto = udp or proto = tcp and port = 443", true),
        ("(proto = udp or proto = tcp) and port = 80", false),
        ("transactions = 1", true),
        ("service = TLS", true),
        ("service starts with t", true),
        ("proto != 99", true),
        ("state = closed and end_reason in (FIN, rst)", true),
        ("dns.answers.type = TYPE65280", false),
        ("dns.answers.type = a", true),
    ] {
        assert_eq!(flow(text), expected, "{text}");
    }
}

#[test]
fn transactions_are_selected_by_their_own_fields() {
    let all = transactions("www.example.org");
    let chosen = |text: &str| {
        let select = Select::new(text, &TRANSACTIONS).unwrap();
        let matches = all.iter().filter(|one| select.matches(&Row::Transaction(&exchange(one)), Seen::default()));
        matches.map(|one| one.service.name()).collect::<Vec<_>>()
    };
    assert_eq!(chosen("tls.sni contains example"), ["tls"]);
    assert_eq!(chosen("name ends with .org and not tls.sni"), ["dns", "http", "quic", "ssh"]);
    assert_eq!(chosen("http.status = 302 or service = quic"), ["http", "quic"]);
    assert_eq!(chosen("proto = udp"), all.iter().map(|one| one.service.name()).collect::<Vec<_>>());
}

#[test]
fn mistakes_are_said_with_their_place() {
    for (text, column, expected) in [
        ("tls.snj = x", 1, "unknown field 'tls.snj'; did you mean tls.sni?"),
        ("bytes > 1M and byte = 2", 16, "did you mean bytes or bytes_c2s or bytes_s2c?"),
        ("zebra", 1, "unknown field 'zebra'; the option's --help lists the fields"),
        ("http.hostname = x", 1, "unknown field 'http.hostname'; did you mean http.host?"),
        ("tls.servername = x", 1, "did you mean tls.version or tls.client_version or tls.sni or "),
        ("sni = x", 1, "unknown field 'sni'; did you mean quic.sni or tls.sni?"),
        ("host", 1, "did you mean http.host or socks.host?"),
        ("latency > 1s", 1, "did you mean dns.latency_ns or "),
        ("flags", 1, "did you mean tcp_flags_c2s or tcp_flags_s2c?"),
        ("src.addr = 1.2.3.4", 1, "did you mean client_addr?"),
        ("ip.dst = 1.2.3.4", 1, "did you mean server_addr?"),
        ("dst_port = 80", 1, "did you mean server_port?"),
        ("ip.addr = 1.2.3.4", 1, "did you mean addr?"),
        ("dns", 1, "did you mean service = dns?"),
        ("request contains x", 1, "'request' is a field of transactions"),
        ("anomalies.any = blindreset", 17, "did you mean blind_reset?"),
        ("gaps.cause = lost", 14, "did you mean lost_by_capture? known are not_captured, "),
        ("tls.version = 1.2", 15, "'1.2' is not a value of tls.version; did you mean 'TLS 1.2'? known are 'SSL 2.0'"),
        ("tls.version = TLSv1.3", 15, "did you mean 'TLS 1.3'?"),
        ("http.version = HTTP/1.1", 16, "did you mean 1.1?"),
        ("port = 70000", 8, "port is at most 65535, got 70000"),
        ("bytes > x", 9, "'x' is not a size, as in 1M"),
        ("port = http", 8, "'http' is not a number, as in 443"),
        ("duration > 5", 12, "no unit; did you mean 5s?"),
        ("client_addr = 10.0.0.0/33", 15, "is not an address"),
        ("name > a", 6, "the field is text, which is compared with = (or ==), !=, in, contains"),
        ("bytes contains 5", 7, "the field is a size, which is compared with ="),
        ("client_known = maybe", 16, "'maybe' is not a boolean, as in true"),
        ("proto = tcp port = 5", 13, "expected 'and', 'or' or the end"),
        ("proto = ", 9, "expected a value: text"),
        ("proto starts tcp", 14, "expected 'with'"),
        ("proto equals tcp", 7, "'equals' is not an operator; expected = (or ==), !=, <, <=, >, >=, in, contains, "),
        ("client = 10.1.2.3", 1, "did you mean client_addr or client_port or smtp.client?"),
        ("missing > 0", 1, "did you mean missing_bytes?"),
        ("retransmitted > 0", 1, "did you mean retransmitted_bytes?"),
        ("(proto = tcp", 13, "expected ')'"),
        ("port in (80 443)", 13, "expected ',' or ')'"),
        ("name = 'a", 8, "the text has no end"),
        ("proto ! tcp", 7, "is not an operator; expected != or ="),
        ("", 1, "expected the name of a field"),
        ("and", 1, "unknown field 'and'"),
        ("ä = 5", 1, "unknown field 'ä'"),
        ("service = dnss", 11, "'dnss' is not a value of service; did you mean dns? known are dhcp, dns, ftp, http, "),
        ("proto in (tcp, upd)", 16, "'upd' is not a value of proto; did you mean udp? known are icmp, "),
        ("bytes > 1 and state != open", 24, "'open' is not a value of state; known are stateless, syn_sent, "),
        ("end_reason = finn", 14, "'finn' is not a value of end_reason; did you mean fin?"),
        ("tunnel.kind = vxlam", 15, "did you mean vxlan?"),
        ("dns.type = AAAAA", 12, "'AAAAA' is not a value of dns.type, as in AAAA or TYPE65280"),
        ("dns.rcode = NXDOMAI", 13, "'NXDOMAI' is not a value of dns.rcode, as in NXDOMAIN"),
        ("name = ü and x = 1", 14, "unknown field 'x'"),
    ] {
        let error = Select::new(text, &FLOWS).unwrap_err();
        assert!(error.column == column && error.message.contains(expected), "{text}: {error}");
    }
}

#[test]
fn expressions_are_bounded() {
    let many = vec!["id = 1"; 65].join(" or ");
    assert!(Select::new(&many, &FLOWS).unwrap_err().message.contains("more than 64 tests"));
    assert!(Select::new(&vec!["id = 1"; 64].join(" or "), &FLOWS).is_ok());
    // Of either end it is two tests.
    assert!(Select::new(&vec!["port != 1"; 33].join(" or "), &FLOWS).is_err());
    assert!(Select::new(&vec!["port != 1"; 32].join(" or "), &FLOWS).is_ok());
    let deep = format!("{}id = 1{}", "(".repeat(40), ")".repeat(40));
    assert!(Select::new(&deep, &FLOWS).unwrap_err().message.contains("parentheses"));
    assert!(Select::new(&"not ".repeat(1000), &FLOWS).is_err());
    assert!(Select::new(&"x".repeat(5000), &FLOWS).unwrap_err().message.contains("4096"));
}

/// An absent list has no count: a bare count is fulfilled from 1 on.
#[test]
fn an_absent_list_has_no_count() {
    let mut sample = Sample::new("x");
    sample.gaps.clear();
    sample.anomalies.clear();
    let holds = |text: &str| {
        let select = Select::new(text, &FLOWS).unwrap();
        select.matches(&Row::Flow(&sample.flow(key(6))), Seen::default())
    };
    for text in
        ["gaps", "anomalies", "anomalies.any", "anomalies.packet", "gaps.bytes", "anomalies.kind != blind_reset"]
    {
        assert!(!holds(text), "{text}");
    }
    assert!(holds("not anomalies") && holds("anomalies = 0"));
}

#[test]
fn fields_of_other_tables_are_named_so() {
    let message = Select::new("bytes > 1M", &TRANSACTIONS).unwrap_err().message;
    assert_eq!(message, "'bytes' is a field of flows and streams");
}

/// Rows of the table of fields in docs/output.md: which records have them, their type, and their names.
fn documented_rows() -> Vec<String> {
    let (flows, transactions) = (fields(&FLOWS), fields(&TRANSACTIONS));
    let scope = |field: &(String, &'static str)| match (flows.contains(field), transactions.contains(field)) {
        (true, true) => "all",
        (true, false) => "`flows`, `streams`",
        _ => "`transactions`",
    };
    let only_of_transactions = transactions.iter().filter(|field| !flows.contains(field));
    let mut rows: Vec<((&str, &str), Vec<String>)> = Vec::new();
    for field in flows.iter().chain(only_of_transactions) {
        let (of, shown) = ((scope(field), field.1), format!("`{}`", field.0));
        match rows.iter_mut().find(|(known, _)| *known == of) {
            Some((_, names)) => names.push(shown),
            None => rows.push((of, vec![shown])),
        }
    }
    rows.into_iter().map(|((of, kind), names)| format!("| {of} | {kind} | {} |", names.join(", "))).collect()
}

#[test]
fn all_fields_are_documented() {
    let page = include_str!("../../../../docs/output.md");
    let missing: Vec<String> =
        documented_rows().into_iter().filter(|row| !page.lines().any(|line| line == row)).collect();
    assert!(missing.is_empty(), "docs/output.md needs these rows:\n{}", missing.join("\n"));
    let begin = page.find("| of | type | fields |").expect("the table of fields");
    let rows = page[begin..].lines().skip(2).take_while(|line| line.starts_with('|')).count();
    assert_eq!(rows, documented_rows().len());
}

#[test]
fn every_table_has_fields_with_types() {
    for table in [&FLOWS, &TRANSACTIONS, &MATCHES, &EVENTS] {
        let fields = fields(table);
        assert!(fields.len() > 10);
        for (index, (name, _)) in fields.iter().enumerate() {
            assert!(!fields[..index].iter().any(|(other, _)| other == name), "{}: {name} twice", table.name);
            assert!(Select::new(name, table).is_ok(), "{name}");
        }
    }
}

/// Random expressions of a few tests, and what they are worth.
fn expressions() -> impl Strategy<Value = (String, bool)> {
    let leaf = prop::sample::select(vec![
        ("proto = tcp", true),
        ("bytes > 1G", false),
        ("tls.sni", true),
        ("vlan = 7", false),
    ]);
    leaf.prop_map(|(text, truth)| (text.to_owned(), truth)).prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(text, truth)| (format!("not ({text})"), !truth)),
            (inner.clone(), inner.clone()).prop_map(|((a, x), (b, y))| (format!("({a}) AND ({b})"), x && y)),
            (inner.clone(), inner).prop_map(|((a, x), (b, y))| (format!("({a}) or ({b})"), x || y)),
        ]
    })
}

proptest! {
    #[test]
    fn truth_is_composed((text, expected) in expressions()) {
        prop_assert_eq!(flow(&text), expected, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = Select::new(&text, &FLOWS);
    }

    #[test]
    fn no_words_panic(words in prop::collection::vec(prop::sample::select(vec![
        "and", "or", "not", "in", "(", ")", ",", "=", "<", "proto", "bytes", "tls.sni", "'", "\"x\"", "10.0.0.0/8", "1M", "ends", "with",
    ]), 0..16)) {
        if let Ok(select) = Select::new(&words.join(" "), &FLOWS) {
            let sample = Sample::new("x");
            let _ = select.matches(&Row::Flow(&sample.flow(key6(6))), Seen::default());
        }
    }
}
