//! `tidewire datagrams`: datagrams that arrived in fragments, rebuilt or rejected.

use std::{cmp::Ordering, net::IpAddr, sync::Arc};

use clap::Args;
use sha2::{Digest, Sha256};
use tidewire::{Datagram, Handler, Mode};
use tidewire_exports::{DatagramRecord, records};
use tidewire_outputs::KeptState;

use crate::{
    clock::Clock,
    error::{self, CliError},
    layout::{ColumnOptions, Layout, TimeOption},
    options::Common,
    output::Out,
    record,
    row::{Cells, Column, Form, Row, described},
    selection,
    session::Session,
    shared_output::SharedOutput,
    sorted::{Key, Room, Sortable, Sorted, Sorter},
    units::{Bytes, counted},
    write::{Choose, Want, WriteOption},
};

/// List datagrams that arrived in fragments: rebuilt or rejected
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// Print JSON, one object on each line; key names are stable
    #[arg(long, conflicts_with = "csv", help_heading = "Report")]
    json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, help_heading = "Report")]
    csv: bool,

    #[command(flatten)]
    columns: ColumnOptions,

    #[command(flatten)]
    write: WriteOption,
}

/// A datagram as a row.
struct Entry(DatagramRecord);

impl Entry {
    fn view<T>(&self, _: records::Form, call: impl FnOnce(&DatagramRecord) -> T) -> T {
        call(&self.0)
    }
}

/// By packet, then by addresses.
#[derive(Clone, Copy)]
struct ByPacket {
    /// How many are printed; `None`: all.
    limit: Option<usize>,
}

impl Sorter<Entry> for ByPacket {
    fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn compare(&self, one: &Entry, other: &Entry) -> Ordering {
        self.key(one).cmp(&self.key(other))
    }

    /// Datagrams of one packet lie within each other: few, so that halves of IPv6 addresses may be folded.
    fn key(&self, Entry(entry): &Entry) -> Key {
        let folded = |address: IpAddr| match address {
            IpAddr::V4(address) => address.to_bits().into(),
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64 ^ address.to_bits() as u64,
        };
        let id = u64::from(entry.ip_id) << 8 | u64::from(entry.proto);
        [entry.packet, folded(entry.source), folded(entry.destination), id, entry.packet]
    }
}

impl Sortable for Entry {
    fn heap_bytes(&self) -> usize {
        0
    }
}

struct Datagrams {
    /// Whether nothing is printed, so that counting suffices.
    counts_only: bool,
    rebuilt: u64,
    rejected: u64,
    entries: Sorted<Entry, ByPacket>,
    /// Prints datagrams as they complete, for inputs that may not end.
    sink: Option<Arc<SharedOutput>>,
    scratch: Vec<u8>,
    printed: Want,
}

impl Handler for Datagrams {
    type Data = ();
    const DATAGRAMS: bool = true;

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        match datagram.rejected {
            None => self.rebuilt += 1,
            Some(_) => self.rejected += 1,
        }
        if self.counts_only {
            return;
        }
        let Datagram { packet, source, destination, ip_id, proto, .. } = *datagram;
        let mut record = DatagramRecord::new(packet, source, destination, ip_id, proto);
        (record.fragments, record.overlaps) = (datagram.fragments, datagram.overlaps);
        (record.policy, record.rejected) = (datagram.policy, datagram.rejected);
        record.bytes = datagram.payload.len() as u64;
        record.sha256 = Sha256::digest(datagram.payload).into();
        let entry = Entry(record);
        match &self.sink {
            Some(sink) => self.printed = sink.push(&entry, &mut self.scratch).into(),
            None => self.entries.push(entry),
        }
    }
}

impl Choose for Datagrams {
    const STREAMS: bool = false;

    fn printed(&self) -> Want {
        self.printed
    }
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let (common, form) = (&options.common, Form::of(options.json, options.csv));
    let limit = common.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let layout = Layout::of::<Entry>(&options.columns, &TimeOption::default(), form)?;
    let mut session = Session::new(common)?.keeping(KeptState::RECORDS);
    let sink = common.is_unending().then(|| SharedOutput::stdout::<Entry>(form, &layout, common.limit, &session.stop));
    let all_or_none = match common.limit {
        None => Want::Yes,
        Some(0) => Want::No,
        Some(_) => Want::Later,
    };
    let mut writing =
        options.write.begin(common, Mode::Track, sink.is_none() && all_or_none == Want::Later, &mut session)?;
    let (order, room) = (ByPacket { limit }, Room::new(common, form, &layout));
    let make = |_| Datagrams {
        counts_only: limit == Some(0),
        rebuilt: 0,
        rejected: 0,
        entries: Sorted::new(order, &room),
        sink: sink.clone(),
        scratch: Vec::new(),
        printed: all_or_none,
    };
    let (handlers, closing) = writing.run(&session, sink.as_deref().as_slice(), make)?;
    let rebuilt = handlers.iter().map(|handler| handler.rebuilt).sum();
    let rejected: u64 = handlers.iter().map(|handler| handler.rejected).sum();
    let entries = Sorted::merged(handlers.into_iter().map(|handler| handler.entries), order, room);
    let ids = if options.write.is_on() { entries.ids()? } else { Vec::new() };
    let written = writing.finish(ids, closing.is_whole());
    let mut out = Out::last();
    let code = entries.print(limit != Some(0) && sink.is_none(), &mut out).and_then(|()| {
        if form == Form::Table {
            let shown = selection::shown_of(common.limit, rebuilt + rejected);
            out.line(&format!("{} rebuilt, {rejected} rejected{shown}", counted(rebuilt, "datagram", "datagrams")))?;
        }
        closing.finish(common, options.json, &mut out, error::OK)
    });
    error::concluded(written, code)
}

impl Row for Entry {
    const COLUMNS: &'static [Column] = &COLUMNS;

    described!(records::datagram_json, records::datagram_csv, records::datagram_csv);

    fn cells(&self, _: &Clock) -> Cells {
        Cells::of(cells(&self.0))
    }
}

const COLUMNS: [Column; 10] = [
    Column::figures("PACKET", "packet", 0),
    Column::words("PROTO", "proto", 0),
    Column::words("SOURCE", "source", 0).of(&["src"]),
    Column::words("DESTINATION", "destination", 0).of(&["dst"]),
    Column::figures("IP ID", "ip_id", 3),
    Column::figures("FRAGMENTS", "fragments", 1),
    Column::figures("OVERLAPS", "overlaps", 2),
    Column::figures("BYTES", "bytes", 0),
    Column::words("POLICY", "policy", 3),
    Column::words("REJECTED", "rejected", 0),
];

fn cells(entry: &DatagramRecord) -> Vec<String> {
    let whole = entry.rejected.is_none();
    vec![
        entry.packet.to_string(),
        record::proto_name(entry.proto).into_owned(),
        entry.source.to_string(),
        entry.destination.to_string(),
        entry.ip_id.to_string(),
        entry.fragments.to_string(),
        if entry.overlaps > 0 { entry.overlaps.to_string() } else { String::new() },
        if whole { Bytes(entry.bytes).to_string() } else { String::new() },
        entry.policy.name().to_owned(),
        entry.rejected.map(|reason| reason.name().replace('_', " ")).unwrap_or_default(),
    ]
}
