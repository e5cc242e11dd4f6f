//! The log `weird`.

use tidewire::{Anomaly, AnomalyKind};
use tidewire_protocols::Dns;

use crate::{
    model::{Exchange, FlowRecord},
    zeek::{
        cell::{Column, Line},
        dns::lower_bytes,
    },
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("name", "string"), ("addl", "string"), ("notice", "bool"), ("peer", "string"), ("source", "string"),
];

pub(super) fn push(line: &mut Line<'_>, flow: &FlowRecord<'_>, anomaly: &Anomaly) {
    line.identity(flow.end_ns, flow.id, flow.opened_ns, &flow.key);
    match zeeks(anomaly.kind) {
        Some(name) => line.text(name),
        None => line.text(&format!("tidewire_{}", anomaly.kind.name())),
    }
    line.text(&format!("packet {}", anomaly.packet));
    line.truth(false);
    line.text("tidewire");
    line.text("TCP");
}

/// The line of an answer of DNS that contradicts an earlier one.
pub(super) fn push_conflict(line: &mut Line<'_>, exchange: &Exchange<'_>, dns: &Dns) {
    line.identity(exchange.transaction.end_ns, exchange.stream, exchange.stream_start_ns, &exchange.key);
    line.text("tidewire_dns_conflicting_answers");
    line.bytes_if(dns.query.as_deref().map(lower_bytes).as_deref());
    line.truth(false);
    line.text("tidewire");
    line.text("DNS");
}

/// The name of an anomaly that Zeek reports, too.
fn zeeks(kind: AnomalyKind) -> Option<&'static str> {
    Some(match kind {
        AnomalyKind::SimultaneousOpen => "simultaneous_open",
        AnomalyKind::AfterReset => "data_after_reset",
        AnomalyKind::BlindSyn => "SYN_inside_connection",
        AnomalyKind::ChangedIsn => "SYN_seq_jump",
        AnomalyKind::SynData => "SYN_with_data",
        AnomalyKind::BadChecksum => "bad_TCP_checksum",
        _ => return None,
    })
}
