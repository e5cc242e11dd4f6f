use std::net::IpAddr;

use crate::{DefragPolicy, TcpPolicy};

/// Overlap policies by receiver's network. The longest prefix that contains the destination decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPolicies {
    entries: Vec<(IpAddr, u8, TcpPolicy, DefragPolicy)>,
}

impl TargetPolicies {
    /// Adds a network with its policies for TCP segments and for fragments. Bits of `network` beyond `prefix` are ignored;
    /// `prefix` is at most 32 for IPv4 and 128 for IPv6.
    pub fn add(&mut self, network: IpAddr, prefix: u8, tcp: TcpPolicy, defrag: DefragPolicy) {
        self.entries.push((network, prefix, tcp, defrag));
        self.entries.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    }

    /// Whether the list has no network.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether `is` holds for the TCP policy of any network.
    pub(crate) fn any(&self, is: impl Fn(TcpPolicy) -> bool) -> bool {
        self.entries.iter().any(|entry| is(entry.2))
    }

    /// The policies for a receiver, if one of the networks contains it.
    #[must_use]
    pub fn find(&self, receiver: IpAddr) -> Option<(TcpPolicy, DefragPolicy)> {
        let entry = self.entries.iter().find(|(network, prefix, ..)| contains(*network, *prefix, receiver))?;
        Some((entry.2, entry.3))
    }
}

fn contains(network: IpAddr, prefix: u8, address: IpAddr) -> bool {
    let (bits, a, b) = match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (32, u128::from(a.to_bits()), u128::from(b.to_bits())),
        (IpAddr::V6(a), IpAddr::V6(b)) => (128, a.to_bits(), b.to_bits()),
        _ => return false,
    };
    let prefix = prefix.min(bits);
    prefix == 0 || (a ^ b) >> (bits - prefix) == 0
}
