//! For tests: records with every field, and text that tries to break lines.

use std::time::Duration;

use proptest::prelude::*;
use tidewire::{
    Anomaly, AnomalyKind, DefragPolicy, Direction, DirectionStats, EndReason, Endpoint, FlowKey, Gap, GapCause,
    Rejection, TcpState, Timestamp,
};
use tidewire_protocols::{Answer, App, Certificate, Dhcp, Dns, Fields, Http, Quic, Service, Ssh, Tls, Transaction};

use crate::{
    CutOff, DatagramRecord, Exchange, FileRecord, FlowRecord, MatchRecord, Origin,
    records::{CellOf, Description, Eve, FLOW, Field, FlowKind, Form, joined, own},
    table::{Cell, Column, Kind, Unit},
};

/// The description of flows with a field more.
pub(crate) struct Wider;

impl Description for Wider {
    type Kind = FlowKind;
    const FIELDS: &'static [Field<FlowKind>] = &WIDER;
}

const HOPS: Field<FlowKind> = Field::<FlowKind>::number("hops", Kind::Long, |flow| flow.id + 3, "routers on the way")
    .unit(Unit::Count)
    .eve(Eve::Own, "hops")
    .eve_simple()
    .ipfix(&[own(60, "hopCount")]);
static WIDER: [Field<FlowKind>; FLOW.len() + 1] = joined(&[&FLOW, &[HOPS]]);

/// The description of flows with a field of each kind of cell more, as members of EVE.
pub(crate) struct EveryCell;

impl Description for EveryCell {
    type Kind = FlowKind;
    const FIELDS: &'static [Field<FlowKind>] = &EVERY_CELL;
}

/// Columns of an object.
const PAIR: &[Column] = &[
    Column { name: "one", kind: Kind::Long, is_optional: false, unit: Unit::None },
    Column { name: "two", kind: Kind::Text, is_optional: false, unit: Unit::None },
];
const fn cell(name: &'static str, kind: Kind, get: CellOf<FlowKind>) -> Field<FlowKind> {
    Field::<FlowKind>::new(name, kind, get, "a cell").optional().eve(Eve::Own, name).eve_simple()
}

static EVERY_CELL: [Field<FlowKind>; FLOW.len() + 11] = joined(&[
    &FLOW,
    &[
        cell("null", Kind::Text, |_| Cell::Null),
        cell("number", Kind::Long, |_| Cell::Number(7)),
        cell("signed", Kind::Long, |_| Cell::Signed(-7)),
        cell("truth", Kind::Truth, |_| Cell::Truth(true)),
        cell("text", Kind::Text, |_| Cell::Text("a \"b\"")),
        cell("owned", Kind::Text, |_| Cell::Owned("c".repeat(3))),
        cell("address", Kind::Text, |flow| Cell::Address(flow.key.client.address)),
        cell("list", Kind::List(&Kind::Long), |_| Cell::List(vec![Cell::Number(1), Cell::Number(2)])),
        cell("object", Kind::Object(PAIR), |_| Cell::Object(vec![Cell::Number(1), Cell::Text("2")])),
        Field::<FlowKind>::raw("raw", Form::ALL, push_raw, "JSON").eve(Eve::Own, "raw").eve_simple(),
        Field::<FlowKind>::raw("absent", Form::ALL, |_, _| false, "JSON").eve(Eve::Own, "absent").eve_simple(),
    ],
]);

fn push_raw(_: &FlowRecord<'_>, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(b"[3]");
    true
}

/// Owners of what a record borrows.
pub(crate) struct Sample {
    pub(crate) gaps: Vec<Gap>,
    pub(crate) anomalies: Vec<Anomaly>,
    pub(crate) app: App,
    pub(crate) text: String,
}

pub(crate) const START_NS: u64 = 1_795_329_000_123_456_789;

fn at(address: &str, port: u16) -> Endpoint {
    Endpoint { address: address.parse().unwrap(), port }
}

pub(crate) fn key(proto: u8) -> FlowKey {
    FlowKey::new(at("192.0.2.1", 40_000), at("198.51.100.2", 443), proto)
}

pub(crate) fn key6(proto: u8) -> FlowKey {
    FlowKey::new(at("2001:db8::1", 40_000), at("2001:db8::2", 53), proto)
}

impl Sample {
    pub(crate) fn new(text: &str) -> Self {
        let anomalies = AnomalyKind::ALL.iter().zip(3..).map(|(&kind, packet)| Anomaly::new(kind, packet)).collect();
        let first = transactions(text).into_iter().find(|transaction| transaction.service == Service::Tls);
        Self {
            gaps: vec![Gap::new(Direction::ServerToClient, 5, 7, GapCause::NotCaptured)],
            anomalies,
            app: App::new(Service::Tls, 1, first),
            text: text.to_owned(),
        }
    }

    pub(crate) fn flow(&self, key: FlowKey) -> FlowRecord<'_> {
        let stats = [1_u64, 2].map(|factor| {
            let mut stats = DirectionStats::default();
            stats.packets = 10 * factor;
            stats.frame_bytes = 1400 * factor;
            stats.ip_bytes = 1000 * factor;
            stats.payload_wire_bytes = 600 * factor;
            stats.tcp_flags = 0x1b;
            [stats.start, stats.end] = [START_NS, START_NS + 2_000_000_000].map(|ns| Some(Timestamp::from_nanos(ns)));
            stats
        });
        FlowRecord {
            id: 17,
            key,
            client_known: true,
            client_by: tidewire::ClientBy::Handshake,
            time_back: None,
            time_outliers: 0,
            state: if key.proto == 6 { TcpState::Closed } else { TcpState::Stateless },
            end: EndReason::Fin,
            is_interim: false,
            start: Timestamp::from_nanos(START_NS),
            opened: Timestamp::from_nanos(START_NS),
            last: Timestamp::from_nanos(START_NS + 2_000_000_000),
            stats,
            gaps: &self.gaps,
            conflicts: [&[], &[]],
            anomalies: &self.anomalies,
            cut_off: Some([CutOff::default(), CutOff { packets: 3, bytes: 4000 }]),
            app: Some(&self.app),
            app_json: None,
            priority: 0,
            mptcp: None,
            digests: None,
            origin: Origin { interface: Some(&self.text), file: Some(&self.text) },
        }
    }
}

pub(crate) fn exchange(transaction: &Transaction) -> Exchange<'_> {
    let key = key(17);
    Exchange {
        stream: 17,
        key,
        stream_start: Timestamp::from_nanos(START_NS),
        number: 0,
        transaction,
        origin: Origin::default(),
    }
}

/// A match of a pattern of this name.
pub(crate) fn found(name: &str) -> MatchRecord<'_> {
    MatchRecord {
        stream: 17,
        key: key(6),
        stream_start: Timestamp::from_nanos(START_NS),
        time: Timestamp::from_nanos(START_NS + 5),
        direction: Direction::ServerToClient,
        offset: 9,
        length: 4,
        pattern: name,
        pattern_index: 2,
        severity: Some("high"),
        origin: Origin::default(),
    }
}

/// A datagram that was rejected, or not.
pub(crate) fn datagram(rejected: Option<Rejection>) -> DatagramRecord {
    let [source, destination] = [key(17).client.address, key(17).server.address];
    let (policy, sha256) = (DefragPolicy::Linux, [0xab; 32]);
    let (packet, ip_id, proto, fragments, bytes, overlaps) = (9, 7, 17, 3, 4000, 1);
    DatagramRecord { packet, source, destination, ip_id, proto, fragments, bytes, sha256, policy, overlaps, rejected }
}

/// A file without bytes.
pub(crate) fn file(gaps: &[Gap]) -> FileRecord<'_> {
    let (stream, key, direction) = (17, key(6), Direction::ServerToClient);
    let (start_ns, end_ns, end) = (START_NS, START_NS + 5, EndReason::Fin);
    FileRecord {
        name: None,
        stream,
        key,
        direction,
        start: Timestamp::from_nanos(start_ns),
        last: Timestamp::from_nanos(end_ns),
        end,
        bytes: 0,
        sha256: None,
        gaps,
    }
}

/// A value of a structure that may have more fields.
macro_rules! filled {
    ($type:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let mut one = $type::default();
        $(one.$field = $value;)*
        one
    }};
}
pub(crate) use filled;

/// Transactions of which every text is `text`.
pub(crate) fn transactions(text: &str) -> Vec<Transaction> {
    fn some<T: From<String>>(text: &str) -> Option<T> {
        Some(text.to_owned().into())
    }
    let list = || vec![Box::<str>::from(text), "b".into()];
    let certificate = filled!(Certificate {
        subject: some(text),
        issuer: some(text),
        serial: Some("0a1b2".into()),
        not_before: Some(-1),
        not_after: Some(1_795_329_000),
        san: list(),
        san_left_out: 1,
        sha256: text.into(),
        sha1: [0xab; 20],
    });
    let tls = filled!(Tls {
        version: some(text),
        sni: some(text),
        client_alpn: list(),
        alpn: some(text),
        cipher: some(text),
        ja3: some(text),
        ja4: some(text),
        resumed: Some(true),
        established: true,
        alert: Some(40),
        certificates: 1,
        certificate: Some(certificate),
        chains: [vec![], vec![[0xab; 32], [0xcd; 32]]],
    });
    let answer = |kind: &str, data: &str| Answer::new(text, kind.to_owned(), 60, data);
    let mut answers = ["A", text, "TXT"].map(|kind| answer(kind, text)).to_vec();
    answers.extend([
        answer("AAAA", "2001:4860::68"),
        answer("SRV", &format!("20 1 5060 {text}")),
        answer("SSHFP", "1 2 198c34"),
        answer("SOA", &format!("{text} {text} 1 2 3 4 5")),
    ]);
    let dns = filled!(Dns {
        id: 7,
        query: some(text),
        kind: some(text),
        is_asked: true,
        is_answered: true,
        flags: [0x0110, 0x87f0],
        rcode: some(text),
        answers: answers,
        latency: Some(Duration::from_nanos(1_500_000)),
    });
    let http = filled!(Http {
        method: some(text),
        host: some(text),
        port: Some(8080),
        response_version: some(text),
        path: some(text),
        version: some(text),
        status: Some(302),
        reason: some(text),
        user_agent: some(text),
        referrer: some(text),
        request_type: some(text),
        content_type: some(text),
        server: some(text),
        location: some(text),
        request_bytes: Some(1),
        response_bytes: Some(2),
        request_announced_bytes: Some(1),
        response_announced_bytes: Some(5),
        request_missing_bytes: 0,
        response_missing_bytes: 3,
        request_complete: Some(true),
        response_complete: Some(false),
        host_field: None,
    });
    let quic = filled!(Quic {
        version: some(text),
        client_version: some(text),
        sni: some(text),
        ja3: some(text),
        ja4: some(text),
        client_alpn: vec!["h3".into(), text.into()],
        client_dcid: Some("8394c8f0".into()),
        client_scid: Some("".into()),
    });
    let ssh = filled!(Ssh {
        client_version: some(text),
        client_software: some(text),
        server_version: some(text),
        server_software: some(text),
        hassh: some(text),
        hassh_server: some(text),
    });
    let of = |service, fields| {
        Transaction::new(service, fields, Timestamp::from_nanos(START_NS), Timestamp::from_nanos(START_NS + 1_000_000))
    };
    vec![
        of(Service::Tls, Fields::Tls(tls.into())),
        of(Service::Dns, Fields::Dns(dns.into())),
        of(Service::Http, Fields::Http(http.into())),
        of(Service::Quic, Fields::Quic(quic.into())),
        of(Service::Ssh, Fields::Ssh(ssh.into())),
        of(Service::Dhcp, Fields::Dhcp(Dhcp::default().into())),
    ]
}

/// Text of the characters that formats give a meaning to, and any others.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        '\t', '\n', '\r', '\0', '"', '\\', ',', '-', '#', '(', '}', '{', '\u{1b}', '\u{85}', '\u{2028}', '\u{202e}',
        'x', '0', 'é', '😀',
    ]);
    let chars = prop_oneof![3 => special, 1 => any::<char>()];
    let words = prop::sample::select(vec!["-", "(empty)", "#close", "\\x09", "\\", ""]).prop_map(str::to_owned);
    prop_oneof![4 => prop::collection::vec(chars, 0..12).prop_map(String::from_iter), 1 => words]
}
