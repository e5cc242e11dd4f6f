//! `anomaly`.

use tidewire::AnomalyKind;

use crate::{eve::common::Identity, json::member, model::FlowRecord};

/// Appends the records `anomaly` of a stream, with the numbers of their packets. They have the time of the stream's end, at which they
/// are known for certain.
pub fn push_anomalies(out: &mut Vec<u8>, flow: &FlowRecord<'_>) {
    if flow.anomalies.is_empty() {
        return;
    }
    let identity = Identity::of_flow(flow);
    for anomaly in flow.anomalies {
        let mut object = identity.open(out, "anomaly", flow.end_ns, false, Some(anomaly.packet));
        object.object(member!("anomaly"), |object| {
            object.plain(member!("type"), "stream");
            match suricatas(anomaly.kind) {
                Some(event) => object.plain(member!("event"), event),
                None => object.plain(member!("event"), &format!("tidewire.{}", anomaly.kind.name())),
            }
        });
        identity.close(object, |object| object.plain(member!("anomaly"), anomaly.kind.name()));
        out.push(b'\n');
    }
}

/// The event of Suricata's stream engine that means the same (its `stream-events.rules`).
fn suricatas(kind: AnomalyKind) -> Option<&'static str> {
    Some(match kind {
        AnomalyKind::OverlapConflict => "stream.reassembly_overlap_different_data",
        AnomalyKind::OutOfWindow => "stream.est_packet_out_of_window",
        AnomalyKind::OldTimestamp => "stream.pkt_invalid_timestamp",
        AnomalyKind::InvalidAck => "stream.pkt_invalid_ack",
        AnomalyKind::BlindReset => "stream.suspected_rst_inject",
        AnomalyKind::BlindSyn => "stream.est_syn_resend_diff_seq",
        _ => return None,
    })
}
