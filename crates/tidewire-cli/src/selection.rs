//! Selects and orders the records that are printed.

use std::{cmp::Ordering, net::IpAddr};

use clap::{Args, ValueEnum};
use tidewire::{Anomaly, AnomalyKind, Endpoint};

use tidewire_exports::select::Select;

use crate::{
    clock::Clock,
    error::CliError,
    layout::{ColumnOptions, Layout, TimeOption},
    options::Common,
    record::Record,
    row::{Form, Row},
    sorted::{self, Sorter},
    stream_columns::sum,
    terminal,
    units::{Bytes, Lasting, counted},
    write::Want,
};

/// Sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Key {
    Id,
    Start,
    End,
    Duration,
    Packets,
    Bytes,
    Retransmitted,
    Missing,
    Proto,
    Client,
    Server,
}

impl Key {
    /// The column of this key in `--columns`; not all tables have it.
    fn column(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Start => "start",
            // The column `end` has the end reason; no column has the end time.
            Self::End => "",
            Self::Duration => "duration",
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Retransmitted => "retransmitted",
            Self::Missing => "missing",
            Self::Proto => "proto",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Options that select, order and format records.
#[derive(Args, Clone, Debug)]
pub struct Selection {
    /// Sort by id, start, end, duration, packets, bytes, retransmitted, missing, proto, client or server [default: id]
    ///
    /// Records of interfaces and pipes are printed as streams end; with --sort or --top, all when the input ends.
    #[arg(long, value_name = "KEY", value_enum, hide_possible_values = true, help_heading = "Report")]
    pub sort: Option<Key>,

    /// Print the N largest by KEY, largest first; N is --limit, or 10
    #[arg(
        long,
        value_name = "KEY",
        value_enum,
        conflicts_with = "sort",
        hide_possible_values = true,
        help_heading = "Report"
    )]
    pub top: Option<Key>,

    /// Print JSON, one object on each line; key names are stable
    #[arg(long, conflicts_with = "csv", help_heading = "Report")]
    pub json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, help_heading = "Report")]
    pub csv: bool,

    #[command(flatten)]
    columns: ColumnOptions,

    #[command(flatten)]
    pub time: TimeOption,
}

/// The order of records, and their limit.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    key: Key,
    descending: bool,
    limit: Option<usize>,
}

impl Selection {
    /// Whether records are printed as streams end.
    pub fn is_unending(&self, common: &Common) -> bool {
        common.is_unending() && self.sort.is_none() && self.top.is_none()
    }

    /// The output format.
    pub fn form(&self) -> Form {
        Form::of(self.json, self.csv)
    }

    /// Columns and the format of times. `select`: what records are selected by.
    pub fn layout<R: Row>(&self, select: Option<&Select>) -> Result<Layout, CliError> {
        let mut layout = Layout::of::<R>(&self.columns, &self.time, self.form())?;
        if let Some(key) = self.top.or(self.sort) {
            layout.keep::<R>(key.column());
        }
        if select.is_some_and(Select::is_of_names) {
            layout.keep::<R>("name");
        }
        Ok(layout)
    }

    /// The order of the options.
    pub fn order(&self, common: &Common) -> Order {
        let limit = common.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        match self.top {
            Some(key) => Order { key, descending: true, limit: limit.or(Some(10)) },
            None => Order { key: self.sort.unwrap_or(Key::Id), descending: false, limit },
        }
    }
}

impl Order {
    /// Whether records may be dropped again.
    pub fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// How many of so many records are printed, for the closing line; empty: all, or none is wanted.
    pub fn shown_of(&self, total: u64) -> String {
        match self.limit {
            Some(limit @ 1..) if (limit as u64) < total => format!(" ({limit} shown)"),
            _ => String::new(),
        }
    }

    /// Whether no record is printed.
    pub fn is_empty(&self) -> bool {
        self.limit == Some(0)
    }

    /// Whether every stream's record is printed, none, or what the end of the input decides.
    pub fn want(&self) -> Want {
        match self.limit {
            None => Want::Yes,
            Some(0) => Want::No,
            Some(_) => Want::Later,
        }
    }

    fn compare_records(&self, a: &Record, b: &Record) -> Ordering {
        let ordering = match self.key {
            Key::Id => Ordering::Equal,
            Key::Start => a.start_ns.cmp(&b.start_ns),
            Key::End => a.end_ns.cmp(&b.end_ns),
            Key::Duration => a.duration_ns().cmp(&b.duration_ns()),
            Key::Packets => a.packets().cmp(&b.packets()),
            Key::Bytes => a.bytes().cmp(&b.bytes()),
            Key::Retransmitted => {
                sum(a, |stats| stats.retransmitted_bytes).cmp(&sum(b, |stats| stats.retransmitted_bytes))
            }
            Key::Missing => sum(a, |stats| stats.missing_bytes).cmp(&sum(b, |stats| stats.missing_bytes)),
            Key::Proto => a.key.proto.cmp(&b.key.proto),
            Key::Client => a.key.client.cmp(&b.key.client),
            Key::Server => a.key.server.cmp(&b.key.server),
        };
        let ordering = if self.descending { ordering.reverse() } else { ordering };
        // Ties are ordered by id, for any number of workers.
        ordering.then(a.id.cmp(&b.id))
    }
}

impl<T: AsRef<Record>> Sorter<T> for Order {
    fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn compare(&self, one: &T, other: &T) -> Ordering {
        self.compare_records(one.as_ref(), other.as_ref())
    }

    fn key(&self, record: &T) -> sorted::Key {
        let record = record.as_ref();
        let mut parts = match self.key {
            Key::Id => [0; 4],
            Key::Start => [record.start_ns, 0, 0, 0],
            Key::End => [record.end_ns, 0, 0, 0],
            Key::Duration => [record.duration_ns(), 0, 0, 0],
            Key::Packets => [record.packets(), 0, 0, 0],
            Key::Bytes => [record.bytes(), 0, 0, 0],
            Key::Retransmitted => [sum(record, |stats| stats.retransmitted_bytes), 0, 0, 0],
            Key::Missing => [sum(record, |stats| stats.missing_bytes), 0, 0, 0],
            Key::Proto => [record.key.proto.into(), 0, 0, 0],
            Key::Client => place(record.key.client),
            Key::Server => place(record.key.server),
        };
        if self.descending {
            parts = parts.map(|part| !part);
        }
        let [first, second, third, fourth] = parts;
        [first, second, third, fourth, record.id]
    }
}

/// An endpoint as numbers in its order: those of IPv4 come first.
fn place(endpoint: Endpoint) -> [u64; 4] {
    let [family, high, low] = match endpoint.address {
        IpAddr::V4(address) => [4, 0, u64::from(address.to_bits())],
        IpAddr::V6(address) => [6, (address.to_bits() >> 64) as u64, address.to_bits() as u64],
    };
    [family, high, low, endpoint.port.into()]
}

/// Totals over all streams, printed or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub streams: u64,
    pub packets: u64,
    pub bytes: u64,
    pub reassembled_bytes: u64,
    pub delivered_bytes: u64,
    /// Without what was cut off when an archive was recorded.
    pub missing_bytes: u64,
    /// What was cut off then, as the recorder counted it: frames' bytes.
    pub cut_off_bytes: u64,
    /// Streams with a packet whose checksum is wrong.
    pub bad_checksums: u64,
    /// Connections of which the packets of one side are missing, as the other one acknowledged bytes of it.
    pub one_sided: u64,
    pub start_ns: u64,
    pub end_ns: u64,
}

impl Totals {
    /// Adds a closed stream.
    #[inline]
    pub fn add<D>(&mut self, stream: &tidewire::Stream<'_, D>) {
        self.streams += 1;
        let is_bad = |anomaly: &Anomaly| anomaly.kind == AnomalyKind::BadChecksum;
        self.bad_checksums += u64::from(stream.anomalies().iter().any(is_bad));
        for direction in crate::record::DIRECTIONS {
            let stats = stream.stats(direction);
            self.packets += stats.packets;
            self.bytes += stats.ip_bytes;
            self.reassembled_bytes += stats.reassembled_bytes;
            self.delivered_bytes += stats.delivered_bytes;
            self.missing_bytes += stats.missing_bytes;
            self.one_sided += u64::from(stats.packets == 0 && stats.missing_bytes > 0);
        }
        self.span(stream.start_ns(), stream.end_ns());
    }

    /// Takes bytes that a recorder cut off out of those that are missing, and adds what it cut off.
    pub fn forgive(&mut self, [missing_bytes, cut_off_bytes]: [u64; 2]) {
        self.missing_bytes = self.missing_bytes.saturating_sub(missing_bytes);
        self.cut_off_bytes = self.cut_off_bytes.saturating_add(cut_off_bytes);
    }

    fn span(&mut self, start_ns: u64, end_ns: u64) {
        self.start_ns = if self.end_ns == 0 { start_ns } else { self.start_ns.min(start_ns) };
        self.end_ns = self.end_ns.max(end_ns);
    }

    /// Adds the totals of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.streams += other.streams;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.reassembled_bytes += other.reassembled_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.missing_bytes += other.missing_bytes;
        self.cut_off_bytes = self.cut_off_bytes.saturating_add(other.cut_off_bytes);
        self.bad_checksums += other.bad_checksums;
        self.one_sided += other.one_sided;
        if other.streams > 0 {
            self.span(other.start_ns, other.end_ns);
        }
    }

    /// For the closing line: what was cut off.
    pub fn cut_off(&self) -> String {
        match self.cut_off_bytes {
            0 => String::new(),
            bytes => format!(", {} cut off when recorded", Bytes(bytes)),
        }
    }

    /// For the closing line: duration of the traffic and its start.
    fn period(&self, clock: &Clock) -> String {
        let lasting = Lasting(self.duration_ns());
        if self.streams == 0 || self.start_ns == 0 {
            return format!("in {lasting} of traffic");
        }
        format!("in {lasting} from {}", clock.sentence(self.start_ns))
    }

    /// The closing line of a table, wrapped to the terminal.
    pub fn closing_lines(&self, counts: &str, clock: &Clock) -> Vec<String> {
        let (line, period) = (format!("{counts} {}", self.period(clock)), self.period(clock));
        let width = terminal::width();
        let mut lines = match width.filter(|width| line.chars().count() > *width) {
            Some(_) => [counts, &period].iter().flat_map(|line| terminal::wrapped(line, width)).collect(),
            None => vec![line],
        };
        if self.one_sided > 0 {
            let streams = counted(self.one_sided, "stream was", "streams were");
            lines.extend(terminal::wrapped(&format!("{streams} captured in one direction only"), width));
        }
        lines
    }

    /// From the first packet of any stream to the last.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidewire::{DirectionStats, EndReason, FlowKey, TcpState};

    use super::*;

    struct One(Record);

    impl std::fmt::Debug for One {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{:?} {} {:?}", self.0.key, self.0.id, self.0.stats[0])
        }
    }

    impl AsRef<Record> for One {
        fn as_ref(&self) -> &Record {
            &self.0
        }
    }

    fn record() -> impl Strategy<Value = One> {
        let address = prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)];
        let endpoint = (address, 0..3_u16).prop_map(|(address, port)| Endpoint { address, port });
        let numbers = (0..9_u64, 0..9_u64, 0..9_u64, 0..9_u64);
        (endpoint.clone(), endpoint, any::<u8>(), numbers).prop_map(
            |(client, server, proto, (id, start_ns, packets, bytes))| {
                let mut stats = DirectionStats::default();
                (stats.packets, stats.ip_bytes, stats.missing_bytes) = (packets, bytes, packets);
                One(Record {
                    id,
                    key: FlowKey::new(client, server, proto),
                    client_known: true,
                    client_by: tidewire::ClientBy::Handshake,
                    time_back_ns: 0,
                    time_outliers: 0,
                    state: TcpState::Stateless,
                    end: EndReason::EndOfInput,
                    priority: 0,
                    start_ns,
                    end_ns: start_ns + bytes,
                    stats: [stats, DirectionStats::default()],
                    irregularities: None,
                    app: None,
                    cut_off: None,
                    mptcp: None,
                })
            },
        )
    }

    proptest! {
        /// What is compared in memory and in a temporary file is one order.
        #[test]
        fn keys_have_the_order_of_records(one in record(), other in record()) {
            for key in Key::value_variants() {
                for descending in [false, true] {
                    let order = Order { key: *key, descending, limit: None };
                    prop_assert_eq!(order.compare(&one, &other), order.key(&one).cmp(&order.key(&other)), "{:?}", key);
                }
            }
        }
    }
}
