//! `tidewire flows`: one record for each bidirectional flow.

use std::sync::Arc;

use clap::Args;
use tidewire::{Chunk, EndReason, Gap, Handler, Stream};
use tidewire_exports::table::FLOWS;

use crate::{
    app::{self, AppTexts, Follower, Wants, Watched},
    app_cells,
    clock::Clock,
    cut_off,
    cut_off_join::CutOffs,
    error::{self, CliError},
    export::{ExportOptions, Job, Kind, Rows, Text, Texts, csv_header},
    memory::Kept,
    options::Common,
    output::{self, Object, Out},
    record::{self, Record},
    row::Column,
    row::{Cells, Form, Row},
    selection::{Order, Selection, Totals},
    session::Session,
    shared_output::SharedOutput,
    sorted::{Room, Sortable, Sorted},
    units::{BitRate, Bytes, Lasting, counted},
    where_option::WhereOption,
    write::{Choose, Want, WriteOption},
};

/// List flows: addresses, service and name, packets, bytes, state
///
/// Each record covers both directions. BYTES counts from the IP header on, without link-layer headers and padding; --json also
/// has frame bytes. RATE is BYTES over DURATION. SERVICE and NAME come from the first 16 KiB of each direction (--cutoff); of files,
/// --where with fields of protocols and --to with transactions read everything. --mode track leaves fields out. For reassembled data and gaps use tidewire streams.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    pub common: Common,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    export: ExportOptions,

    #[command(flatten)]
    selected: WhereOption,

    #[command(flatten)]
    write: WriteOption,
}

struct Flows {
    order: Order,
    totals: Totals,
    kept: Sorted<Flow, Order>,
    follower: Follower,
    /// What was cut off of an archive's streams.
    cuts: Option<Arc<CutOffs>>,
    /// Prints flows as they end, for inputs that may not end.
    sink: Option<Arc<SharedOutput>>,
    form: Form,
    scratch: Vec<u8>,
    texts: AppTexts,
    /// Whether packets of a stream that did not end are wanted.
    want: Want,
    printed: Want,
}

struct Flow {
    record: Record,
    /// `app` of the record as JSON, which has none then.
    app: Option<bytes::Bytes>,
}

impl From<Record> for Flow {
    fn from(record: Record) -> Self {
        Self { record, app: None }
    }
}

impl AsRef<Record> for Flow {
    fn as_ref(&self) -> &Record {
        &self.record
    }
}

impl Sortable for Flow {
    fn heap_bytes(&self) -> usize {
        self.record.heap_bytes() + self.app.as_ref().map_or(0, bytes::Bytes::len)
    }
}

impl Handler for Flows {
    type Data = Watched;

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, Watched>, chunk: Chunk<'_>) {
        if !self.follower.passes_over(stream, &chunk) {
            self.follower.watch(stream, |follower, stream, report| follower.data(stream, &chunk, report));
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, Watched>, gap: Gap) {
        self.follower.watch(stream, |follower, stream, report| follower.gap(stream, &gap, report));
    }

    fn close(&mut self, stream: &mut Stream<'_, Watched>, reason: EndReason) {
        let Some(app) = self.follower.end(stream, reason) else {
            self.printed = Want::No;
            return;
        };
        self.totals.add(stream);
        if let Some(cuts) = &self.cuts {
            self.totals.forgive(cuts.sums(stream));
        }
        if !self.order.is_empty() {
            // Anomalies are not printed here.
            let mut record = Record { app, ..Record::of_figures(stream, reason) };
            if let Some(cuts) = &self.cuts {
                cuts.apply(&mut record, stream.gaps());
            }
            match &self.sink {
                Some(sink) => self.printed = sink.push(&Flow::from(record), &mut self.scratch).into(),
                None => {
                    let mut flow = Flow::from(record);
                    if self.form == Form::Json {
                        let is_kept = !self.order.has_limit();
                        flow.app = flow.record.app.take().map(|app| self.texts.json(&app, is_kept));
                    }
                    self.kept.push(flow);
                    self.printed = Want::Later;
                }
            }
        }
    }
}

impl Choose for Flows {
    fn want(&self, _: u64, _: &Watched) -> Want {
        self.want
    }

    fn printed(&self) -> Want {
        self.printed
    }

    fn candidates(&self) -> Option<Vec<u64>> {
        self.sink.is_none().then(|| self.kept.ids())
    }
}

/// Flows for exports.
const ROWS: Texts =
    Texts::Records(Rows { header: csv_header::<Flow>, row: |record| Box::new(Text(Flow::from(record))) });

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let form = options.selection.form();
    let select = options.selected.select(&FLOWS, &options.common)?;
    let wants = match &select {
        Some(select) if select.field_of_bytes().is_some() => Wants::Fields,
        None if options.export.writes_transactions()? => Wants::Transactions,
        _ => Wants::Beginnings,
    };
    let (common, mode) = app::of_flows(&options.common, wants);
    let common = &*common;
    let cuts = common.cut_off()?;
    if options.export.is_on() {
        options.export.refuse(&[
            ("--sort", options.selection.sort.is_some()),
            ("--top", options.selection.top.is_some()),
            ("--time", options.selection.time.time.is_some()),
            ("--write", options.write.is_on()),
        ])?;
        return options.export.run(&Job { common, mode, kind: Kind::Streams, services: &[], rows: ROWS, select, cuts });
    }
    let order = options.selection.order(common);
    let want = if select.is_some() { Want::Later } else { order.want() };
    let layout = options.selection.layout::<Flow>(select.as_deref())?;
    let mut session = Session::new(common)?.keeping(Kept::FIELDS);
    let is_unending = options.selection.is_unending(common);
    let sink = is_unending.then(|| SharedOutput::stdout::<Flow>(form, &layout, common.limit, &session.stop));
    let mut writing = options.write.begin(common, mode, sink.is_none() && want == Want::Later, &mut session)?;
    let (room, parts) = (Room::new(common, form, &layout), common.parts(Kept::FIELDS));
    let make = |_| Flows {
        order,
        totals: Totals::default(),
        kept: Sorted::new(order, &room),
        follower: Follower::new(&parts).with(&select, &cuts),
        cuts: cuts.clone(),
        sink: sink.clone(),
        form,
        scratch: Vec::new(),
        texts: AppTexts::default(),
        want,
        printed: Want::Later,
    };
    let (handlers, closing) = writing.run(&session, sink.as_deref().as_slice(), make)?;
    let mut totals = Totals::default();
    handlers.iter().for_each(|handler| totals.merge(&handler.totals));
    app::say_refused(handlers.iter().map(|handler| handler.follower.refused()).sum());
    cuts.iter().for_each(|cuts| cuts.say_ambiguous());
    let flows = Sorted::merged(handlers.into_iter().map(|handler| handler.kept), order, room);
    let ids = if options.write.is_on() { flows.ids()? } else { Vec::new() };
    let written = writing.finish(ids, closing.is_whole());
    let mut out = Out::last();
    let printed = flows.print(false, &mut out);
    // The process ends: giving each text back would take a tenth of what finding it took.
    std::mem::forget(flows);
    let code = printed.and_then(|()| {
        if form == Form::Table {
            let lines = closing_lines(&totals, order, &layout.clock).into_iter().chain(closing.lines(common));
            lines.into_iter().try_for_each(|line| out.line(&line))?;
        }
        closing.finish(common, options.selection.json, &mut out, error::OK)
    });
    error::concluded(written, code)
}

impl Row for Flow {
    const COLUMNS: &'static [Column] = &COLUMNS;

    fn push_json(&self, out: &mut Vec<u8>) {
        push_json(out, self);
    }

    fn csv_header(clock: &Clock) -> String {
        format!("{},{CSV_FIGURES},{},{}", record::csv_identity(clock), cut_off::CSV, app::CSV)
    }

    fn push_csv(&self, out: &mut Vec<u8>, clock: &Clock) {
        push_csv(out, &self.record, clock);
    }

    fn cells(&self, clock: &Clock) -> Cells {
        Cells { cells: cells(&self.record, clock), asides: record::asides(&self.record), notes: Vec::new() }
    }
}

fn push_json(out: &mut Vec<u8>, flow: &Flow) {
    let record = &flow.record;
    let mut object = Object::open(out);
    record::push_identity(&mut object, record);
    let [c2s, s2c] = &record.stats;
    let mut both = |names: [&str; 2], figures: [u64; 2]| {
        object.number(names[0], figures[0]);
        object.number(names[1], figures[1]);
    };
    both(["packets_c2s", "packets_s2c"], [c2s.packets, s2c.packets]);
    both(["bytes_c2s", "bytes_s2c"], [c2s.ip_bytes, s2c.ip_bytes]);
    both(["frames_c2s", "frames_s2c"], [c2s.frames, s2c.frames]);
    both(["frame_bytes_c2s", "frame_bytes_s2c"], [c2s.frame_bytes, s2c.frame_bytes]);
    both(["payload_bytes_c2s", "payload_bytes_s2c"], [c2s.payload_wire_bytes, s2c.payload_wire_bytes]);
    both(["tcp_flags_c2s", "tcp_flags_s2c"], [c2s.tcp_flags.into(), s2c.tcp_flags.into()]);
    both(["retransmitted_bytes_c2s", "retransmitted_bytes_s2c"], [c2s.retransmitted_bytes, s2c.retransmitted_bytes]);
    both(
        ["out_of_order_packets_c2s", "out_of_order_packets_s2c"],
        [c2s.out_of_order_packets, s2c.out_of_order_packets],
    );
    both(["missing_bytes_c2s", "missing_bytes_s2c"], [c2s.missing_bytes, s2c.missing_bytes]);
    if let Some(amounts) = &record.cut_off {
        both(["cut_off_packets_c2s", "cut_off_packets_s2c"], amounts.map(|amount| amount.packets));
        both(["cut_off_bytes_c2s", "cut_off_bytes_s2c"], amounts.map(|amount| amount.bytes));
    }
    record::push_mptcp(&mut object, record);
    match (&flow.app, &record.app) {
        (Some(json), _) => object.key("app").extend_from_slice(json),
        (None, Some(app)) => app::push(&mut object, app),
        (None, None) => {}
    }
    object.close();
    out.push(b'\n');
}

const CSV_FIGURES: &str = "packets_c2s,packets_s2c,bytes_c2s,bytes_s2c,frames_c2s,frames_s2c,frame_bytes_c2s,\
    frame_bytes_s2c,payload_bytes_c2s,payload_bytes_s2c,tcp_flags_c2s,tcp_flags_s2c,retransmitted_bytes_c2s,\
    retransmitted_bytes_s2c,out_of_order_packets_c2s,out_of_order_packets_s2c,missing_bytes_c2s,missing_bytes_s2c";

fn push_csv(out: &mut Vec<u8>, record: &Record, clock: &Clock) {
    let [a, b] = &record.stats;
    let pairs = [
        [a.packets, b.packets],
        [a.ip_bytes, b.ip_bytes],
        [a.frames, b.frames],
        [a.frame_bytes, b.frame_bytes],
        [a.payload_wire_bytes, b.payload_wire_bytes],
        [a.tcp_flags.into(), b.tcp_flags.into()],
        [a.retransmitted_bytes, b.retransmitted_bytes],
        [a.out_of_order_packets, b.out_of_order_packets],
        [a.missing_bytes, b.missing_bytes],
    ];
    record::push_csv_identity(out, record, clock);
    for figure in pairs.into_iter().flatten() {
        out.push(b',');
        output::push_number(out, figure);
    }
    cut_off::push_csv(out, record.cut_off.as_deref());
    app::push_csv(out, record.app.as_deref());
    out.push(b'\n');
}

/// In order of the line; the number is the order in which columns are dropped on a narrow terminal.
const COLUMNS: [Column; 25] = [
    Column::figures("ID", "id", 0),
    Column::time("START", "start", 4),
    Column::figures("DURATION", "duration", 6),
    Column::words("PROTO", "proto", 0),
    Column::words("CLIENT", "client", 0),
    Column::words("SERVER", "server", 0),
    Column::words("SERVICE", "service", 1),
    Column::words("NAME", "name", 3),
    Column::figures("PACKETS", "packets", 2),
    Column::figures("BYTES", "bytes", 0),
    Column::figures("RATE", "rate", 7),
    Column::words("STATE", "state", 5),
    Column::words("END", "end", 8),
    Column::words("FLAGS>", "flags_c2s", 11),
    Column::words("<FLAGS", "flags_s2c", 11),
    Column::figures("PACKETS>", "packets_c2s", 12),
    Column::figures("<PACKETS", "packets_s2c", 12),
    Column::figures("BYTES>", "bytes_c2s", 10),
    Column::figures("<BYTES", "bytes_s2c", 10),
    Column::figures("RETRANS", "retransmitted", 9),
    Column::figures("REORDERED", "reordered", 9),
    Column::figures("MISSING", "missing", 6),
    Column::figures("CUT OFF", "cut_off", 6),
    Column::words("VLAN/TUNNEL", "tunnel", 8),
    Column::words("COMMUNITY ID", "community_id", 13),
];

fn closing_lines(totals: &Totals, order: Order, clock: &Clock) -> Vec<String> {
    let (flows, packets) = (counted(totals.streams, "flow", "flows"), counted(totals.packets, "packet", "packets"));
    let shown = order.shown_of(totals.streams);
    totals.closing_lines(&format!("{flows}{shown}, {packets}, {}{}", Bytes(totals.bytes), totals.cut_off()), clock)
}

/// Bits a second from the first packet to the last; empty if there is one point in time only.
fn rate(record: &Record) -> String {
    match record.duration_ns() {
        0 => String::new(),
        ns => BitRate(record.bytes() as f64 * 8e9 / ns as f64).to_string(),
    }
}

fn cells(record: &Record, clock: &Clock) -> Vec<String> {
    let key = &record.key;
    let [c2s, s2c] = &record.stats;
    let bytes = |bytes: u64| if bytes == 0 { String::new() } else { Bytes(bytes).to_string() };
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let [service, name] = app_cells::cells(record.app.as_deref());
    let place = [record::vlan_cell(key), record::tunnel_cell(key)].join(" ");
    vec![
        record.id.to_string(),
        clock.cell(record.start_ns),
        Lasting(record.duration_ns()).to_string(),
        record::proto_name(key.proto).into_owned(),
        record::endpoint(key.client, key.proto),
        record::endpoint(key.server, key.proto),
        service,
        name,
        record.packets().to_string(),
        Bytes(record.bytes()).to_string(),
        rate(record),
        record::state_cell(record),
        record.end.name().replace('_', " "),
        record::flags(c2s.tcp_flags),
        record::flags(s2c.tcp_flags),
        count(c2s.packets),
        count(s2c.packets),
        bytes(c2s.ip_bytes),
        bytes(s2c.ip_bytes),
        bytes(c2s.retransmitted_bytes + s2c.retransmitted_bytes),
        count(c2s.out_of_order_packets + s2c.out_of_order_packets),
        bytes(c2s.missing_bytes + s2c.missing_bytes),
        cut_off::cell(record.cut_off.as_deref()),
        place.trim().to_owned(),
        tidewire::community_id(key, 0),
    ]
}
