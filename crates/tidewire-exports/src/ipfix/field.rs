//! Templates, and the values of their fields.

use std::net::IpAddr;

use tidewire::{DirectionStats, EndReason, Timestamp};
use tidewire_wire::icmp_counterpart;

use tidewire_types::ip_protocol;

use crate::{
    FlowRecord,
    ipfix::own::{ALL, Elements},
    records::{FLOW, FlowKind, Get, NumberOf, place},
};

/// How a stream becomes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One record with both directions (RFC 5103).
    Biflow,
    /// One record for each direction that sent packets.
    Uniflow,
    /// As [`Uniflow`](Self::Uniflow), in NetFlow v9.
    Netflow9,
}

/// The enterprise number of elements of the reverse direction (RFC 5103 section 6.1).
pub const REVERSE: u32 = 29_305;

/// Nanoseconds of a millisecond.
pub(super) const MILLISECOND_NS: u64 = 1_000_000;

/// Where the value of a field comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A field of flows, of each direction.
    Described([NumberOf<FlowKind>; 2]),
    Start,
    End,
    /// Times against the exporter's start: NetFlow v9.
    StartUptime,
    EndUptime,
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    EndReason,
    BiflowDirection,
    Vlan,
    Icmp,
}

/// A field: the element's number, its length, whether it is about the reverse direction, and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) element: u16,
    pub(super) bytes: u16,
    is_reverse: bool,
    what: What,
}

/// The first and last time of a direction, in nanoseconds; 0 of one without packets.
pub(super) fn ends_ns(stats: &DirectionStats) -> [u64; 2] {
    [stats.start, stats.end].map(|time| time.map_or(0, Timestamp::as_nanos))
}

impl Field {
    const fn of(element: u16, bytes: u16, what: What) -> Self {
        Self { element, bytes, is_reverse: false, what }
    }

    /// A number of flows, by its name.
    const fn described(name: &str, bytes: u16) -> Self {
        let first = place(&FLOW, name);
        let other = first + FLOW[first].side.is_some() as usize;
        let (Get::Number(there), Get::Number(back)) = (FLOW[first].get, FLOW[other].get) else {
            panic!("not a number")
        };
        Self::of(FLOW[first].aliases.ipfix[0].number, bytes, What::Described([there, back]))
    }

    const fn reverse(self) -> Self {
        Self { is_reverse: true, ..self }
    }

    /// Appends its specification (RFC 7011 section 3.2).
    pub(super) fn push_specification(&self, out: &mut Vec<u8>) {
        const HAS_ENTERPRISE: u16 = 0x8000;
        let element = if self.is_reverse { self.element | HAS_ENTERPRISE } else { self.element };
        out.extend_from_slice(&element.to_be_bytes());
        out.extend_from_slice(&self.bytes.to_be_bytes());
        if self.is_reverse {
            out.extend_from_slice(&REVERSE.to_be_bytes());
        }
    }
}

/// A template: its number, and its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    pub(super) id: u16,
    pub(super) fields: &'static [Field],
    /// The elements behind them, if there is an enterprise number.
    pub(super) own: Option<Elements>,
}

impl Template {
    /// Bytes of the fields that have a length.
    fn fixed_bytes(&self) -> usize {
        self.fields.iter().map(|field| usize::from(field.bytes)).sum()
    }

    /// How many elements it has.
    pub(super) fn count(&self) -> usize {
        self.fields.len() + self.own.map_or(0, Elements::count)
    }

    /// Appends its elements.
    pub(super) fn push_specifications(&self, out: &mut Vec<u8>) {
        self.fields.iter().for_each(|field| field.push_specification(out));
        if let Some(own) = self.own {
            own.push_specifications(out);
        }
    }
}

impl Layout {
    /// The templates of records: of IPv4 and of IPv6. Those with an enterprise number have other ids, so that a collector takes
    /// neither for the other. NetFlow v9 has no enterprise numbers.
    pub(super) fn templates(self, enterprise: Option<u32>) -> [Template; 2] {
        let [four, six] = match (self, enterprise) {
            (Self::Biflow, None) => [(256, BIFLOW_4), (257, BIFLOW_6)],
            (Self::Uniflow, None) => [(258, UNIFLOW_4), (259, UNIFLOW_6)],
            (Self::Netflow9, _) => [(260, NETFLOW_4), (261, NETFLOW_6)],
            (Self::Biflow, Some(_)) => [(264, BIFLOW_4), (265, BIFLOW_6)],
            (Self::Uniflow, Some(_)) => [(266, UNIFLOW_4), (267, UNIFLOW_6)],
        };
        let is_biflow = self == Self::Biflow;
        let own = enterprise.filter(|_| self != Self::Netflow9).map(|enterprise| Elements {
            enterprise,
            all: &ALL,
            is_biflow,
        });
        [four, six].map(|(id, fields)| Template { id, fields, own })
    }
}

const START: Field = Field::of(152, 8, What::Start);
const END: Field = Field::of(153, 8, What::End);
const FIRST_SWITCHED: Field = Field::of(22, 4, What::StartUptime);
const LAST_SWITCHED: Field = Field::of(21, 4, What::EndUptime);
const SOURCE_4: Field = Field::of(8, 4, What::Source);
const DESTINATION_4: Field = Field::of(12, 4, What::Destination);
const SOURCE_6: Field = Field::of(27, 16, What::Source);
const DESTINATION_6: Field = Field::of(28, 16, What::Destination);
const SOURCE_PORT: Field = Field::of(7, 2, What::SourcePort);
const DESTINATION_PORT: Field = Field::of(11, 2, What::DestinationPort);
const PROTOCOL: Field = Field::of(4, 1, What::Protocol);
const END_REASON: Field = Field::of(136, 1, What::EndReason);
const BIFLOW_DIRECTION: Field = Field::of(239, 1, What::BiflowDirection);
// Two bytes: AE is the ninth flag (RFC 9565 section 3). NetFlow v9 has one.
const FLAGS: Field = Field::described("tcp_flags", 2);
const FLAGS_9: Field = Field::described("tcp_flags", 1);
const PACKETS: Field = Field::described("packets", 8);
const BYTES: Field = Field::described("bytes", 8);
const REVERSE_FLAGS: Field = FLAGS.reverse();
const REVERSE_PACKETS: Field = PACKETS.reverse();
const REVERSE_BYTES: Field = BYTES.reverse();
const FLOW_ID: Field = Field::described("id", 8);
const VLAN: Field = Field::of(58, 2, What::Vlan);
// NetFlow v9 has one element for both (ICMP_TYPE, RFC 3954 section 8): 139 is IPFIX's.
const ICMP_4: Field = Field::of(32, 2, What::Icmp);
const ICMP_6: Field = Field::of(139, 2, What::Icmp);

#[rustfmt::skip]
const BIFLOW_4: &[Field] = &[
    START, END, SOURCE_4, DESTINATION_4, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, END_REASON, BIFLOW_DIRECTION, FLAGS, PACKETS, BYTES,
    REVERSE_FLAGS, REVERSE_PACKETS, REVERSE_BYTES, FLOW_ID, VLAN, ICMP_4,
];
#[rustfmt::skip]
const BIFLOW_6: &[Field] = &[
    START, END, SOURCE_6, DESTINATION_6, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, END_REASON, BIFLOW_DIRECTION, FLAGS, PACKETS, BYTES,
    REVERSE_FLAGS, REVERSE_PACKETS, REVERSE_BYTES, FLOW_ID, VLAN, ICMP_6,
];
#[rustfmt::skip]
const UNIFLOW_4: &[Field] = &[
    START, END, SOURCE_4, DESTINATION_4, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, END_REASON, FLAGS, PACKETS, BYTES, FLOW_ID, VLAN, ICMP_4,
];
#[rustfmt::skip]
const UNIFLOW_6: &[Field] = &[
    START, END, SOURCE_6, DESTINATION_6, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, END_REASON, FLAGS, PACKETS, BYTES, FLOW_ID, VLAN, ICMP_6,
];
#[rustfmt::skip]
const NETFLOW_4: &[Field] = &[
    FIRST_SWITCHED, LAST_SWITCHED, SOURCE_4, DESTINATION_4, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, FLAGS_9, PACKETS, BYTES, VLAN, ICMP_4,
];
#[rustfmt::skip]
const NETFLOW_6: &[Field] = &[
    FIRST_SWITCHED, LAST_SWITCHED, SOURCE_6, DESTINATION_6, SOURCE_PORT, DESTINATION_PORT, PROTOCOL, FLAGS_9, PACKETS, BYTES, VLAN, ICMP_4,
];

/// A record: a stream, or one direction of it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) flow: &'a FlowRecord<'a>,
    /// The direction that it begins with.
    pub(super) side: usize,
    /// Whether times are those of the direction alone.
    pub(super) is_alone: bool,
    /// When the exporter began, milliseconds since the epoch: NetFlow v9.
    pub(super) boot_ms: u64,
}

impl View<'_> {
    /// Appends the values of a template's fields, at most so many bytes.
    pub(super) fn push(&self, out: &mut Vec<u8>, template: &Template, bytes_max: usize) {
        for field in template.fields {
            self.push_value(out, field);
        }
        if let Some(own) = template.own {
            own.push_values(out, self.flow, self.side, bytes_max.saturating_sub(template.fixed_bytes()));
        }
    }

    fn push_value(&self, out: &mut Vec<u8>, field: &Field) {
        let side = self.side ^ usize::from(field.is_reverse);
        let (flow, stats) = (self.flow, &self.flow.stats[side]);
        let ends = [flow.key.client, flow.key.server];
        let (from, to) = (ends[side], ends[side ^ 1]);
        let (start, end) =
            if self.is_alone { ends_ns(stats).into() } else { (flow.start.as_nanos(), flow.last.as_nanos()) };
        let (start, end) = (start / MILLISECOND_NS, end / MILLISECOND_NS);
        let value = match field.what {
            What::Described(of) => of[side](flow),
            What::Source => return push_address(out, from.address),
            What::Destination => return push_address(out, to.address),
            What::Start => start,
            What::End => end,
            What::StartUptime => start.saturating_sub(self.boot_ms),
            What::EndUptime => end.saturating_sub(self.boot_ms),
            What::SourcePort => from.port.into(),
            What::DestinationPort => to.port.into(),
            What::Protocol => flow.key.proto.into(),
            What::EndReason if flow.is_interim => ACTIVE_TIMEOUT,
            What::EndReason => end_reason(flow.end),
            // The initiator is the source where it is known; otherwise its choice is arbitrary (RFC 5103 section 6.3).
            What::BiflowDirection => u64::from(flow.client_known),
            What::Vlan => flow.key.vlans.outer().unwrap_or(0).into(),
            What::Icmp if ip_protocol::is_icmp(flow.key.proto) => {
                // The stream's type is that of its client: the other direction has the one that answers it, whose code is 0.
                let answer = icmp_counterpart(flow.key.proto, flow.key.icmp[0]).filter(|_| side == 1);
                u16::from_be_bytes(answer.map_or(flow.key.icmp, |kind| [kind, 0])).into()
            }
            What::Icmp => 0,
        };
        out.extend_from_slice(&value.to_be_bytes()[8 - usize::from(field.bytes)..]);
    }
}

fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

/// flowEndReason of a stream that goes on.
const ACTIVE_TIMEOUT: u64 = 2;

/// flowEndReason.
fn end_reason(end: EndReason) -> u64 {
    match end {
        EndReason::Timeout => 1,
        EndReason::EndOfInput => 4,
        EndReason::Evicted => 5,
        _ => 3,
    }
}
