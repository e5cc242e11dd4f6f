//! `tidewire follow`: prints one conversation, both directions in order of delivery.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use tidewire::{Chunk, Direction, EndReason, Gap, Handler, Mode, Stop, Stream, legible::dotted};

use crate::{
    capture_args,
    clock::Clock,
    error::{self, CliError},
    follow_by_id::{Named, is_community_id},
    layout::TimeOption,
    options::Common,
    output::{self, Object, Out, push_number},
    record,
    session::Session,
    terminal,
    write::{Choose, Want, WriteOption},
};

/// Print one conversation, both directions in order of delivery
///
/// The last argument is the stream's id, as `tidewire streams` and `tidewire flows` print it: the number of its first
/// packet; or its Community ID. Exit status 1 if there is no such stream.
///
/// Each line of text begins with '> ' (client to server) or '< ' (server to client); on a terminal, client lines are red
/// and server lines blue. --direction omits the marks; --as raw prints only the bytes.
#[derive(Args, Debug)]
pub struct Options {
    /// The stream's id, in place of the last argument
    #[arg(long, value_name = "ID", value_parser = crate::arg_types::whole::<u64>, help_heading = "Stream")]
    pub stream: Option<u64>,

    /// The stream with this Community ID (seed 0), in place of the last argument; of several the first, or the one open at --at
    #[arg(long, value_name = "1:TEXT", conflicts_with = "stream", help_heading = "Stream")]
    community_id: Option<String>,

    /// With a Community ID: the stream that is open at this time, as 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970; few digits mean all times that begin with them
    #[arg(long, value_name = "TIME", help_heading = "Stream")]
    at: Option<String>,

    /// Whether the first stream is printed, whatever its id is.
    #[arg(skip)]
    pub any: bool,

    /// text: unprintable characters as dots; hex: offsets, hexadecimal and text; raw: only the bytes; json: one object for
    /// each piece, data in hexadecimal
    #[arg(
        long = "as",
        value_name = "FORM",
        value_enum,
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Stream"
    )]
    form: Form,

    /// Print one direction only: c2s (client) or s2c (server)
    #[arg(long, value_name = "DIR", value_parser = crate::arg_types::parse_direction, help_heading = "Stream")]
    direction: Option<Direction>,

    #[command(flatten)]
    pub common: Common,

    #[command(flatten)]
    time: TimeOption,

    #[command(flatten)]
    write: WriteOption,
}

/// The stream that is printed.
#[derive(PartialEq, Eq)]
enum Wanted {
    /// The first one.
    First,
    Id(u64),
    Named(Named),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Hex,
    Raw,
    Json,
}

struct Follow {
    /// 0: that of the first stream, when there is one.
    id: u64,
    form: Form,
    direction: Option<Direction>,
    colours: bool,
    clock: Clock,
    /// Pieces left to print.
    left: u64,
    /// Whether the run ends with the stream; then the rest of the input is not reported.
    ends_early: bool,
    stop: Stop,
    out: Out,
    found: bool,
    /// Whether the stream ended, which ends the run.
    ended: bool,
    /// The last sender, and whether the output is at the start of a line.
    last: Option<Direction>,
    at_line_start: bool,
    failure: Option<CliError>,
}

impl Handler for Follow {
    type Data = ();

    fn open(&mut self, stream: &mut Stream<'_, ()>) {
        if self.id == 0 {
            self.id = stream.id();
        }
        if stream.id() == self.id {
            self.found = true;
            let opening = self.opening(stream);
            self.note(opening);
        } else {
            stream.discard();
        }
    }

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        if stream.id() == self.id && self.wants(chunk.direction) {
            self.print(&chunk);
            let written = self.out.flush();
            self.note(written);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, ()>, gap: Gap) {
        if stream.id() == self.id && self.wants(gap.direction) {
            self.print_gap(&gap);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        if stream.id() == self.id {
            if self.form == Form::Text && !self.at_line_start {
                self.out.buffer().push(b'\n');
            }
            let written = self.out.flush();
            self.note(written);
            if self.ends_early {
                self.ended = self.failure.is_none();
                self.stop.stop();
            }
        }
    }
}

impl Choose for Follow {
    fn want(&self, id: u64, (): &()) -> Want {
        (id == self.id).into()
    }
}

impl Follow {
    fn wants(&mut self, direction: Direction) -> bool {
        let wanted = self.direction.is_none_or(|only| only == direction) && self.left > 0;
        if wanted && self.left != u64::MAX {
            self.left -= 1;
        }
        wanted
    }

    /// Stores the first error and ends the run.
    fn note(&mut self, written: Result<(), CliError>) {
        if let Err(failure) = written {
            self.failure.get_or_insert(failure);
            self.left = 0;
            self.stop.stop();
        }
    }

    /// Whether lines have marks of their direction: colours are lost when text is copied.
    fn has_marks(&self) -> bool {
        self.direction.is_none()
    }

    /// Prints the endpoints and the start time; not for a single direction, whose bytes may be used as they are.
    fn opening(&mut self, stream: &Stream<'_, ()>) -> Result<(), CliError> {
        if !matches!(self.form, Form::Text | Form::Hex) || !self.colours && !self.has_marks() {
            return Ok(());
        }
        let key = stream.key();
        let (client, server) = (record::endpoint(key.client, key.proto), record::endpoint(key.server, key.proto));
        let begun = match stream.start().as_nanos() {
            0 => String::new(),
            start_ns => format!(", {}", self.clock.sentence(start_ns)),
        };
        let line = format!("{} {client} > {server}{begun}", record::proto_name(key.proto));
        self.out.line(&if self.colours { format!("\x1b[2m{line}\x1b[0m") } else { line })
    }

    fn print(&mut self, chunk: &Chunk<'_>) {
        let (bytes, offset) = (chunk.fresh(), chunk.offset + chunk.repeated_bytes as u64);
        if bytes.is_empty() {
            return;
        }
        match self.form {
            Form::Raw => self.out.buffer().extend_from_slice(bytes),
            Form::Json => {
                let mut object = Object::open(self.out.buffer());
                object.number("stream", self.id);
                object.plain("direction", chunk.direction.name());
                object.number("offset", offset);
                object.number("bytes", bytes.len() as u64);
                object.number("timestamp_ns", chunk.timestamp.as_nanos());
                object.plain("data", &output::hex(bytes));
                object.close();
                self.out.buffer().push(b'\n');
            }
            Form::Hex => self.print_hex(chunk.direction, offset, bytes),
            Form::Text => self.print_text(chunk.direction, bytes),
        }
    }

    /// Red and blue, as in other tools that follow streams.
    fn colour(&self, direction: Direction) -> &'static str {
        match (self.colours, direction) {
            (false, _) => "",
            (true, Direction::ClientToServer) => "\x1b[31m",
            (true, Direction::ServerToClient) => "\x1b[34m",
        }
    }

    fn plain(&self) -> &'static str {
        if self.colours { "\x1b[0m" } else { "" }
    }

    fn print_text(&mut self, direction: Direction, bytes: &[u8]) {
        let (colour, plain) = (self.colour(direction), self.plain());
        let mark: &[u8] = match (self.has_marks(), direction) {
            (false, _) => b"",
            (true, Direction::ClientToServer) => b"> ",
            (true, Direction::ServerToClient) => b"< ",
        };
        if self.last.is_some_and(|last| last != direction) && !self.at_line_start {
            self.out.buffer().push(b'\n');
            self.at_line_start = true;
        }
        let mut at_line_start = self.at_line_start;
        let buffer = self.out.buffer();
        buffer.extend_from_slice(colour.as_bytes());
        let mut push = |c: char| {
            if std::mem::replace(&mut at_line_start, c == '\n') {
                buffer.extend_from_slice(mark);
            }
            let mut encoded = [0; 4];
            buffer.extend_from_slice(c.encode_utf8(&mut encoded).as_bytes());
        };
        for chunk in bytes.utf8_chunks() {
            // A carriage return before a line feed belongs to the end of the line.
            dotted(chunk.valid()).filter(|&c| c != '\r').for_each(&mut push);
            chunk.invalid().iter().for_each(|_| push('.'));
        }
        buffer.extend_from_slice(plain.as_bytes());
        self.last = Some(direction);
        self.at_line_start = at_line_start;
    }

    fn print_hex(&mut self, direction: Direction, offset: u64, bytes: &[u8]) {
        let (colour, plain) = (self.colour(direction), self.plain());
        let buffer = self.out.buffer();
        for (line, at) in bytes.chunks(16).zip((offset..).step_by(16)) {
            let _ = write!(buffer, "{colour}{} {at:08x} ", direction.name());
            for index in 0..16 {
                let gap = if index == 8 { " " } else { "" };
                let _ = match line.get(index) {
                    Some(byte) => write!(buffer, "{gap} {byte:02x}"),
                    None => write!(buffer, "{gap}   "),
                };
            }
            buffer.extend_from_slice(b"  ");
            buffer.extend(line.iter().map(|&byte| if (b' '..=b'~').contains(&byte) { byte } else { b'.' }));
            let _ = writeln!(buffer, "{plain}");
        }
    }

    /// Prints a gap. The raw form has no place for it: there it goes to standard error.
    fn print_gap(&mut self, gap: &Gap) {
        let (direction, cause) = (gap.direction.name(), gap.cause.name());
        match self.form {
            Form::Json => {
                let mut object = Object::open(self.out.buffer());
                object.number("stream", self.id);
                object.plain("direction", direction);
                object.object("gap", |object| {
                    object.number("offset", gap.offset);
                    object.number("bytes", gap.bytes);
                    object.plain("cause", cause);
                });
                object.close();
                self.out.buffer().push(b'\n');
            }
            Form::Raw => {
                let (bytes, offset) = (gap.bytes, gap.offset);
                error::notify(format_args!("{direction}: {bytes} bytes missing at {offset} ({cause})"));
            }
            Form::Text | Form::Hex => {
                let start = if self.at_line_start || self.form == Form::Hex { "" } else { "\n" };
                let buffer = self.out.buffer();
                let _ = write!(buffer, "{start}[{direction}: ");
                push_number(buffer, gap.bytes);
                let _ = writeln!(buffer, " bytes missing at {}, {}]", gap.offset, cause.replace('_', " "));
                self.at_line_start = true;
            }
        }
    }
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let (common, wanted) = options.input()?;
    common.need_bytes("follow")?;
    if options.form == Form::Raw && terminal::is_terminal() {
        return Err(CliError::Usage("raw bytes are not for a terminal: redirect them, or leave out --as raw".into()));
    }
    let (colours, clock) = (terminal::colours(), Clock::new(options.time.time));
    let mut session = Session::new(&common)?;
    let id = match &wanted {
        Wanted::First => 0,
        Wanted::Id(id) => *id,
        Wanted::Named(named) => match named.find(&common, &session)? {
            0 => {
                error::notify(
                    "no stream with this Community ID at this time; `tidewire flows --json` shows those that are there",
                );
                return Ok(error::NOT_FOUND);
            }
            id => id,
        },
    };
    // Ids begin with 1.
    if id == 0 && wanted != Wanted::First {
        error::notify("no stream with id 0; `tidewire streams` lists the ids");
        return Ok(error::NOT_FOUND);
    }
    let mut writing = options.write.begin(&common, Mode::Strict, false, &mut session)?;
    let make = |_| Follow {
        id,
        form: options.form,
        direction: options.direction,
        colours,
        clock: clock.clone(),
        left: common.limit.unwrap_or(u64::MAX),
        ends_early: common.stats.is_none() && common.limit != Some(0),
        stop: session.stop.clone(),
        out: Out::stdout(),
        found: false,
        ended: false,
        last: None,
        at_line_start: true,
        failure: None,
    };
    let (handlers, closing) = writing.run(&session, &[], make)?;
    let is_ended = handlers.iter().any(|handler| handler.ended);
    let written = writing.finish([], closing.is_whole_with(is_ended));
    let mut found = false;
    for handler in handlers {
        found |= handler.found;
        if let Some(failure) = handler.failure {
            return error::concluded(written, Err(failure));
        }
    }
    if !found {
        let _ = io::stdout().flush();
        match options.any {
            true => error::notify("no such stream; `tidewire recall DIR --flows` lists their ids"),
            false => error::notify(format_args!("no stream with id {id}; `tidewire streams` lists the ids")),
        }
    }
    let code = if found { error::OK } else { error::NOT_FOUND };
    let code = closing.finish(&common, options.form == Form::Json, &mut Out::last(), code);
    error::concluded(written, code)
}

impl Options {
    /// The captures and the stream.
    fn input(&self) -> Result<(Common, Wanted), CliError> {
        let mut common = self.common.clone();
        if self.any {
            return Ok((common, Wanted::First));
        }
        if let Some(community_id) = &self.community_id {
            return self.named(common, community_id);
        }
        if let Some(id) = self.stream {
            return self.by_id(common, id);
        }
        let count = capture_args::captures(common.files.iter().map(|word| word.as_os_str()));
        capture_args::refuse_display_filters(&common.files[..count])?;
        let last: Option<PathBuf> = count.checked_sub(1).map(|last| common.files.remove(last));
        if let Some(text) = last.as_ref().and_then(|last| last.to_str()).filter(|text| is_community_id(text)) {
            return self.named(common, text);
        }
        let id = last.as_ref().and_then(|last| last.to_str()?.parse().ok());
        let id = id.ok_or_else(|| match last {
            Some(last) => CliError::Usage(format!(
                "invalid stream id '{}': expected a number after the captures, as in: tidewire follow capture.pcap 17",
                last.display()
            )),
            None => CliError::Usage("no capture and stream id given, as in: tidewire follow capture.pcap 17".into()),
        })?;
        self.by_id(common, id)
    }

    fn by_id(&self, common: Common, id: u64) -> Result<(Common, Wanted), CliError> {
        if self.at.is_some() {
            return Err(CliError::Usage(
                "--at is for a Community ID; an id is that of one stream: leave it out".into(),
            ));
        }
        Ok((common, Wanted::Id(id)))
    }

    fn named(&self, mut common: Common, community_id: &str) -> Result<(Common, Wanted), CliError> {
        let named = Named::new(community_id, self.at.as_deref())?;
        named.restrict(&mut common);
        Ok((common, Wanted::Named(named)))
    }
}
