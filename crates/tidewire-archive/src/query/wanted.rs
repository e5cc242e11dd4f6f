//! A query, and the condition for an index that follows from it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire::{FlowKey, community_id};
use tidewire_filter::Filter;
use tidewire_wire::LinkType;

use super::expression::{Condition, all, condition};
use crate::{
    Error,
    index::{FlowRecord, Summary, Term},
};

/// Conditions on packets, all of which have to be fulfilled. The default is all packets.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// A filter expression in libpcap's language.
    pub filter: Option<String>,
    /// From this time on, nanoseconds since the epoch.
    pub from_ns: Option<u64>,
    /// Before this time.
    pub to_ns: Option<u64>,
    /// The packets of the stream with this id: the number of any of its packets, as [`Recall`](crate::Recall) numbers them.
    pub stream: Option<u64>,
    /// The packets of streams with this Community ID (seed 0).
    pub community_id: Option<String>,
    /// Packets from or to one of these addresses, inside of tunnels too; none: of any.
    pub hosts: Vec<IpAddr>,
    /// Packets from or to one of these ports, inside of tunnels too; none: of any.
    pub ports: Vec<u16>,
    /// Packets from or to an address of this network, inside of tunnels too.
    pub net: Option<Network>,
    /// Packets with this VLAN id.
    pub vlan: Option<u16>,
    /// IP packets of this protocol, inside of tunnels too.
    pub protocol: Option<u8>,
}

/// A network: an address and the number of its bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    last: IpAddr,
}

impl Network {
    /// The network of the first `prefix` bits of an address; others of its bits do not count. `None`: it has fewer bits.
    #[must_use]
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let prefix = u32::from(prefix);
        Some(match address {
            IpAddr::V4(address) => {
                let others = u32::MAX.checked_shr(prefix).unwrap_or(0);
                let bits = address.to_bits();
                (prefix <= 32).then(|| Self {
                    first: Ipv4Addr::from_bits(bits & !others).into(),
                    last: Ipv4Addr::from_bits(bits | others).into(),
                })?
            }
            IpAddr::V6(address) => {
                let others = u128::MAX.checked_shr(prefix).unwrap_or(0);
                let bits = address.to_bits();
                (prefix <= 128).then(|| Self {
                    first: Ipv6Addr::from_bits(bits & !others).into(),
                    last: Ipv6Addr::from_bits(bits | others).into(),
                })?
            }
        })
    }
}

impl Query {
    /// Checks what can be wrong about it.
    ///
    /// # Errors
    /// What has no meaning, and why.
    pub fn check(&self) -> Result<(), Error> {
        if let Some(filter) = &self.filter {
            Filter::new(filter)?;
        }
        if let (Some(from), Some(to)) = (self.from_ns, self.to_ns)
            && from >= to
        {
            return Err(Error::Query("--to is not after --from".into()));
        }
        if let Some(vlan) = self.vlan.filter(|vlan| !(1..4095).contains(vlan)) {
            return Err(Error::Query(format!("VLAN ids are 1 to 4094, got {vlan}")));
        }
        match &self.community_id {
            Some(id) if !id.starts_with("1:") => {
                Err(Error::Query(format!("'{}' is no Community ID of version 1, as in 1:LQU9q...", id.escape_debug())))
            }
            _ => Ok(()),
        }
    }

    /// Whether single streams are looked for: only their packets are found, and only where there is an index.
    #[must_use]
    pub fn is_of_streams(&self) -> bool {
        self.stream.is_some() || self.community_id.is_some()
    }

    /// Whether a segment may hold anything of it.
    pub(crate) fn may_be_in(&self, summary: &Summary) -> bool {
        summary.packets > 0 && self.is_in_time(summary)
    }

    /// Whether a segment has anything of the times that are looked for.
    pub(crate) fn is_in_time(&self, summary: &Summary) -> bool {
        self.from_ns.is_none_or(|from| summary.last_ns >= from) && self.to_ns.is_none_or(|to| summary.first_ns < to)
    }

    pub(crate) fn wants_time(&self, timestamp_ns: u64) -> bool {
        self.from_ns.is_none_or(|from| timestamp_ns >= from) && self.to_ns.is_none_or(|to| timestamp_ns < to)
    }

    /// Whether a record is of a stream that is looked for. `stream`: its id in the index.
    pub(crate) fn wants_stream(&self, record: &FlowRecord, stream: Option<u64>) -> bool {
        let has_id = |id: &str| record.key.is_some_and(|key: FlowKey| community_id(&key, 0) == id);
        record.stream != 0
            && stream.is_none_or(|id| record.stream == id)
            && self.community_id.as_deref().is_none_or(has_id)
    }

    /// The condition for an index that follows from it.
    pub(crate) fn condition(&self, summary: &Summary) -> Condition {
        let mut found = match &self.filter {
            Some(filter) if summary.interfaces.iter().all(|interface| is_pruned(LinkType(interface.link))) => {
                condition(filter)
            }
            _ => Condition::Any,
        };
        let one = |term: Term| Condition::Terms(term, term);
        if !self.hosts.is_empty() {
            found = all(found, Condition::Either(self.hosts.iter().map(|&host| one(Term::Address(host))).collect()));
        }
        if !self.ports.is_empty() {
            found = all(found, Condition::Either(self.ports.iter().map(|&port| one(Term::Port(port))).collect()));
        }
        if let Some(Network { first, last }) = self.net {
            found = all(found, Condition::Terms(Term::Address(first), Term::Address(last)));
        }
        if let Some(vlan) = self.vlan {
            found = all(found, Condition::Terms(Term::Vlan(vlan), Term::Vlan(vlan)));
        }
        if let Some(protocol) = self.protocol {
            found = all(found, Condition::Terms(Term::Proto(protocol), Term::Proto(protocol)));
        }
        found
    }
}

/// Link types on which libpcap's compiler finds the headers where records have them from.
fn is_pruned(link: LinkType) -> bool {
    // Ethernet, raw IP (also as BSD numbers it), IPv4, IPv6, BSD loopback, Linux cooked.
    matches!(link.0, 1 | 101 | 12 | 14 | 228 | 229 | 0 | 108 | 113 | 276)
}

impl Network {
    pub(super) fn has(&self, address: IpAddr) -> bool {
        // Addresses of IPv4 are less than those of IPv6.
        self.first <= address && address <= self.last
    }

    /// The same in libpcap's language.
    pub(super) fn expression(&self) -> String {
        let bits = match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => (first.to_bits() ^ last.to_bits()).leading_zeros(),
            (IpAddr::V6(first), IpAddr::V6(last)) => (first.to_bits() ^ last.to_bits()).leading_zeros(),
            _ => 0,
        };
        format!("net {}/{bits}", self.first)
    }
}
