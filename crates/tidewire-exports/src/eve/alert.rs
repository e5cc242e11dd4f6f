//! `alert`: a pattern that was found.

use tidewire::Direction;

use crate::{eve::common::Identity, json::member, model::MatchRecord};

/// Appends the record `alert` of a match. The pattern is the signature: its number is that of the pattern, from 1.
pub fn push_alert(out: &mut Vec<u8>, found: &MatchRecord<'_>) {
    let identity = Identity::of_match(found);
    let is_answer = found.direction == Direction::ServerToClient;
    let mut object = identity.open(out, "alert", found.time.as_nanos(), is_answer, None);
    object.plain(member!("direction"), if is_answer { "to_client" } else { "to_server" });
    object.object(member!("alert"), |object| {
        object.plain(member!("action"), "allowed");
        object.number(member!("gid"), 1);
        object.number(member!("signature_id"), found.pattern_index + 1);
        object.number(member!("rev"), 1);
        object.text(member!("signature"), found.pattern);
        object.plain(member!("category"), "");
        object.number(member!("severity"), severity(found.severity));
    });
    identity.close(object, |object| {
        object.number(member!("offset"), found.offset);
        object.number(member!("length"), found.length);
    });
    out.push(b'\n');
}

/// Suricata counts from 1, the worst; 3 is that of rules that name none.
fn severity(name: Option<&str>) -> u64 {
    match name {
        Some("critical" | "high") => 1,
        Some("medium") => 2,
        _ => 3,
    }
}
