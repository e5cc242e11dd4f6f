//! The log `dns`.

use std::borrow::Cow;

use tidewire_protocols::{Answer, Dns, dns_rcode_number, dns_type_number};
use tidewire_types::{hex, saturating_nanos};

use crate::{
    model::Exchange,
    presentation::{bytes_of, first_words, generic_digits, is_generic, texts, words},
    time::SECOND_NS,
    zeek::{
        cell::{Column, Line, col},
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
    line.identity(
        exchange.transaction.start.as_nanos(),
        exchange.stream,
        exchange.stream_start.as_nanos(),
        &exchange.key,
    );
    line.at(col!("proto")).word(transport(exchange.key.proto));
    line.at(col!("trans_id")).count(dns.id.into());
    if let Some(latency) = dns.latency {
        line.at(col!("rtt")).seconds(saturating_nanos(latency));
    }
    // Of several questions the last one, as each replaces the one before it there.
    let last = dns.more.last();
    let query = last.map_or(dns.query.as_deref(), |question| Some(&question.name));
    let kind = last.map_or(dns.kind.as_deref(), |question| Some(&question.kind));
    line.at(col!("query")).bytes_if(query.map(lower_bytes).as_deref());
    if query.is_some() {
        let class = last.map_or(dns.class, |question| question.class).unwrap_or(1);
        line.at(col!("qclass")).count(class.into());
        line.at(col!("qclass_name")).word(&class_name(class));
    }
    line.at(col!("qtype")).count_if(kind.and_then(dns_type_number).map(u64::from));
    line.at(col!("qtype_name")).text_if(kind.map(kind_name).as_deref());
    line.at(col!("rcode")).count_if(dns.rcode.as_deref().and_then(dns_rcode_number).map(u64::from));
    line.at(col!("rcode_name")).text_if(dns.rcode.as_deref());
    line.at(col!("AA")).truth(dns.authoritative);
    line.at(col!("TC")).truth(dns.truncated);
    line.at(col!("RD")).truth(dns.recursion[0]);
    line.at(col!("RA")).truth(dns.recursion[1]);
    // The three bits that were reserved: RFC 4035 gave two of them a meaning.
    let flags = if dns.is_asked { dns.flags[0] } else { dns.flags[1] };
    line.at(col!("Z")).count(u64::from(flags >> 4 & 7));
    let logged = || dns.answers.iter().filter(|answer| !matches!(&*answer.kind, "TKEY" | "WKS"));
    line.at(col!("answers")).bytes_list(logged().map(said));
    line.at(col!("TTLs")).intervals(logged().map(|answer| u64::from(answer.ttl) * SECOND_NS));
    line.at(col!("rejected")).truth(is_rejected(dns));
}

/// Whether the server did not serve: it answered without a record in any section, or with an error and without the question (Zeek's event
/// `dns_rejected`, and its script).
fn is_rejected(dns: &Dns) -> bool {
    let is_error = || dns.rcode.as_deref().is_some_and(|code| dns_rcode_number(code) != Some(0));
    dns.is_answered && if dns.questions == 0 { is_error() } else { dns.counts == [0; 3] }
}

/// A name in small letters, as Zeek has all of them.
fn lower(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    }
}

/// The bytes of such a name, which Zeek writes as they are: without the escapes of the presentation format.
pub(super) fn lower_bytes(name: &str) -> Cow<'_, [u8]> {
    let mut bytes = bytes_of(name);
    if bytes.iter().any(u8::is_ascii_uppercase) {
        bytes.to_mut().make_ascii_lowercase();
    }
    bytes
}

/// The name of a type.
fn kind_name(kind: &str) -> Cow<'_, str> {
    match (kind, kind.strip_prefix("TYPE")) {
        ("ANY", _) => "*".into(),
        (_, Some(number)) => format!("query-{number}").into(),
        _ => kind.into(),
    }
}

/// The data of a record, as Zeek's script for DNS writes it. Types for which that has no form have ours.
fn said(answer: &Answer) -> Cow<'_, [u8]> {
    let data = &*answer.data;
    let host = |name| host(data, name);
    match &*answer.kind {
        kind @ ("TXT" | "SPF") if !is_generic(&answer.data) => {
            let mut all = Vec::new();
            for text in texts(&answer.data) {
                let blank = if all.is_empty() { "" } else { " " };
                all.extend_from_slice(format!("{blank}{kind} {} ", text.len()).as_bytes());
                all.extend_from_slice(&text);
            }
            all.into()
        }
        "NS" | "CNAME" | "PTR" => host(Some(data).filter(|data| !is_generic(data))),
        "MX" => host(words(data).map(|[_, host]: [&str; 2]| host)),
        "SRV" => host(words(data).map(|[_, _, _, host]: [&str; 4]| host)),
        "SOA" => host(first_words(data).map(|[server]: [&str; 1]| server)),
        _ => match said_in_words(answer) {
            Cow::Borrowed(text) => text.as_bytes().into(),
            Cow::Owned(text) => text.into_bytes().into(),
        },
    }
}

/// A host that a record names, or all that the record says.
fn host<'a>(data: &'a str, name: Option<&'a str>) -> Cow<'a, [u8]> {
    name.map_or(data.as_bytes().into(), lower_bytes)
}

/// The same of records that are neither.
fn said_in_words(answer: &Answer) -> Cow<'_, str> {
    let data = &*answer.data;
    match &*answer.kind {
        kind @ ("NSEC3" | "NSEC3PARAM") => return kind.into(),
        "TYPE65534" => return "BIND9 signing signal".into(),
        "LOC" => return location(data).map_or(data.into(), Cow::Owned),
        _ if is_generic(data) => return data.into(),
        _ => {}
    }
    let with = |form: Option<String>| form.map_or_else(|| Cow::Borrowed(data), Cow::Owned);
    match &*answer.kind {
        "DNSKEY" => with(first_words(data).map(|[_, _, algorithm]: [&str; 3]| format!("DNSKEY {algorithm}"))),
        "DS" => with(first_words(data).map(|[_, algorithm, digest]: [&str; 3]| format!("DS {algorithm} {digest}"))),
        "RRSIG" => with(first_words(data).and_then(|words: [&str; 8]| {
            let signer = if words[7] == "." { "<Root>".into() } else { lower(words[7]) };
            Some(format!("RRSIG {} {signer}", dns_type_number(words[0])?))
        })),
        "NSEC" => {
            with(first_words(data).map(|[next]: [&str; 1]| format!("NSEC {} {}", lower(&answer.name), lower(next))))
        }
        "SSHFP" => with(words(data).map(|[_, _, fingerprint]: [&str; 3]| format!("SSHFP: {fingerprint}"))),
        _ => data.into(),
    }
}

/// A location (RFC 1876 section 2) as Zeek writes it: size and precisions as their bytes are, out of `\# LENGTH HEX`.
fn location(data: &str) -> Option<String> {
    let digits = generic_digits(data)?;
    let [_, size, horizontal, vertical] = *hex::decode(digits.get(..8)?)?.first_chunk()?;
    Some(format!("LOC:  {size} {horizontal} {vertical}"))
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
