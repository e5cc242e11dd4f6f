//! Elements beyond the figures of a flow: IANA's for applications, and ours under an enterprise number of the user's choice.
//!
//! A text is as long as it is (RFC 7011 section 7), 254 bytes at most, so that one byte says its length. What a record lacks is an
//! empty text or 0.

use std::{borrow::Cow, sync::LazyLock};

use tidewire_protocols::{Certificate, Fields};

use crate::{
    FlowRecord,
    records::{Element, FLOW, Field, FlowKind, Get, place},
    table::{self, Cell, Kind as Type},
};

/// The enterprise number that documentation may use (RFC 5612): for examples and tests.
pub const DOCUMENTATION: u32 = 32_473;

/// Our elements that are about a direction have this bit set in the reverse direction, as RFC 5103 section 6.2 leaves to their
/// registrant.
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

/// The unit: RFC 5610's numbers of units, and of semantics.
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

/// A text of the fields of a protocol.
type MemberOf = for<'f> fn(&'f Fields) -> Option<Cow<'f, str>>;

/// Where the value of an element comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A field of flows, of each direction.
    Described([Get<FlowKind>; 2]),
    /// Fields of protocols of the first transaction by their names, and the one that it has.
    Member(&'static [&'static str], MemberOf),
    HttpStatus,
    EndReason,
    Conflicts,
    Anomalies,
    AnomalyNames,
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
    source: Source,
}

/// A field of flows: the element, its type and its unit are those of the description.
const fn at(fields: &'static [Field<FlowKind>], place: usize) -> Own {
    let (field, is_of_direction) = (&fields[place], fields[place].side.is_some());
    let Element { number, name, is_iana } = field.aliases.ipfix[0];
    let kind = match field.column.kind {
        Type::Text => Kind::Text,
        _ if is_of_direction => Kind::Unsigned64,
        _ => Kind::Unsigned32,
    };
    let unit = match field.column.unit {
        table::Unit::Bytes => Unit::Octets,
        table::Unit::Count if is_of_direction => Unit::Packets,
        table::Unit::Count => Unit::Entries,
        _ => Unit::None,
    };
    let source = Source::Described([field.get, fields[place + is_of_direction as usize].get]);
    Own { number, is_iana, kind, is_of_direction, unit, name, source }
}

const fn described(name: &str) -> Own {
    at(&FLOW, place(&FLOW, name))
}

const fn text(number: u16, name: &'static str, source: Source) -> Own {
    Own { number, is_iana: false, kind: Kind::Text, is_of_direction: false, unit: Unit::None, name, source }
}

const fn iana(number: u16, name: &'static str, source: Source) -> Own {
    Own { is_iana: true, ..text(number, name, source) }
}

const fn count(number: u16, name: &'static str, source: Source) -> Own {
    Own { kind: Kind::Unsigned32, unit: Unit::Entries, ..text(number, name, source) }
}

/// A text of a protocol, or of several: its name, and where it is.
macro_rules! member {
    ($($protocol:ident($name:literal, $field:ident)),+) => {
        Source::Member(&[$($name),+], |fields| match fields {
            $(Fields::$protocol(of) => of.$field.as_deref().map(Cow::Borrowed),)+
            _ => None,
        })
    };
}

/// Those that have an order of old. Numbers are stable: docs/formats.md lists them. Short texts come first: where a message has no room
/// for all, those at the end are shortened.
#[rustfmt::skip]
const LISTED: [Own; 36] = [
    described("service"),
    described("community_id"),
    described("state"),
    Own { source: Source::EndReason, ..described("end_reason") },
    described("tunnel_kind"),
    Own { unit: Unit::Identifier, ..described("tunnel_id") },
    described("transactions"),
    count(7, "overlapConflictCount", Source::Conflicts),
    count(8, "anomalyCount", Source::Anomalies),
    described("payload_bytes"),
    described("retransmitted_bytes"),
    described("out_of_order_packets"),
    described("missing_bytes"),
    described("cutoff_bytes"),
    Own { kind: Kind::Unsigned16, ..iana(457, "httpStatusCode", Source::HttpStatus) },
    iana(459, "httpRequestMethod", member!(Http("http.method", method))),
    text(31, "tlsVersion", member!(Tls("tls.version", version))),
    text(32, "tlsCipher", member!(Tls("tls.cipher", cipher))),
    text(34, "ja3", member!(Tls("tls.ja3", ja3), Quic("quic.ja3", ja3))),
    text(35, "ja4", member!(Tls("tls.ja4", ja4), Quic("quic.ja4", ja4))),
    text(41, "dnsType", member!(Dns("dns.type", kind))),
    text(42, "dnsRcode", member!(Dns("dns.rcode", rcode))),
    text(52, "hassh", member!(Ssh("ssh.hassh", hassh))),
    text(37, "tlsCertificateSha256", Source::Member(&["tls.certificate.sha256"], |fields| Some((&*certificate(fields)?.sha256).into()))),
    described("name"),
    text(30, "tlsServerName", member!(Tls("tls.sni", sni), Quic("quic.sni", sni))),
    text(40, "dnsQuery", member!(Dns("dns.query", query))),
    iana(460, "httpRequestHost", member!(Http("http.host", host))),
    text(33, "tlsAlpn", member!(Tls("tls.alpn", alpn))),
    text(38, "tlsClientAlpn", Source::Member(&["tls.client_alpn", "quic.client_alpn"], client_alpn)),
    text(50, "sshClientSoftware", member!(Ssh("ssh.client_software", client_software))),
    text(51, "sshServerSoftware", member!(Ssh("ssh.server_software", server_software))),
    text(9, "anomalyNames", Source::AnomalyNames),
    text(36, "tlsCertificateSubject", Source::Member(&["tls.certificate.subject"], |fields| Some(certificate(fields)?.subject.as_deref()?.into()))),
    iana(461, "httpRequestTarget", member!(Http("http.path", path))),
    iana(468, "httpUserAgent", member!(Http("http.user_agent", user_agent))),
];

/// All of them: the listed ones, and further fields of flows that have an element of ours. A template has 60 elements at most, with both
/// directions: Wireshark reads no larger ones by default.
fn all(fields: &'static [Field<FlowKind>]) -> Vec<Own> {
    let is_listed = |element: &Element| LISTED.iter().any(|own| !own.is_iana && own.number == element.number);
    let is_further = |index: &usize| match fields[*index].aliases.ipfix {
        [element, ..] => !element.is_iana && !is_listed(element) && !matches!(fields[*index].side, Some((1, _))),
        [] => false,
    };
    let further = (0..fields.len()).filter(is_further).map(|index| at(fields, index));
    LISTED.into_iter().chain(further).collect()
}

/// The elements of the fields of flows.
pub(super) static ALL: LazyLock<Vec<Own>> = LazyLock::new(|| all(&FLOW));

/// Elements of protocols' fields: the names of these, and the element's name.
pub fn elements_of_protocols() -> impl Iterator<Item = (&'static [&'static str], &'static str)> {
    ALL.iter().filter_map(|own| match own.source {
        Source::Member(names, _) => Some((names, own.name)),
        Source::HttpStatus => Some((&["http.status"][..], own.name)),
        _ => None,
    })
}

/// A value.
enum Value<'a> {
    /// An empty text, or 0.
    Absent,
    Number(u64),
    Text(Cow<'a, str>),
}

/// The elements of a template under an enterprise number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    pub(super) enterprise: u32,
    pub(super) all: &'static [Own],
    /// Whether a record has both directions.
    pub(super) is_biflow: bool,
}

impl Elements {
    /// Elements in the order of the template: whether each is of the reverse direction.
    fn each(self) -> impl Iterator<Item = (&'static Own, bool)> {
        let is_biflow = self.is_biflow;
        self.all.iter().flat_map(move |own| {
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
            match value(&own.source, flow, side ^ usize::from(is_reverse)) {
                Value::Absent if own.kind == Kind::Text => out.push(0),
                Value::Absent => out.extend_from_slice(&[0; 8][..usize::from(own.kind.bytes())]),
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

fn value<'a>(source: &Source, flow: &'a FlowRecord<'_>, side: usize) -> Value<'a> {
    let first = flow.app.and_then(|app| app.first.as_ref());
    match source {
        Source::Described(of) => match of[side] {
            Get::Number(get) => Value::Number(get(flow)),
            Get::Cell(get) => match get(flow) {
                Cell::Number(number) => Value::Number(number),
                Cell::Text(text) => Value::Text(text.into()),
                Cell::Owned(text) => Value::Text(text.into()),
                _ => Value::Absent,
            },
            Get::Raw(_) => Value::Absent,
        },
        Source::Member(_, get) => first.and_then(|first| get(&first.fields)).map_or(Value::Absent, Value::Text),
        Source::HttpStatus => match first.map(|first| &first.fields) {
            Some(Fields::Http(http)) => http.status.map_or(Value::Absent, |status| Value::Number(status.into())),
            _ => Value::Absent,
        },
        Source::EndReason if flow.is_interim => Value::Text("active_timeout".into()),
        Source::EndReason => Value::Text(flow.end.name().into()),
        Source::Conflicts => Value::Number(flow.conflicts.iter().map(|list| list.len() as u64).sum()),
        Source::Anomalies => Value::Number(flow.anomalies.len() as u64),
        Source::AnomalyNames => Value::Text(anomaly_names(flow).into()),
    }
}

fn certificate(fields: &Fields) -> Option<&Certificate> {
    match fields {
        Fields::Tls(tls) => tls.certificate.as_ref(),
        _ => None,
    }
}

/// The protocols that a client offers.
fn client_alpn(fields: &Fields) -> Option<Cow<'_, str>> {
    match fields {
        Fields::Tls(tls) => Some(tls.client_alpn.join(",").into()),
        Fields::Quic(quic) => Some(quic.client_alpn.join(",").into()),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use tidewire_protocols::{Transaction, Value as Member};

    use super::*;
    use crate::{
        records::Description as _,
        select,
        table::TRANSACTIONS,
        testing::{Sample, Wider, key, transactions},
    };

    /// The text of a field of a transaction, by its name.
    fn text(transaction: &Transaction, name: &str) -> Option<String> {
        let mut parts = name.split('.');
        if parts.next() != Some(transaction.service.name()) {
            return None;
        }
        let mut members = transaction.values();
        loop {
            let part = parts.next().unwrap();
            match members.into_iter().find(|(name, _)| *name == part)?.1 {
                Member::Text(text) => return Some(text.to_owned()),
                Member::Texts(texts) => return Some(texts.join(",")),
                Member::Object(inner) => members = inner,
                other => panic!("{name}: {other:?}"),
            }
        }
    }

    /// Elements of protocols' fields name fields that there are, and have their values.
    #[test]
    fn elements_of_protocols_are_fields() {
        let known = select::fields(&TRANSACTIONS);
        let mut compared = 0;
        for own in ALL.iter() {
            let Source::Member(names, get) = own.source else { continue };
            for name in names {
                assert!(known.iter().any(|(known, _)| known == name), "{name}");
                for transaction in transactions("text").iter().filter(|one| name.starts_with(one.service.name())) {
                    assert_eq!(get(&transaction.fields).as_deref(), text(transaction, name).as_deref(), "{name}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, elements_of_protocols().map(|(names, _)| names.len()).sum::<usize>() - 1);
    }

    /// A field of a description that has an element of ours is exported, behind the others.
    #[test]
    fn an_added_field_is_an_element() {
        let wider = all(Wider::FIELDS).leak();
        assert_eq!(wider.len(), ALL.len() + 1);
        let elements = Elements { enterprise: DOCUMENTATION, all: wider, is_biflow: false };
        let (sample, mut out) = (Sample::new("x"), Vec::new());
        elements.push_values(&mut out, &sample.flow(key(6)), 0, 1000);
        assert!(out.ends_with(&20_u32.to_be_bytes()), "{out:?}");
        let last = elements.types().last().unwrap();
        assert!(last.ends_with(b"\x08hopCount") && last[4..6] == 60_u16.to_be_bytes(), "{last:?}");
    }
}
