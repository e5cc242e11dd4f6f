//! The object `mdns`.

use std::borrow::Cow;

use tidewire_protocols::{Answer, Dns};

use crate::{
    eve::dns::{Part, has_form, kind_name, name, octets, parts, push_part},
    json::{Object, member, push_string},
};

/// It has another form than `dns`: flags in an array, numbers for response codes, types in small letters, and what a record says under
/// its type's name.
pub(super) fn push_mdns(object: &mut Object<'_>, dns: &Dns, is_response: bool) {
    object.plain(member!("type"), if is_response { "response" } else { "request" });
    object.number(member!("id"), dns.id.into());
    let flags = dns.flags[usize::from(is_response)];
    let names =
        [(0x0400, "aa"), (0x0200, "tc"), (0x0100, "rd"), (0x0080, "ra"), (0x0040, "z"), (0x0020, "ad"), (0x0010, "cd")];
    let set = names.iter().filter(|(bit, _)| flags & bit != 0);
    if set.clone().next().is_some() {
        object.array(member!("flags"), set, |out, (_, name)| push_string(out, name));
    }
    object.number(member!("opcode"), u64::from(flags >> 11 & 15));
    object.number(member!("rcode"), u64::from(flags & 15));
    // An answer has no question: what is named there is its first record.
    if let Some(query) = dns.query.as_ref().filter(|_| !is_response) {
        object.array(member!("queries"), [query], |out, query| {
            let mut object = Object::open(out);
            object.text(member!("rrname"), &name(query));
            if let Some(kind) = &dns.kind {
                object.text(member!("rrtype"), &kind_name(kind).to_lowercase());
            }
            object.close();
        });
    }
    if is_response && !dns.answers.is_empty() {
        object.array(member!("answers"), &dns.answers, push_answer);
    }
}

fn push_answer(out: &mut Vec<u8>, answer: &Answer) {
    let mut object = Object::open(out);
    object.text(member!("rrname"), &name(&answer.name));
    let kind = kind_name(&answer.kind).to_ascii_lowercase();
    // Of types that have neither mnemonic nor digits there is none; such a name would want escapes.
    if kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        match (&*kind, parts(answer).next()) {
            ("txt", _) => object.array(&*kind, parts(answer), push_part),
            (_, Some(Part::Text(text))) if has_form(&answer.kind, &Part::Text("".into())) => {
                object.text(&*kind, &octets(&answer.data).map_or(text, Cow::Owned));
            }
            (_, Some(part)) if has_form(&answer.kind, &part) => push_part(object.key(&*kind), part),
            _ => {}
        }
    }
    object.close();
}
