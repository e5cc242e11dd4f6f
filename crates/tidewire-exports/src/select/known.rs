//! Fields whose values have fixed names: another name would never be found.

use tidewire::{AnomalyKind, ClientBy, Direction, EndReason, GapCause, TcpState, TunnelKind};
use tidewire_protocols::{Service, dns_rcode_number, dns_type_number};
use tidewire_types::nearest;

use crate::select::value::Test;

/// Versions of TLS. Drafts and unknown ones have their number: see [`is_other_version`].
const TLS_VERSIONS: [&str; 6] = ["SSL 2.0", "SSL 3.0", "TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3"];

/// Whether a field can be `text`, as far as its values have names.
pub(super) fn check(field: &str, text: &str) -> Result<(), String> {
    let upper = || text.to_ascii_uppercase();
    let example = match field {
        "dns.type" | "dns.answers.type" | "mdns.type" | "mdns.answers.type" | "llmnr.type" | "llmnr.answers.type" => {
            dns_type_number(&upper()).is_none().then_some("AAAA or TYPE65280")
        }
        "dns.rcode" | "mdns.rcode" | "llmnr.rcode" => {
            dns_rcode_number(&upper()).is_none().then_some("NXDOMAIN or RCODE12")
        }
        _ => None,
    };
    if let Some(example) = example {
        return Err(format!("'{text}' is not a value of {field}, as in {example}"));
    }
    let Some(names) = names(field) else { return Ok(()) };
    // Protocols without a name have their number.
    let is_number = field == "proto" && text.parse::<u8>().is_ok();
    if is_number || is_other_version(field, text) || names.iter().any(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(());
    }
    let shown = |name: &str| if name.contains(' ') { format!("'{name}'") } else { name.to_owned() };
    let hint = resembling(text, &names).map(|name| format!("did you mean {}? ", shown(name))).unwrap_or_default();
    let names: Vec<String> = names.into_iter().map(shown).collect();
    Err(format!("'{text}' is not a value of {field}; {hint}known are {}", names.join(", ")))
}

/// The name that is most likely meant: one that differs in its separators, has the same digits, or is spelled similarly.
fn resembling(text: &str, names: &[&'static str]) -> Option<&'static str> {
    let letters =
        |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let given = letters(text);
    let same = names.iter().find(|name| letters(name) == given);
    // `TLSv1.3`, `HTTP/1.1`, `1.2`.
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let version = || names.iter().find(|name| !digits(text).is_empty() && digits(name) == digits(text));
    same.or_else(version).copied().or_else(|| nearest(text, names.iter().copied()))
}

/// Whether a version of TLS is a draft or has no name.
fn is_other_version(field: &str, text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    matches!(field, "tls.version" | "tls.client_version" | "quic.client_version")
        && (upper.starts_with("TLS 1.3 DRAFT ") || upper.starts_with("0X"))
}

/// A value as records have it: protocols with a name have no number.
pub(super) fn canonical<'a>(field: &str, text: &'a str) -> &'a str {
    let of_number = || tidewire::protocol_name(text.parse().ok()?);
    if field == "proto" { of_number().unwrap_or(text) } else { text }
}

/// The name of a protocol that is meant by a word where a field is expected.
pub(super) fn service(word: &str) -> Option<&'static str> {
    Service::ALL.into_iter().map(Service::name).find(|name| name.eq_ignore_ascii_case(word))
}

/// Whether a number can be a value of a field: a greater one would never be found.
pub(super) fn check_range(field: &str, test: &Test) -> Result<(), String> {
    let most: u64 = match field {
        "port" | "client_port" | "server_port" | "socks.port" => u16::MAX.into(),
        "vlan" => 4095,
        "tcp_flags_c2s" | "tcp_flags_s2c" => 0xfff,
        "icmp_type" | "icmp_code" => u8::MAX.into(),
        _ => return Ok(()),
    };
    match test {
        Test::Number(_, number) if *number > most => Err(format!("{field} is at most {most}, got {number}")),
        _ => Ok(()),
    }
}

/// The names that a field's values have; `None`: any.
fn names(field: &str) -> Option<Vec<&'static str>> {
    Some(match field {
        "service" => Service::ALL.map(Service::name).to_vec(),
        "proto" => (0..=u8::MAX).filter_map(tidewire::protocol_name).collect(),
        "state" => TcpState::ALL.iter().map(|state| state.name()).collect(),
        "end_reason" => EndReason::ALL.iter().map(|reason| reason.name()).collect(),
        "tunnel_kind" => {
            TunnelKind::ALL.iter().filter(|kind| **kind != TunnelKind::None).map(|kind| kind.name()).collect()
        }
        "client_by" => [ClientBy::Message, ClientBy::Ports].map(ClientBy::name).to_vec(),
        "direction" | "gaps.direction" | "overlap_conflicts.direction" | "overlap_conflicts.any" => {
            directions().to_vec()
        }
        "anomalies.kind" | "anomalies.any" => AnomalyKind::ALL.iter().map(|kind| kind.name()).collect(),
        "gaps.cause" => causes().collect(),
        "gaps.any" => causes().chain(directions()).collect(),
        "tls.version" | "tls.client_version" | "quic.client_version" => TLS_VERSIONS.to_vec(),
        "http.version" => vec!["0.9", "1.0", "1.1"],
        _ => return None,
    })
}

fn causes() -> impl Iterator<Item = &'static str> {
    GapCause::ALL.iter().map(|cause| cause.name())
}

fn directions() -> [&'static str; 2] {
    [Direction::ClientToServer, Direction::ServerToClient].map(Direction::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that the contract lists are the known ones.
    #[test]
    fn documented_names_are_known() {
        let page = include_str!("../../../../docs/output.md");
        for (field, of) in [("state", "state"), ("end_reason", "end_reason"), ("cause", "gaps.cause")] {
            let line =
                page.split("\n\n").find(|part| part.starts_with(&format!("`{field}`: "))).expect("its paragraph");
            let names = names(of).unwrap();
            assert!(names.iter().all(|name| line.contains(&format!("`{name}`"))), "{line}");
        }
        let row = page.lines().find(|line| line.starts_with("| `tunnel` |")).expect("its row");
        let documented: Vec<&str> = row.split('`').skip(1).step_by(2).skip(2).collect();
        assert_eq!(documented, names("tunnel_kind").unwrap());
    }
}
