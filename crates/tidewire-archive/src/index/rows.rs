//! A page of records, column by column: the same fields of all records lie together, and compress well.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use tidewire::{EndReason, Endpoint, FlowKey, Tunnel, TunnelKind, Vlans};
use tidewire_types::ip_protocol::{TCP, has_ports, is_icmp};

use super::{
    record::{Amount, FlowRecord, Outer},
    varint::{self, Numbers},
};

/// Records of a page at most.
pub(crate) const PAGE_RECORDS_MAX: usize = 1024;

/// Where packets of a record lie: from its first one to its last one, with those of others between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub offset: u64,
    pub bytes: u64,
    /// Packets of this record.
    pub packets: u64,
    /// The number of the first of them among all packets of the segment, from 0.
    pub first: u64,
}

impl Extent {
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// A record with its extents, in the order of their offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub record: FlowRecord,
    pub extents: Vec<Extent>,
}

mod flag {
    pub const KEY: u8 = 1;
    pub const OUTER: u8 = 2;
    pub const VLAN: u8 = 4;
    pub const TUNNEL: u8 = 8;
    pub const END: u8 = 16;
    pub const CUT: u8 = 32;
    pub const MORE: u8 = 64;
    /// Figures of both directions; else of the first alone.
    pub const BOTH: u8 = 128;
}

/// The columns, in the order in which they are stored.
#[derive(Clone, Copy)]
enum Column {
    Flags,
    Stream,
    Addresses,
    Endpoints,
    ClientPorts,
    ServerPorts,
    Protos,
    Ids,
    Outer,
    First,
    Duration,
    Packets,
    Bytes,
    Ends,
    TcpFlags,
    Cut,
    Extents,
    Offsets,
    Lengths,
    Counts,
    Firsts,
}

const COLUMNS: usize = Column::Firsts as usize + 1;

/// One of each column.
struct Columns<T>([T; COLUMNS]);

impl<T> Columns<T> {
    fn of(&mut self, column: Column) -> &mut T {
        &mut self.0[column as usize]
    }
}

/// Every address of a page once, in order.
#[derive(Default)]
struct Addresses(Vec<IpAddr>);

impl Addresses {
    fn of(rows: &[Row]) -> Self {
        let mut all = BTreeSet::new();
        for record in rows.iter().map(|row| &row.record) {
            if let Some(key) = &record.key {
                all.extend([key.client.address, key.server.address]);
            }
            if let Some(outer) = &record.outer {
                all.extend([outer.source.address, outer.destination.address]);
            }
        }
        Self(all.into_iter().collect())
    }

    fn place(&self, address: &IpAddr) -> u64 {
        self.0.binary_search(address).unwrap_or_default() as u64
    }

    /// IPv4 ones come first.
    fn encode(&self, out: &mut Vec<u8>) {
        let v4 = self.0.partition_point(IpAddr::is_ipv4);
        varint::put(out, v4 as u64);
        varint::put(out, (self.0.len() - v4) as u64);
        let mut before = 0;
        for address in &self.0 {
            match address {
                IpAddr::V4(address) => {
                    varint::put_difference(out, before, u64::from(address.to_bits()));
                    before = u64::from(address.to_bits());
                }
                IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
            }
        }
    }

    fn decode(bytes: &mut Numbers<'_>) -> Option<Self> {
        let (v4, v6) = (bytes.count()?, bytes.count()?);
        let mut all = Vec::with_capacity(v4.saturating_add(v6));
        let mut before = 0;
        for _ in 0..v4 {
            before = bytes.next_from(before)?;
            all.push(Ipv4Addr::from_bits(u32::try_from(before).ok()?).into());
        }
        for _ in 0..v6 {
            all.push(Ipv6Addr::from(*bytes.bytes(16)?.first_chunk::<16>()?).into());
        }
        Some(Self(all))
    }

    fn get(&self, place: u64) -> Option<IpAddr> {
        self.0.get(usize::try_from(place).ok()?).copied()
    }
}

/// Encodes rows.
pub(crate) fn encode(rows: &[Row]) -> Vec<u8> {
    let addresses = Addresses::of(rows);
    let mut columns: Columns<Vec<u8>> = Columns(Default::default());
    addresses.encode(columns.of(Column::Addresses));
    let mut before = Before::default();
    for row in rows {
        put_row(&mut columns, &addresses, &mut before, row);
    }
    let mut page = Vec::new();
    varint::put(&mut page, rows.len() as u64);
    for column in &columns.0 {
        varint::put(&mut page, column.len() as u64);
    }
    columns.0.iter().for_each(|column| page.extend_from_slice(column));
    page
}

/// The base of differences: values of the row before.
#[derive(Default)]
struct Before {
    stream: u64,
    first_ns: u64,
    offset: u64,
    packet: u64,
}

fn flags(record: &FlowRecord) -> u8 {
    let of = |is: bool, flag: u8| if is { flag } else { 0 };
    let key = record.key.as_ref();
    of(key.is_some(), flag::KEY)
        | of(record.outer.is_some(), flag::OUTER)
        | of(key.is_some_and(|key| !key.vlans.is_empty()), flag::VLAN)
        | of(key.is_some_and(|key| key.tunnel.kind != TunnelKind::None), flag::TUNNEL)
        | of(record.end.is_some(), flag::END)
        | of(record.cut_off != [Amount::default(); 2], flag::CUT)
        | of(record.priority != 0 || record.cutoff_bytes != [u64::MAX; 2], flag::MORE)
        | of(record.written[1] != Amount::default() || record.tcp_flags[1] != 0, flag::BOTH)
}

fn put_row(columns: &mut Columns<Vec<u8>>, addresses: &Addresses, before: &mut Before, row: &Row) {
    let record = &row.record;
    let flags = flags(record);
    columns.of(Column::Flags).push(flags);
    varint::put_difference(columns.of(Column::Stream), before.stream, record.stream);
    before.stream = record.stream;
    if let Some(key) = &record.key {
        columns.of(Column::Protos).push(key.proto);
        for end in [&key.client, &key.server] {
            varint::put(columns.of(Column::Endpoints), addresses.place(&end.address));
        }
        if has_ports(key.proto) {
            columns.of(Column::ClientPorts).extend_from_slice(&key.client.port.to_be_bytes());
            columns.of(Column::ServerPorts).extend_from_slice(&key.server.port.to_be_bytes());
        } else if is_icmp(key.proto) {
            columns.of(Column::ServerPorts).extend_from_slice(&key.icmp);
        }
        if flags & flag::VLAN != 0 {
            key.vlans.raw().iter().for_each(|vlan| columns.of(Column::Ids).extend_from_slice(&vlan.to_le_bytes()));
        }
        if flags & flag::TUNNEL != 0 {
            columns.of(Column::Ids).push(key.tunnel.kind as u8);
            varint::put(columns.of(Column::Ids), u64::from(key.tunnel.id));
        }
    }
    if let Some(outer) = &record.outer {
        let to = columns.of(Column::Outer);
        to.push(outer.proto);
        for end in [&outer.source, &outer.destination] {
            varint::put(to, addresses.place(&end.address));
            to.extend_from_slice(&end.port.to_le_bytes());
        }
    }
    varint::put_difference(columns.of(Column::First), before.first_ns, record.first_ns);
    before.first_ns = record.first_ns;
    varint::put_difference(columns.of(Column::Duration), record.first_ns, record.last_ns);
    let directions = if flags & flag::BOTH != 0 { 2 } else { 1 };
    for direction in 0..directions {
        varint::put(columns.of(Column::Packets), record.written[direction].packets);
        varint::put(columns.of(Column::Bytes), record.written[direction].bytes);
        if record.key.is_some_and(|key| key.proto == TCP) {
            columns.of(Column::TcpFlags).push(record.tcp_flags[direction]);
        }
    }
    if let Some(end) = record.end {
        columns.of(Column::Ends).push(end as u8);
    }
    if flags & flag::CUT != 0 {
        for amount in &record.cut_off {
            varint::put(columns.of(Column::Cut), amount.packets);
            varint::put(columns.of(Column::Cut), amount.bytes);
        }
    }
    if flags & flag::MORE != 0 {
        columns.of(Column::Cut).push(record.priority);
        // None is more frequent than any number: it is 0.
        record.cutoff_bytes.iter().for_each(|bytes| varint::put(columns.of(Column::Cut), bytes.wrapping_add(1)));
    }
    put_extents(columns, before, &row.extents);
}

fn put_extents(columns: &mut Columns<Vec<u8>>, before: &mut Before, extents: &[Extent]) {
    varint::put(columns.of(Column::Extents), extents.len() as u64);
    let (mut last, mut packet) = (before.offset, before.packet);
    for (place, extent) in extents.iter().enumerate() {
        varint::put_difference(columns.of(Column::Offsets), last, extent.offset);
        varint::put(columns.of(Column::Lengths), extent.bytes);
        varint::put(columns.of(Column::Counts), extent.packets);
        varint::put_difference(columns.of(Column::Firsts), packet, extent.first);
        if place == 0 {
            (before.offset, before.packet) = (extent.offset, extent.first);
        }
        (last, packet) = (extent.end(), extent.first.wrapping_add(extent.packets));
    }
}

/// Decodes a page; `None`: it is invalid.
pub(crate) fn decode(page: &[u8]) -> Option<Vec<Row>> {
    let mut head = Numbers(page);
    let count = head.count()?;
    let mut lengths = [0; COLUMNS];
    for length in &mut lengths {
        *length = usize::try_from(head.next()?).ok()?;
    }
    let mut columns = Columns([const { Numbers(&[]) }; COLUMNS]);
    for (column, length) in columns.0.iter_mut().zip(lengths) {
        *column = Numbers(head.bytes(length)?);
    }
    let addresses = Addresses::decode(columns.of(Column::Addresses))?;
    let mut before = Before::default();
    if count > PAGE_RECORDS_MAX {
        return None;
    }
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        rows.push(row(&mut columns, &addresses, &mut before)?);
    }
    Some(rows)
}

fn row(columns: &mut Columns<Numbers<'_>>, addresses: &Addresses, before: &mut Before) -> Option<Row> {
    let flags = columns.of(Column::Flags).byte()?;
    let mut record = FlowRecord::NONE;
    record.stream = columns.of(Column::Stream).next_from(before.stream)?;
    before.stream = record.stream;
    if flags & flag::KEY != 0 {
        record.key = Some(key(columns, addresses, flags)?);
    }
    if flags & flag::OUTER != 0 {
        record.outer = Some(outer(columns.of(Column::Outer), addresses)?);
    }
    record.first_ns = columns.of(Column::First).next_from(before.first_ns)?;
    before.first_ns = record.first_ns;
    record.last_ns = columns.of(Column::Duration).next_from(record.first_ns)?;
    let directions = if flags & flag::BOTH != 0 { 2 } else { 1 };
    for direction in 0..directions {
        let (packets, bytes) = (columns.of(Column::Packets).next()?, columns.of(Column::Bytes).next()?);
        record.written[direction] = Amount { packets, bytes };
        if record.key.is_some_and(|key| key.proto == TCP) {
            record.tcp_flags[direction] = columns.of(Column::TcpFlags).byte()?;
        }
    }
    if flags & flag::END != 0 {
        record.end = Some(end_reason(columns.of(Column::Ends).byte()?)?);
    }
    let cut = columns.of(Column::Cut);
    if flags & flag::CUT != 0 {
        for amount in &mut record.cut_off {
            *amount = Amount { packets: cut.next()?, bytes: cut.next()? };
        }
    }
    if flags & flag::MORE != 0 {
        record.priority = cut.byte()?;
        for bytes in &mut record.cutoff_bytes {
            *bytes = cut.next()?.wrapping_sub(1);
        }
    }
    let extents = extents(columns, before)?;
    Some(Row { record, extents })
}

fn extents(columns: &mut Columns<Numbers<'_>>, before: &mut Before) -> Option<Vec<Extent>> {
    let count = usize::try_from(columns.of(Column::Extents).next()?).ok()?;
    // Each takes a byte of this column at least.
    if count > columns.of(Column::Counts).0.len() {
        return None;
    }
    let mut extents = Vec::with_capacity(count);
    let (mut last, mut packet) = (before.offset, before.packet);
    for place in 0..count {
        let offset = columns.of(Column::Offsets).next_from(last)?;
        let bytes = columns.of(Column::Lengths).next()?;
        let packets = columns.of(Column::Counts).next()?;
        let first = columns.of(Column::Firsts).next_from(packet)?;
        if place == 0 {
            (before.offset, before.packet) = (offset, first);
        } else if offset < last {
            return None;
        }
        last = offset.checked_add(bytes)?;
        packet = first.checked_add(packets)?;
        extents.push(Extent { offset, bytes, packets, first });
    }
    Some(extents)
}

fn key(columns: &mut Columns<Numbers<'_>>, addresses: &Addresses, flags: u8) -> Option<FlowKey> {
    let proto = columns.of(Column::Protos).byte()?;
    let endpoints = columns.of(Column::Endpoints);
    let (client, server) = (addresses.get(endpoints.next()?)?, addresses.get(endpoints.next()?)?);
    let end = |address| Endpoint { address, port: 0 };
    let mut key = FlowKey::new(end(client), end(server), proto);
    if has_ports(proto) {
        key.client.port = u16::from_be_bytes(*columns.of(Column::ClientPorts).bytes(2)?.first_chunk()?);
        key.server.port = u16::from_be_bytes(*columns.of(Column::ServerPorts).bytes(2)?.first_chunk()?);
    } else if is_icmp(proto) {
        key.icmp = *columns.of(Column::ServerPorts).bytes(2)?.first_chunk()?;
    }
    let ids = columns.of(Column::Ids);
    if flags & flag::VLAN != 0 {
        let mut place = || Some(u16::from_le_bytes(*ids.bytes(2)?.first_chunk()?));
        key.vlans = Vlans::from_raw([place()?, place()?]);
    }
    if flags & flag::TUNNEL != 0 {
        let kind = *TunnelKind::ALL.get(usize::from(ids.byte()?))?;
        key.tunnel = Tunnel { kind, id: u32::try_from(ids.next()?).ok()? };
    }
    Some(key)
}

fn outer(column: &mut Numbers<'_>, addresses: &Addresses) -> Option<Outer> {
    let proto = column.byte()?;
    let mut end = || {
        let address = addresses.get(column.next()?)?;
        Some(Endpoint { address, port: u16::from_le_bytes(*column.bytes(2)?.first_chunk()?) })
    };
    Some(Outer { source: end()?, destination: end()?, proto })
}

fn end_reason(number: u8) -> Option<EndReason> {
    use EndReason::{EndOfInput, Evicted, Fin, Reused, Rst, Timeout};
    [Fin, Rst, Timeout, Reused, Evicted, EndOfInput].into_iter().find(|reason| *reason as u8 == number)
}
