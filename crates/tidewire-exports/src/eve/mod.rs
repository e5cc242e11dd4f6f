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
mod proto;
mod stats;
#[cfg(test)]
mod tests;
mod transaction;

pub use alert::push_alert;
pub use anomaly::{push_anomalies, push_explained};
pub use flow::{push_flow, push_netflow};
pub use stats::{Stats, push_stats};
pub use transaction::push_transaction;

/// The types of records.
pub const TYPES: [&str; 12] =
    ["alert", "anomaly", "dns", "fileinfo", "flow", "http", "mdns", "netflow", "quic", "ssh", "stats", "tls"];

/// Which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u16);

impl Default for Types {
    /// What Suricata's configuration has on by default: `netflow` is off.
    fn default() -> Self {
        let mut types = Self::NONE;
        TYPES.into_iter().filter(|name| *name != "netflow").for_each(|name| types.add(name));
        types
    }
}

impl Types {
    /// No records.
    pub const NONE: Self = Self(0);

    /// Adds a type by its name; one that is unknown adds nothing.
    pub fn add(&mut self, name: &str) {
        self.0 |= Self::of(name).0;
    }

    /// Whether records of a type are written.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.includes(Self::of(name))
    }

    /// One type by its name; none if it is unknown.
    const fn of(name: &str) -> Self {
        let (wanted, mut place) = (name.as_bytes(), 0);
        while place < TYPES.len() {
            let known = TYPES[place].as_bytes();
            let mut at = 0;
            while at < known.len() && at < wanted.len() && known[at] == wanted[at] {
                at += 1;
            }
            if at == known.len() && at == wanted.len() {
                return Self(1 << place);
            }
            place += 1;
        }
        Self::NONE
    }

    /// Whether one of `types` is written.
    fn includes(self, types: Self) -> bool {
        self.0 & types.0 != 0
    }
}

/// Appends the records of a stream that ended. `anomalies`: those of its own that have a record each.
pub fn push_records(out: &mut Vec<u8>, flow: &crate::FlowRecord<'_>, anomalies: &[tidewire::Anomaly], types: Types) {
    if types.includes(const { Types::of("anomaly") }) {
        push_anomalies(out, flow, anomalies);
    }
    if types.includes(const { Types::of("netflow") }) {
        push_netflow(out, flow);
    }
    if types.includes(const { Types::of("flow") }) {
        push_flow(out, flow);
    }
}
