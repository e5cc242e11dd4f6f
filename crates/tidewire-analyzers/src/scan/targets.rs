//! The targets of an attempt: how many different ones, and which part of their space.

use std::{
    hash::Hash,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use super::{distinct::Distinct, leases::Leases};

/// A set of targets.
pub(super) trait Targets: Default + Send {
    /// One of them.
    type Target: Copy + Hash + Send;

    /// Adds a target; `hash`: its keyed hash.
    fn note(&mut self, target: Self::Target, hash: u64, leases: &Leases);
    /// How many different ones there are.
    fn count(&self) -> u32;
    /// Whether the count is an estimate.
    fn is_estimate(&self) -> bool;
}

/// Hosts: their count, and the smallest network that holds all of them.
#[derive(Debug, Default)]
pub(super) struct HostSet {
    different: Distinct,
    /// The first host, and the length of the prefix that all share with it.
    network: Option<(IpAddr, u8)>,
}

impl HostSet {
    /// The address of the network.
    pub(super) fn network(&self) -> IpAddr {
        match self.network {
            Some((IpAddr::V4(first), prefix)) => {
                Ipv4Addr::from_bits(first.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)).into()
            }
            Some((IpAddr::V6(first), prefix)) => {
                Ipv6Addr::from_bits(first.to_bits() & u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0))
                    .into()
            }
            None => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// The length of its prefix, bits.
    pub(super) fn prefix(&self) -> u8 {
        self.network.map_or(0, |(_, prefix)| prefix)
    }
}

impl Targets for HostSet {
    type Target = IpAddr;

    fn note(&mut self, target: IpAddr, hash: u64, _: &Leases) {
        self.different.note(hash);
        self.network = Some(match (self.network, target) {
            (None, target) => (target, if target.is_ipv4() { 32 } else { 128 }),
            (Some((IpAddr::V4(first), prefix)), IpAddr::V4(target)) => {
                (first.into(), prefix.min((first.to_bits() ^ target.to_bits()).leading_zeros() as u8))
            }
            (Some((IpAddr::V6(first), prefix)), IpAddr::V6(target)) => {
                (first.into(), prefix.min((first.to_bits() ^ target.to_bits()).leading_zeros() as u8))
            }
            // A source has one family.
            (Some(known), _) => known,
        });
    }

    fn count(&self) -> u32 {
        self.different.count()
    }

    fn is_estimate(&self) -> bool {
        self.different.is_estimate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_holds_all_hosts_and_no_smaller_one_does() {
        for (hosts, expected) in [
            (&["10.1.2.3"][..], "10.1.2.3/32"),
            (&["10.1.2.3", "10.1.2.200"], "10.1.2.0/24"),
            (&["10.1.2.3", "10.1.3.4", "10.1.2.9"], "10.1.2.0/23"),
            (&["10.0.0.1", "192.0.2.1"], "0.0.0.0/0"),
            (&["2001:db8::1", "2001:db8::ff"], "2001:db8::/120"),
            (&["::1", "ff00::1"], "::/0"),
        ] {
            let mut set = HostSet::default();
            for host in hosts {
                set.note(host.parse().unwrap(), 0, &Leases::default());
            }
            assert_eq!(format!("{}/{}", set.network(), set.prefix()), expected);
        }
    }
}
