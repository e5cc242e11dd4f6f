//! The log `weird`.

use tidewire::{Anomaly, AnomalyKind};
use tidewire_protocols::Dns;

use tidewire_types::ip_protocol;

use crate::{
    explained::Explained,
    model::{Exchange, FlowRecord},
    zeek::{
        cell::{Column, Line, col},
        dns::lower_bytes,
    },
};

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("ts", "time"), ("uid", "string"), ("id.orig_h", "addr"), ("id.orig_p", "port"), ("id.resp_h", "addr"), ("id.resp_p", "port"),
    ("name", "string"), ("addl", "string"), ("notice", "bool"), ("peer", "string"), ("source", "string"),
];

pub(super) fn push(line: &mut Line<'_>, flow: &FlowRecord<'_>, anomaly: &Anomaly) {
    line.identity(flow.last.as_nanos(), flow.id, flow.opened.as_nanos(), &flow.key);
    push_name(line, anomaly.kind, flow.key.proto);
    line.at(col!("addl")).text(&format!("packet {}", anomaly.packet));
    push_end(line, source(flow.key.proto));
}

/// The line of streams whose anomaly the point of the capture explains: of no connection, with their number.
pub(super) fn push_explained(line: &mut Line<'_>, explained: &Explained) {
    line.at(col!("ts")).seconds(explained.last.as_nanos());
    push_name(line, explained.kind, explained.proto);
    line.at(col!("addl")).text(&format!("{} connections: {}", explained.streams, explained.explanation.name()));
    push_end(line, source(explained.proto));
}

fn push_name(line: &mut Line<'_>, kind: AnomalyKind, proto: u8) {
    match zeeks(kind, proto) {
        Some(name) => line.at(col!("name")).text(name),
        None => line.at(col!("name")).text(&format!("tidewire_{}", kind.name())),
    }
}

fn push_end(line: &mut Line<'_>, source: &str) {
    line.at(col!("notice")).truth(false);
    line.at(col!("peer")).text("tidewire");
    line.at(col!("source")).text(source);
}

/// The analyzer that Zeek names as the source.
fn source(proto: u8) -> &'static str {
    match proto {
        ip_protocol::TCP => "TCP",
        ip_protocol::UDP => "UDP",
        ip_protocol::ICMP | ip_protocol::ICMP6 => "ICMP",
        _ => "IP",
    }
}

/// The line of an answer of DNS that contradicts an earlier one.
pub(super) fn push_conflict(line: &mut Line<'_>, exchange: &Exchange<'_>, dns: &Dns) {
    line.identity(
        exchange.transaction.end.as_nanos(),
        exchange.stream,
        exchange.stream_start.as_nanos(),
        &exchange.key,
    );
    line.at(col!("name")).text("tidewire_dns_conflicting_answers");
    line.at(col!("addl")).bytes_if(dns.query.as_deref().map(lower_bytes).as_deref());
    push_end(line, "DNS");
}

/// The name of an anomaly that Zeek reports, too.
fn zeeks(kind: AnomalyKind, proto: u8) -> Option<&'static str> {
    Some(match kind {
        AnomalyKind::SimultaneousOpen => "simultaneous_open",
        AnomalyKind::AfterReset => "data_after_reset",
        AnomalyKind::BlindSyn => "SYN_inside_connection",
        AnomalyKind::ChangedIsn => "SYN_seq_jump",
        AnomalyKind::SynData => "SYN_with_data",
        AnomalyKind::BadChecksum => match proto {
            ip_protocol::TCP => "bad_TCP_checksum",
            ip_protocol::UDP => "bad_UDP_checksum",
            ip_protocol::ICMP | ip_protocol::ICMP6 => "bad_ICMP_checksum",
            _ => return None,
        },
        _ => return None,
    })
}
