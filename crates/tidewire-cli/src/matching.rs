//! `tidewire match`: searches reassembled streams for many patterns at once.

use std::{cmp::Ordering, path::PathBuf, sync::Arc};

use clap::Args;
use tidewire::{Chunk, EndReason, FlowKey, Gap, GapCause, Handler, Mode, Stop, Stream, Timestamp, legible::legible};

use crate::{
    clock::Clock,
    error::{self, CliError},
    export::{ExportOptions, Shown, csv_header},
    layout::{ColumnOptions, Layout, TimeOption},
    options::Common,
    output::{Object, Out},
    record,
    row::{Cells, Column, Form, Row, described},
    selection,
    session::Session,
    shared_output::SharedOutput,
    sorted::{Key, Room, Sortable, Sorted, Sorter},
    table::Table,
    text_file,
    units::counted,
    write::{Choose, Comment, Want, WriteOption},
};
use tidewire_exports::{MatchRecord, records, table::MATCHES};
use tidewire_outputs::{Exports, KeptState, Record};
use tidewire_patterns::{self as patterns, Border, MATCHES_AT_MAX, Pattern, Patterns, Syntax};

/// Search streams for byte patterns, across segment borders
///
/// Exit status 1 if nothing is found.
///
/// A pattern is text; |0d 0a| within it stands for bytes in hexadecimal, and other characters between bars are an error. In
/// `hex:0d0a` all is hexadecimal, in `text:|0d|` nothing is. Matches are printed by stream, direction and offset; from
/// interfaces, as they are found. Of more than 8 that end at the same byte, the longest are reported, and the end says how many
/// were left out.
///
/// Attributes may come first: |id=NAME severity=LEVEL nocase|PATTERN. The id is the pattern in the output, nocase ignores the case of
/// this one, and the severity (info, low, medium, high, critical) is that of the sensor's events. Lines of a file that begin with |#
/// are comments.
#[derive(Args, Debug)]
pub struct Options {
    /// Search for PATTERN (repeatable)
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true, help_heading = "Patterns")]
    pattern: Vec<String>,

    /// Search for the patterns in FILE, one on each line (repeatable)
    #[arg(short = 'f', long, value_name = "FILE", help_heading = "Patterns")]
    pattern_file: Vec<PathBuf>,

    /// Ignore the case of ASCII letters
    #[arg(short = 'I', long, help_heading = "Patterns")]
    ignore_case: bool,

    /// Read all patterns as hexadecimal
    #[arg(short = 'x', long, help_heading = "Patterns")]
    hex: bool,

    /// Stop after N matches in total; uses one worker, so that their order is defined
    #[arg(long, value_name = "N", value_parser = crate::arg_types::whole::<u64>, help_heading = "Patterns")]
    stop_after: Option<u64>,

    /// Stop searching a stream after N matches in it
    #[arg(long, value_name = "N", value_parser = crate::arg_types::whole::<u64>, help_heading = "Patterns")]
    stop_after_stream: Option<u64>,

    #[command(flatten)]
    common: Common,

    /// Print the number of matches of each pattern instead of the matches
    #[arg(long, help_heading = "Report")]
    count: bool,

    /// Print JSON, one object on each line; key names are stable
    #[arg(long, conflicts_with = "csv", help_heading = "Report")]
    json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, help_heading = "Report")]
    csv: bool,

    #[command(flatten)]
    columns: ColumnOptions,

    #[command(flatten)]
    export: ExportOptions,

    #[command(flatten)]
    write: WriteOption,
}

/// A match in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    direction: u8,
    /// Offset of its first byte.
    offset: u64,
    pattern: u32,
}

/// State of a stream.
#[derive(Default)]
struct Looking {
    borders: [Border; 2],
    found: u64,
    /// The first matches, for comments on packets.
    noted: Vec<Match>,
    /// Whether a match was printed.
    printed: bool,
}

/// A match with its stream: a line of the output.
struct Hit<'a> {
    id: u64,
    key: FlowKey,
    one: Match,
    pattern: &'a Pattern,
}

impl<'a> Hit<'a> {
    /// The record, without times.
    fn record(&self) -> MatchRecord<'a> {
        let mut record = MatchRecord::new(
            (self.id, self.key),
            record::DIRECTIONS[usize::from(self.one.direction)],
            (self.one.offset, self.pattern.bytes.len() as u64),
            (&self.pattern.name, self.one.pattern.into()),
        );
        record.severity = self.pattern.severity;
        record
    }

    fn view<T>(&self, _: records::Form, call: impl FnOnce(&MatchRecord<'_>) -> T) -> T {
        call(&self.record())
    }
}

/// By stream, direction, offset and pattern.
#[derive(Clone, Copy)]
struct ByPlace {
    /// How many are printed; `None`: all.
    limit: Option<usize>,
}

impl Sorter<Hit<'_>> for ByPlace {
    fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn compare(&self, one: &Hit<'_>, other: &Hit<'_>) -> Ordering {
        (one.id, one.one).cmp(&(other.id, other.one))
    }

    fn key(&self, hit: &Hit<'_>) -> Key {
        [hit.id, hit.one.direction.into(), hit.one.offset, hit.one.pattern.into(), hit.id]
    }
}

impl Sortable for Hit<'_> {
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Bytes of a stream that are searched before their matches are reported: it bounds how many wait.
const PIECE_BYTES: usize = 8 << 10;

/// Matches of a stream that the comment on its first packet may name.
const NOTED_MAX: usize = 16;

struct Matcher<'a> {
    patterns: &'a Patterns,
    list: &'a [Pattern],
    lengths: &'a [usize],
    stop: Stop,
    /// Whether matches are stored, or only counted.
    keeps: bool,
    /// Whether packets are written, and whether those of all streams with a match.
    notes: bool,
    writes_all: bool,
    left: u64,
    left_in_stream: u64,
    counts: Vec<u64>,
    streams: u64,
    /// Matches beyond [`MATCHES_AT_MAX`] at one byte.
    left_out: u64,
    /// Matches of the current piece.
    matches: Vec<Match>,
    found: Sorted<Hit<'a>, ByPlace>,
    /// Prints matches as they are found, for inputs that may not end.
    sink: Option<Arc<SharedOutput>>,
    /// Writes matches as they are found.
    exports: Option<Arc<Exports>>,
    scratch: Vec<u8>,
}

impl Handler for Matcher<'_> {
    type Data = Looking;

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, Looking>, chunk: Chunk<'_>) {
        if chunk.is_datagram {
            // Datagrams are separate: no match reaches from one into the next.
            stream.data().borders[chunk.direction as usize].reset();
        }
        let mut begin = chunk.offset + chunk.repeated_bytes as u64;
        let (patterns, lengths) = (self.patterns, self.lengths);
        for piece in chunk.fresh().chunks(PIECE_BYTES) {
            let border = &mut stream.data().borders[chunk.direction as usize];
            let matches = &mut self.matches;
            self.left_out += patterns.find(border, piece, &mut |hit| {
                let end = begin + hit.end as u64;
                let offset = end.saturating_sub(lengths[hit.pattern as usize] as u64);
                matches.push(Match { direction: chunk.direction as u8, offset, pattern: hit.pattern });
            });
            if !self.matches.is_empty() {
                self.settle(stream, chunk.timestamp.as_nanos());
            }
            begin += piece.len() as u64;
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, Looking>, gap: Gap) {
        // A removed urgent byte separates nothing: the receiver continues to read.
        if gap.cause != GapCause::Urgent {
            stream.data().borders[gap.direction as usize].reset();
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, Looking>, _: EndReason) {
        let looking = std::mem::take(stream.data());
        self.streams += u64::from(looking.found > 0);
    }
}

impl Choose for Matcher<'_> {
    fn want(&self, _: u64, looking: &Looking) -> Want {
        let is_known = if self.sink.is_some() { looking.printed } else { self.writes_all && looking.found > 0 };
        if is_known { Want::Yes } else { Want::Later }
    }

    fn printed(&self) -> Want {
        // Without a limit, and where matches are printed as they are found, it is known before.
        if self.sink.is_some() || self.writes_all { Want::No } else { Want::Later }
    }

    fn facts(&self, looking: &Looking) -> usize {
        looking.noted.len()
    }

    fn describe(&self, looking: &Looking, from: usize, comment: &mut Comment) {
        for one in looking.noted.iter().skip(from) {
            let direction = record::DIRECTIONS[usize::from(one.direction)].name();
            let name = &self.list[one.pattern as usize].name;
            comment.fact(format_args!("match {} at {direction} {}", tidewire::legible::quoted(name), one.offset));
        }
    }

    fn candidates(&self) -> Option<Vec<u64>> {
        let mut ids = self.found.ids();
        ids.sort_unstable();
        ids.dedup();
        Some(ids)
    }
}

impl Matcher<'_> {
    /// Processes the matches of a piece: limits, counts and reports.
    fn settle(&mut self, stream: &mut Stream<'_, Looking>, time_ns: u64) {
        let (id, key, stream_start_ns) = (stream.id(), stream.key(), stream.opened().as_nanos());
        let (list, lengths) = (self.list, self.lengths);
        let mut matches = std::mem::take(&mut self.matches);
        // Ordered by the end of the match, the longest first: the first complete match comes first.
        let end = |found: &Match| found.offset + lengths[found.pattern as usize] as u64;
        matches.sort_unstable_by_key(|found| (end(found), *found));
        self.left_out += leave_out(&mut matches, end);
        let looking = stream.data();
        let room = self.left.min(self.left_in_stream.saturating_sub(looking.found));
        matches.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        looking.found += matches.len() as u64;
        // `u64::MAX`: no limit.
        self.left -= if self.left == u64::MAX { 0 } else { matches.len() as u64 };
        if self.notes {
            let room = NOTED_MAX.saturating_sub(looking.noted.len());
            looking.noted.extend(matches.iter().take(room));
        }
        for &one in &matches {
            self.counts[one.pattern as usize] += 1;
            let pattern = &list[one.pattern as usize];
            let hit = Hit { id, key, one, pattern };
            if let Some(exports) = &self.exports {
                let mut found = hit.record();
                [found.stream_start, found.time] = [stream_start_ns, time_ns].map(Timestamp::from_nanos);
                found.origin = exports.origin();
                exports.write(&Record::Match(&found), time_ns, &mut self.scratch);
                exports.write(&Record::Text(&Shown(&hit)), time_ns, &mut self.scratch);
            }
            match &self.sink {
                Some(sink) => looking.printed |= sink.push(&hit, &mut self.scratch),
                None if self.keeps => self.found.push(hit),
                None => {}
            }
        }
        matches.clear();
        self.matches = matches;
        if self.left == 0 {
            self.stop.stop();
        }
        if self.left == 0 || looking.found >= self.left_in_stream {
            stream.discard();
        }
    }
}

/// Keeps the first [`MATCHES_AT_MAX`] of those that end at the same byte; returns how many it removed. Those were all there, or
/// the search left out the rest.
fn leave_out(matches: &mut Vec<Match>, end: impl Fn(&Match) -> u64) -> u64 {
    let (before, mut at, mut number) = (matches.len(), u64::MAX, 0);
    matches.retain(|found| {
        (at, number) = if end(found) == at { (at, number + 1) } else { (end(found), 0) };
        number < MATCHES_AT_MAX
    });
    (before - matches.len()) as u64
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    options.common.need_bytes("match")?;
    let list = options.patterns()?;
    let lengths: Vec<usize> = list.iter().map(|pattern| pattern.bytes.len()).collect();
    let patterns = Patterns::new(&list, options.ignore_case).map_err(CliError::usage)?;
    if options.stop_after == Some(0) || options.stop_after_stream == Some(0) {
        return Err(CliError::Usage(
            "--stop-after must be at least 1, got 0; to print no matches use --limit 0".into(),
        ));
    }
    let mut common = options.common.clone();
    if options.stop_after.is_some() {
        common.workers = 1;
    }
    let is_exported = options.export.is_on();
    if is_exported {
        options.export.refuse(&[("--count", options.count), ("--write", options.write.is_on())])?;
        // Options are checked before a file is created.
        common.check(Mode::Strict)?;
    }
    let keeps = !options.count && !is_exported && common.limit != Some(0);
    let form = Form::of(options.json, options.csv);
    let layout = Layout::of::<Hit<'_>>(&options.columns, &TimeOption::default(), form)?;
    let mut session = Session::new(&common)?.keeping(KeptState::RECORDS);
    let opened = match is_exported {
        true => Some(options.export.open(Some(&common), &[MATCHES], csv_header::<Hit>(), &session.stop)?),
        false => None,
    };
    opened.iter().for_each(|opened| session.export(&opened.exports));
    let is_unending = keeps && common.is_unending();
    let sink = is_unending.then(|| SharedOutput::stdout::<Hit<'_>>(form, &layout, common.limit, &session.stop));
    let writes_all = common.limit.is_none();
    let limit = common.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let (order, room) = (ByPlace { limit }, Room::new(&common, form, &layout));
    let mut writing = options.write.begin(&common, Mode::Strict, sink.is_none() && !writes_all, &mut session)?;
    let make = |_| Matcher {
        patterns: &patterns,
        list: &list,
        lengths: &lengths,
        stop: session.stop.clone(),
        keeps,
        notes: options.write.is_on(),
        writes_all,
        left: options.stop_after.unwrap_or(u64::MAX),
        left_in_stream: options.stop_after_stream.unwrap_or(u64::MAX),
        counts: vec![0; list.len()],
        streams: 0,
        left_out: 0,
        matches: Vec::new(),
        found: Sorted::new(order, &room),
        sink: sink.clone(),
        exports: opened.as_ref().map(|opened| Arc::clone(&opened.exports)),
        scratch: Vec::new(),
    };
    let (handlers, closing) = writing.run(&session, sink.as_deref().as_slice(), make)?;
    let mut counts = vec![0; list.len()];
    let (mut found, mut streams, mut left_out, mut is_limit) = (Vec::new(), 0, 0, false);
    for handler in handlers {
        counts.iter_mut().zip(&handler.counts).for_each(|(sum, count)| *sum += count);
        streams += handler.streams;
        left_out += handler.left_out;
        is_limit |= handler.left == 0;
        found.push(handler.found);
    }
    let found = Sorted::merged(found, order, room);
    let total: u64 = counts.iter().sum();
    let mut printed = if options.write.is_on() { found.ids()? } else { Vec::new() };
    printed.dedup();
    let written = writing.finish(printed, closing.is_whole_with(is_limit));
    let exported = opened.as_ref().map_or(Ok(()), |opened| opened.finish(&closing));
    let mut out = Out::last();
    let mut print = || {
        if is_exported {
            // Written as they were found.
        } else if options.count && common.limit != Some(0) {
            options.print_counts(&list, &counts, &mut out)?;
        } else {
            found.print(common.limit != Some(0) && sink.is_none(), &mut out)?;
        }
        if !options.json && !options.csv && opened.as_ref().is_none_or(|opened| opened.is_shown) {
            let shown =
                if options.count || is_exported { String::new() } else { selection::shown_of(common.limit, total) };
            let (matches, streams) = (counted(total, "match", "matches"), counted(streams, "stream", "streams"));
            out.line(&format!("{matches}{shown} in {streams}"))?;
            closing.none_accepted(&common).into_iter().try_for_each(|line| out.line(&line))?;
        }
        if left_out > 0 {
            let left_out = counted(left_out, "match", "matches");
            error::notify(format_args!(
                "{left_out} left out: at most {MATCHES_AT_MAX} that end at one byte are reported, the longest"
            ));
        }
        let code = if total > 0 { error::OK } else { error::NOT_FOUND };
        closing.finish(&common, options.json, &mut out, code)
    };
    let code = print();
    error::concluded(error::graver(written, exported), code)
}

impl Options {
    fn patterns(&self) -> Result<Vec<Pattern>, CliError> {
        let syntax = if self.hex { Syntax::Hex } else { Syntax::Text };
        let mut list = Vec::new();
        for given in &self.pattern {
            list.push(patterns::parse(given.as_bytes(), syntax).map_err(CliError::usage)?);
        }
        for path in &self.pattern_file {
            let name = path.display();
            let text = text_file::read(path, text_file::PATTERN_BYTES_MAX)?;
            let more = patterns::parse_file(&text, syntax);
            list.extend(more.map_err(|error| CliError::Usage(format!("{name}: {error}")))?);
        }
        if list.is_empty() {
            return Err(CliError::Usage("no pattern: give one with -e, or a file of patterns with -f".into()));
        }
        Ok(list)
    }

    /// Prints the number of matches of each pattern, also where it is 0.
    fn print_counts(&self, list: &[Pattern], counts: &[u64], out: &mut Out) -> Result<(), CliError> {
        let limit = usize::try_from(self.common.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let columns = [Column::figures("MATCHES", "matches", 0), Column::words("PATTERN", "pattern", 0)];
        let mut table = Table::new(&columns, &Layout::default());
        if self.csv {
            out.line("pattern_index,matches,pattern")?;
        }
        for (index, (pattern, &count)) in list.iter().zip(counts).enumerate().take(limit) {
            if self.json {
                let mut object = Object::open(out.buffer());
                object.text("pattern", &pattern.name);
                object.number("pattern_index", index as u64);
                object.number("matches", count);
                object.close();
                out.buffer().push(b'\n');
            } else if self.csv {
                out.line(&format!("{index},{count},{}", quoted(&pattern.name)))?;
            } else {
                table.row(vec![count.to_string(), legible(&pattern.name).into_owned()]);
            }
        }
        table.finish(out)
    }
}

impl Row for Hit<'_> {
    const COLUMNS: &'static [Column] = &COLUMNS;

    described!(records::match_json, records::match_csv, records::match_csv);

    fn cells(&self, _: &Clock) -> Cells {
        let key = &self.key;
        Cells::of(vec![
            self.id.to_string(),
            record::DIRECTIONS[usize::from(self.one.direction)].name().to_owned(),
            self.one.offset.to_string(),
            legible(&self.pattern.name).into_owned(),
            record::proto_name(key.proto).into_owned(),
            record::endpoint(key.client, key.proto),
            record::endpoint(key.server, key.proto),
        ])
    }
}

/// Quotes a comma-separated value (RFC 4180) and makes it [`legible`]: pattern files may come from others.
fn quoted(text: &str) -> String {
    format!("\"{}\"", legible(text).replace('"', "\"\""))
}

const COLUMNS: [Column; 7] = [
    Column::figures("STREAM", "stream", 0),
    Column::words("DIR", "direction", 0),
    Column::figures("OFFSET", "offset", 0),
    Column::words("PATTERN", "pattern", 0),
    Column::words("PROTO", "proto", 2),
    Column::client(1),
    Column::server(1),
];
