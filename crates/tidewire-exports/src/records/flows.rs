//! The fields of flows and streams.

use tidewire::{Anomaly, Conflict, Direction, Gap, Timestamp, community_id};
use tidewire_types::{hex, ip_protocol, saturating_nanos};

use crate::{
    app::push_app,
    json::Object,
    model::FlowRecord,
    records::{
        Absent, Csv, Description, Eve, Field, Form, Json, RecordKind, count, iana, joined,
        key::{list, tunnel_id, tunnel_kind, vlans},
        kind, own, writers,
    },
    table::{
        Cell, Column,
        Kind::{Int, List, Long, Object as Struct, Text, Time, Truth},
        Unit, always, bytes, protocol_cell,
    },
};

kind! {
    /// Records of flows and streams.
    FlowKind(FlowRecord<'r>): FLOW
}

type F = Field<FlowKind>;

const GAP: &[Column] = &[always("direction", Text), always("offset", Long), bytes("bytes"), always("cause", Text)];
const CONFLICT: &[Column] = &[always("direction", Text), always("offset", Long), bytes("bytes")];
const ANOMALY: &[Column] = &[always("kind", Text), always("packet", Long)];
const GAP_OF_SIDE: &[Column] = &[always("offset", Long), bytes("bytes"), always("cause", Text)];
const CONFLICT_OF_SIDE: &[Column] = &[always("offset", Long), bytes("bytes")];

/// Flows and their table.
const FLOWS: Form = Form::TABLE.and(Form::JSON).and(Form::CSV);
/// Streams.
const STREAMS: Form = Form::STREAM_JSON.and(Form::STREAM_CSV);
const BOTH_JSON: Form = Form::JSON.and(Form::STREAM_JSON);
const BOTH_CSV: Form = Form::CSV.and(Form::STREAM_CSV);
const TABLE: Form = Form::TABLE;

/// A field of each direction, as two: `pair!("packets", Long, |flow, side| cell, "meaning", .modifier())`.
macro_rules! pair {
    ($name:literal, $kind:expr, |$flow:ident, $side:ident| $cell:expr, $meaning:expr $(, $($modifiers:tt)*)?) => {
        [
            F::new(concat!($name, "_c2s"), $kind, |$flow| { let $side = 0_usize; $cell }, $meaning).side(0, $name)
                $($($modifiers)*)?,
            F::new(concat!($name, "_s2c"), $kind, |$flow| { let $side = 1_usize; $cell }, $meaning).side(1, $name)
                $($($modifiers)*)?,
        ]
    };
}

/// A number of each direction.
macro_rules! numbers {
    ($name:literal, $kind:expr, |$flow:ident, $side:ident| $number:expr, $meaning:expr $(, $($modifiers:tt)*)?) => {
        [
            F::number(concat!($name, "_c2s"), $kind, |$flow| { let $side = 0_usize; $number }, $meaning).side(0, $name)
                $($($modifiers)*)?,
            F::number(concat!($name, "_s2c"), $kind, |$flow| { let $side = 1_usize; $number }, $meaning).side(1, $name)
                $($($modifiers)*)?,
        ]
    };
}

/// A counter of each direction.
macro_rules! counter {
    ($name:literal, $unit:ident, $counter:ident, $meaning:expr $(, $($modifiers:tt)*)?) => {
        numbers!($name, Long, |flow, side| flow.stats[side].$counter, $meaning, .unit(Unit::$unit) $($($modifiers)*)?)
    };
}

const ENDS: &str = "`{\"addr\": text, \"port\": number}`; port 0 where the protocol has none. The client sent the SYN or got the SYN-ACK; else it is inferred";
const ICMP: &str = "of the first packet; only for `icmp` and `icmp6`";
const TUNNEL: &str = "`{\"kind\": text, \"id\": number}` of the first packet's innermost tunnel: `gre`, `ip_in_ip`, `vxlan`, `geneve`, `gtp_u`, `erspan`, `teredo`, `vxlan_gpe`, `l2tp`, `capwap`, `ayiya`, `lisp`, `mpls`, `ether_ip`, `tzsp`; id 0 where the kind has none";
const TIMES: &str = "the least and the greatest time of a packet";
const SIDE_TIMES: &str = "time of this direction's first and last packet; 0 where there is none";
const PROTOCOL: &str =
    "the protocol that was recognised, the server name or host in it, and how many transactions there were";
const CUT_OFF: &str =
    "only of archives: packets that were not written because of the recorder's cutoff, and their bytes on the wire";
const SHED: &str = "packets shed by the watermark rule, and their payload";
const CONFLICTS: &str = "array of `{\"offset\", \"bytes\"}`: ranges of which two versions arrived";

/// Whose it is, and when: the members that both kinds of records begin with.
#[rustfmt::skip]
const IDENTITY: &[F] = &[
    F::number("id", Long, |flow| flow.id,
        "the packet number of the stream's first packet (of a rebuilt datagram: of the fragment that completed it; of a later packet of an 802.11 aggregate: plus its place in it times 2^44)")
        .eve(Eve::Composed, "tidewire.id").ipfix(&[iana(148, "flowId")]),
    F::new("proto", Text, |flow| protocol_cell(flow.key.proto),
        "`icmp`, `igmp`, `tcp`, `udp`, `gre`, `esp`, `ah`, `icmp6`, `ospf`, `pim`, `vrrp`, `sctp`, `udplite`, or the IP protocol's number as text")
        .word().eve(Eve::Composed, "proto").zeek("proto").ipfix(&[iana(4, "protocolIdentifier")]),
    F::new("client_addr", Text, |flow| Cell::Address(flow.key.client.address), ENDS).unit(Unit::Address).within("client", "addr")
        .eve(Eve::Composed, "src_ip").zeek("id.orig_h").ipfix(&[iana(8, "sourceIPv4Address"), iana(27, "sourceIPv6Address")]),
    F::number("client_port", Int, |flow| flow.key.client.port.into(), ENDS).unit(Unit::Port).within("client", "port")
        .eve(Eve::Composed, "src_port").zeek("id.orig_p").ipfix(&[iana(7, "sourceTransportPort")]),
    F::new("server_addr", Text, |flow| Cell::Address(flow.key.server.address), ENDS).unit(Unit::Address).within("server", "addr")
        .eve(Eve::Composed, "dest_ip").zeek("id.resp_h").ipfix(&[iana(12, "destinationIPv4Address"), iana(28, "destinationIPv6Address")]),
    F::number("server_port", Int, |flow| flow.key.server.port.into(), ENDS).unit(Unit::Port).within("server", "port")
        .eve(Eve::Composed, "dest_port").zeek("id.resp_p").ipfix(&[iana(11, "destinationTransportPort")]),
    F::new("client_known", Truth, |flow| Cell::Truth(flow.client_known),
        "whether a SYN or SYN-ACK identified the client. Otherwise it is inferred: see [Who is the client](#who-is-the-client)")
        .eve(Eve::Own, "client_known").ipfix(&[iana(239, "biflowDirection")]),
    F::new("client_by", Text, |flow| Cell::text(flow.client_by.is_evidence().then(|| flow.client_by.name())),
        "only where the client was inferred from evidence: `message` (what the first packet says) or `ports`. Absent: the handshake showed it (`client_known`), or it is the sender of the first packet")
        .optional().word().only(TABLE.and(BOTH_JSON)).late(TABLE, 1).eve(Eve::Own, "client_by"),
    F::new("icmp_type", Int, |flow| icmp(flow, 0), ICMP).optional()
        .eve(Eve::Composed, "icmp_type").ipfix(&[iana(32, "icmpTypeCodeIPv4"), iana(139, "icmpTypeCodeIPv6")]),
    F::new("icmp_code", Int, |flow| icmp(flow, 1), ICMP).optional().eve(Eve::Composed, "icmp_code"),
    F::new("vlan", List(&Int), |flow| vlans(&flow.key),
        "VLAN ids of the first packet from the outside in, at most two, without priority tags (id 0); empty outside of VLANs").absent(Absent::EmptyArray)
        .eve(Eve::Composed, "vlan").ipfix(&[iana(58, "vlanId")]),
    F::new("tunnel_kind", Text, |flow| tunnel_kind(&flow.key), TUNNEL)
        .absent(Absent::Null).word().within("tunnel", "kind")
        .eve(Eve::Composed, "tidewire.tunnel.kind").ipfix(&[own(4, "tunnelKind")]),
    F::new("tunnel_id", Long, |flow| tunnel_id(&flow.key), TUNNEL)
        .absent(Absent::Null).within("tunnel", "id").eve(Eve::Composed, "tidewire.tunnel.id").ipfix(&[own(5, "tunnelId")]),
    F::number("start", Time, |flow| flow.start.as_nanos(), TIMES).only(TABLE)
        .eve(Eve::Composed, "flow.start").zeek("ts").ipfix(&[iana(152, "flowStartMilliseconds"), iana(22, "flowStartSysUpTime")]),
    F::number("end", Time, |flow| flow.last.as_nanos(), TIMES).only(TABLE)
        .eve(Eve::Composed, "flow.end").ipfix(&[iana(153, "flowEndMilliseconds"), iana(21, "flowEndSysUpTime")]),
    // As times, and as the nanoseconds that they are.
    F::number("start_ns", Long, |flow| flow.start.as_nanos(), TIMES).optional().unit(Unit::Time),
    F::number("end_ns", Long, |flow| flow.last.as_nanos(), TIMES).optional().unit(Unit::Time),
    F::new("time_back_ns", Long, |flow| Cell::number(flow.time_back.map(saturating_nanos)),
        "only where time went back within the stream, by a millisecond or more: the farthest that a packet's time lies before that of an earlier packet")
        .optional().unit(Unit::Nanoseconds).only(TABLE.and(BOTH_JSON)).late(TABLE, 1).eve(Eve::Own, "time_back_ns"),
    F::new("time_outliers", Long, |flow| Cell::number((flow.time_outliers > 0).then_some(flow.time_outliers.into())),
        "only where there are any: packets more than an hour from the clock of those around them. They do not count in the stream's times (except for the first of all, where nothing shows it), and move no timer")
        .optional().unit(Unit::Count).only(TABLE.and(BOTH_JSON)).late(TABLE, 1).eve(Eve::Own, "time_outliers"),
    F::new("state", Text, |flow| Cell::Text(flow.state.name()), "see below").word()
        .eve(Eve::Own, "state").zeek("conn_state").ipfix(&[own(2, "streamState")]),
    F::new("end_reason", Text, |flow| Cell::Text(flow.end.name()), "see below").word()
        .eve(Eve::Own, "end_reason").ipfix(&[own(3, "streamEndReason"), iana(136, "flowEndReason")]),
    F::new("community_id", Text, |flow| Cell::Owned(community_id(&flow.key, 0)), "Community ID version 1, seed 0").word()
        .eve(Eve::Composed, "community_id").zeek("community_id").ipfix(&[own(1, "communityId")]),
    F::new("service", Text, |flow| Cell::text(flow.app.map(|app| app.service.name())), PROTOCOL)
        .optional().word().only(TABLE.and(BOTH_CSV)).late(BOTH_CSV, 2)
        .eve(Eve::Composed, "app_proto").zeek("service").ipfix(&[iana(96, "applicationName")]),
    F::new("name", Text, |flow| Cell::text(flow.app.and_then(|app| app.first.as_ref()).and_then(|first| first.name())), PROTOCOL)
        .optional().only(TABLE.and(BOTH_CSV)).late(BOTH_CSV, 2).eve(Eve::Own, "name").ipfix(&[own(10, "streamName")]),
    F::number("transactions", Long, |flow| flow.app.map_or(0, |app| app.transactions.into()), PROTOCOL).unit(Unit::Count).only(TABLE)
        .eve(Eve::Composed, "flow.tx_cnt").ipfix(&[own(6, "transactionCount")]),
    F::number("priority", Int, |flow| flow.priority.into(), "0 is the lowest").only(Form::STREAM_JSON),
];

/// Lists, and what JSON ends with.
#[rustfmt::skip]
const LISTS: &[F] = &[
    F::new("gaps", List(&Struct(GAP)), |flow| list(flow.gaps.iter().map(gap)), "ranges that are missing").optional().only(TABLE).eve(Eve::Composed, "tidewire.gaps"),
    F::new("overlap_conflicts", List(&Struct(CONFLICT)), conflicts, CONFLICTS).optional().only(TABLE)
        .eve(Eve::Composed, "tidewire.conflicts").ipfix(&[own(7, "overlapConflictCount")]),
    F::new("anomalies", List(&Struct(ANOMALY)), |flow| list(flow.anomalies.iter().map(anomaly)),
        "array of `{\"kind\", \"packet\"}` in the order of packets").absent(Absent::EmptyArray).only(TABLE.and(STREAMS)).late(STREAMS, 1)
        .eve(Eve::Composed, "tidewire.anomalies").ipfix(&[own(8, "anomalyCount"), own(9, "anomalyNames")]),
];

/// The last members of JSON.
const LAST: &[F] = &[
    F::raw("mptcp", BOTH_JSON, push_mptcp, "of subflows of Multipath TCP: see below").late(BOTH_JSON, 1),
    F::raw(
        "app",
        BOTH_JSON,
        push_app_of,
        "the protocol and the server name or host in it ([protocols.md](protocols.md#app))",
    )
    .late(BOTH_JSON, 1),
];

/// Parts of the description, in the order of JSON.
#[rustfmt::skip]
const PARTS: &[&[F]] = &[
    IDENTITY,
    &counter!("packets", Count, packets, "transport packets, ignored ones included; a datagram rebuilt from fragments is one",
        .eve_sides(Eve::Flow, ["pkts_toserver", "pkts_toclient"]).zeek_sides(["orig_pkts", "resp_pkts"]).ipfix(&[iana(2, "packetDeltaCount")])),
    &counter!("bytes", Bytes, ip_bytes, "from the network layer up, as sent, padding left out",
        .only(FLOWS).eve_own("ip_bytes").zeek_sides(["orig_ip_bytes", "resp_ip_bytes"]).ipfix(&[iana(1, "octetDeltaCount")])),
    &counter!("frames", Count, frames, "as `packets`, but each fragment counts", .only(FLOWS)),
    &counter!("frame_bytes", Bytes, frame_bytes, "whole frames as they were on the wire",
        .only(FLOWS).eve_sides(Eve::Flow, ["bytes_toserver", "bytes_toclient"])),
    &counter!("payload_bytes", Bytes, payload_wire_bytes,
        "transport payload as the headers state it, also of packets of which a part was captured; retransmissions included",
        .called_in_streams("payload_bytes_on_wire").eve_own("payload_bytes").zeek_sides(["orig_bytes", "resp_bytes"])
        .ipfix(&[own(20, "payloadOctetCount")])),
    &numbers!("tcp_flags", Int, |flow, side| flow.stats[side].tcp_flags.into(),
        "all flags seen, or-ed: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256 (RFC 9768), and the reserved 512, 1024 and 2048",
        .unit(Unit::Flags).only(FLOWS).eve_sides(Eve::Composed, ["tcp.tcp_flags_ts", "tcp.tcp_flags_tc"])
        .ipfix(&[iana(6, "tcpControlBits")])),
    &counter!("reassembled_bytes", Bytes, reassembled_bytes, "bytes in order, delivered or not (beyond a cutoff, in mode `track`)",
        .only(TABLE.and(STREAMS)).eve_own("reassembled_bytes")),
    &counter!("delivered_bytes", Bytes, delivered_bytes, "bytes delivered", .only(Form::STREAM_JSON)),
    &counter!("retransmitted_bytes", Bytes, retransmitted_bytes,
        "payload that had been sent before; live, not what the kernel kept back behind a cutoff",
        .eve_own("retransmitted_bytes").ipfix(&[own(21, "retransmittedOctetCount")])),
    &counter!("out_of_order_packets", Count, out_of_order_packets, "packets with payload that began beyond the next byte expected",
        .eve_own("out_of_order_packets").ipfix(&[own(22, "outOfOrderPacketCount")])),
    &counter!("missing_bytes", Bytes, missing_bytes,
        "payload that was never seen: the gaps that are not a cutoff; of a direction without packets, what the other one acknowledged",
        .eve_own("missing_bytes").zeek("missed_bytes").ipfix(&[own(23, "missingOctetCount")])),
    &counter!("ignored_bytes", Bytes, ignored_bytes,
        "payload that is neither in `reassembled_bytes` nor repeated nor in a gap: the receiver most likely did not accept it (data after a reset or a FIN, outside of the window, or never acknowledged); `anomalies` has the reason",
        .only(STREAMS)),
    &counter!("cutoff_bytes", Bytes, cutoff_bytes, "`reassembled_bytes - delivered_bytes`",
        .only(STREAMS).ipfix(&[own(24, "cutOffOctetCount")])),
    LISTS,
    &pair!("cut_off_packets", Long, |flow, side| Cell::number(flow.cut_off.as_ref().map(|both| both[side].packets)), CUT_OFF,
        .unit(Unit::Count).optional().late(Form::STREAM_CSV, 1).eve_own("cut_off_packets").eve_simple()),
    &pair!("cut_off_bytes", Long, |flow, side| Cell::number(flow.cut_off.as_ref().map(|both| both[side].bytes)), CUT_OFF,
        .unit(Unit::Bytes).optional().late(Form::STREAM_CSV, 1).eve_own("cut_off_bytes").eve_simple()),
    &counter!("shed_packets", Count, shed_packets, SHED, .only(Form::STREAM_JSON)),
    &counter!("shed_bytes", Bytes, shed_bytes, SHED, .only(STREAMS)),
    &counter!("chunks", Count, chunks, "calls of `data`", .only(Form::STREAM_JSON)),
    &numbers!("start_ns", Long, |flow, side| flow.stats[side].start.map_or(0, Timestamp::as_nanos), SIDE_TIMES,
        .unit(Unit::Time).only(Form::STREAM_JSON)),
    &numbers!("end_ns", Long, |flow, side| flow.stats[side].end.map_or(0, Timestamp::as_nanos), SIDE_TIMES,
        .unit(Unit::Time).only(Form::STREAM_JSON)),
    &pair!("gaps", List(&Struct(GAP_OF_SIDE)), |flow, side| gaps_of(flow, side),
        "array of `{\"offset\", \"bytes\", \"cause\"}` in the order of offsets", .absent(Absent::EmptyArray).only(STREAMS)),
    &pair!("overlap_conflicts", List(&Struct(CONFLICT_OF_SIDE)), |flow, side| conflicts_of(flow, side), CONFLICTS,
        .absent(Absent::EmptyArray).only(STREAMS)),
    &pair!("sha256", Text, |flow, side| flow.digests.map_or(Cell::Null, |both| Cell::Owned(hex::encode(&both[side]))),
        "only with `--digest sha256`: of the delivered bytes in order, gaps left out; hexadecimal", .optional().word().only(STREAMS)),
    LAST,
];

/// The fields of flows and streams.
pub(crate) static FLOW: [F; count(PARTS)] = joined(PARTS);

writers! {
    /// JSON of `flows`.
    flow_json: Json<FlowKind>(JSON);
    /// Comma-separated values of `flows`.
    flow_csv: Csv<FlowKind>(CSV);
    /// JSON of `streams`.
    stream_json: Json<FlowKind>(STREAM_JSON);
    /// Comma-separated values of `streams`.
    stream_csv: Csv<FlowKind>(STREAM_CSV);
    /// Values of `flows`.
    flow_values: Csv<FlowKind>(FLOWS);
    /// Values of `streams`.
    stream_values: Csv<FlowKind>(STREAMS);
    /// Values of both.
    flow_texts: Csv<FlowKind>(TEXTS);
}

fn icmp<'r>(flow: &FlowRecord<'_>, part: usize) -> Cell<'r> {
    let is_icmp = ip_protocol::is_icmp(flow.key.proto);
    Cell::number(is_icmp.then_some(flow.key.icmp[part].into()))
}

fn gap(gap: &Gap) -> Cell<'static> {
    let (direction, cause) = (Cell::Text(gap.direction.name()), Cell::Text(gap.cause.name()));
    Cell::Object(vec![direction, Cell::Number(gap.offset), Cell::Number(gap.bytes), cause])
}

fn gaps_of<'r>(flow: &FlowRecord<'r>, side: usize) -> Cell<'r> {
    if flow.gaps.is_empty() {
        return Cell::Null;
    }
    let of_side = flow.gaps.iter().filter(|gap| gap.direction as usize == side);
    list(
        of_side.map(|gap| {
            Cell::Object(vec![Cell::Number(gap.offset), Cell::Number(gap.bytes), Cell::Text(gap.cause.name())])
        }),
    )
}

fn conflicts<'r>(flow: &'r FlowRecord<'r>) -> Cell<'r> {
    let both = [Direction::ClientToServer, Direction::ServerToClient].into_iter().zip(flow.conflicts);
    let one = |direction: Direction, conflict: &Conflict| {
        Cell::Object(vec![Cell::Text(direction.name()), Cell::Number(conflict.offset), Cell::Number(conflict.bytes)])
    };
    list(both.flat_map(|(direction, list)| list.iter().map(move |conflict| one(direction, conflict))))
}

fn conflicts_of<'r>(flow: &FlowRecord<'r>, side: usize) -> Cell<'r> {
    if flow.conflicts[side].is_empty() {
        return Cell::Null;
    }
    let one = |conflict: &Conflict| Cell::Object(vec![Cell::Number(conflict.offset), Cell::Number(conflict.bytes)]);
    list(flow.conflicts[side].iter().map(one))
}

fn anomaly(anomaly: &Anomaly) -> Cell<'static> {
    Cell::Object(vec![Cell::Text(anomaly.kind.name()), Cell::Number(anomaly.packet)])
}

/// A subflow of Multipath TCP: whether it opened its connection or joined it, that connection's token, and whether its bytes are
/// put together; of the first one, how many there are.
fn push_mptcp(flow: &FlowRecord<'_>, out: &mut Vec<u8>) -> bool {
    let Some(mptcp) = &flow.mptcp else { return false };
    let mut object = Object::open(out);
    object.plain("subflow", if mptcp.is_joined { "joined" } else { "first" });
    if let Some(token) = mptcp.known_token() {
        object.plain("token", &format!("{token:08x}"));
    }
    if mptcp.is_together {
        object.truth("together", true);
    }
    if mptcp.subflows > 0 {
        object.number("subflows", mptcp.subflows.into());
        for (name, stats) in ["bytes_c2s", "bytes_s2c"].into_iter().zip(&flow.stats) {
            object.number(name, stats.reassembled_bytes);
        }
    }
    object.close();
    true
}

fn push_app_of(flow: &FlowRecord<'_>, out: &mut Vec<u8>) -> bool {
    match (flow.app_json, flow.app) {
        (Some(json), _) => out.extend_from_slice(json),
        (None, Some(app)) => push_app(out, app),
        (None, None) => return false,
    }
    true
}
