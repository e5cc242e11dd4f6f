//! `anomaly`.

use tidewire::{Anomaly, AnomalyKind};

use crate::{
    eve::{
        common::{Identity, push_time},
        proto::push_proto,
    },
    explained::Explained,
    json::{Object, member},
    model::{FlowRecord, Origin},
};

/// Appends the records `anomaly` of a stream for these of its anomalies, with the numbers of their packets. They have the time of the
/// stream's end, at which they are known for certain.
pub fn push_anomalies(out: &mut Vec<u8>, flow: &FlowRecord<'_>, anomalies: &[Anomaly]) {
    if anomalies.is_empty() {
        return;
    }
    let identity = Identity::of_flow(flow);
    for anomaly in anomalies {
        let mut object = identity.open(out, "anomaly", flow.last.as_nanos(), false, Some(anomaly.packet));
        push_event(&mut object, anomaly.kind);
        identity.close(object, |object| object.plain(member!("anomaly"), anomaly.kind.name()));
        out.push(b'\n');
    }
}

/// Appends the record `anomaly` of streams whose anomaly the point of the capture explains: of no stream, with their number.
pub fn push_explained(out: &mut Vec<u8>, explained: &Explained, origin: Origin<'_>) {
    let mut object = Object::open(out);
    push_time(&mut object, member!("timestamp"), explained.last.as_nanos());
    if let Some(interface) = origin.interface {
        object.text(member!("in_iface"), interface);
    }
    object.plain(member!("event_type"), "anomaly");
    push_proto(&mut object, explained.proto);
    push_event(&mut object, explained.kind);
    if let Some(file) = origin.file {
        object.text(member!("pcap_filename"), file);
    }
    object.object(member!("tidewire"), |object| {
        object.plain(member!("anomaly"), explained.kind.name());
        object.plain(member!("explanation"), explained.explanation.name());
        object.number(member!("streams"), explained.streams);
    });
    object.close();
    out.push(b'\n');
}

/// Appends the object of a stream's anomaly.
fn push_event(object: &mut Object<'_>, kind: AnomalyKind) {
    object.object(member!("anomaly"), |object| {
        object.plain(member!("type"), "stream");
        match suricatas(kind) {
            Some(event) => object.plain(member!("event"), event),
            None => object.plain(member!("event"), &format!("tidewire.{}", kind.name())),
        }
    });
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
