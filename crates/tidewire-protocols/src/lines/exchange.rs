//! Commands and replies, line by line, up to a change to TLS.

use tidewire_types::Timestamp;

use super::{
    LINE_BYTES_MAX,
    dialect::{Dialect as _, Taken, take_command, take_commands, take_replies, take_reply},
    ftp,
    repeats::Repeats,
    replies::Replies,
    smtp,
};
use crate::{
    input::{Input, Progress},
    line::Line,
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineProtocol {
    Smtp,
    Ftp,
}

#[derive(Debug, Default)]
struct Side {
    line: Line,
    /// Bytes of a mail that are still to come (BDAT, RFC 3030 section 2).
    skip: u64,
    /// Whether the rest of a line is passed over, whose beginning is missing.
    is_cut: bool,
    is_lost: bool,
}

#[derive(Debug)]
enum Session {
    Smtp(Box<smtp::Session>),
    Ftp(Box<ftp::Session>),
}

#[derive(Debug)]
pub(crate) struct Exchange {
    session: Session,
    sides: [Side; 2],
    replies: Replies,
    repeats: Repeats,
    /// When the transaction began.
    start_ns: Option<u64>,
    /// When the last line, or bytes of a mail, came: the end of a transaction that another one follows.
    line_ns: u64,
    end_ns: u64,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn new(kind: LineProtocol) -> Self {
        let session = match kind {
            LineProtocol::Smtp => Session::Smtp(Box::default()),
            LineProtocol::Ftp => Session::Ftp(Box::default()),
        };
        Self {
            session,
            sides: Default::default(),
            replies: Replies::default(),
            repeats: Repeats::default(),
            start_ns: None,
            line_ns: 0,
            end_ns: 0,
        }
    }

    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        if self.sides[input.side].is_lost {
            return Progress::More;
        }
        self.start_ns.get_or_insert(input.ns);
        self.end_ns = input.ns;
        self.repeats.receive(input.bytes.len());
        let mut rest = input.bytes;
        while !rest.is_empty() {
            let side = &mut self.sides[input.side];
            let skipped = usize::try_from(side.skip).unwrap_or(usize::MAX).min(rest.len());
            if skipped > 0 {
                side.skip -= skipped as u64;
                rest = &rest[skipped..];
                self.line_ns = input.ns;
                continue;
            }
            if side.is_cut {
                let end = memchr::memchr(b'\n', rest);
                work::pass(end.unwrap_or(rest.len()));
                rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
                side.is_cut = end.is_none();
                continue;
            }
            let begun = &mut side.line;
            let line = if begun.is_at_start() {
                None
            } else {
                let Some(line) = begun.take(&mut rest, b'\n', LINE_BYTES_MAX) else { break };
                Some(line)
            };
            let before = rest.len();
            let is_done = if input.side == 0 {
                self.commands(line.as_deref(), &mut rest, input.ns, out)
            } else {
                if self.replies(line.as_deref(), &mut rest) {
                    self.finish(out);
                    return Progress::Switch(input.bytes.len() - rest.len());
                }
                true
            };
            if line.is_some() || rest.len() < before {
                self.line_ns = input.ns;
            }
            if line.is_none() && is_done {
                // The beginning of a line.
                self.sides[input.side].line.take(&mut rest, b'\n', LINE_BYTES_MAX);
            }
        }
        Progress::More
    }

    /// Takes a client's line that began in earlier bytes, or whole lines. `false`: more may follow.
    fn commands(&mut self, line: Option<&[u8]>, rest: &mut &[u8], ns: u64, out: Out<'_>) -> bool {
        let replies = &mut self.replies;
        let Taken { is_any, skip, finished } = match (&mut self.session, line) {
            (Session::Smtp(session), Some(line)) => take_command(&mut **session, replies, line),
            (Session::Smtp(session), None) => take_commands(&mut **session, replies, rest),
            (Session::Ftp(session), Some(line)) => take_command(&mut **session, replies, line),
            (Session::Ftp(session), None) => take_commands(&mut **session, replies, rest),
        };
        self.sides[0].skip = skip;
        if is_any {
            self.line_ns = ns;
        }
        let is_done = finished.is_none() && skip == 0;
        if let Some(fields) = finished
            && let Some(start_ns) = self.start_ns.replace(ns)
        {
            out(self.transaction(start_ns, self.line_ns, fields));
        }
        is_done
    }

    /// Takes a server's line that began in earlier bytes, or whole lines; whether TLS begins behind them.
    fn replies(&mut self, line: Option<&[u8]>, rest: &mut &[u8]) -> bool {
        let replies = &mut self.replies;
        match (&mut self.session, line) {
            (Session::Smtp(session), Some(line)) => take_reply(&mut **session, replies, line),
            (Session::Smtp(session), None) => take_replies(&mut **session, replies, rest),
            (Session::Ftp(session), Some(line)) => take_reply(&mut **session, replies, line),
            (Session::Ftp(session), None) => take_replies(&mut **session, replies, rest),
        }
    }

    fn is_body(&self) -> bool {
        matches!(&self.session, Session::Smtp(session) if session.is_body())
    }

    /// So many bytes of a side are missing. Within the body of a mail what follows is known, else nothing is.
    pub(crate) fn gap(&mut self, side: usize, bytes: u64) -> Progress {
        let is_body = side == 0 && self.is_body();
        let lost = &mut self.sides[side];
        if lost.skip >= bytes {
            lost.skip -= bytes;
        } else if is_body && !lost.is_lost {
            // Only a whole line can be the dot that ends the mail.
            *lost = Side { is_cut: true, ..Side::default() };
            self.replies.lose();
        } else {
            *lost = Side { is_lost: true, ..Side::default() };
        }
        if self.sides.iter().all(|side| side.is_lost) { Progress::Done } else { Progress::More }
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        let Some(start_ns) = self.start_ns.take() else { return };
        let fields = match &mut self.session {
            Session::Smtp(session) => session.finish(),
            Session::Ftp(session) => session.finish(),
        };
        if let Some(fields) = fields {
            out(self.transaction(start_ns, self.end_ns, fields));
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let session = match &self.session {
            Session::Smtp(session) => session.memory_bytes(),
            Session::Ftp(session) => session.memory_bytes(),
        };
        self.sides.iter().map(|side| side.line.memory_bytes()).sum::<usize>() + session + self.replies.memory_bytes()
    }

    fn transaction(&mut self, start_ns: u64, end_ns: u64, mut fields: Fields) -> Transaction {
        self.repeats.bound(&mut fields);
        let service = match &self.session {
            Session::Smtp(_) => Service::Smtp,
            Session::Ftp(_) => Service::Ftp,
        };
        Transaction { start: Timestamp::from_nanos(start_ns), end: Timestamp::from_nanos(end_ns), service, fields }
    }
}
