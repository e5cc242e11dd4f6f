//! The log `dns`.

use std::borrow::Cow;

use tidewire_protocols::{Answer, Dns, dns_rcode_number, dns_type_number};

use crate::{
    model::Exchange,
    presentation::{texts, words},
    time::SECOND_NS,
    zeek::{
        cell::{Column, Line},
        conn::transport,
    },
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("proto", "enum"), ("trans_id", "count"), ("rtt", "interval"), ("query", "string"), ("qclass", "count"), ("qclass_name", "string"),
    ("qtype", "count"), ("qtype_name", "string"), ("rcode", "count"), ("rcode_name", "string"), ("AA", "bool"), ("TC", "bool"),
    ("RD", "bool"), ("RA", "bool"), ("Z", "count"), ("answers", "vector[string]"), ("TTLs", "vector[interval]"), ("rejected", "bool"),
];

pub(super) fn push(line: &mut Line<'_>, exchange: &Exchange<'_>, dns: &Dns) {
    line.identity(exchange.transaction.start_ns, exchange.stream, exchange.stream_start_ns, &exchange.key);
    line.word(transport(exchange.key.proto));
    line.count(dns.id.into());
    match dns.latency_ns {
        Some(latency) => line.seconds(latency),
        None => line.unset(),
    }
    line.text_if(dns.query.as_deref().map(lower).as_deref());
    if dns.query.is_some() {
        let class = dns.class.unwrap_or(1);
        line.count(class.into());
        line.word(&class_name(class));
    } else {
        line.unset_all(2);
    }
    line.count_if(dns.kind.as_deref().and_then(dns_type_number).map(u64::from));
    line.text_if(dns.kind.as_deref().map(kind_name).as_deref());
    line.count_if(dns.rcode.as_deref().and_then(dns_rcode_number).map(u64::from));
    line.text_if(dns.rcode.as_deref());
    line.truth(dns.authoritative);
    line.truth(dns.truncated);
    line.truth(dns.recursion[0]);
    line.truth(dns.recursion[1]);
    // The three bits that were reserved: RFC 4035 gave two of them a meaning.
    let flags = if dns.is_asked { dns.flags[0] } else { dns.flags[1] };
    line.count(u64::from(flags >> 4 & 7));
    let logged = || dns.answers.iter().filter(|answer| !matches!(&*answer.kind, "TKEY" | "WKS"));
    line.texts(logged().map(said));
    line.intervals(logged().map(|answer| u64::from(answer.ttl) * SECOND_NS));
    line.truth(dns.rcode.as_deref() == Some("REFUSED"));
}

/// A name in small letters, as Zeek has all of them.
fn lower(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    }
}

/// The name of a type.
fn kind_name(kind: &str) -> Cow<'_, str> {
    match (kind, kind.strip_prefix("TYPE")) {
        ("ANY", _) => "*".into(),
        (_, Some(number)) => format!("query-{number}").into(),
        _ => kind.into(),
    }
}

/// What a record says, as Zeek's script for DNS writes it. Types for which that has no form have ours.
fn said(answer: &Answer) -> Cow<'_, str> {
    let data = &*answer.data;
    match &*answer.kind {
        kind @ ("NSEC3" | "NSEC3PARAM") => return kind.into(),
        "TYPE65534" => return "BIND9 signing signal".into(),
        "LOC" => return location(data).map_or(data.into(), Cow::Owned),
        _ if data.starts_with("\\#") => return data.into(),
        _ => {}
    }
    let with = |form: Option<String>| form.map_or_else(|| Cow::Borrowed(data), Cow::Owned);
    match &*answer.kind {
        "NS" | "CNAME" | "PTR" => lower(data),
        "MX" => words(data).map_or(data.into(), |[_, host]: [&str; 2]| lower(host)),
        "SRV" => words(data).map_or(data.into(), |[_, _, _, host]: [&str; 4]| lower(host)),
        "SOA" => words(data).map_or(data.into(), |[server]: [&str; 1]| lower(server)),
        kind @ ("TXT" | "SPF") => {
            let all: Vec<String> = texts(data).map(|text| format!("{kind} {} {text}", text.len())).collect();
            all.join(" ").into()
        }
        "DNSKEY" => with(words(data).map(|[_, _, algorithm]: [&str; 3]| format!("DNSKEY {algorithm}"))),
        "DS" => with(words(data).map(|[_, algorithm, digest]: [&str; 3]| format!("DS {algorithm} {digest}"))),
        "RRSIG" => with(words(data).and_then(|words: [&str; 8]| {
            let signer = if words[7] == "." { "<Root>".into() } else { lower(words[7]) };
            Some(format!("RRSIG {} {signer}", dns_type_number(words[0])?))
        })),
        "NSEC" => with(words(data).map(|[next]: [&str; 1]| format!("NSEC {} {}", lower(&answer.name), lower(next)))),
        "SSHFP" => with(words(data).map(|[_, _, fingerprint]: [&str; 3]| format!("SSHFP: {fingerprint}"))),
        _ => data.into(),
    }
}

/// What Zeek writes of a location (RFC 1876 section 2): size and precisions as their bytes are, out of `\# LENGTH HEX`.
fn location(data: &str) -> Option<String> {
    let [_, _, digits]: [&str; 3] = words(data)?;
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    Some(format!("LOC:  {} {} {}", byte(1)?, byte(2)?, byte(3)?))
}

/// RFC 1035 section 3.2.4.
fn class_name(class: u16) -> Cow<'static, str> {
    match class {
        1 => "C_INTERNET".into(),
        3 => "C_CHAOS".into(),
        4 => "C_HESIOD".into(),
        254 => "C_NONE".into(),
        255 => "C_ANY".into(),
        other => format!("qclass-{other}").into(),
    }
}
