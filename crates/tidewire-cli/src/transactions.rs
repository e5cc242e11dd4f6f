//! `tidewire transactions`: one record for each DNS query, HTTP request, TLS handshake and the like, with its answer.

use std::{cmp::Ordering, sync::Arc};

use clap::Args;
use tidewire::{Chunk, EndReason, FlowKey, Gap, Handler, Mode, Stream, Timestamp};
use tidewire_exports::{
    Exchange, Origin, records,
    select::Seen,
    table::{Row as TableRow, TRANSACTIONS},
};
use tidewire_outputs::{ConversationTracker, ExportKind, KeptState, Selected};
use tidewire_protocols::{Conversation, Report, Service, Transaction};

use crate::{
    app, app_cells,
    clock::Clock,
    error::{self, CliError},
    export::{ExportOptions, Job},
    layout::{ColumnOptions, Layout, TimeOption},
    options::Common,
    output::Out,
    record,
    row::{Cells, Column, Form, Row, described},
    selection,
    session::Session,
    shared_output::SharedOutput,
    sorted::{Key, Room, Sortable, Sorted, Sorter},
    units::{Lasting, counted},
    where_option::WhereOption,
};

/// Most characters of a request and its answer in a table.
const CELL_CHARS: usize = 64;

/// List DNS queries, HTTP requests, handshakes of TLS and SSH ...
///
/// Also of QUIC, and sessions of SMTP, FTP, DHCP, NTP and SOCKS. Protocols are recognised by content, then by port. Transactions are ordered by time; from interfaces and pipes they are printed as
/// they are complete. Of a connection that turned to encryption nothing more is delivered; --cutoff 16K looks at beginnings only.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,

    /// Only these protocols, as in dns,http (repeatable)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = service, help_heading = "Report")]
    service: Vec<Service>,

    /// Print JSON, one object on each line; key names are stable
    #[arg(long, conflicts_with = "csv", help_heading = "Report")]
    json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, help_heading = "Report")]
    csv: bool,

    #[command(flatten)]
    columns: ColumnOptions,

    #[command(flatten)]
    time: TimeOption,

    #[command(flatten)]
    export: ExportOptions,

    #[command(flatten)]
    selected: WhereOption,
}

/// A protocol by its name.
fn service(name: &str) -> Result<Service, String> {
    let names = || Service::ALL.map(Service::name).join(", ");
    let found = Service::ALL.into_iter().find(|service| service.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("unknown protocol; expected {}", names()))
}

struct Transactions<'a> {
    services: &'a [Service],
    select: Selected,
    keeps: bool,
    count: u64,
    found: Sorted<Found, ByTime>,
    tracker: ConversationTracker,
    /// Prints transactions as they are complete, for inputs that may not end.
    sink: Option<Arc<SharedOutput>>,
    scratch: Vec<u8>,
}

/// A transaction with its stream.
struct Found {
    stream: u64,
    key: FlowKey,
    transaction: Transaction,
}

impl Found {
    fn view<T>(&self, _: records::Form, call: impl FnOnce(&Exchange<'_>) -> T) -> T {
        let (stream, key, transaction) = (self.stream, self.key, &self.transaction);
        call(&Exchange::new((stream, key, Timestamp::from_nanos(0)), 0, transaction, Origin::default()))
    }
}

/// By time; those of one stream with the same time stay in order.
#[derive(Clone, Copy)]
struct ByTime {
    /// How many are printed; `None`: all.
    limit: Option<usize>,
}

impl ByTime {
    fn new(limit: Option<u64>) -> Self {
        Self { limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)) }
    }
}

impl Sorter<Found> for ByTime {
    fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn compare(&self, one: &Found, other: &Found) -> Ordering {
        (one.transaction.start.as_nanos(), one.stream).cmp(&(other.transaction.start.as_nanos(), other.stream))
    }

    fn key(&self, found: &Found) -> Key {
        [0, 0, 0, found.transaction.start.as_nanos(), found.stream]
    }
}

impl Sortable for Found {
    fn heap_bytes(&self) -> usize {
        self.transaction.memory_bytes()
    }
}

impl Transactions<'_> {
    /// Passes something to the conversation of a stream, and keeps or prints what it reports.
    fn follow(
        &mut self,
        stream: &mut Stream<'_, Conversation>,
        pass: impl FnOnce(&mut ConversationTracker, &mut Stream<'_, Conversation>, &mut Report<'_>),
    ) {
        let (id, key, stream_start_ns) = (stream.id(), stream.key(), stream.opened().as_nanos());
        let select = self.select.as_deref();
        let (services, sink, keeps) = (self.services, self.sink.as_deref(), self.keeps);
        let (found, count, scratch) = (&mut self.found, &mut self.count, &mut self.scratch);
        let mut each = |transaction: Transaction| {
            if !services.is_empty() && !services.contains(&transaction.service) {
                return;
            }
            let origin = Origin::default();
            let exchange = Exchange::new((id, key, Timestamp::from_nanos(stream_start_ns)), 0, &transaction, origin);
            if select.is_some_and(|select| !select.matches(&TableRow::Transaction(&exchange), Seen::default())) {
                return;
            }
            *count += 1;
            let one = Found { stream: id, key, transaction };
            match sink {
                Some(sink) => {
                    sink.push(&one, scratch);
                }
                None if keeps => found.push(one),
                None => {}
            }
        };
        pass(&mut self.tracker, stream, &mut Report::Each(&mut each));
    }
}

impl Handler for Transactions<'_> {
    type Data = Conversation;

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, Conversation>, chunk: Chunk<'_>) {
        if self.tracker.passes_over(stream, &chunk) {
            return;
        }
        self.follow(stream, |tracker, stream, report| tracker.data(stream, &chunk, report));
        if stream.data().is_over() {
            stream.discard();
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, Conversation>, gap: Gap) {
        self.follow(stream, |tracker, stream, report| tracker.gap(stream, &gap, report));
    }

    fn close(&mut self, stream: &mut Stream<'_, Conversation>, _: EndReason) {
        self.follow(stream, |tracker, stream, report| drop(tracker.close(stream, report)));
    }
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let common = &options.common;
    common.need_delivery("transactions")?;
    let select = options.selected.select(&TRANSACTIONS, common)?;
    if options.export.is_on() {
        options.export.refuse(&[("--time", options.time.time.is_some())])?;
        let (kind, services) = (ExportKind::Transactions, options.service.as_slice());
        let job = Job { common, mode: Mode::Strict, kind, services, select, cuts: None };
        return options.export.run(&job);
    }
    let form = Form::of(options.json, options.csv);
    let layout = Layout::of::<Found>(&options.columns, &options.time, form)?;
    let session = Session::new(common)?.keeping(KeptState::FIELDS);
    let keeps = common.limit != Some(0);
    let is_unending = keeps && common.is_unending();
    let sink = is_unending.then(|| SharedOutput::stdout::<Found>(form, &layout, common.limit, &session.stop));
    let (order, room) = (ByTime::new(common.limit), Room::new(common, form, &layout));
    let parts = common.parts(KeptState::FIELDS);
    let make = |_| Transactions {
        services: &options.service,
        select: select.clone(),
        keeps,
        count: 0,
        found: Sorted::new(order, &room),
        tracker: ConversationTracker::new(&parts),
        sink: sink.clone(),
        scratch: Vec::new(),
    };
    let (handlers, closing) = session.run(Mode::Strict, sink.as_deref().as_slice(), make)?;
    app::say_refused(handlers.iter().map(|handler| handler.tracker.refused()).sum());
    let count: u64 = handlers.iter().map(|handler| handler.count).sum();
    let found = Sorted::merged(handlers.into_iter().map(|handler| handler.found), order, room);
    let mut out = Out::last();
    found.print(false, &mut out)?;
    if form == Form::Table {
        let shown = selection::shown_of(common.limit, count);
        out.line(&format!("{}{shown}", counted(count, "transaction", "transactions")))?;
        closing.lines(common).into_iter().try_for_each(|line| out.line(&line))?;
    }
    closing.finish(common, options.json, &mut out, error::OK)
}

impl Row for Found {
    const COLUMNS: &'static [Column] = &COLUMNS;

    described!(records::transaction_json, records::transaction_csv, records::transaction_csv);

    fn cells(&self, clock: &Clock) -> Cells {
        let (key, transaction) = (&self.key, &self.transaction);
        let cell = |text: String| app_cells::cut(&tidewire::legible::distinct(&text), CELL_CHARS);
        Cells::of(vec![
            self.stream.to_string(),
            clock.cell(transaction.start.as_nanos()),
            Lasting(transaction.end.as_nanos().saturating_sub(transaction.start.as_nanos())).to_string(),
            record::endpoint(key.client, key.proto),
            record::endpoint(key.server, key.proto),
            transaction.service.name().to_owned(),
            transaction.name().map(app_cells::cell).unwrap_or_default(),
            cell(transaction.request()),
            cell(transaction.response()),
        ])
    }
}

/// In order of the line; the number is the order in which columns are dropped on a narrow terminal.
const COLUMNS: [Column; 9] = [
    Column::figures("STREAM", "stream", 0),
    Column::start(2),
    Column::duration(4),
    Column::client(0),
    Column::server(3),
    Column::words("SERVICE", "service", 0),
    Column::words("NAME", "name", 0),
    Column::words("REQUEST", "request", 0),
    Column::words("RESPONSE", "response", 0),
];
