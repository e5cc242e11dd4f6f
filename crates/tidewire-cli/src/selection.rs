//! Selects and orders the records that are printed.

use std::{cmp::Ordering, net::IpAddr, sync::LazyLock};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tidewire::Endpoint;
use tidewire_exports::{
    records,
    select::Select,
    table::{Column, Kind, Unit},
};
use tidewire_outputs::Totals;

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

/// A sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    name: &'static str,
    source: KeySource,
}

/// The source of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeySource {
    /// One of [`COMPOSED`].
    Composed(usize),
    /// The sum of columns, by their indexes in [`records::flow_texts`].
    Columns([Option<usize>; 2]),
}

/// The value by which records are ordered.
type SortValueOf = fn(&Record) -> [u64; 4];

/// Keys that are made of several fields, or have a name of their own. The first one is the id, which decides between equal ones.
const COMPOSED: [(&str, SortValueOf); 11] = [
    ("id", |_| [0; 4]),
    ("start", |record| [record.start_ns, 0, 0, 0]),
    ("end", |record| [record.end_ns, 0, 0, 0]),
    ("duration", |record| [record.duration_ns(), 0, 0, 0]),
    ("packets", |record| [record.packets(), 0, 0, 0]),
    ("bytes", |record| [record.bytes(), 0, 0, 0]),
    ("retransmitted", |record| [sum(record, |stats| stats.retransmitted_bytes), 0, 0, 0]),
    ("missing", |record| [sum(record, |stats| stats.missing_bytes), 0, 0, 0]),
    ("proto", |record| [record.key.proto.into(), 0, 0, 0]),
    ("client", |record| endpoint_order(record.key.client)),
    ("server", |record| endpoint_order(record.key.server)),
];

const BY_ID: SortKey = SortKey { name: COMPOSED[0].0, source: KeySource::Composed(0) };

impl SortKey {
    /// All keys: the composed ones, columns with numbers, and sums of both directions.
    fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<SortKey>> = LazyLock::new(|| {
            let mut all: Vec<SortKey> = COMPOSED
                .iter()
                .enumerate()
                .map(|(at, (name, _))| SortKey { name, source: KeySource::Composed(at) })
                .collect();
            let columns: Vec<&'static Column> = records::flow_texts().columns().map(|(_, column)| column).collect();
            let mut add = |name: &'static str, indexes: [Option<usize>; 2]| {
                if all.iter().all(|known| known.name != name) {
                    all.push(SortKey { name, source: KeySource::Columns(indexes) });
                }
            };
            for (at, column) in columns.iter().enumerate() {
                if !matches!(column.kind, Kind::Long | Kind::Int | Kind::Time) {
                    continue;
                }
                add(column.name, [Some(at), None]);
                let other = |base: &str| columns.iter().position(|other| other.name == format!("{base}_s2c"));
                let is_sum = matches!(column.unit, Unit::Bytes | Unit::Count);
                if let Some(base) = column.name.strip_suffix("_c2s").filter(|_| is_sum) {
                    add(base, [Some(at), other(base)]);
                }
            }
            all
        });
        &ALL
    }

    /// The column of this key in `--columns`; not all tables have it.
    fn column(self) -> &'static str {
        // The column `end` has the end reason; no column has the end time.
        if self.name == "end" { "" } else { self.name }
    }

    /// The value of a record by which it is ordered.
    fn sort_value(self, record: &Record) -> [u64; 4] {
        match self.source {
            KeySource::Composed(at) => COMPOSED[at].1(record),
            KeySource::Columns(indexes) => {
                let (values, view) = (records::flow_texts(), record.view());
                let number = |at: usize| values.number(at, &view).unwrap_or(0);
                [indexes.into_iter().flatten().map(number).fold(0, u64::saturating_add), 0, 0, 0]
            }
        }
    }
}

/// A key by its name.
fn key_parser() -> impl TypedValueParser<Value = SortKey> {
    let names = SortKey::all().iter().map(|key| key.name);
    PossibleValuesParser::new(names)
        .map(|name| SortKey::all().iter().find(|key| key.name == name).copied().unwrap_or(BY_ID))
}

/// Options that select, order and format records.
#[derive(Args, Clone, Debug)]
pub struct Selection {
    /// Sort by id, start, end, duration, packets, bytes, retransmitted, missing, proto, client or server [default: id]
    ///
    /// Any number of the records is a key by its name, as packets_s2c; without its direction, it is the sum of both.
    /// Records of interfaces and pipes are printed as streams end; with --sort or --top, all when the input ends.
    #[arg(long, value_name = "KEY", value_parser = key_parser(), hide_possible_values = true, help_heading = "Report")]
    pub sort: Option<SortKey>,

    /// Print the N largest by KEY, largest first; N is --limit, or 10
    #[arg(
        long,
        value_name = "KEY",
        value_parser = key_parser(),
        conflicts_with = "sort",
        hide_possible_values = true,
        help_heading = "Report"
    )]
    pub top: Option<SortKey>,

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
    key: SortKey,
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
            None => Order { key: self.sort.unwrap_or(BY_ID), descending: false, limit },
        }
    }
}

/// How many of so many records are printed, for the closing line; empty: all, or none is wanted.
pub fn shown_of(limit: Option<u64>, total: u64) -> String {
    match limit {
        Some(limit @ 1..) if limit < total => format!(" ({limit} shown)"),
        _ => String::new(),
    }
}

impl Order {
    /// How many of so many records are printed, see [`shown_of`].
    pub fn shown_of(&self, total: u64) -> String {
        shown_of(self.limit.map(|limit| limit as u64), total)
    }

    /// Whether records may be dropped again.
    pub fn has_limit(&self) -> bool {
        self.limit.is_some()
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
        let ordering = match self.key.source {
            KeySource::Composed(0) => Ordering::Equal,
            _ => self.key.sort_value(a).cmp(&self.key.sort_value(b)),
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
        let mut parts = self.key.sort_value(record);
        if self.descending {
            parts = parts.map(|part| !part);
        }
        let [first, second, third, fourth] = parts;
        [first, second, third, fourth, record.id]
    }
}

/// An endpoint as numbers in its order: those of IPv4 come first.
fn endpoint_order(endpoint: Endpoint) -> [u64; 4] {
    let [family, high, low] = match endpoint.address {
        IpAddr::V4(address) => [4, 0, u64::from(address.to_bits())],
        IpAddr::V6(address) => [6, (address.to_bits() >> 64) as u64, address.to_bits() as u64],
    };
    [family, high, low, endpoint.port.into()]
}

/// For the closing line: what was cut off.
pub fn cut_off(totals: &Totals) -> String {
    match totals.cut_off_bytes {
        0 => String::new(),
        bytes => format!(", {} cut off when recorded", Bytes(bytes)),
    }
}

/// For the closing line: duration of the traffic and its start.
fn period(totals: &Totals, clock: &Clock) -> String {
    let lasting = Lasting(totals.duration_ns());
    if totals.streams == 0 || totals.start_ns == 0 {
        return format!("in {lasting} of traffic");
    }
    format!("in {lasting} from {}", clock.sentence(totals.start_ns))
}

/// The closing line of a table, wrapped to the terminal.
pub fn closing_lines(totals: &Totals, counts: &str, clock: &Clock) -> Vec<String> {
    let (line, period) = (format!("{counts} {}", period(totals, clock)), period(totals, clock));
    let width = terminal::width();
    let mut lines = match width.filter(|width| line.chars().count() > *width) {
        Some(_) => [counts, &period].iter().flat_map(|line| terminal::wrapped(line, width)).collect(),
        None => vec![line],
    };
    if totals.one_sided > 0 {
        let streams = counted(totals.one_sided, "stream was", "streams were");
        lines.extend(terminal::wrapped(&format!("{streams} captured in one direction only"), width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidewire::{DirectionStats, EndReason, FlowKey, TcpState};

    use super::*;

    struct One(Record);

    fn of(key: FlowKey, id: u64, start_ns: u64) -> Record {
        Record {
            id,
            key,
            client_known: true,
            client_by: tidewire::ClientBy::Handshake,
            time_back: None,
            time_outliers: 0,
            state: TcpState::Stateless,
            end: EndReason::EndOfInput,
            priority: 0,
            start_ns,
            end_ns: start_ns,
            stats: [DirectionStats::default(); 2],
            irregularities: None,
            app: None,
            cut_off: None,
            mptcp: None,
        }
    }

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
                let stats = [stats, DirectionStats::default()];
                One(Record { stats, end_ns: start_ns + bytes, ..of(FlowKey::new(client, server, proto), id, start_ns) })
            },
        )
    }

    /// Each column with numbers is a key, and sums of both directions are.
    #[test]
    fn columns_with_numbers_are_keys() {
        let names: Vec<&str> = SortKey::all().iter().map(|key| key.name).collect();
        for (_, column) in records::flow_texts().columns() {
            let is_number = matches!(column.kind, Kind::Long | Kind::Int | Kind::Time);
            assert!(!is_number || names.contains(&column.name), "{}", column.name);
        }
        assert!(["payload_bytes", "frames", "cut_off_bytes"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(!names.contains(&"state") && !names.contains(&"tcp_flags"));
        let key = |name: &str| *SortKey::all().iter().find(|key| key.name == name).unwrap();
        let any = Endpoint { address: [192, 0, 2, 1].into(), port: 1 };
        let mut record = of(FlowKey::new(any, any, 6), 1, 2);
        for (side, stats) in record.stats.iter_mut().enumerate() {
            (stats.packets, stats.out_of_order_packets) = (1 + side as u64, 3 + side as u64);
        }
        assert_eq!(key("packets_s2c").sort_value(&record), [2, 0, 0, 0]);
        assert_eq!(key("out_of_order_packets").sort_value(&record), [7, 0, 0, 0]);
    }

    proptest! {
        /// Keys in memory and in a temporary file have the same order.
        #[test]
        fn keys_have_the_order_of_records(one in record(), other in record()) {
            for key in SortKey::all() {
                for descending in [false, true] {
                    let order = Order { key: *key, descending, limit: None };
                    prop_assert_eq!(order.compare(&one, &other), order.key(&one).cmp(&order.key(&other)), "{:?}", key);
                }
            }
        }
    }
}
