//! The table `flows`: a row for each stream that ended.

use tidewire::{Anomaly, Conflict, Direction, Gap, TunnelKind, community_id};

use crate::{
    model::{FlowRecord, proto},
    table::{
        Cell, Column,
        Kind::{Int, List, Long, Object, Text, Time, Truth},
        Table, always, ends, maybe, protocol,
    },
};

const GAP: &[Column] =
    &[always("direction", Text), always("offset", Long), always("bytes", Long), always("cause", Text)];
const CONFLICT: &[Column] = &[always("direction", Text), always("offset", Long), always("bytes", Long)];
const ANOMALY: &[Column] = &[always("kind", Text), always("packet", Long)];

/// The table.
#[rustfmt::skip]
pub const FLOWS: Table = Table { name: "flows", columns: &[
    always("id", Long), always("proto", Text), always("client_addr", Text), always("client_port", Int), always("server_addr", Text),
    always("server_port", Int), always("client_known", Truth), maybe("icmp_type", Int), maybe("icmp_code", Int), maybe("vlan", List(&Int)),
    maybe("tunnel_kind", Text), maybe("tunnel_id", Long), always("start", Time), always("end", Time), maybe("start_ns", Long),
    maybe("end_ns", Long), always("state", Text), always("end_reason", Text), always("community_id", Text), maybe("service", Text),
    maybe("name", Text), always("transactions", Long), always("packets_c2s", Long), always("packets_s2c", Long), always("bytes_c2s", Long),
    always("bytes_s2c", Long), always("frames_c2s", Long), always("frames_s2c", Long), always("frame_bytes_c2s", Long),
    always("frame_bytes_s2c", Long), always("payload_bytes_c2s", Long), always("payload_bytes_s2c", Long), always("tcp_flags_c2s", Int),
    always("tcp_flags_s2c", Int), always("reassembled_bytes_c2s", Long), always("reassembled_bytes_s2c", Long),
    always("retransmitted_bytes_c2s", Long), always("retransmitted_bytes_s2c", Long), always("out_of_order_packets_c2s", Long),
    always("out_of_order_packets_s2c", Long), always("missing_bytes_c2s", Long), always("missing_bytes_s2c", Long),
    maybe("gaps", List(&Object(GAP))), maybe("overlap_conflicts", List(&Object(CONFLICT))), maybe("anomalies", List(&Object(ANOMALY))),
    maybe("cut_off_packets_c2s", Long), maybe("cut_off_packets_s2c", Long), maybe("cut_off_bytes_c2s", Long), maybe("cut_off_bytes_s2c", Long),
    maybe("client_by", Text), maybe("time_back_ns", Long), maybe("time_outliers", Long),
] };

/// The cells of a stream, in the order of the columns.
pub(super) fn cells(flow: &FlowRecord<'_>, each: &mut impl FnMut(Cell<'_>)) {
    let key = &flow.key;
    each(Cell::Number(flow.id));
    protocol(key.proto, each);
    ends(key, each);
    each(Cell::Truth(flow.client_known));
    let is_icmp = matches!(key.proto, proto::ICMP | proto::ICMP6);
    key.icmp.into_iter().for_each(|part| each(Cell::number(is_icmp.then_some(part.into()))));
    let vlans = key.vlan.into_iter().filter(|&id| id != 0xffff).map(|id| Cell::Number(id.into()));
    each(list(vlans));
    let is_inside = key.tunnel.kind != TunnelKind::None;
    each(Cell::text(is_inside.then(|| key.tunnel.kind.name())));
    each(Cell::number(is_inside.then_some(key.tunnel.id.into())));
    // As times, and as the nanoseconds that they are.
    for _ in 0..2 {
        each(Cell::Number(flow.start_ns));
        each(Cell::Number(flow.end_ns));
    }
    each(Cell::Text(flow.state.name()));
    each(Cell::Text(flow.end.name()));
    each(Cell::Text(&community_id(key, 0)));
    each(Cell::text(flow.app.map(|app| app.service.name())));
    each(Cell::text(flow.app.and_then(|app| app.first.as_ref()).and_then(|first| first.name())));
    each(Cell::Number(flow.app.map_or(0, |app| app.transactions.into())));
    let [a, b] = &flow.stats;
    let pairs = [
        [a.packets, b.packets],
        [a.ip_bytes, b.ip_bytes],
        [a.frames, b.frames],
        [a.frame_bytes, b.frame_bytes],
        [a.payload_wire_bytes, b.payload_wire_bytes],
        [a.tcp_flags.into(), b.tcp_flags.into()],
        [a.reassembled_bytes, b.reassembled_bytes],
        [a.retransmitted_bytes, b.retransmitted_bytes],
        [a.out_of_order_packets, b.out_of_order_packets],
        [a.missing_bytes, b.missing_bytes],
    ];
    pairs.into_iter().flatten().for_each(|figure| each(Cell::Number(figure)));
    each(list(flow.gaps.iter().map(gap)));
    let conflicts = [Direction::ClientToServer, Direction::ServerToClient].into_iter().zip(flow.conflicts);
    each(list(conflicts.flat_map(|(direction, list)| list.iter().map(move |one| conflict(direction, one)))));
    each(list(flow.anomalies.iter().map(anomaly)));
    let cut_off = flow.cut_off.as_ref();
    (0..2).for_each(|side: usize| each(Cell::number(cut_off.map(|both| both[side].packets))));
    (0..2).for_each(|side: usize| each(Cell::number(cut_off.map(|both| both[side].bytes))));
    each(Cell::text(flow.client_by.is_evidence().then(|| flow.client_by.name())));
    each(Cell::number((flow.time_back_ns > 0).then_some(flow.time_back_ns)));
    each(Cell::number((flow.time_outliers > 0).then_some(flow.time_outliers.into())));
}

/// A list, or nothing if it is empty.
fn list<'a>(items: impl Iterator<Item = Cell<'a>>) -> Cell<'a> {
    let mut items = items.peekable();
    match items.peek() {
        None => Cell::Null,
        Some(_) => Cell::List(items.collect()),
    }
}

fn gap(gap: &Gap) -> Cell<'static> {
    let (direction, cause) = (Cell::Text(gap.direction.name()), Cell::Text(gap.cause.name()));
    Cell::Object(vec![direction, Cell::Number(gap.offset), Cell::Number(gap.bytes), cause])
}

fn conflict(direction: Direction, conflict: &Conflict) -> Cell<'static> {
    Cell::Object(vec![Cell::Text(direction.name()), Cell::Number(conflict.offset), Cell::Number(conflict.bytes)])
}

fn anomaly(anomaly: &Anomaly) -> Cell<'static> {
    Cell::Object(vec![Cell::Text(anomaly.kind.name()), Cell::Number(anomaly.packet)])
}
