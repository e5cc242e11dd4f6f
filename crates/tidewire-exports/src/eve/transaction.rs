//! `dns`, `http`, `tls`, `quic`, `ssh`.

use std::borrow::Cow;
use tidewire_types::saturating_nanos;

use tidewire_protocols::{Certificate, DistinguishedName, Fields, Http, Quic, Service, Ssh, Tls};

use crate::{
    eve::{
        Types,
        certificate::{push_day, push_fingerprint, push_serial},
        common::Identity,
        dns::push_dns,
        fileinfo::push_files,
        http::{push_http, text},
        mdns::push_mdns,
    },
    json::{Key, Object, member, push_string},
    model::Exchange,
};

/// Appends the records of a transaction: a query and its answer are one each. `false`: Suricata has no such record, or none that this
/// writes, and nothing was appended.
pub fn push_transaction(out: &mut Vec<u8>, exchange: &Exchange<'_>, types: Types) -> bool {
    let transaction = exchange.transaction;
    let event = event_of(transaction.service);
    let has_files = matches!(transaction.fields, Fields::Http(_)) && types.has(Types::FILEINFO);
    let is_wanted = types.has(event);
    let is_anomaly = matches!(&transaction.fields, Fields::Dns(dns) if dns.conflicting);
    if is_anomaly && types.has(Types::ANOMALY) {
        push_conflict(out, exchange);
    }
    if !is_wanted && !has_files {
        return !out.is_empty();
    }
    let identity = &Identity::of_exchange(exchange);
    if !is_wanted {
        if let Fields::Http(http) = &transaction.fields {
            push_files(out, identity, exchange, http);
        }
        return !out.is_empty();
    }
    let (start, end) = (transaction.start.as_nanos(), transaction.end.as_nanos());
    match &transaction.fields {
        Fields::Dns(dns) => {
            let is_multicast = transaction.service == Service::Mdns;
            for (is_response, is_seen, time) in [(false, dns.is_asked, start), (true, dns.is_answered, end)] {
                match is_seen {
                    false => {}
                    true if is_multicast => {
                        push(out, identity, exchange, "mdns", time, false, |object| {
                            push_mdns(object, dns, is_response)
                        });
                    }
                    true => {
                        let fill = |object: &mut Object<'_>| push_dns(object, dns, exchange.number, is_response);
                        push(out, identity, exchange, "dns", time, is_response, fill);
                    }
                }
            }
            dns.is_asked || dns.is_answered
        }
        Fields::Http(http) => {
            push(out, identity, exchange, "http", start, false, |object| push_http(object, http));
            if has_files {
                push_files(out, identity, exchange, http);
            }
            true
        }
        Fields::Tls(tls) => push(out, identity, exchange, "tls", end, false, |object| push_tls(object, tls)),
        Fields::Quic(quic) => push(out, identity, exchange, "quic", start, false, |object| push_quic(object, quic)),
        Fields::Ssh(ssh) => push(out, identity, exchange, "ssh", end, false, |object| push_ssh(object, ssh)),
        _ => false,
    }
}

/// Appends the record `anomaly` of an answer that contradicts an earlier one.
fn push_conflict(out: &mut Vec<u8>, exchange: &Exchange<'_>) {
    let fill = |object: &mut Object<'_>| {
        object.plain(member!("app_proto"), "dns");
        object.plain(member!("type"), "applayer");
        object.plain(member!("event"), "tidewire.conflicting_answers");
        object.plain(member!("layer"), "proto_parser");
    };
    push(out, &Identity::of_exchange(exchange), exchange, "anomaly", exchange.transaction.end.as_nanos(), true, fill);
}

/// The type of a protocol's records. Multicast DNS has one of its own in Suricata 8.
fn event_of(service: Service) -> Types {
    match service {
        Service::Dns | Service::Llmnr => Types::DNS,
        Service::Mdns => Types::MDNS,
        Service::Http => Types::HTTP,
        Service::Quic => Types::QUIC,
        Service::Ssh => Types::SSH,
        Service::Tls => Types::TLS,
        _ => Types::NONE,
    }
}

/// Appends a record. `is_answer`: the server is its source, as it is of an answer that is a record of its own.
fn push(
    out: &mut Vec<u8>,
    identity: &Identity<'_>,
    exchange: &Exchange<'_>,
    event: &str,
    time_ns: u64,
    is_answer: bool,
    fill: impl FnOnce(&mut Object<'_>),
) -> bool {
    let mut object = identity.open(out, event, time_ns, is_answer, None);
    if event == "http" {
        object.number(member!("tx_id"), exchange.number.into());
    }
    object.object(event, fill);
    identity.close(object, |object| push_own(object, exchange));
    out.push(b'\n');
    true
}

/// Fields that have no place in Suricata's records.
fn push_own(object: &mut Object<'_>, exchange: &Exchange<'_>) {
    object.plain(member!("service"), exchange.transaction.service.name());
    match &exchange.transaction.fields {
        Fields::Dns(dns) => {
            if let Some(latency) = dns.latency {
                object.number(member!("latency_ns"), saturating_nanos(latency));
            }
            if dns.conflicting {
                object.truth(member!("conflicting"), true);
            }
        }
        Fields::Http(http) => {
            text(object, member!("server"), http.server.as_deref());
            text(object, member!("request_type"), http.request_type.as_deref());
            if let Some(bytes) = http.request_bytes {
                object.number(member!("request_bytes"), bytes);
            }
            push_bodies(object, http);
        }
        Fields::Tls(tls) => {
            text(object, member!("cipher"), tls.cipher.as_deref());
            object.truth(member!("established"), tls.established);
            if let Some(certificate) = &tls.certificate {
                object.text(member!("certificate_sha256"), &certificate.sha256);
                if certificate.san_left_out > 0 {
                    object.number(member!("san_left_out"), certificate.san_left_out.into());
                }
            }
        }
        _ => {}
    }
}

/// Announced lengths of bodies, bytes that are missing of them, and whether they are whole.
fn push_bodies(object: &mut Object<'_>, http: &Http) {
    let missing = |bytes: u64| Some(bytes).filter(|&bytes| bytes > 0);
    let figures = [
        ("request_announced_bytes", http.request_announced_bytes),
        ("response_announced_bytes", http.response_announced_bytes),
        ("request_missing_bytes", missing(http.request_missing_bytes)),
        ("response_missing_bytes", missing(http.response_missing_bytes)),
    ];
    for (name, figure) in figures {
        if let Some(figure) = figure {
            object.number(name, figure);
        }
    }
    for (name, complete) in [("request_complete", http.request_complete), ("response_complete", http.response_complete)]
    {
        if let Some(complete) = complete {
            object.truth(name, complete);
        }
    }
    text(object, member!("host_field"), http.host_field.as_deref());
}

fn texts(object: &mut Object<'_>, name: impl Key, texts: &[Box<str>]) {
    if !texts.is_empty() {
        object.array(name, texts, |out, text| push_string(out, text));
    }
}

/// A fingerprint of which the string is not kept.
fn hash(object: &mut Object<'_>, name: impl Key, hash: Option<&str>) {
    if let Some(hash) = hash {
        object.object(name, |object| object.text(member!("hash"), hash));
    }
}

/// A version as Suricata names it: `TLS 1.2`, `TLS 1.3 draft-18`, and `TLSv1`, `SSLv3`, `SSLv2` of old ones.
fn tls_version(version: &str) -> Cow<'_, str> {
    match version {
        "TLS 1.0" => "TLSv1".into(),
        "SSL 3.0" => "SSLv3".into(),
        "SSL 2.0" => "SSLv2".into(),
        other => match other.strip_prefix("TLS 1.3 draft ") {
            // Suricata distinguishes those that were deployed.
            Some(draft) if draft.parse().is_ok_and(|draft: u8| draft < 16) => "TLS 1.3 draft-<16".into(),
            Some(draft) => format!("TLS 1.3 draft-{draft}").into(),
            None => other.into(),
        },
    }
}

fn push_tls(object: &mut Object<'_>, tls: &Tls) {
    if let Some(certificate) = &tls.certificate {
        push_certificate(object, certificate);
    }
    let is_1_3 = tls.version.as_deref().is_some_and(|version| version.starts_with("TLS 1.3"));
    // Said of sessions up to TLS 1.2, which send no certificate then.
    if tls.resumed == Some(true) && !is_1_3 && tls.certificate.is_none() {
        object.truth(member!("session_resumed"), true);
    }
    text(object, member!("sni"), tls.sni.as_deref());
    // Without an answer, the highest that the client offered.
    let version = tls.version.as_deref().or(tls.client_version.as_deref());
    text(object, member!("version"), version.map(tls_version).as_deref());
    texts(object, member!("client_alpns"), &tls.client_alpn);
    if let Some(alpn) = &tls.alpn {
        object.array(member!("server_alpns"), [alpn], |out, alpn| push_string(out, alpn));
    }
    hash(object, member!("ja3"), tls.ja3.as_deref());
    text(object, member!("ja4"), tls.ja4.as_deref());
}

/// A name as Suricata writes it: without escapes.
fn distinguished(name: &DistinguishedName) -> String {
    let mut out = String::with_capacity(name.len());
    for attribute in name.attributes() {
        out.push_str(match attribute.is_joined {
            _ if out.is_empty() => "",
            true => " + ",
            false => ", ",
        });
        let (begin, end) = match attribute.kind.bytes().next() {
            None => ("", ""),
            Some(b'0'..=b'9') => ("OID(", ")="),
            Some(_) => ("", "="),
        };
        [begin, attribute.kind, end, &attribute.value].into_iter().for_each(|piece| out.push_str(piece));
    }
    out
}

fn push_certificate(object: &mut Object<'_>, certificate: &Certificate) {
    text(object, member!("subject"), certificate.subject.as_ref().map(distinguished).as_deref());
    text(object, member!("issuerdn"), certificate.issuer.as_ref().map(distinguished).as_deref());
    if let Some(serial) = &certificate.serial {
        push_serial(object, serial);
    }
    push_fingerprint(object, &certificate.sha1);
    for (name, seconds) in [("notbefore", certificate.not_before), ("notafter", certificate.not_after)] {
        if let Some(seconds) = seconds {
            push_day(object, name, seconds);
        }
    }
    texts(object, member!("subjectaltname"), &certificate.san);
}

/// A version of QUIC as Suricata names it: `v2`, of others the number's hexadecimal digits.
fn quic_version(version: &str) -> Cow<'_, str> {
    if version == "2" {
        return "v2".into();
    }
    match version.strip_prefix("draft ").and_then(|draft| draft.parse::<u8>().ok()) {
        Some(draft) => format!("ff0000{draft:02x}").into(),
        None => version.strip_prefix("0x").map_or(version, |digits| digits.trim_start_matches('0')).into(),
    }
}

fn push_quic(object: &mut Object<'_>, quic: &Quic) {
    text(object, member!("version"), quic.version.as_deref().map(quic_version).as_deref());
    text(object, member!("sni"), quic.sni.as_deref());
    hash(object, member!("ja3"), quic.ja3.as_deref());
    text(object, member!("ja4"), quic.ja4.as_deref());
}

fn push_ssh(object: &mut Object<'_>, ssh: &Ssh) {
    let sides = [
        ("client", &ssh.client_version, &ssh.client_software, &ssh.hassh),
        ("server", &ssh.server_version, &ssh.server_software, &ssh.hassh_server),
    ];
    for (name, version, software, fingerprint) in sides {
        if version.is_some() || software.is_some() || fingerprint.is_some() {
            object.object(name, |object| {
                text(object, member!("proto_version"), version.as_deref());
                // Without the comment behind it (RFC 4253 section 4.2).
                text(object, member!("software_version"), software.as_deref().and_then(|text| text.split(' ').next()));
                hash(object, member!("hassh"), fingerprint.as_deref());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Suricata has neither escapes nor bare numbers.
    #[test]
    fn names_are_suricatas() {
        let name = DistinguishedName::from("C=DE, O=a\\, b \\+ c + 2.5.4.97=d, CN=e".to_owned());
        assert_eq!(distinguished(&name), "C=DE, O=a, b + c + OID(2.5.4.97)=d, CN=e");
    }
}
