//! `tidewire streams`: lists streams with statistics and anomalies.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use sha2::{Digest, Sha256};
use tidewire::{AnomalyKind, Chunk, EndReason, Gap, GapCause, Handler, Mode, Stream};
use tidewire_exports::{FlowRecord, records, table::FLOWS};
use tidewire_outputs::{ConversationTracker, CutOffs, ExportKind, HasConversation, KeptState, Totals, TrackedStream};
use tidewire_protocols::Conversation;

use crate::{
    app,
    arg_types::ModeName,
    clock::Clock,
    cut_off_records,
    error::{self, CliError},
    export::{ExportOptions, Job},
    options::Common,
    output::{self, Out},
    record::{self, DIRECTIONS, Record},
    row::{Cells, Column, Form, Row, described},
    selection::{self, Order, Selection},
    session::Session,
    shared_output::SharedOutput,
    sorted::{Room, Sortable, Sorted},
    stream_columns::{self, Listing},
    terminal,
    units::{Bytes, Count, counted},
    where_option::WhereOption,
    write::{Choose, Want, WriteOption},
};

/// List streams: bytes reassembled, gaps, conflicts, anomalies
///
/// Gaps have a cause. A conflict is a range of which two versions arrived; one of them was delivered.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    selection: Selection,

    /// Digest of the delivered bytes of each direction, in order, gaps omitted
    #[arg(long, value_name = "sha256", value_enum, hide_possible_values = true, help_heading = "Report")]
    digest: Option<DigestName>,

    #[command(flatten)]
    export: ExportOptions,

    #[command(flatten)]
    selected: WhereOption,

    #[command(flatten)]
    write: WriteOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DigestName {
    Sha256,
}

/// Counts and stores records; computes digests if `DIGEST`.
struct Streams<const DIGEST: bool> {
    order: Order,
    totals: Totals,
    kept: Sorted<ClosedStream, Order>,
    tracker: ConversationTracker,
    /// Parts of an archive's streams that were cut off.
    cuts: Option<Arc<CutOffs>>,
    /// Prints streams as they end, for inputs that may not end.
    sink: Option<Arc<SharedOutput>>,
    scratch: Vec<u8>,
    /// Whether packets of a stream that did not end are wanted.
    want: Want,
    printed: Want,
}

/// A closed stream, with its digests if requested.
struct ClosedStream {
    record: Record,
    digests: Option<[[u8; 32]; 2]>,
}

impl ClosedStream {
    fn view<T>(&self, _: records::Form, call: impl FnOnce(&FlowRecord<'_>) -> T) -> T {
        let mut record = self.record.view();
        record.digests = self.digests.as_ref();
        call(&record)
    }
}

impl AsRef<Record> for ClosedStream {
    fn as_ref(&self) -> &Record {
        &self.record
    }
}

impl Sortable for ClosedStream {
    fn heap_bytes(&self) -> usize {
        self.record.heap_bytes()
    }
}

/// State of a stream.
#[derive(Default)]
struct StreamState {
    /// A running digest for each direction.
    digests: Option<Box<[Sha256; 2]>>,
    tracked: TrackedStream,
}

impl HasConversation for StreamState {
    fn conversation(&mut self) -> &mut Conversation {
        self.tracked.conversation()
    }
}

impl AsMut<TrackedStream> for StreamState {
    fn as_mut(&mut self) -> &mut TrackedStream {
        &mut self.tracked
    }
}

impl<const DIGEST: bool> Handler for Streams<DIGEST> {
    type Data = StreamState;

    #[inline(always)]
    fn data(&mut self, stream: &mut Stream<'_, StreamState>, chunk: Chunk<'_>) {
        if DIGEST {
            let digests = stream.data().digests.get_or_insert_default();
            digests[chunk.direction as usize].update(chunk.fresh());
        }
        if !self.tracker.passes_over(stream, &chunk) {
            self.tracker.track(stream, |tracker, stream, report| tracker.data(stream, &chunk, report));
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, StreamState>, gap: Gap) {
        self.tracker.track(stream, |tracker, stream, report| tracker.gap(stream, &gap, report));
    }

    fn close(&mut self, stream: &mut Stream<'_, StreamState>, reason: EndReason) {
        let Some(app) = self.tracker.end(stream, reason) else {
            self.printed = Want::No;
            return;
        };
        self.totals.add(stream);
        if let Some(cuts) = &self.cuts {
            self.totals.forgive(cuts.sums(stream));
        }
        if !self.order.is_empty() {
            let digests = stream.data().digests.take();
            let digests = DIGEST.then(|| digests.unwrap_or_default().map(|hash| hash.finalize().into()));
            let mut record = Record { app, ..Record::of(stream, reason) };
            if let Some(cuts) = &self.cuts {
                cut_off_records::apply(cuts, &mut record, stream.gaps());
            }
            let ended = ClosedStream { record, digests };
            match &self.sink {
                Some(sink) => self.printed = sink.push(&ended, &mut self.scratch).into(),
                None => {
                    self.kept.push(ended);
                    self.printed = Want::Later;
                }
            }
        }
    }
}

impl<const DIGEST: bool> Choose for Streams<DIGEST> {
    fn want(&self, _: u64, _: &StreamState) -> Want {
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
    if options.export.is_on() {
        options.export.refuse(&[
            ("--sort", options.selection.sort.is_some()),
            ("--top", options.selection.top.is_some()),
            ("--time", options.selection.time.time.is_some()),
            ("--write", options.write.is_on()),
            ("--digest", options.digest.is_some()),
        ])?;
        let (common, mode) = (&options.common, Mode::Strict);
        let select = options.selected.select(&FLOWS, &options.common)?;
        let (kind, cuts) = (ExportKind::Streams, common.cut_off()?);
        return options.export.run(&Job { common, mode, kind, services: &[], select, cuts });
    }
    let order = options.selection.order(&options.common);
    // Digests that are not printed are not computed.
    if options.digest.is_some() && !order.is_empty() { collect::<true>(options) } else { collect::<false>(options) }
}

fn collect<const DIGEST: bool>(options: &Options) -> Result<u8, CliError> {
    let (common, form) = (&options.common, options.selection.form());
    let select = options.selected.select(&FLOWS, &options.common)?;
    let cuts = common.cut_off()?;
    let order = options.selection.order(common);
    let want = if select.is_some() { Want::Later } else { order.want() };
    let layout = options.selection.layout::<ClosedStream>(select.as_deref())?;
    let mut session = Session::new(common)?.keeping(KeptState::FIELDS);
    let is_unending = options.selection.is_unending(common);
    let sink = is_unending.then(|| SharedOutput::stdout::<ClosedStream>(form, &layout, common.limit, &session.stop));
    let mut writing = options.write.begin(common, Mode::Strict, sink.is_none() && want == Want::Later, &mut session)?;
    let (room, parts) = (Room::new(common, form, &layout), common.parts(KeptState::FIELDS));
    let make = |_| Streams::<DIGEST> {
        order,
        totals: Totals::default(),
        kept: Sorted::new(order, &room),
        tracker: ConversationTracker::new(&parts).with(&select, &cuts),
        cuts: cuts.clone(),
        sink: sink.clone(),
        scratch: Vec::new(),
        want,
        printed: Want::Later,
    };
    let (handlers, closing) = writing.run(&session, sink.as_deref().as_slice(), make)?;
    let mut totals = Totals::default();
    handlers.iter().for_each(|handler| totals.merge(&handler.totals));
    app::say_refused(handlers.iter().map(|handler| handler.tracker.refused()).sum());
    cuts.iter().for_each(|cuts| cut_off_records::say_ambiguous(cuts));
    let streams = Sorted::merged(handlers.into_iter().map(|handler| handler.kept), order, room);
    let ids = if options.write.is_on() { streams.ids()? } else { Vec::new() };
    let written = writing.finish(ids, closing.is_whole());
    let mut out = Out::last();
    let code = streams.print(false, &mut out).and_then(|()| {
        if form == Form::Table {
            let lines = closing_lines(&totals, order, common, &layout.clock).into_iter().chain(closing.lines(common));
            lines.into_iter().try_for_each(|line| out.line(&line))?;
        }
        closing.finish(common, options.selection.json, &mut out, error::OK)
    });
    error::concluded(written, code)
}

impl Row for ClosedStream {
    const COLUMNS: &'static [Column] = &stream_columns::STREAMS;

    described!(records::stream_json, records::stream_csv, records::stream_values);

    fn cells(&self, clock: &Clock) -> Cells {
        let mut asides = record::asides(&self.record);
        // A few gaps are listed individually.
        let missing = |gap: &&Gap| gap.cause != GapCause::Cutoff;
        let gaps = self
            .record
            .irregularities
            .as_ref()
            .map_or(0, |irregularities| irregularities.gaps.iter().filter(missing).count());
        asides.retain(|aside| aside.title != "MISSING" || gaps == 0 || gaps > NOTES_MAX + 1);
        Cells { cells: stream_columns::cells(Listing::Streams, &self.record, clock), asides, notes: notes(self) }
    }
}

/// Most notes of one kind beneath a stream; others are only counted.
const NOTES_MAX: usize = 3;

/// The closing line: delivered bytes, or reassembled ones in mode `track`.
fn closing_lines(totals: &Totals, order: Order, common: &Common, clock: &Clock) -> Vec<String> {
    let (delivered, in_order) = (Bytes(totals.delivered_bytes), Bytes(totals.reassembled_bytes));
    let rest = totals.reassembled_bytes.saturating_sub(totals.delivered_bytes);
    let bytes = match (rest, common.mode) {
        (0, _) => format!("{in_order} reassembled"),
        (_, Some(ModeName::Track)) => format!("{in_order} not delivered (--mode track)"),
        _ => format!("{delivered} delivered, {} beyond the cutoff", Bytes(rest)),
    };
    let missing = match totals.missing_bytes {
        0 => String::new(),
        bytes => format!(", {} missing", Bytes(bytes)),
    };
    let streams = counted(totals.streams, "stream", "streams");
    let packets = counted(totals.packets, "packet", "packets");
    let counts = format!(
        "{streams}{}, {packets}, {bytes}{missing}{}",
        order.shown_of(totals.streams),
        selection::cut_off(totals)
    );
    let mut lines = selection::closing_lines(totals, &counts, clock);
    if totals.bad_checksums > 0 {
        let streams = counted(totals.bad_checksums, "stream has", "streams have");
        let line = format!("{streams} packets with wrong checksums, as where a card computes them (--json has which)");
        lines.extend(terminal::wrapped(&line, terminal::width()));
    }
    lines
}

fn notes(stream: &ClosedStream) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(digests) = &stream.digests {
        for direction in DIRECTIONS {
            notes.push(format!("{} sha256 {}", direction.name(), output::hex(&digests[direction as usize])));
        }
    }
    let Some(irregularities) = &stream.record.irregularities else { return notes };
    let list_max = tidewire::Config::default().list_max() as usize;
    let of_cause = |is_cutoff: bool| {
        let gaps = irregularities.gaps.iter().filter(move |gap| (gap.cause == GapCause::Cutoff) == is_cutoff);
        gaps.map(move |gap| {
            let (name, bytes) = (gap.direction.name(), counted(gap.bytes, "byte", "bytes"));
            let text = match is_cutoff {
                true => format!("{name} cut off at {}: {bytes} not delivered", gap.offset),
                false => format!("{name} gap at {}: {bytes}, {}", gap.offset, gap.cause.name().replace('_', " ")),
            };
            (text, gap.bytes)
        })
    };
    some(&mut notes, of_cause(true), "cutoffs", irregularities.gaps.len() >= list_max);
    some(&mut notes, of_cause(false), "gaps", irregularities.gaps.len() >= list_max);
    for direction in DIRECTIONS {
        let list = &irregularities.conflicts[direction as usize];
        let conflicts = list.iter().map(|conflict| {
            let bytes = counted(conflict.bytes, "byte", "bytes");
            (format!("{} conflicting overlap at {}: {bytes}", direction.name(), conflict.offset), conflict.bytes)
        });
        some(&mut notes, conflicts, "conflicting overlaps", list.len() >= list_max);
    }
    for (direction, stats) in DIRECTIONS.iter().zip(&stream.record.stats).filter(|(_, stats)| stats.ignored_bytes > 0) {
        let bytes = counted(stats.ignored_bytes, "byte", "bytes");
        notes.push(format!("{} {bytes} ignored, as the receiver did", direction.name()));
    }
    // Wrong checksums are on nearly every stream where a card computes them: the totals have them.
    let anomalies = irregularities
        .anomalies
        .iter()
        .filter(|anomaly| anomaly.kind != AnomalyKind::BadChecksum)
        .map(|anomaly| (format!("{} at packet {}", anomaly.kind.name().replace('_', " "), anomaly.packet), 0));
    some(&mut notes, anomalies, "anomalies", irregularities.anomalies.len() >= list_max);
    notes
}

/// Lists the first entries of one kind, and the number of others with their bytes. A single other entry is listed itself.
/// `is_cut`: the list was full, and later entries are missing.
fn some(notes: &mut Vec<String>, items: impl Iterator<Item = (String, u64)>, what: &str, is_cut: bool) {
    let mut items = items.peekable();
    notes.extend(items.by_ref().take(NOTES_MAX).map(|(text, _)| text));
    let Some((next, bytes)) = items.next() else { return };
    let (most, which) = if is_cut { ("at least ", "these") } else { ("", "all") };
    let rest = items.fold((0_u64, bytes), |(count, sum), (_, bytes)| (count + 1, sum + bytes));
    notes.push(match rest {
        (0, _) => next,
        (more, 0) => format!("and {most}{} more {what} (--json lists {which})", Count(more + 1)),
        (more, bytes) => format!("and {most}{} more {what}, {} (--json lists {which})", Count(more + 1), Bytes(bytes)),
    });
}
