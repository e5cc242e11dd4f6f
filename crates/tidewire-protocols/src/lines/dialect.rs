//! Lines of a side, one after the other: what they ask and answer, in one pass over all that came together.

use super::{
    LINE_BYTES_MAX,
    replies::{Code, Command, Replies},
};
use crate::{
    line::{Line, equal_bytes, line_feeds, near_ends, past_blanks, take_first, take_short, take_whole, word},
    transaction::Fields,
    work,
};

/// Lines of a mail behind which, and bytes of one line from which on, it is worth it to search for the next line that begins with a dot.
const BODY_LINES: u32 = 32;
const BODY_LINE_BYTES: usize = 32;

/// Effects of a client's lines beside commands that are answered.
#[derive(Debug, Default)]
pub(super) struct Effects<'a> {
    /// The last name that the client gave itself and that counts once it is accepted: it is copied behind these lines.
    pub(super) name: Option<&'a [u8]>,
    /// Bytes behind the last line that are no lines.
    pub(super) skip: u64,
    /// The transaction that was complete before the last line.
    pub(super) finished: Option<Fields>,
    /// Whether one of the last two is set.
    pub(super) interrupts: bool,
}

/// The meaning of commands and replies in a protocol.
pub(super) trait Dialect {
    /// Bytes of the shortest command that matters, with the end of its line; 2 to 8.
    const SHORTEST_BYTES: u32;

    /// Takes a client's line with its end, from its first four letters on, which are `verb`, too ([`word`]).
    fn command<'a>(&mut self, verb: u32, line: &'a [u8], effects: &mut Effects<'a>) -> Command;

    /// Takes a command whose verb, of four letters in `near`, and the end of the line, or a parameter's first byte, are among the next eight bytes: the bytes
    /// that it takes, and its kind. `None`: the whole line says what it is.
    fn plain<'a>(&mut self, near: u64, rest: &'a [u8], name: &mut Option<&'a [u8]>) -> Option<(usize, Command)>;

    /// Keeps such a name.
    fn keep_name(&mut self, name: &[u8]);

    /// Whether the client's lines are those of a mail.
    fn is_body(&self) -> bool;

    /// A mail ends; what is answered.
    fn end_body(&mut self) -> Command;

    /// Whether the server has not said its name.
    fn wants_greeting(&self) -> bool;

    /// Takes the first greeting.
    fn greet(&mut self, words: &[u8]);

    /// Takes the reply to a command that matters; whether TLS begins behind it.
    fn answer(&mut self, command: Command, code: Code, replies: &mut Replies) -> bool;
}

/// Lines of a client that were taken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Whether lines precede the one that finished a transaction, or, if none did, whether there were any.
    pub(super) is_any: bool,
    /// Bytes behind them that are no lines.
    pub(super) skip: u64,
    pub(super) finished: Option<Fields>,
}

/// Takes whole lines of a client: all, or those up to the end of a transaction. Commands that are not plain are elsewhere, so that all of this
/// stays in registers.
#[inline(never)]
pub(super) fn take_commands<D: Dialect>(dialect: &mut D, replies: &mut Replies, bytes: &mut &[u8]) -> Taken {
    let (mut effects, mut rest, mut asking) = (Effects::default(), *bytes, replies.asking());
    let mut is_body = dialect.is_body();
    if !is_body {
        asking.ask(Command::Other, Line::default().take_empty(&mut rest));
    }
    let mut last_bytes = 0;
    loop {
        if is_body {
            let near = behind_mail(rest).or_else(|| behind_short_mail(rest));
            let Some(behind) = near.or_else(|| behind_mail(past_mail(&mut rest))) else { break };
            rest = behind;
            asking.ask(dialect.end_body(), 1);
            is_body = false;
            continue;
        }
        if let Some(near) = rest.first_chunk()
            && let Some((bytes, command)) = dialect.plain(u64::from_le_bytes(*near), rest, &mut effects.name)
            && let Some(behind) = rest.get(bytes..)
        {
            work::add(1);
            rest = behind;
            is_body = command == Command::Mail;
            asking.ask(command, 1);
            continue;
        }
        let ends = near_ends(rest);
        let short = take_short(&mut rest, ends, D::SHORTEST_BYTES);
        if short > 0 {
            asking.ask(Command::Other, short);
            continue;
        }
        let Some(line) = take_first(&mut rest, ends) else { break };
        let command = command(dialect, line, &mut effects);
        is_body = command == Command::Mail;
        asking.ask(command, 1);
        if effects.interrupts {
            if effects.finished.is_some() {
                last_bytes = line.len();
                break;
            }
            rest = &rest[effects.skip_of(rest)..];
        }
    }
    asking.end();
    let is_any = rest.len() + last_bytes < bytes.len();
    *bytes = rest;
    effects.end(dialect, is_any)
}

/// Takes a client's line of which only the beginning is kept, or which came in pieces.
pub(super) fn take_command(dialect: &mut impl Dialect, replies: &mut Replies, line: &[u8]) -> Taken {
    let mut effects = Effects::default();
    if !dialect.is_body() {
        replies.ask(command(dialect, line, &mut effects), 1);
    } else if behind_mail(line).is_some() {
        replies.ask(dialect.end_body(), 1);
    }
    let is_any = effects.finished.is_none();
    effects.end(dialect, is_any)
}

/// Takes a client's line, which may begin with blanks.
#[inline(never)]
fn command<'a>(dialect: &mut impl Dialect, line: &'a [u8], effects: &mut Effects<'a>) -> Command {
    let line = past_blanks(line.get(..LINE_BYTES_MAX).unwrap_or(line));
    match line.first_chunk() {
        Some(letters) => dialect.command(word(letters), line, effects),
        None => Command::Other,
    }
}

impl Effects<'_> {
    /// How many of the bytes behind the last line are no lines.
    fn skip_of(&mut self, rest: &[u8]) -> usize {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(rest.len());
        (self.skip, self.interrupts) = (self.skip - skipped as u64, false);
        skipped
    }

    fn end(self, dialect: &mut impl Dialect, is_any: bool) -> Taken {
        if let Some(name) = self.name {
            dialect.keep_name(name);
        }
        Taken { is_any, skip: self.skip, finished: self.finished }
    }
}

/// Takes whole lines of a server, up to the reply behind which TLS begins; whether there is one.
#[inline(never)]
pub(super) fn take_replies(dialect: &mut impl Dialect, replies: &mut Replies, bytes: &mut &[u8]) -> bool {
    let (mut rest, mut begins_tls) = (*bytes, false);
    while !begins_tls {
        // Most replies that are only their code need no search.
        let line = match rest {
            [_, _, _, b'\n', behind @ ..] if !rest[..Code::BYTES].contains(&b'\n') => {
                let line = &rest[..=Code::BYTES];
                rest = behind;
                work::add(1);
                line
            }
            _ => match take_whole(&mut rest) {
                Some(line) => line,
                None => break,
            },
        };
        begins_tls = take_reply(dialect, replies, line);
    }
    *bytes = rest;
    begins_tls
}

/// Takes a server's line; whether TLS begins behind it.
#[inline(always)]
pub(super) fn take_reply(dialect: &mut impl Dialect, replies: &mut Replies, line: &[u8]) -> bool {
    // Lines that are no replies answer nothing.
    let Some(code) = Code::of(line) else { return false };
    if code == Code::READY && dialect.wants_greeting() {
        let line = line[..line.len().min(LINE_BYTES_MAX)].trim_ascii_end();
        let rest = line.get(Code::BYTES..).unwrap_or_default();
        dialect.greet(rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b" ")).unwrap_or(rest));
    }
    match replies.answered(code, line.get(Code::BYTES) != Some(&b'-')) {
        None | Some(Command::Other) => false,
        Some(command) => dialect.answer(command, code, replies),
    }
}

/// Whether a command's verb ends before these bytes of its line.
#[inline(always)]
pub(super) fn ends_verb(rest: &[u8]) -> bool {
    match rest {
        [] | [b' ' | b'\n', ..] | [b'\r', b'\n', ..] => true,
        [b'!'..=0xff, ..] => false,
        _ => are_blanks(rest),
    }
}

/// Blanks are other ones than spaces at the end of a line only.
#[inline(never)]
fn are_blanks(rest: &[u8]) -> bool {
    rest.trim_ascii_start().is_empty()
}

/// The bytes behind the line that ends a mail: a dot alone does, without blanks (RFC 5321 section 4.5.2).
#[inline]
fn behind_mail(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'.', b'\n', behind @ ..] | [b'.', b'\r', b'\n', behind @ ..] => Some(behind),
        _ => None,
    }
}

/// The bytes behind the line that ends a mail, if that is among the next few bytes and another line is before it.
#[inline(always)]
fn behind_short_mail(rest: &[u8]) -> Option<&[u8]> {
    let near = u64::from_le_bytes(*rest.first_chunk()?);
    let ends = line_feeds(near);
    // The line feed before a dot and the one behind it.
    let last = ends & equal_bytes(near, b'.') << 8 & ends << 16;
    (last != 0).then(|| rest.get(last.trailing_zeros() as usize / 8 + 1..)).flatten()
}

/// Takes whole lines of a mail, up to the one that ends it; the bytes behind them.
#[inline(never)]
fn past_mail<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let (mut rest, mut short_lines) = (*bytes, 0_u32);
    while behind_mail(rest).is_none() {
        // A search of its own is worth it behind a long line, and behind many short ones.
        if short_lines >= BODY_LINES && !rest.starts_with(b".") {
            short_lines = 0;
            let end = memchr::memmem::find(rest, b"\n.").or_else(|| memchr::memrchr(b'\n', rest));
            let bytes = end.map_or(0, |end| end + 1);
            work::pass(rest.len());
            rest = &rest[bytes..];
            if bytes == 0 {
                break;
            }
            continue;
        }
        let Some(line) = take_whole(&mut rest) else { break };
        short_lines = if line.len() >= BODY_LINE_BYTES { BODY_LINES } else { short_lines + 1 };
    }
    *bytes = rest;
    rest
}
