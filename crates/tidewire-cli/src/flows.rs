//! `tidewire flows`: one record for each bidirectional flow.

use std::sync::Arc;

use clap::Args;
use tidewire::{Chunk, EndReason, Gap, Handler, Stream};
use tidewire_exports::{FlowRecord, records, table::FLOWS};
use tidewire_outputs::{ConversationTracker, CutOffs, ExportKind, KeptState, Totals, TrackedStream};

use crate::{
    app::{self, AppTexts, Wants},
    clock::Clock,
    cut_off_records,
    error::{self, CliError},
    export::{ExportOptions, Job},
    options::Common,
    output::Out,
    record::{self, Record},
    row::{Cells, Column, Form, Row, described},
    selection::{self, Order, Selection},
    session::Session,
    shared_output::SharedOutput,
    sorted::{Room, Sortable, Sorted},
    stream_columns::{self, Listing},
    units::{Bytes, counted},
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
    tracker: ConversationTracker,
    /// Parts of an archive's streams that were cut off.
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

impl Flow {
    fn view<T>(&self, _: records::Form, call: impl FnOnce(&FlowRecord<'_>) -> T) -> T {
        let mut record = self.record.view();
        record.app_json = self.app.as_deref();
        call(&record)
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
    type Data = TrackedStream;

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, TrackedStream>, chunk: Chunk<'_>) {
        if !self.tracker.passes_over(stream, &chunk) {
            self.tracker.track(stream, |tracker, stream, report| tracker.data(stream, &chunk, report));
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, TrackedStream>, gap: Gap) {
        self.tracker.track(stream, |tracker, stream, report| tracker.gap(stream, &gap, report));
    }

    fn close(&mut self, stream: &mut Stream<'_, TrackedStream>, reason: EndReason) {
        let Some(app) = self.tracker.end(stream, reason) else {
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
                cut_off_records::apply(cuts, &mut record, stream.gaps());
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
    fn want(&self, _: u64, _: &TrackedStream) -> Want {
        self.want
    }

    fn printed(&self) -> Want {
        self.printed
    }

    fn candidates(&self) -> Option<Vec<u64>> {
        self.sink.is_none().then(|| self.kept.ids())
    }
}

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
        return options.export.run(&Job { common, mode, kind: ExportKind::Flows, services: &[], select, cuts });
    }
    let order = options.selection.order(common);
    let want = if select.is_some() { Want::Later } else { order.want() };
    let layout = options.selection.layout::<Flow>(select.as_deref())?;
    let mut session = Session::new(common)?.keeping(KeptState::FIELDS);
    let is_unending = options.selection.is_unending(common);
    let sink = is_unending.then(|| SharedOutput::stdout::<Flow>(form, &layout, common.limit, &session.stop));
    let mut writing = options.write.begin(common, mode, sink.is_none() && want == Want::Later, &mut session)?;
    let (room, parts) = (Room::new(common, form, &layout), common.parts(KeptState::FIELDS));
    let make = |_| Flows {
        order,
        totals: Totals::default(),
        kept: Sorted::new(order, &room),
        tracker: ConversationTracker::new(&parts).with(&select, &cuts),
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
    app::say_refused(handlers.iter().map(|handler| handler.tracker.refused()).sum());
    cuts.iter().for_each(|cuts| cut_off_records::say_ambiguous(cuts));
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
    const COLUMNS: &'static [Column] = &stream_columns::FLOWS;

    described!(records::flow_json, records::flow_csv, records::flow_values);

    fn cells(&self, clock: &Clock) -> Cells {
        Cells {
            cells: stream_columns::cells(Listing::Flows, &self.record, clock),
            asides: record::asides(&self.record),
            notes: Vec::new(),
        }
    }
}

fn closing_lines(totals: &Totals, order: Order, clock: &Clock) -> Vec<String> {
    let (flows, packets) = (counted(totals.streams, "flow", "flows"), counted(totals.packets, "packet", "packets"));
    let shown = order.shown_of(totals.streams);
    let counts = format!("{flows}{shown}, {packets}, {}{}", Bytes(totals.bytes), selection::cut_off(totals));
    selection::closing_lines(totals, &counts, clock)
}
