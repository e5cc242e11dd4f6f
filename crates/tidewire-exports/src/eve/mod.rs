//! EVE JSON as Suricata 8 writes it: one object a line.
//!
//! Names and types are Suricata's. What has no field there is in one object `tidewire`, which readers that do not know it pass
//! over. What a capture of streams does not know (`flow.alerted` is always `false`; TTLs, raw DNS flags, SHA-1 of certificates) is
//! left out.

mod alert;
mod anomaly;
mod certificate;
mod common;
mod dns;
mod fileinfo;
mod flow;
mod http;
mod mdns;
mod members;
mod proto;
mod stats;
#[cfg(test)]
mod tests;
mod transaction;

pub use alert::push_alert;
pub use anomaly::{push_anomalies, push_explained};
#[cfg(test)]
pub(crate) use flow::push_flow_of;
pub use flow::{push_flow, push_netflow};
pub use stats::{Stats, push_stats};
pub use transaction::push_transaction;

/// Types of records: which of them are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u16);

impl Default for Types {
    /// The default of Suricata's configuration: `netflow` is off.
    fn default() -> Self {
        Self::named().map(|(_, one)| one).into_iter().filter(|one| *one != Self::NETFLOW).collect()
    }
}

impl FromIterator<Self> for Types {
    fn from_iter<I: IntoIterator<Item = Self>>(types: I) -> Self {
        types.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Types {
    /// No records.
    pub const NONE: Self = Self(0);
    /// Matches of patterns.
    pub const ALERT: Self = Self(1 << 0);
    /// Irregularities of streams, and of messages of protocols.
    pub const ANOMALY: Self = Self(1 << 1);
    /// Queries of DNS and LLMNR, and their answers.
    pub const DNS: Self = Self(1 << 2);
    /// Contents that HTTP carried.
    pub const FILEINFO: Self = Self(1 << 3);
    /// Streams.
    pub const FLOW: Self = Self(1 << 4);
    /// Requests of HTTP with their responses.
    pub const HTTP: Self = Self(1 << 5);
    /// Queries of multicast DNS, and their answers.
    pub const MDNS: Self = Self(1 << 6);
    /// Directions of streams.
    pub const NETFLOW: Self = Self(1 << 7);
    /// Connections of QUIC.
    pub const QUIC: Self = Self(1 << 8);
    /// Sessions of SSH.
    pub const SSH: Self = Self(1 << 9);
    /// Counters of the run.
    pub const STATS: Self = Self(1 << 10);
    /// Handshakes of TLS.
    pub const TLS: Self = Self(1 << 11);

    /// Each type with its name, in the order of the names.
    #[must_use]
    pub const fn named() -> [(&'static str, Self); 12] {
        [
            ("alert", Self::ALERT),
            ("anomaly", Self::ANOMALY),
            ("dns", Self::DNS),
            ("fileinfo", Self::FILEINFO),
            ("flow", Self::FLOW),
            ("http", Self::HTTP),
            ("mdns", Self::MDNS),
            ("netflow", Self::NETFLOW),
            ("quic", Self::QUIC),
            ("ssh", Self::SSH),
            ("stats", Self::STATS),
            ("tls", Self::TLS),
        ]
    }

    /// The names of all types.
    #[must_use]
    pub fn names() -> [&'static str; 12] {
        Self::named().map(|(name, _)| name)
    }

    /// The type of a name; `None`: the name is unknown.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::named().into_iter().find_map(|(known, one)| (known == name).then_some(one))
    }

    /// These and others.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether one of `types` is among them.
    #[must_use]
    pub const fn has(self, types: Self) -> bool {
        self.0 & types.0 != 0
    }
}

/// Appends the records of a stream that ended. `anomalies`: those of its own that have a record each.
pub fn push_records(out: &mut Vec<u8>, flow: &crate::FlowRecord<'_>, anomalies: &[tidewire::Anomaly], types: Types) {
    if types.has(Types::ANOMALY) {
        push_anomalies(out, flow, anomalies);
    }
    if types.has(Types::NETFLOW) {
        push_netflow(out, flow);
    }
    if types.has(Types::FLOW) {
        push_flow(out, flow);
    }
}
