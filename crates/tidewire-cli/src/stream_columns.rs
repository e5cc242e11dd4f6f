//! Columns of the tables of flows and streams: each is stated once, with the priority that it has in both.

use tidewire::DirectionStats;

use crate::{
    app_cells,
    clock::Clock,
    cut_off,
    record::{self, Record},
    row::Column,
    units::{BitRate, Bytes, Lasting},
};

/// A column of one table, or of both.
#[derive(Clone, Copy)]
struct Shown {
    column: Column,
    /// When it is dropped if there is too little room, by table: see [`Column`]. `None`: the table does not have it.
    dispensable: [Option<u8>; 2],
    cell: fn(&Record, &Clock) -> String,
}

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    Flows,
    Streams,
}

const fn both(column: Column, flows: u8, streams: u8, cell: fn(&Record, &Clock) -> String) -> Shown {
    Shown { column, dispensable: [Some(flows), Some(streams)], cell }
}

const fn flows(column: Column, dispensable: u8, cell: fn(&Record, &Clock) -> String) -> Shown {
    Shown { column, dispensable: [Some(dispensable), None], cell }
}

const fn streams(column: Column, dispensable: u8, cell: fn(&Record, &Clock) -> String) -> Shown {
    Shown { column, dispensable: [None, Some(dispensable)], cell }
}

const fn words(title: &'static str, name: &'static str) -> Column {
    Column::words(title, name, 0)
}

const fn figures(title: &'static str, name: &'static str) -> Column {
    Column::figures(title, name, 0)
}

/// In order of the line.
#[rustfmt::skip]
const ALL: [Shown; 27] = [
    both(figures("ID", "id"), 0, 0, |record, _| record.id.to_string()),
    both(Column::start(0), 4, 3, |record, clock| clock.cell(record.start_ns)),
    both(Column::duration(0), 6, 8, |record, _| Lasting(record.duration_ns()).to_string()),
    both(words("PROTO", "proto"), 0, 0, |record, _| record::proto_name(record.key.proto).into_owned()),
    both(Column::client(0), 0, 0, |record, _| record::endpoint(record.key.client, record.key.proto)),
    both(Column::server(0), 0, 0, |record, _| record::endpoint(record.key.server, record.key.proto)),
    both(words("SERVICE", "service"), 1, 1, |record, _| app_cells::service(record.app.as_deref())),
    both(words("NAME", "name"), 3, 2, |record, _| app_cells::name_cell(record.app.as_deref())),
    flows(figures("PACKETS", "packets").of(&["packets_c2s", "packets_s2c"]), 2, |record, _| record.packets().to_string()),
    flows(figures("BYTES", "bytes").of(&["bytes_c2s", "bytes_s2c"]), 0, |record, _| Bytes(record.bytes()).to_string()),
    flows(figures("RATE", "rate"), 7, |record, _| rate(record)),
    streams(figures("BYTES>", "bytes_c2s").of(&["reassembled_bytes_c2s"]), 0, |record, _| Bytes(record.stats[0].reassembled_bytes).to_string()),
    streams(figures("<BYTES", "bytes_s2c").of(&["reassembled_bytes_s2c"]), 0, |record, _| Bytes(record.stats[1].reassembled_bytes).to_string()),
    both(words("STATE", "state"), 5, 4, |record, _| record::state_cell(record)),
    both(words("END", "end").of(&["end_reason"]), 8, 5, |record, _| record.end.name().replace('_', " ")),
    flows(words("FLAGS>", "flags_c2s").of(&["tcp_flags_c2s"]), 11, |record, _| record::flags(record.stats[0].tcp_flags)),
    flows(words("<FLAGS", "flags_s2c").of(&["tcp_flags_s2c"]), 11, |record, _| record::flags(record.stats[1].tcp_flags)),
    flows(figures("PACKETS>", "packets_c2s"), 12, |record, _| count(record.stats[0].packets)),
    flows(figures("<PACKETS", "packets_s2c"), 12, |record, _| count(record.stats[1].packets)),
    flows(figures("BYTES>", "bytes_c2s"), 10, |record, _| bytes(record.stats[0].ip_bytes)),
    flows(figures("<BYTES", "bytes_s2c"), 10, |record, _| bytes(record.stats[1].ip_bytes)),
    both(figures("RETRANS", "retransmitted").of(&["retransmitted_bytes_c2s", "retransmitted_bytes_s2c"]), 9, 9, |record, _| bytes(sum(record, |stats| stats.retransmitted_bytes))),
    both(figures("REORDERED", "reordered").of(&["out_of_order_packets_c2s", "out_of_order_packets_s2c"]), 9, 10, |record, _| count(sum(record, |stats| stats.out_of_order_packets))),
    both(figures("MISSING", "missing").of(&["missing_bytes_c2s", "missing_bytes_s2c"]), 6, 7, |record, _| bytes(sum(record, |stats| stats.missing_bytes))),
    both(figures("CUT OFF", "cut_off").of(&["cut_off_bytes_c2s", "cut_off_bytes_s2c"]), 6, 6, |record, _| cut_off::cell(record.cut_off.as_deref())),
    both(words("VLAN/TUNNEL", "tunnel").of(&["vlan", "tunnel_kind", "tunnel_id"]), 8, 6, |record, _| place(record)),
    flows(words("COMMUNITY ID", "community_id"), 13, |record, _| tidewire::community_id(&record.key, 0)),
];

const fn chosen<const N: usize>(listing: Listing) -> [Column; N] {
    let mut columns = [ALL[0].column; N];
    let (mut at, mut index) = (0, 0);
    while index < ALL.len() {
        if let Some(dispensable) = ALL[index].dispensable[listing as usize] {
            columns[at] = ALL[index].column;
            columns[at].dispensable = dispensable;
            at += 1;
        }
        index += 1;
    }
    columns
}

pub const FLOWS: [Column; 25] = chosen(Listing::Flows);
pub const STREAMS: [Column; 17] = chosen(Listing::Streams);

/// The cells of a row.
pub fn cells(listing: Listing, record: &Record, clock: &Clock) -> Vec<String> {
    let columns = ALL.iter().filter(|column| column.dispensable[listing as usize].is_some());
    columns.map(|column| (column.cell)(record, clock)).collect()
}

/// Empty if it is 0.
fn bytes(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { Bytes(bytes).to_string() }
}

/// Empty if it is 0.
fn count(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

/// Of both directions.
pub fn sum(record: &Record, figure: impl Fn(&DirectionStats) -> u64) -> u64 {
    record.stats.iter().map(figure).sum()
}

/// Bits a second from the first packet to the last; empty if there is one point in time only.
fn rate(record: &Record) -> String {
    match record.duration_ns() {
        0 => String::new(),
        ns => BitRate(record.bytes() as f64 * 8e9 / ns as f64).to_string(),
    }
}

/// VLANs and the tunnel.
fn place(record: &Record) -> String {
    [record::vlan_cell(&record.key), record::tunnel_cell(&record.key)].join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use tidewire_exports::records;

    use super::*;

    /// Columns name the values that they show, but for times as text, and those that are computed.
    #[test]
    fn columns_name_described_values() {
        let values = [records::flow_values(), records::stream_values()];
        let is_described = |name: &str| values.iter().any(|values| values.columns().any(|(known, _)| known == name));
        for Shown { column, .. } in &ALL {
            let own = std::slice::from_ref(&column.name);
            let names = if column.values.is_empty() { own } else { column.values };
            let is_known = |name: &&str| is_described(name) || name.ends_with("_time") || *name == "rate";
            assert!(names.iter().all(is_known), "{}: {names:?}", column.title);
        }
    }
}
