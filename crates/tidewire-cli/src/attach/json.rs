//! Records as JSON objects (docs/output.md), by the names of the other commands.

use tidewire::{Direction, FlowKey, Timestamp, Tunnel, TunnelKind, community_id};
use tidewire_queue::{
    Missing, QueueEnd, Record,
    records::{
        Close, DirectionStats, Event, Gap, Key, OFFSET_NONE, Open, PacketHeader, RecordType, anomaly_name,
        end_reason_name, flags, gap_cause_name, tcp_state_name,
    },
};

use crate::{
    output::{Object, hex, push_number, push_string},
    record::{DIRECTIONS, proto_name, tunnel_name, vlans},
};

/// Appends a line for a record.
pub fn push_record(out: &mut Vec<u8>, record: &Record, payload: &[u8]) {
    let event = Event::new(record, payload);
    let mut object = Object::open(out);
    object.plain("kind", event.as_ref().map_or("unknown", |_| kind_name(record.kind)));
    object.number("sequence", record.sequence);
    object.number("stream", record.stream);
    object.number("timestamp_ns", record.time_ns);
    match event {
        Some(Event::Open { is_repeated, open }) => push_open(&mut object, is_repeated, &open),
        Some(Event::Data { offset, bytes, repeated_bytes, is_datagram, .. }) => {
            let fresh = bytes.get(repeated_bytes..).unwrap_or_default();
            object.plain("direction", record.direction().name());
            object.number("offset", offset.saturating_add(repeated_bytes as u64));
            object.number("bytes", fresh.len() as u64);
            if is_datagram {
                object.truth("datagram", true);
            }
            push_data(&mut object, fresh);
        }
        Some(Event::Gap(gap)) => push_gap(&mut object, &gap, record.has(flags::SHED_BY_QUEUE)),
        Some(Event::Conflict(conflict)) => {
            object.plain("direction", conflict.direction.name());
            object.number("offset", conflict.offset);
            object.number("bytes", conflict.bytes);
        }
        Some(Event::Close(close)) => push_close(&mut object, &close),
        Some(Event::Packet { direction, header, bytes }) => {
            if record.stream != 0 {
                object.plain("direction", direction.name());
            }
            push_packet(&mut object, &header, bytes);
        }
        _ => object.number("number", u64::from(record.kind)),
    }
    object.close();
    out.push(b'\n');
}

/// Appends a line for a record whose payload was overwritten.
pub fn push_missed(out: &mut Vec<u8>, record: &Record) {
    let mut object = Object::open(out);
    object.plain("kind", "missed");
    object.number("sequence", record.sequence);
    object.number("stream", record.stream);
    object.number("timestamp_ns", record.time_ns);
    object.plain("of", kind_name(record.kind));
    object.plain("direction", record.direction().name());
    object.number("offset", record.offset);
    object.number("bytes", u64::from(record.bytes));
    object.close();
    out.push(b'\n');
}

/// Appends a line for records that were overwritten.
pub fn push_lost(out: &mut Vec<u8>, first: u64, records: u64, bytes: u64) {
    let mut object = Object::open(out);
    object.plain("kind", "lost");
    object.number("sequence", first);
    object.number("records", records);
    object.number("bytes", bytes);
    object.close();
    out.push(b'\n');
}

/// Appends a line for bytes of a stream that were published and not read.
pub fn push_missing(out: &mut Vec<u8>, missing: &Missing) {
    let mut object = Object::open(out);
    object.plain("kind", "missing");
    object.number("stream", missing.stream);
    object.plain("direction", missing.direction.name());
    object.number("offset", missing.offset);
    object.number("bytes", missing.bytes);
    object.close();
    out.push(b'\n');
}

/// Appends a line for the beginning of a queue.
pub fn push_attached(out: &mut Vec<u8>, queue: &str, epoch: u64, sequence: u64) {
    let mut object = Object::open(out);
    object.plain("kind", "attached");
    object.text("queue", queue);
    object.plain("epoch", &format!("{epoch:016x}"));
    object.number("sequence", sequence);
    object.close();
    out.push(b'\n');
}

/// Appends a line for the end of a queue.
pub fn push_ended(out: &mut Vec<u8>, why: QueueEnd) {
    let mut object = Object::open(out);
    object.plain("kind", "ended");
    object.plain("reason", ended_name(why));
    object.close();
    out.push(b'\n');
}

/// The name of an end.
pub fn ended_name(why: QueueEnd) -> &'static str {
    match why {
        QueueEnd::Finished => "finished",
        QueueEnd::Aborted => "aborted",
        QueueEnd::Gone => "gone",
        _ => "other",
    }
}

fn kind_name(number: u16) -> &'static str {
    match RecordType::from_number(number) {
        Some(RecordType::Open) => "open",
        Some(RecordType::Data) => "data",
        Some(RecordType::Gap) => "gap",
        Some(RecordType::Conflict) => "conflict",
        Some(RecordType::Close) => "close",
        Some(RecordType::Packet) => "packet",
        _ => "unknown",
    }
}

/// The key as the engine has it.
fn flow_key(key: &Key) -> FlowKey {
    let end = |end: tidewire_queue::records::Endpoint| tidewire::Endpoint { address: end.address, port: end.port };
    let kind = TunnelKind::ALL.get(usize::from(key.tunnel_kind)).copied().unwrap_or(TunnelKind::None);
    let mut flow = FlowKey::new(end(key.client), end(key.server), key.protocol);
    flow.vlans = tidewire::Vlans::from_raw(key.vlan);
    flow.tunnel = Tunnel { kind, id: key.tunnel_id };
    flow.icmp = key.icmp;
    flow
}

/// `client` and `server`.
fn push_endpoints(object: &mut Object<'_>, key: &FlowKey) {
    for (name, endpoint) in [("client", key.client), ("server", key.server)] {
        object.object(name, |object| {
            object.address("addr", endpoint.address);
            object.number("port", u64::from(endpoint.port));
        });
    }
}

/// `tunnel`: null, or its kind and id.
fn push_tunnel(object: &mut Object<'_>, key: &FlowKey) {
    match tunnel_name(key.tunnel) {
        None => object.null("tunnel"),
        Some(kind) => object.object("tunnel", |object| {
            object.plain("kind", kind);
            object.number("id", u64::from(key.tunnel.id));
        }),
    }
}

fn push_key(object: &mut Object<'_>, key: &Key) {
    let flow = flow_key(key);
    object.plain("proto", &proto_name(flow.proto));
    push_endpoints(object, &flow);
    object.truth("client_known", key.is_client_known);
    if tidewire_types::ip_protocol::is_icmp(flow.proto) {
        object.number("icmp_type", u64::from(flow.icmp[0]));
        object.number("icmp_code", u64::from(flow.icmp[1]));
    }
    object.array("vlan", vlans(&flow), push_number);
    push_tunnel(object, &flow);
}

fn push_open(object: &mut Object<'_>, is_repeated: bool, open: &Open) {
    object.truth("repeated", is_repeated);
    object.number("ordinal", open.ordinal);
    push_key(object, &open.key);
    object.number("start_ns", open.start_ns);
    object.plain("community_id", &community_id(&flow_key(&open.key), 0));
    object.number("priority", u64::from(open.priority));
    push_offsets(object, "next_offset", open.next_offset);
}

/// `{"c2s": …, "s2c": …}`
fn push_offsets(object: &mut Object<'_>, name: &str, offsets: [u64; 2]) {
    object.object(name, |object| {
        for (direction, offset) in DIRECTIONS.into_iter().zip(offsets) {
            object.number(direction.name(), offset);
        }
    });
}

/// `text` if all of it is, else `data` in hexadecimal.
fn push_data(object: &mut Object<'_>, bytes: &[u8]) {
    let is_text = |text: &&str| !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\r' | '\n'));
    match std::str::from_utf8(bytes).ok().filter(is_text) {
        Some(text) => push_string(object.key("text"), text),
        None => object.plain("data", &hex(bytes)),
    }
}

fn push_gap(object: &mut Object<'_>, gap: &Gap, is_of_queue: bool) {
    object.plain("direction", gap.direction.name());
    object.number("offset", gap.offset);
    object.number("bytes", gap.bytes);
    object.plain("cause", gap_cause_name(gap.cause).unwrap_or("other"));
    if is_of_queue {
        object.truth("by_queue", true);
    }
}

fn push_anomalies(object: &mut Object<'_>, anomalies: u64) {
    let set = (0..64_u8).filter(|bit| anomalies >> bit & 1 == 1).filter_map(anomaly_name);
    object.array("anomalies", set, push_string);
}

fn push_close(object: &mut Object<'_>, close: &Close) {
    object.number("ordinal", close.ordinal);
    object.plain("state", tcp_state_name(close.state).unwrap_or("other"));
    object.plain("end_reason", end_reason_name(close.reason).unwrap_or("other"));
    push_anomalies(object, close.anomalies);
    push_offsets(object, "end_offset", close.end_offset);
    for (direction, figures) in DIRECTIONS.into_iter().zip(&close.figures) {
        object.object(Direction::name(direction), |object| push_figures(object, figures));
    }
}

/// Figures as `streams` and `flows` name them.
fn push_figures(object: &mut Object<'_>, figures: &DirectionStats) {
    for (name, value) in [
        ("packets", figures.packets),
        ("frames", figures.frames),
        ("frame_bytes", figures.frame_bytes),
        ("bytes", figures.ip_bytes),
        ("payload_bytes_on_wire", figures.payload_wire_bytes),
        ("reassembled_bytes", figures.reassembled_bytes),
        ("delivered_bytes", figures.delivered_bytes),
        ("retransmitted_bytes", figures.retransmitted_bytes),
        ("out_of_order_packets", figures.out_of_order_packets),
        ("missing_bytes", figures.missing_bytes),
        ("ignored_bytes", figures.ignored_bytes),
        ("cutoff_bytes", figures.cutoff_bytes),
        ("shed_packets", figures.shed_packets),
        ("shed_bytes", figures.shed_bytes),
        ("chunks", figures.chunks),
        ("start_ns", figures.start.map_or(0, Timestamp::as_nanos)),
        ("end_ns", figures.end.map_or(0, Timestamp::as_nanos)),
        ("tcp_flags", u64::from(figures.tcp_flags)),
    ] {
        object.number(name, value);
    }
}

fn push_packet(object: &mut Object<'_>, header: &PacketHeader, bytes: &[u8]) {
    object.number("packet", header.number);
    object.number("wire_bytes", u64::from(header.wire_bytes));
    object.number("link_type", u64::from(header.link_type));
    let offsets =
        [("network_at", header.network_at), ("transport_at", header.transport_at), ("payload_at", header.payload_at)];
    for (name, offset) in offsets {
        if offset == OFFSET_NONE { object.null(name) } else { object.number(name, u64::from(offset)) }
    }
    object.number("payload_bytes", u64::from(header.payload_bytes));
    if header.network_at != OFFSET_NONE {
        push_key(object, &header.key);
    }
    push_anomalies(object, header.anomalies);
    object.number("bytes", bytes.len() as u64);
    object.plain("data", &hex(bytes));
}
