//! `tidewire flows`: one record a bidirectional flow.

use std::sync::Arc;

use clap::Args;
use tidewire::{EndReason, Handler, Mode, Stream};

use crate::{
    failure::{self, Failure},
    kept::{Kept, Order, Selection, Totals},
    options::Common,
    output::{self, Object, Out},
    record::{self, Record},
    rows::{self, Cells, Form, Row},
    session::Session,
    sink::Sink,
    table::{Align, Column},
    units::{Bytes, Lasting, Moment, counted},
};

/// List flows: addresses, packets and bytes of each direction, state and end
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    selection: Selection,
}

struct Flows {
    order: Order,
    totals: Totals,
    kept: Kept<Flow>,
    /// Where flows are printed as they end, if they are.
    sink: Option<Arc<Sink>>,
    scratch: Vec<u8>,
}

struct Flow(Record);

impl AsRef<Record> for Flow {
    fn as_ref(&self) -> &Record {
        &self.0
    }
}

impl Handler for Flows {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        self.totals.add(stream);
        if !self.order.is_empty() {
            let mut record = Record::of(stream, reason);
            // Nothing of it is printed here.
            record.odd = None;
            match &self.sink {
                Some(sink) => sink.push(&Flow(record), &mut self.scratch),
                None => self.kept.push(Flow(record)),
            }
        }
    }
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let (common, form) = (&options.common, options.selection.form());
    let order = options.selection.order(common);
    let session = Session::new(common)?;
    let is_unending = options.selection.is_unending(common);
    let sink = is_unending.then(|| Sink::stdout::<Flow>(form, common.limit, &session.stop));
    let make =
        |_| Flows { order, totals: Totals::default(), kept: Kept::new(order), sink: sink.clone(), scratch: Vec::new() };
    let (handlers, closing) = session.run(Mode::Track, sink.as_deref().as_slice(), make)?;
    let mut totals = Totals::default();
    handlers.iter().for_each(|handler| totals.merge(&handler.totals));
    let flows = Kept::merged(handlers.into_iter().map(|handler| handler.kept), order);
    let mut out = Out::stdout();
    rows::print(flows, form, false, &mut out)?;
    if form == Form::Table {
        out.line(&closing_line(&totals))?;
    }
    closing.finish(common, options.selection.json, &mut out, failure::OK)
}

impl Row for Flow {
    const COLUMNS: &'static [Column] = &COLUMNS;

    fn push_json(&self, out: &mut Vec<u8>) {
        push_json(out, &self.0);
    }

    fn csv_header() -> String {
        format!("{},{CSV_FIGURES}", record::CSV_IDENTITY)
    }

    fn push_csv(&self, out: &mut Vec<u8>) {
        push_csv(out, &self.0);
    }

    fn cells(&self) -> Cells {
        Cells { cells: cells(&self.0), asides: record::asides(&self.0), notes: Vec::new() }
    }
}

fn push_json(out: &mut Vec<u8>, record: &Record) {
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
    object.close();
    out.push(b'\n');
}

const CSV_FIGURES: &str = "packets_c2s,packets_s2c,bytes_c2s,bytes_s2c,frames_c2s,frames_s2c,frame_bytes_c2s,\
    frame_bytes_s2c,payload_bytes_c2s,payload_bytes_s2c,tcp_flags_c2s,tcp_flags_s2c,retransmitted_bytes_c2s,\
    retransmitted_bytes_s2c,out_of_order_packets_c2s,out_of_order_packets_s2c,missing_bytes_c2s,missing_bytes_s2c";

fn push_csv(out: &mut Vec<u8>, record: &Record) {
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
    record::push_csv_identity(out, record);
    for figure in pairs.into_iter().flatten() {
        out.push(b',');
        output::push_number(out, figure);
    }
    out.push(b'\n');
}

const fn column(title: &'static str, align: Align, dispensable: u8) -> Column {
    Column { title, align, dispensable }
}

/// In the order of the line; the figure says how soon a column goes on a narrow terminal.
const COLUMNS: [Column; 21] = [
    column("ID", Align::Right, 0),
    column("START", Align::Left, 9),
    column("DURATION", Align::Right, 2),
    column("PROTO", Align::Left, 0),
    column("CLIENT", Align::Left, 0),
    column("SERVER", Align::Left, 0),
    column("PACKETS", Align::Right, 0),
    column("BYTES", Align::Right, 0),
    column("STATE", Align::Left, 1),
    column("END", Align::Left, 4),
    column("FLAGS>", Align::Left, 7),
    column("<FLAGS", Align::Left, 7),
    column("PACKETS>", Align::Right, 8),
    column("<PACKETS", Align::Right, 8),
    column("BYTES>", Align::Right, 6),
    column("<BYTES", Align::Right, 6),
    column("RETRANS", Align::Right, 5),
    column("REORDERED", Align::Right, 5),
    column("MISSING", Align::Right, 3),
    column("VLAN/TUNNEL", Align::Left, 4),
    column("COMMUNITY ID", Align::Left, 10),
];

fn closing_line(totals: &Totals) -> String {
    format!(
        "{}, {}, {} in {} of traffic",
        counted(totals.streams, "flow", "flows"),
        counted(totals.packets, "packet", "packets"),
        Bytes(totals.bytes),
        Lasting(totals.duration_ns())
    )
}

fn cells(record: &Record) -> Vec<String> {
    let key = &record.key;
    let [c2s, s2c] = &record.stats;
    let bytes = |bytes: u64| if bytes == 0 { String::new() } else { Bytes(bytes).to_string() };
    let count = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let place = [record::vlan_cell(key), record::tunnel_cell(key)].join(" ");
    vec![
        record.id.to_string(),
        Moment(record.start_ns).to_string(),
        Lasting(record.duration_ns()).to_string(),
        record::proto_name(key.proto).into_owned(),
        record::endpoint(key.client, key.proto),
        record::endpoint(key.server, key.proto),
        record.packets().to_string(),
        Bytes(record.bytes()).to_string(),
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
        place.trim().to_owned(),
        tidewire::community_id(key, 0),
    ]
}
