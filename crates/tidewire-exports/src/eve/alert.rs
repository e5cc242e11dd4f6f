//! `alert`: a pattern that was found.

use tidewire::Direction;

use crate::{eve::common::Identity, model::MatchRecord};

/// Appends the record `alert` of a match. The pattern is the signature: its number is that of the pattern, from 1.
pub fn push_alert(out: &mut Vec<u8>, found: &MatchRecord<'_>) {
    let identity =
        Identity { stream: found.stream, start_ns: found.stream_start_ns, key: &found.key, origin: found.origin };
    let is_answer = found.direction == Direction::ServerToClient;
    let mut object = identity.open(out, "alert", found.time_ns, is_answer, None);
    object.plain("direction", if is_answer { "to_client" } else { "to_server" });
    object.object("alert", |object| {
        object.plain("action", "allowed");
        object.number("gid", 1);
        object.number("signature_id", found.pattern_index + 1);
        object.number("rev", 1);
        object.text("signature", found.pattern);
        object.plain("category", "");
        object.number("severity", severity(found.severity));
    });
    identity.close(object, |object| {
        object.number("offset", found.offset);
        object.number("length", found.length);
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
