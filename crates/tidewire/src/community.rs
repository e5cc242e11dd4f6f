//! Community ID, version 1: a flow identifier that other tools compute alike.

use tidewire_core::FlowKey;
use tidewire_types::community;
use tidewire_wire::{
    icmp_counterpart,
    ip_protocol::{SCTP, TCP, UDP, is_icmp},
};

/// A flow's Community ID (version 1): `1:` and the base64 of a SHA-1 over addresses, protocol and ports, the same for
/// both directions. Tools agree on it for the same `seed`; the customary seed is 0.
///
/// Ports count for TCP, UDP and SCTP. ICMP messages that ask and answer take their types as ports, others their type
/// and code, and then the direction matters, as the specification has it. Other protocols are named by their addresses.
///
/// ```
/// use tidewire::{Endpoint, FlowKey, community_id};
/// let at = |address: &str, port| Endpoint { address: address.parse().unwrap(), port };
/// let key = FlowKey::new(at("128.232.110.120", 34855), at("66.35.250.204", 80), 6);
/// assert_eq!(community_id(&key, 0), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
/// ```
#[must_use]
pub fn community_id(key: &FlowKey, seed: u16) -> String {
    let (source, destination, one_way) = ports(key);
    let (from, to) = ((key.client.address, source), (key.server.address, destination));
    let ends = if one_way { [from, to] } else { community::ordered(from, to) };
    let has_ports = is_icmp(key.proto) || matches!(key.proto, TCP | UDP | SCTP);
    community::text(&community::digest(seed, ends, key.proto, has_ports))
}

/// Source and destination port, and whether the flow has one direction only.
fn ports(key: &FlowKey) -> (u16, u16, bool) {
    let [kind, code] = key.icmp;
    if !is_icmp(key.proto) {
        return (key.client.port, key.server.port, false);
    }
    match icmp_counterpart(key.proto, kind) {
        Some(answer) => (u16::from(kind), u16::from(answer), false),
        None => (u16::from(kind), u16::from(code), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewire_core::Endpoint;

    fn id(proto: u8, from: &str, to: &str, a: u16, b: u16) -> String {
        let at = |address: &str, port| Endpoint { address: address.parse().unwrap(), port };
        let icmp = is_icmp(proto);
        let ports = if icmp { [0; 2] } else { [a, b] };
        let mut key = FlowKey::new(at(from, ports[0]), at(to, ports[1]), proto);
        key.icmp = if icmp { [a as u8, b as u8] } else { [0; 2] };
        community_id(&key, 0)
    }

    /// The specification's own table (seed 0, base64). For ICMP the last two are type and code: the answering type
    /// that the table has in the code's place is found by the mapping.
    #[test]
    fn the_specifications_table() {
        let (v6, v6b) = ("fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea");
        let (x, y, z) = ("3ffe:501:1800:2345::2", "3ffe:507:0:1:200:86ff:fe05:80da", "3ffe:501:0:1001::2");
        let w = "3ffe:501:410:0:2c0:dfff:fe47:33e";
        let (m, n) = ("2001:470:e5bf:dead:4957:2174:e82c:4887", "2607:f8b0:400c:c03::1a");
        let table: &[(u8, &str, &str, u16, u16, &str)] = &[
            (58, v6, v6b, 135, 0, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="),
            (58, v6b, v6, 136, 0, "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="),
            (58, v6b, v6, 135, 0, "1:zavyT/cezQr1fmImYCwYnMXbgck="),
            (58, v6, v6b, 136, 0, "1:zavyT/cezQr1fmImYCwYnMXbgck="),
            (58, x, y, 3, 0, "1:2ObVBgIn28oZvibYZhZMBgh7WdQ="),
            (58, w, y, 1, 4, "1:hLZd0XGWojozrvxqE0dWB1iM6R0="),
            (58, y, z, 128, 0, "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg="),
            (58, z, y, 129, 0, "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg="),
            (58, v6, "ff02::2", 133, 0, "1:hO+sN4H+MG5MY/8hIrXPqc4ZQz0="),
            (58, v6b, "ff02::1", 134, 0, "1:pkvHqCL88/tg1k4cPigmZXUtL00="),
            (1, "192.168.0.89", "192.168.0.1", 8, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="),
            (1, "192.168.0.1", "192.168.0.89", 0, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="),
            (1, "10.0.0.1", "10.0.0.2", 11, 0, "1:YHxtAirCG//0OzkcVAukqKQN9xM="),
            (6, m, n, 63943, 25, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
            (6, n, m, 25, 63943, "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4="),
            (132, "192.168.170.8", "192.168.170.56", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="),
            (132, "192.168.170.56", "192.168.170.8", 7, 7, "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs="),
            (6, "128.232.110.120", "66.35.250.204", 34855, 80, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
            (6, "66.35.250.204", "128.232.110.120", 80, 34855, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
            (17, "192.168.1.52", "8.8.8.8", 54585, 53, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
            (17, "8.8.8.8", "192.168.1.52", 53, 54585, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
            (46, "10.1.12.1", "10.1.12.2", 0, 0, "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="),
            (46, "10.1.12.2", "10.1.12.1", 0, 0, "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw="),
        ];
        for &(proto, from, to, a, b, expected) in table {
            assert_eq!(id(proto, from, to, a, b), expected, "{proto} {from} {a} {to} {b}");
        }
    }
}
