//! EVE JSON as Suricata 8 writes it: one object a line.
//!
//! Names and types are Suricata's. What has no field there is in one object `tidewire`, which readers that do not know it pass
//! over. What a capture of streams does not know (`flow.alerted` is always `false`; TTLs, raw DNS flags, SHA-1 of certificates) is
//! left out.

mod anomaly;
mod certificate;
mod common;
mod flow;
mod stats;
#[cfg(test)]
mod tests;
mod transaction;

pub use anomaly::push_anomalies;
pub use flow::{push_flow, push_netflow};
pub use stats::{Stats, push_stats};
pub use transaction::push_transaction;

/// Which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    /// `flow`: one record a stream.
    pub flow: bool,
    /// `netflow`: one record a direction.
    pub netflow: bool,
    /// `anomaly`: one record an anomaly.
    pub anomaly: bool,
}

impl Default for Types {
    /// What Suricata's configuration has on by default: `netflow` is off.
    fn default() -> Self {
        Self { flow: true, netflow: false, anomaly: true }
    }
}

/// Appends the records of a stream that ended.
pub fn push_records(out: &mut Vec<u8>, flow: &crate::FlowRecord<'_>, types: Types) {
    if types.anomaly {
        push_anomalies(out, flow);
    }
    if types.netflow {
        push_netflow(out, flow);
    }
    if types.flow {
        push_flow(out, flow);
    }
}
