//! Addresses as they are written.

use super::ast::{Network, address_bits};

/// A network in CIDR notation; an address alone is a network of one. `None` where it is neither.
pub(crate) fn network(text: &str) -> Option<Network> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address.parse().ok()?, Some(prefix.parse().ok()?)),
        None => (text.parse().ok()?, None),
    };
    Network::new(address, prefix.unwrap_or(address_bits(address)))
}

/// Six bytes in hexadecimal, between colons.
pub(crate) fn mac(text: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut bytes {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_macs() {
        assert_eq!(network("10.0.0.0/8").map(|n| n.to_string()).as_deref(), Some("10.0.0.0/8"));
        assert_eq!(network("::1").map(|n| n.to_string()).as_deref(), Some("::1/128"));
        assert_eq!(network("10.0.0.77/8").map(|n| n.to_string()).as_deref(), Some("10.0.0.0/8"), "host bits are cut");
        for wrong in ["10.0.0.0/33", "::/129", "10.0.0/8", "x", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(network(wrong).is_none(), "{wrong}");
        }
        assert_eq!(mac("4c:60:de:86:55:46"), Some([0x4c, 0x60, 0xde, 0x86, 0x55, 0x46]));
        for wrong in ["4c:60:de:86:55", "4c:60:de:86:55:46:00", "4c:60:de:86:55:xx", "::::::", "+1:0:0:0:0:0:0"] {
            assert!(mac(wrong).is_none(), "{wrong}");
        }
    }
}
