//! The object `dns`.

use std::{borrow::Cow, net::Ipv6Addr};

use tidewire_protocols::{Answer, Dns};

use crate::{
    eve::{common::push_address_6, http::text},
    json::{Key, Object, member, push_string},
    presentation::{texts, words},
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
    let rcode = if is_response { dns.rcode.as_deref() } else { None };
    object.text(member!("rcode"), rcode.unwrap_or("NOERROR"));
    if let Some(query) = &dns.query {
        object.array(member!("queries"), [query], |out, query| {
            let mut object = Object::open(out);
            object.text(member!("rrname"), query);
            text(&mut object, member!("rrtype"), dns.kind.as_deref());
            object.close();
        });
    }
    if is_response && !dns.answers.is_empty() {
        let records = || dns.answers.iter().flat_map(|answer| parts(answer).map(move |part| (answer, part)));
        object.array(member!("answers"), records(), |out, (answer, part)| {
            let mut object = Object::open(out);
            object.text(member!("rrname"), &answer.name);
            object.text(member!("rrtype"), &answer.kind);
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

/// What a record says, as Suricata has it.
enum Part<'a> {
    Text(Cow<'a, str>),
    Address(Ipv6Addr),
    Service([&'a str; 4]),
    Fingerprint([&'a str; 3]),
    Authority([&'a str; 7]),
}

/// The records that Suricata makes of one: of texts, one each.
fn parts(answer: &Answer) -> impl Iterator<Item = Part<'_>> {
    let data = &*answer.data;
    let one = match &*answer.kind {
        "AAAA" => data.parse().ok().map(Part::Address),
        "SRV" => words(data).map(Part::Service),
        // Without its preference.
        "MX" => words(data).map(|[_, host]: [&str; 2]| Part::Text(host.into())),
        // Without format: \# and a length are no numbers.
        "SSHFP" => words(data).filter(|words: &[&str; 3]| words[0] != "\\#").map(Part::Fingerprint),
        "SOA" => words(data).map(Part::Authority),
        "NULL" => octets(data).map(|text| Part::Text(text.into())),
        _ => None,
    };
    let is_texts = one.is_none() && matches!(&*answer.kind, "TXT" | "SPF");
    let one = one.or_else(|| (!is_texts).then(|| Part::Text(data.into())));
    one.into_iter().chain(is_texts.then(|| texts(data)).into_iter().flatten().map(Part::Text))
}

/// Bytes out of `\# LENGTH HEX` as Suricata shows them: ASCII as it is, others as `\xHH`.
fn octets(data: &str) -> Option<String> {
    let [_, _, digits]: [&str; 3] = words(data)?;
    let mut text = String::new();
    for pair in digits.trim_end_matches('.').as_bytes().chunks_exact(2) {
        match u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()? {
            byte if byte.is_ascii() => text.push(byte.into()),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    Some(text)
}

fn number(object: &mut Object<'_>, name: impl Key, digits: &str) {
    object.number(name, digits.parse().unwrap_or(0));
}

fn push_service(object: &mut Object<'_>, [priority, weight, port, name]: [&str; 4]) {
    number(object, member!("priority"), priority);
    number(object, member!("weight"), weight);
    number(object, member!("port"), port);
    object.text(member!("name"), name);
}

/// A fingerprint as Suricata writes it: with a colon between bytes.
fn push_fingerprint(object: &mut Object<'_>, [algorithm, kind, fingerprint]: [&str; 3]) {
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

fn push_authority(object: &mut Object<'_>, [server, mail, numbers @ ..]: [&str; 7]) {
    object.text(member!("mname"), server);
    object.text(member!("rname"), mail);
    for (name, digits) in ["serial", "refresh", "retry", "expire", "minimum"].into_iter().zip(numbers) {
        number(object, name, digits);
    }
}

/// The data of answers by their type, in the order of the first of each. Only types that Suricata groups have keys that need no
/// escapes, so others are left out.
fn push_grouped(object: &mut Object<'_>, answers: &[Answer]) {
    const GROUPED: [&str; 9] = ["A", "AAAA", "CNAME", "MX", "NS", "NULL", "PTR", "SRV", "TXT"];
    for kind in GROUPED {
        let of_kind = || answers.iter().filter(|answer| &*answer.kind == kind);
        if of_kind().next().is_some() {
            object.array(kind, of_kind().flat_map(parts), |out, part| match part {
                Part::Text(text) => push_string(out, &text),
                Part::Address(address) => push_address_6(out, address),
                Part::Service(words) => {
                    let mut object = Object::open(out);
                    push_service(&mut object, words);
                    object.close();
                }
                Part::Fingerprint(_) | Part::Authority(_) => {}
            });
        }
    }
}
