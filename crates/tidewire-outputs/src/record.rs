//! The records that a run passes to each of its outputs.

use tidewire::{Anomaly, FlowKey};
use tidewire_exports::{
    Exchange, Explained, FlowRecord, MatchRecord, Origin,
    table::Row,
    zeek::{History, Tunnel},
};
use tidewire_protocols::QuicEntry;

use crate::facts::Facts;

/// The two formats of a record as its subcommand prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// A JSON object.
    Json,
    /// Comma-separated values.
    Csv,
}

/// A record that has a format of its own as text.
pub trait TextRow {
    /// Appends its line.
    fn push(&self, form: TextForm, out: &mut Vec<u8>);
}

/// A record, or a report about the run. An output writes those that its format has a place for.
#[derive(Clone, Copy)]
pub enum Record<'a> {
    /// A stream that ended.
    Flow(&'a EndedFlow<'a>),
    /// The figures of a stream that continues, since the record before.
    Interim(&'a FlowRecord<'a>),
    /// A request with its response.
    Transaction {
        /// The transaction and its stream.
        exchange: &'a Exchange<'a>,
        /// Whether those of QUIC have [`Record::Quic`] besides.
        has_packets: bool,
    },
    /// The packets of a stream of QUIC.
    Quic {
        /// Its number, time and key.
        stream: (u64, u64, &'a FlowKey),
        /// Its packets.
        entry: &'a QuicEntry,
    },
    /// A tunnel, once.
    Tunnel {
        /// The tunnel.
        tunnel: &'a Tunnel,
        /// The time of its first packet.
        time_ns: u64,
    },
    /// A pattern that was found.
    Match(&'a MatchRecord<'a>),
    /// Similar events.
    Event(&'a tidewire_exports::EventRecord<'a>),
    /// An anomaly of many streams that the point of the capture explains.
    Explained {
        /// The anomaly.
        explained: &'a Explained,
        /// The source of the packets.
        origin: Origin<'a>,
    },
    /// Records of anomalies that were held are written, in the order of their streams, or dropped where there are too many.
    Release {
        /// Whether they are written.
        are_few: bool,
    },
    /// A record as its subcommand prints it.
    Text(&'a dyn TextRow),
    /// Counters of the run, every 8 s, for EVE's `stats`.
    Stats {
        /// The counters.
        facts: &'a Facts,
        /// Streams that ended.
        flows: u64,
    },
    /// Counters of the run, as often as IPFIX has them.
    Statistics(&'a Facts),
}

/// A stream that ended, with what some formats say besides.
pub struct EndedFlow<'a> {
    /// The stream.
    pub flow: &'a FlowRecord<'a>,
    /// Its anomalies that [`Record::Explained`] does not report.
    pub anomalies: &'a [Anomaly],
    /// Anomalies whose records are held until [`Record::Release`] decides whether they are written one for each stream.
    pub held: &'a [Anomaly],
    /// Its figures since the last [`Record::Interim`]; `None`: there was none.
    pub rest: Option<&'a FlowRecord<'a>>,
    /// The order of its packets, as Zeek reports it.
    pub history: &'a History,
}

impl<'a> Record<'a> {
    /// The record as a row of typed columns, if it is one.
    #[must_use]
    pub fn row(&self) -> Option<Row<'a>> {
        match *self {
            Self::Flow(ended) => Some(Row::Flow(ended.flow)),
            Self::Transaction { exchange, .. } => Some(Row::Transaction(exchange)),
            Self::Match(found) => Some(Row::Match(found)),
            Self::Event(event) => Some(Row::Event(event)),
            _ => None,
        }
    }
}
