//! The log `dns`.

use std::borrow::Cow;

use tidewire_protocols::{Dns, dns_rcode_number, dns_type_number};

use crate::{
    model::Exchange,
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
    line.text_if(dns.query.as_deref());
    if dns.query.is_some() {
        let class = dns.class.unwrap_or(1);
        line.count(class.into());
        line.word(&class_name(class));
    } else {
        line.unset_all(2);
    }
    line.count_if(dns.kind.as_deref().and_then(dns_type_number).map(u64::from));
    line.text_if(dns.kind.as_deref().map(|kind| if kind == "ANY" { "*" } else { kind }));
    line.count_if(dns.rcode.as_deref().and_then(dns_rcode_number).map(u64::from));
    line.text_if(dns.rcode.as_deref());
    line.truth(dns.authoritative);
    line.truth(dns.truncated);
    line.truth(dns.recursion[0]);
    line.truth(dns.recursion[1]);
    // The three bits that were reserved: RFC 4035 gave two of them a meaning.
    let flags = if dns.is_asked { dns.flags[0] } else { dns.flags[1] };
    line.count(u64::from(flags >> 4 & 7));
    line.texts(dns.answers.iter().map(|answer| &*answer.data));
    line.intervals(dns.answers.iter().map(|answer| u64::from(answer.ttl) * SECOND_NS));
    line.truth(dns.rcode.as_deref() == Some("REFUSED"));
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
