//! The object `dns`.

use std::{borrow::Cow, net::Ipv6Addr};

use tidewire_protocols::{Answer, Dns, dns_type_number, text_of_bytes};
use tidewire_types::hex;

use crate::{
    eve::{common::push_address_6, http::text},
    json::{Key, Object, member, push_string},
    presentation::{generic_digits, is_generic, texts_as, unescaped, words},
};

/// Version 3: queries and answers have the same form, in arrays.
pub(super) fn push_dns(object: &mut Object<'_>, dns: &Dns, tx_id: u32, is_response: bool) {
    object.number(member!("version"), 3);
    object.plain(member!("type"), if is_response { "response" } else { "request" });
    object.number(member!("tx_id"), tx_id.into());
    object.number(member!("id"), dns.id.into());
    let flags = dns.flags[usize::from(is_response)];
    object.plain(member!("flags"), &format!("{flags:x}"));
    let bits = [
        (member!("qr"), 0x8000),
        (member!("aa"), 0x0400),
        (member!("tc"), 0x0200),
        (member!("rd"), 0x0100),
        (member!("ra"), 0x0080),
        (member!("z"), 0x0040),
    ];
    for (name, bit) in bits {
        if flags & bit != 0 {
            object.truth(name, true);
        }
    }
    object.number(member!("opcode"), u64::from(flags >> 11 & 15));
    push_code(object, flags);
    if let Some(query) = &dns.query {
        let more = dns.more.iter().map(|question| (&question.name, Some(&*question.kind)));
        let all = std::iter::once((query, dns.kind.as_deref())).chain(more);
        object.array(member!("queries"), all, |out, (query, kind)| {
            let mut object = Object::open(out);
            object.text(member!("rrname"), &name(query));
            text(&mut object, member!("rrtype"), kind.map(kind_name).as_deref());
            object.close();
        });
    }
    if is_response && !dns.answers.is_empty() {
        let records = || dns.answers.iter().flat_map(|answer| parts(answer).map(move |part| (answer, part)));
        object.array(member!("answers"), records(), |out, (answer, part)| {
            let mut object = Object::open(out);
            object.text(member!("rrname"), &name(&answer.name));
            object.text(member!("rrtype"), &kind_name(&answer.kind));
            object.number(member!("ttl"), answer.ttl.into());
            match part {
                Part::Text(text) => object.text(member!("rdata"), &text),
                Part::Address(address) => push_address_6(object.key(member!("rdata")), address),
                Part::Service(words) => object.object(member!("srv"), |object| push_service(object, words)),
                Part::Fingerprint(words) => object.object(member!("sshfp"), |object| push_fingerprint(object, words)),
                Part::Authority(words) => object.object(member!("soa"), |object| push_authority(object, words)),
            }
            object.close();
        });
        object.object(member!("grouped"), |object| push_grouped(object, &dns.answers));
    }
}

/// The response code in a header, by name; those beyond the last that has one, in digits.
fn push_code(object: &mut Object<'_>, flags: u16) {
    const NAMES: [&str; 11] = [
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET", "NOTAUTH",
        "NOTZONE",
    ];
    match NAMES.get(usize::from(flags & 15)) {
        Some(name) => object.plain(member!("rcode"), name),
        None => object.plain(member!("rcode"), &(flags & 15).to_string()),
    }
}

/// A type's mnemonic as Suricata has it; of types that it has none for, the number in digits.
pub(super) fn kind_name(kind: &str) -> Cow<'_, str> {
    match kind {
        "NSAP-PTR" => "NSAPPTR".into(),
        "EID" | "NIMLOC" | "SINK" | "SMIMEA" | "NINFO" | "RKEY" | "TALINK" | "OPENPGPKEY" | "CSYNC" | "ZONEMD"
        | "SVCB" | "UINFO" | "UID" | "GID" | "UNSPEC" | "NID" | "L32" | "L64" | "LP" | "EUI48" | "EUI64" | "IXFR"
        | "AXFR" | "MAILB" | "CAA" | "AVC" | "DOA" | "AMTRELAY" | "TA" | "DLV" => {
            dns_type_number(kind).map_or(kind.into(), |number| number.to_string().into())
        }
        other => other.strip_prefix("TYPE").filter(|digits| !digits.is_empty()).unwrap_or(other).into(),
    }
}

/// The data of a record, as Suricata has it.
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Address(Ipv6Addr),
    Service([&'a str; 4]),
    Fingerprint([&'a str; 3]),
    Authority([&'a str; 7]),
}

/// The records that Suricata makes of one: of texts, one each.
pub(super) fn parts(answer: &Answer) -> impl Iterator<Item = Part<'_>> {
    let data = &*answer.data;
    let one = match &*answer.kind {
        "NULL" => octets(data).map(|text| Part::Text(text.into())),
        // Damaged: its words are not those of its type.
        _ if is_generic(data) => Some(Part::Text(data.into())),
        "AAAA" => data.parse().ok().map(Part::Address),
        "SRV" => words(data).map(Part::Service),
        // Without its preference.
        "MX" => words(data).map(|[_, host]: [&str; 2]| Part::Text(name(host))),
        "CNAME" | "NS" | "PTR" => Some(Part::Text(name(data))),
        "SSHFP" => words(data).map(Part::Fingerprint),
        "SOA" => words(data).map(Part::Authority),
        _ => None,
    };
    let is_texts = one.is_none() && matches!(&*answer.kind, "TXT" | "SPF");
    let one = one.or_else(|| (!is_texts).then(|| Part::Text(data.into())));
    one.into_iter().chain(is_texts.then(|| texts_as(data, of_bytes)).into_iter().flatten().map(Part::Text))
}

/// A name as Suricata has it: its bytes, without the escapes of the presentation format; the root's is empty.
pub(super) fn name(name: &str) -> Cow<'_, str> {
    if name == "." { "".into() } else { unescaped(name, of_bytes) }
}

/// Bytes as all texts are written, so that no two are the same: what is no UTF-8 as Suricata shows it, `\xHH`.
fn of_bytes(bytes: Vec<u8>) -> String {
    text_of_bytes(&bytes).into_owned()
}

/// Bytes out of `\# LENGTH HEX`.
pub(super) fn octets(data: &str) -> Option<String> {
    hex::decode(generic_digits(data)?.trim_end_matches('.')).map(of_bytes)
}

fn number(object: &mut Object<'_>, name: impl Key, digits: &str) {
    object.number(name, digits.parse().unwrap_or(0));
}

pub(super) fn push_service(object: &mut Object<'_>, [priority, weight, port, name]: [&str; 4]) {
    number(object, member!("priority"), priority);
    number(object, member!("weight"), weight);
    number(object, member!("port"), port);
    object.text(member!("name"), &self::name(name));
}

/// A fingerprint as Suricata writes it: with a colon between bytes.
pub(super) fn push_fingerprint(object: &mut Object<'_>, [algorithm, kind, fingerprint]: [&str; 3]) {
    let out = object.key(member!("fingerprint"));
    out.push(b'"');
    for (index, digits) in fingerprint.as_bytes().chunks(2).enumerate() {
        if index > 0 {
            out.push(b':');
        }
        out.extend(digits.iter().filter(|digit| digit.is_ascii_hexdigit()));
    }
    out.push(b'"');
    number(object, member!("algo"), algorithm);
    number(object, member!("type"), kind);
}

pub(super) fn push_authority(object: &mut Object<'_>, [server, mail, numbers @ ..]: [&str; 7]) {
    object.text(member!("mname"), &name(server));
    object.text(member!("rname"), &name(mail));
    for (name, digits) in ["serial", "refresh", "retry", "expire", "minimum"].into_iter().zip(numbers) {
        number(object, name, digits);
    }
}

/// The data of answers by their type, in the order of the first of each. Only types that Suricata groups have keys that need no
/// escapes, so others are left out.
fn push_grouped(object: &mut Object<'_>, answers: &[Answer]) {
    const GROUPED: [&str; 11] = ["A", "AAAA", "CNAME", "MX", "NS", "NULL", "PTR", "SOA", "SRV", "SSHFP", "TXT"];
    for kind in GROUPED {
        let of_kind = || {
            answers.iter().filter(|answer| &*answer.kind == kind).flat_map(parts).filter(|part| has_form(kind, part))
        };
        if of_kind().next().is_some() {
            object.array(kind, of_kind(), push_part);
        }
    }
}

/// Whether a part is what records of a type have: those that are objects are never text, which data that is damaged is.
pub(super) fn has_form(kind: &str, part: &Part<'_>) -> bool {
    !matches!(part, Part::Text(_)) || !matches!(kind, "SOA" | "SRV" | "SSHFP")
}

/// Appends what a record says as a value.
pub(super) fn push_part(out: &mut Vec<u8>, part: Part<'_>) {
    let object = |out, fill: &dyn Fn(&mut Object<'_>)| {
        let mut object = Object::open(out);
        fill(&mut object);
        object.close();
    };
    match part {
        Part::Text(text) => push_string(out, &text),
        Part::Address(address) => push_address_6(out, address),
        Part::Service(words) => object(out, &|object| push_service(object, words)),
        Part::Fingerprint(words) => object(out, &|object| push_fingerprint(object, words)),
        Part::Authority(words) => object(out, &|object| push_authority(object, words)),
    }
}
