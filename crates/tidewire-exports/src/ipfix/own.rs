//! Elements beyond the figures of a flow: IANA's for applications, and ours under an enterprise number of the user's choice.
//!
//! A text is as long as it is (RFC 7011 section 7), 254 bytes at most, so that one byte says its length. What a record lacks is an
//! empty text or 0.

use std::borrow::Cow;

use tidewire::{TunnelKind, community_id};
use tidewire_protocols::{Fields, Transaction};

use crate::FlowRecord;

/// The enterprise number that documentation may use (RFC 5612): for examples and tests.
pub const DOCUMENTATION: u32 = 32_473;

/// Our elements that are about a direction have this bit set in the reverse direction, as RFC 5103 section 6.2 leaves to whoever
/// numbers them.
const REVERSE_BIT: u16 = 0x4000;

/// An element has an enterprise number.
const HAS_ENTERPRISE: u16 = 0x8000;

/// The length of a field in a template that says that each value has its own.
const VARIABLE: u16 = u16::MAX;

/// The longest text: a longer one would need a length of three bytes.
const TEXT_BYTES_MAX: usize = 254;

/// The type of an element, as RFC 5610 numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Unsigned16 = 2,
    Unsigned32 = 3,
    Unsigned64 = 4,
    Text = 13,
}

impl Kind {
    fn bytes(self) -> u16 {
        match self {
            Self::Unsigned16 => 2,
            Self::Unsigned32 => 4,
            Self::Unsigned64 => 8,
            Self::Text => VARIABLE,
        }
    }
}

/// What is counted: RFC 5610's numbers of units, and with it of semantics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    None,
    Identifier,
    Octets,
    Packets,
    Entries,
}

impl Unit {
    /// informationElementSemantics: default, identifier, totalCounter.
    fn semantics(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Identifier => 4,
            Self::Octets | Self::Packets | Self::Entries => 2,
        }
    }

    /// informationElementUnits.
    fn number(self) -> u16 {
        match self {
            Self::None | Self::Identifier => 0,
            Self::Octets => 2,
            Self::Packets => 3,
            Self::Entries => 12,
        }
    }
}

/// What an element says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Service,
    HttpStatus,
    HttpMethod,
    HttpHost,
    HttpTarget,
    HttpUserAgent,
    CommunityId,
    State,
    EndReason,
    TunnelKind,
    TunnelId,
    Name,
    Transactions,
    Conflicts,
    Anomalies,
    AnomalyNames,
    Payload,
    Retransmitted,
    OutOfOrder,
    Missing,
    Cutoff,
    TlsServerName,
    TlsVersion,
    TlsCipher,
    TlsAlpn,
    TlsClientAlpn,
    Ja3,
    Ja4,
    CertificateSubject,
    CertificateSha256,
    DnsQuery,
    DnsType,
    DnsRcode,
    SshClient,
    SshServer,
    Hassh,
}

/// An element: its number, whether it is IANA's, its type, whether there is one for each direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) number: u16,
    is_iana: bool,
    kind: Kind,
    is_of_direction: bool,
    unit: Unit,
    pub(super) name: &'static str,
    what: What,
}

const fn iana(number: u16, kind: Kind, what: What) -> Own {
    Own { number, is_iana: true, kind, is_of_direction: false, unit: Unit::None, name: "", what }
}

const fn text(number: u16, name: &'static str, what: What) -> Own {
    Own { number, is_iana: false, kind: Kind::Text, is_of_direction: false, unit: Unit::None, name, what }
}

const fn count(number: u16, name: &'static str, what: What) -> Own {
    Own { kind: Kind::Unsigned32, unit: Unit::Entries, ..text(number, name, what) }
}

const fn figure(number: u16, unit: Unit, name: &'static str, what: What) -> Own {
    Own { kind: Kind::Unsigned64, unit, is_of_direction: true, ..text(number, name, what) }
}

/// All of them. Numbers are stable: docs/formats.md lists them. Short texts come first: where a message has no room for all, those
/// at the end are shortened. A template has 60 elements at most, with both directions: Wireshark reads no larger ones by default.
#[rustfmt::skip]
const ALL: &[Own] = &[
    iana(96, Kind::Text, What::Service),
    text(1, "communityId", What::CommunityId),
    text(2, "streamState", What::State),
    text(3, "streamEndReason", What::EndReason),
    text(4, "tunnelKind", What::TunnelKind),
    Own { kind: Kind::Unsigned32, unit: Unit::Identifier, ..text(5, "tunnelId", What::TunnelId) },
    count(6, "transactionCount", What::Transactions),
    count(7, "overlapConflictCount", What::Conflicts),
    count(8, "anomalyCount", What::Anomalies),
    figure(20, Unit::Octets, "payloadOctetCount", What::Payload),
    figure(21, Unit::Octets, "retransmittedOctetCount", What::Retransmitted),
    figure(22, Unit::Packets, "outOfOrderPacketCount", What::OutOfOrder),
    figure(23, Unit::Octets, "missingOctetCount", What::Missing),
    figure(24, Unit::Octets, "cutOffOctetCount", What::Cutoff),
    iana(457, Kind::Unsigned16, What::HttpStatus),
    iana(459, Kind::Text, What::HttpMethod),
    text(31, "tlsVersion", What::TlsVersion),
    text(32, "tlsCipher", What::TlsCipher),
    text(34, "ja3", What::Ja3),
    text(35, "ja4", What::Ja4),
    text(41, "dnsType", What::DnsType),
    text(42, "dnsRcode", What::DnsRcode),
    text(52, "hassh", What::Hassh),
    text(37, "tlsCertificateSha256", What::CertificateSha256),
    text(10, "streamName", What::Name),
    text(30, "tlsServerName", What::TlsServerName),
    text(40, "dnsQuery", What::DnsQuery),
    iana(460, Kind::Text, What::HttpHost),
    text(33, "tlsAlpn", What::TlsAlpn),
    text(38, "tlsClientAlpn", What::TlsClientAlpn),
    text(50, "sshClientSoftware", What::SshClient),
    text(51, "sshServerSoftware", What::SshServer),
    text(9, "anomalyNames", What::AnomalyNames),
    text(36, "tlsCertificateSubject", What::CertificateSubject),
    iana(461, Kind::Text, What::HttpTarget),
    iana(468, Kind::Text, What::HttpUserAgent),
];

/// A value.
enum Value<'a> {
    Number(u64),
    Text(Cow<'a, str>),
}

/// The elements of a template under an enterprise number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    pub(super) enterprise: u32,
    /// Whether a record has both directions.
    pub(super) is_biflow: bool,
}

impl Elements {
    /// Elements in the order of the template: whether each is of the reverse direction.
    fn each(self) -> impl Iterator<Item = (&'static Own, bool)> {
        let is_biflow = self.is_biflow;
        ALL.iter().flat_map(move |own| {
            let reverse = (is_biflow && own.is_of_direction).then_some((own, true));
            std::iter::once((own, false)).chain(reverse)
        })
    }

    /// How many they are.
    pub(super) fn count(self) -> usize {
        self.each().count()
    }

    /// Appends their specifications (RFC 7011 section 3.2).
    pub(super) fn push_specifications(self, out: &mut Vec<u8>) {
        for (own, is_reverse) in self.each() {
            let number = own.number | if is_reverse { REVERSE_BIT } else { 0 };
            let number = number | if own.is_iana { 0 } else { HAS_ENTERPRISE };
            out.extend_from_slice(&number.to_be_bytes());
            out.extend_from_slice(&own.kind.bytes().to_be_bytes());
            if !own.is_iana {
                out.extend_from_slice(&self.enterprise.to_be_bytes());
            }
        }
    }

    /// Appends the values of a record, at most so many bytes, of which there are enough for empty texts.
    pub(super) fn push_values(self, out: &mut Vec<u8>, flow: &FlowRecord<'_>, side: usize, bytes_max: usize) {
        let least = |(own, _): (&Own, bool)| if own.kind == Kind::Text { 1 } else { usize::from(own.kind.bytes()) };
        let mut room = bytes_max.saturating_sub(self.each().map(least).sum());
        for (own, is_reverse) in self.each() {
            match value(own.what, flow, side ^ usize::from(is_reverse)) {
                Value::Text(text) => {
                    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX.min(room))];
                    room -= text.len();
                    out.push(text.len() as u8);
                    out.extend_from_slice(text.as_bytes());
                }
                Value::Number(number) => {
                    let bytes = usize::from(own.kind.bytes());
                    out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]);
                }
            }
        }
    }

    /// The types of our elements, each a record: see [`TYPES`].
    pub(super) fn types(self) -> impl Iterator<Item = Vec<u8>> {
        self.each().filter(|(own, _)| !own.is_iana).map(move |(own, is_reverse)| {
            let number = own.number | if is_reverse { REVERSE_BIT } else { 0 };
            let mut name = own.name.to_owned();
            if is_reverse {
                name[..1].make_ascii_uppercase();
                name.insert_str(0, "reverse");
            }
            let mut record = self.enterprise.to_be_bytes().to_vec();
            record.extend_from_slice(&number.to_be_bytes());
            record.extend_from_slice(&[own.kind as u8, own.unit.semantics()]);
            record.extend_from_slice(&own.unit.number().to_be_bytes());
            record.push(name.len() as u8);
            record.extend_from_slice(name.as_bytes());
            record
        })
    }
}

/// Elements of the records that describe elements (RFC 5610 section 3.9): privateEnterpriseNumber and informationElementId, which are
/// the scope, informationElementDataType, informationElementSemantics, informationElementUnits, informationElementName.
pub(super) const TYPES: [(u16, u16); 6] = [(346, 4), (303, 2), (339, 1), (344, 1), (345, 2), (341, VARIABLE)];

fn value<'a>(what: What, flow: &'a FlowRecord<'_>, side: usize) -> Value<'a> {
    let stats = &flow.stats[side];
    let first = flow.app.and_then(|app| app.first.as_ref());
    let known = |text: &'static str| Value::Text(text.into());
    match what {
        What::Service => known(flow.app.map_or("", |app| app.service.name())),
        What::CommunityId => Value::Text(community_id(&flow.key, 0).into()),
        What::State => known(flow.state.name()),
        What::EndReason if flow.is_interim => known("active_timeout"),
        What::EndReason => known(flow.end.name()),
        What::TunnelKind if flow.key.tunnel.kind == TunnelKind::None => known(""),
        What::TunnelKind => known(flow.key.tunnel.kind.name()),
        What::TunnelId => Value::Number(flow.key.tunnel.id.into()),
        What::Name => Value::Text(first.and_then(Transaction::name).unwrap_or_default().into()),
        What::Transactions => Value::Number(flow.app.map_or(0, |app| app.transactions.into())),
        What::Conflicts => Value::Number(flow.conflicts.iter().map(|list| list.len() as u64).sum()),
        What::Anomalies => Value::Number(flow.anomalies.len() as u64),
        What::AnomalyNames => Value::Text(anomaly_names(flow).into()),
        What::Payload => Value::Number(stats.payload_wire_bytes),
        What::Retransmitted => Value::Number(stats.retransmitted_bytes),
        What::OutOfOrder => Value::Number(stats.out_of_order_packets),
        What::Missing => Value::Number(stats.missing_bytes),
        What::Cutoff => Value::Number(stats.cutoff_bytes),
        What::HttpStatus => Value::Number(match first.map(|first| &first.fields) {
            Some(Fields::Http(http)) => http.status.unwrap_or_default().into(),
            _ => 0,
        }),
        _ => Value::Text(first.and_then(|first| field(what, &first.fields)).unwrap_or_default()),
    }
}

/// A text of the stream's first transaction.
fn field(what: What, fields: &Fields) -> Option<Cow<'_, str>> {
    let known: Option<&str> = match (fields, what) {
        (Fields::Http(http), What::HttpMethod) => http.method.as_deref(),
        (Fields::Http(http), What::HttpHost) => http.host.as_deref(),
        (Fields::Http(http), What::HttpTarget) => http.path.as_deref(),
        (Fields::Http(http), What::HttpUserAgent) => http.user_agent.as_deref(),
        (Fields::Tls(tls), What::TlsServerName) => tls.sni.as_deref(),
        (Fields::Tls(tls), What::TlsVersion) => tls.version.as_deref(),
        (Fields::Tls(tls), What::TlsCipher) => tls.cipher.as_deref(),
        (Fields::Tls(tls), What::TlsAlpn) => tls.alpn.as_deref(),
        (Fields::Tls(tls), What::TlsClientAlpn) => return Some(tls.client_alpn.join(",").into()),
        (Fields::Tls(tls), What::Ja3) => tls.ja3.as_deref(),
        (Fields::Tls(tls), What::Ja4) => tls.ja4.as_deref(),
        (Fields::Tls(tls), What::CertificateSubject) => tls.certificate.as_ref()?.subject.as_deref(),
        (Fields::Tls(tls), What::CertificateSha256) => Some(&*tls.certificate.as_ref()?.sha256),
        (Fields::Quic(quic), What::TlsServerName) => quic.sni.as_deref(),
        (Fields::Quic(quic), What::TlsClientAlpn) => return Some(quic.client_alpn.join(",").into()),
        (Fields::Quic(quic), What::Ja3) => quic.ja3.as_deref(),
        (Fields::Quic(quic), What::Ja4) => quic.ja4.as_deref(),
        (Fields::Dns(dns), What::DnsQuery) => dns.query.as_deref(),
        (Fields::Dns(dns), What::DnsType) => dns.kind.as_deref(),
        (Fields::Dns(dns), What::DnsRcode) => dns.rcode.as_deref(),
        (Fields::Ssh(ssh), What::SshClient) => ssh.client_software.as_deref(),
        (Fields::Ssh(ssh), What::SshServer) => ssh.server_software.as_deref(),
        (Fields::Ssh(ssh), What::Hassh) => ssh.hassh.as_deref(),
        _ => None,
    };
    known.map(Cow::Borrowed)
}

/// The kinds of a stream's anomalies, each once, in the order of packets.
fn anomaly_names(flow: &FlowRecord<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in flow.anomalies.iter().map(|anomaly| anomaly.kind.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(",")
}
