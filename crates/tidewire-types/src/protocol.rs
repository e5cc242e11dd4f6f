//! Names of IP protocols.

/// Those that have a name in records.
const NAMES: [(u8, &str); 13] = [
    (1, "icmp"),
    (2, "igmp"),
    (6, "tcp"),
    (17, "udp"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (58, "icmp6"),
    (89, "ospf"),
    (103, "pim"),
    (112, "vrrp"),
    (132, "sctp"),
    (136, "udplite"),
];

/// The name of an IP protocol in records; `None`: its number stands there.
#[must_use]
pub fn protocol_name(number: u8) -> Option<&'static str> {
    NAMES.iter().find(|known| known.0 == number).map(|known| known.1)
}

/// The number of an IP protocol as records have it: by its name, or in decimal.
#[must_use]
pub fn protocol_number(name: &str) -> Option<u8> {
    let known = NAMES.iter().find(|known| known.1 == name).map(|known| known.0);
    known.or_else(|| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        for number in 0..=u8::MAX {
            let name = protocol_name(number).map_or_else(|| number.to_string(), str::to_owned);
            assert_eq!(protocol_number(&name), Some(number));
            assert_eq!(protocol_number(&number.to_string()), Some(number));
        }
        assert_eq!((protocol_name(58), protocol_name(4)), (Some("icmp6"), None));
        assert_eq!([protocol_number("TCP"), protocol_number("256"), protocol_number("")], [None; 3]);
    }
}
