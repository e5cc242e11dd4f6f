//! Protocol fields of streams: how handlers gather them, and how they are printed.

use std::borrow::Cow;

use tidewire::{Chunk, Gap, Mode, Stream, legible::legible};
use tidewire_protocols::{App, Budget, CUTOFF_BYTES, Conversation, Piece, Ports, Report, Transaction};

use crate::{
    arg_types::ModeName,
    error,
    options::Common,
    output::{Object, push_values},
    units::{Size, counted},
};

/// The comma-separated values of protocol fields: the protocol, and whom it names.
pub const CSV: &str = "service,name";

/// Most characters of a name in a table.
const CELL_CHARS: usize = 48;

/// State of a stream that has a conversation in it.
pub trait HasConversation {
    /// The conversation.
    fn conversation(&mut self) -> &mut Conversation;
}

impl HasConversation for Conversation {
    fn conversation(&mut self) -> &mut Conversation {
        self
    }
}

/// Whether the options leave bytes to look at, and records to print.
fn is_on(common: &Common) -> bool {
    common.mode != Some(ModeName::Track) && common.cutoff.0 > 0 && common.limit != Some(0)
}

/// The options for a subcommand that looks at the beginning of each direction only, and the mode that it then has. Mode `fast` would
/// cost 2 % less, but a segment that is late by 16 packets would count as missing, and as sent again.
pub fn of_beginnings(common: &Common) -> (Cow<'_, Common>, Mode) {
    if !is_on(common) {
        return (Cow::Borrowed(common), Mode::Track);
    }
    let mut common = common.clone();
    common.cutoff = Size(common.cutoff.0.min(CUTOFF_BYTES));
    // Different versions of the same bytes are not reported.
    common.history = Size(0);
    (Cow::Owned(common), Mode::Strict)
}

/// What a worker needs to follow conversations.
#[derive(Default)]
pub struct Follower {
    budget: Budget,
}

impl Follower {
    /// Bytes of a stream.
    #[inline]
    pub fn data<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, chunk: &Chunk<'_>, report: &mut Report<'_>) {
        if stream.data().conversation().is_over() {
            return;
        }
        let key = stream.key();
        let piece = Piece {
            direction: chunk.direction,
            bytes: chunk.fresh(),
            is_datagram: chunk.is_datagram,
            timestamp_ns: chunk.timestamp_ns,
        };
        let ports = Ports { client: key.client.port, server: key.server.port };
        stream.data().conversation().data(&piece, ports, &mut self.budget, report);
    }

    /// Bytes that are missing.
    pub fn gap<D: HasConversation>(&mut self, stream: &mut Stream<'_, D>, gap: &Gap, report: &mut Report<'_>) {
        // A removed urgent byte separates nothing: the receiver continues to read.
        if gap.cause != tidewire::GapCause::Urgent {
            stream.data().conversation().gap(gap.direction, gap.bytes, &mut self.budget, report);
        }
    }

    /// The stream ended: what it was.
    pub fn close<D: HasConversation>(
        &mut self,
        stream: &mut Stream<'_, D>,
        report: &mut Report<'_>,
    ) -> Option<Box<App>> {
        stream.data().conversation().close(&mut self.budget, report).map(Box::new)
    }

    /// How many streams were given up for lack of memory.
    pub fn refused(&self) -> u64 {
        self.budget.refused()
    }
}

/// Says how many streams have no protocol fields because of the memory limit.
pub fn say_refused(refused: u64) {
    if refused > 0 {
        let streams = counted(refused, "stream has", "streams have");
        error::notify(format_args!("memory limit of protocol fields: {streams} none (use more workers)"));
    }
}

/// Whom a stream's application names.
pub fn name(app: &App) -> Option<&str> {
    app.first.as_ref().and_then(Transaction::name)
}

/// `app`: the protocol, the name, how many transactions there were, and the fields of the first.
pub fn push(object: &mut Object<'_>, app: &App) {
    object.object("app", |object| {
        object.plain("service", app.service.name());
        if let Some(name) = name(app) {
            object.text("name", name);
        }
        object.number("transactions", u64::from(app.transactions));
        if let Some(first) = &app.first {
            push_fields(object, first);
        }
    });
}

/// The fields of a transaction, as an object with the name of its protocol.
pub fn push_fields(object: &mut Object<'_>, transaction: &Transaction) {
    object.object(transaction.service.name(), |object| push_values(object, &transaction.values()));
}

/// Appends [`CSV`]'s values.
pub fn push_csv(out: &mut Vec<u8>, app: Option<&App>) {
    out.push(b',');
    out.extend_from_slice(app.map_or("", |app| app.service.name()).as_bytes());
    out.push(b',');
    if let Some(name) = app.and_then(name) {
        push_quoted(out, name);
    }
}

/// Appends text as a comma-separated value: quoted (RFC 4180) and [`legible`].
pub fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(legible(text).replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// Both as cells of a table.
pub fn cells(app: Option<&App>) -> [String; 2] {
    let service = app.map_or("", |app| app.service.name()).to_owned();
    [service, app.and_then(name).map(cell).unwrap_or_default()]
}

/// Text as a cell: [`legible`], and not longer than others can bear.
pub fn cell(text: &str) -> String {
    cut(&legible(text), CELL_CHARS)
}

/// At most so many characters.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}
