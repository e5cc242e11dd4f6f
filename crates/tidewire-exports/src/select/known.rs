//! Fields whose values have fixed names: another name would never be found.

use tidewire::{Direction, EndReason, TcpState, TunnelKind};
use tidewire_protocols::{Service, dns_rcode_number, dns_type_number};
use tidewire_units::nearest;

use crate::select::value::Test;

const STATES: [TcpState; 8] = [
    TcpState::Stateless,
    TcpState::SynSent,
    TcpState::SynReceived,
    TcpState::Established,
    TcpState::Midstream,
    TcpState::HalfClosed,
    TcpState::Closed,
    TcpState::Reset,
];

const ENDS: [EndReason; 6] =
    [EndReason::Fin, EndReason::Rst, EndReason::Timeout, EndReason::Reused, EndReason::Evicted, EndReason::EndOfInput];

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
        return Err(format!("'{text}' is no {field}, as in {example}"));
    }
    let Some(names) = names(field) else { return Ok(()) };
    // Protocols without a name have their number.
    let is_number = field == "proto" && text.parse::<u8>().is_ok();
    if is_number || names.iter().any(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(());
    }
    let hint = nearest(text, names.iter().copied()).map(|name| format!("did you mean {name}? ")).unwrap_or_default();
    Err(format!("'{text}' is no {field}; {hint}known are {}", names.join(", ")))
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
        "tcp_flags_c2s" | "tcp_flags_s2c" | "icmp_type" | "icmp_code" => u8::MAX.into(),
        _ => return Ok(()),
    };
    match test {
        Test::Number(_, number) if *number > most => Err(format!("'{number}' is no {field}, which is at most {most}")),
        _ => Ok(()),
    }
}

/// The names that a field's values have; `None`: any.
fn names(field: &str) -> Option<Vec<&'static str>> {
    Some(match field {
        "service" => Service::ALL.map(Service::name).to_vec(),
        "proto" => (0..=u8::MAX).filter_map(tidewire::protocol_name).collect(),
        "state" => STATES.map(TcpState::name).to_vec(),
        "end_reason" => ENDS.map(EndReason::name).to_vec(),
        "tunnel_kind" => {
            TunnelKind::ALL.iter().filter(|kind| **kind != TunnelKind::None).map(|kind| kind.name()).collect()
        }
        "direction" => [Direction::ClientToServer, Direction::ServerToClient].map(Direction::name).to_vec(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the contract lists is what is known.
    #[test]
    fn documented_names_are_known() {
        let page = include_str!("../../../../docs/output.md");
        for field in ["state", "end_reason"] {
            let line =
                page.split("\n\n").find(|part| part.starts_with(&format!("`{field}`: "))).expect("its paragraph");
            let names = names(field).unwrap();
            assert!(names.iter().all(|name| line.contains(&format!("`{name}`"))), "{line}");
        }
        let row = page.lines().find(|line| line.starts_with("| `tunnel` |")).expect("its row");
        let documented: Vec<&str> = row.split('`').skip(1).step_by(2).skip(2).collect();
        assert_eq!(documented, names("tunnel_kind").unwrap());
    }
}
