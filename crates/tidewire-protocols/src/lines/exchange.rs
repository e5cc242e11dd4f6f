//! Commands and replies, line by line, up to a change to TLS.

use super::{
    ftp,
    replies::{Asked, Replies},
    smtp,
};
use crate::{
    input::{Input, Progress},
    line::Line,
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Longest line that is kept; the rest of a longer one is left out.
const LINE_BYTES_MAX: usize = 1024;

/// Which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
    /// When the transaction began.
    start_ns: Option<u64>,
    /// When the last line, or bytes of a mail, came: the end of a transaction that another one follows.
    line_ns: u64,
    end_ns: u64,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn new(kind: Kind) -> Self {
        let session = match kind {
            Kind::Smtp => Session::Smtp(Box::default()),
            Kind::Ftp => Session::Ftp(Box::default()),
        };
        Self { session, sides: Default::default(), replies: Replies::default(), start_ns: None, line_ns: 0, end_ns: 0 }
    }

    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        if self.sides[input.side].is_lost {
            return Progress::More;
        }
        self.start_ns.get_or_insert(input.ns);
        self.end_ns = input.ns;
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
            if self.pass_over(input.side, &mut rest) {
                self.line_ns = input.ns;
                continue;
            }
            let Some(line) = self.sides[input.side].line.take(&mut rest, b'\n', LINE_BYTES_MAX) else { break };
            if input.side == 0 {
                self.command(&line, input.ns, out);
            } else if self.reply(line.trim_ascii_end()) {
                self.finish(out);
                return Progress::Switch(input.bytes.len() - rest.len());
            }
            self.line_ns = input.ns;
        }
        Progress::More
    }

    /// Takes lines that say nothing: empty ones, and those of a mail that do not begin with a dot. `false`: none was taken.
    fn pass_over(&mut self, side: usize, rest: &mut &[u8]) -> bool {
        let line = &self.sides[side].line;
        if side == 0 && self.is_body() {
            return line.is_at_start() && pass_over_mail(rest);
        }
        let lines = line.take_empty(rest);
        if side == 0 {
            self.replies.ask_more(Asked::Other, lines);
        }
        lines > 0
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

    fn transaction(&self, start_ns: u64, end_ns: u64, fields: Fields) -> Transaction {
        let service = match &self.session {
            Session::Smtp(_) => Service::Smtp,
            Session::Ftp(_) => Service::Ftp,
        };
        Transaction { start_ns, end_ns, service, fields }
    }

    /// Takes a line with its end.
    fn command(&mut self, line: &[u8], ns: u64, out: Out<'_>) {
        work::pass(line.len());
        let step = match &mut self.session {
            Session::Smtp(session) => session.command(line, &mut self.replies),
            Session::Ftp(session) => session.command(line, &mut self.replies),
        };
        self.sides[0].skip = step.skip;
        if let Some(fields) = step.finished
            && let Some(start_ns) = self.start_ns.replace(ns)
        {
            out(self.transaction(start_ns, self.line_ns, fields));
        }
    }

    /// Takes a line of a reply; whether TLS begins behind it.
    fn reply(&mut self, line: &[u8]) -> bool {
        work::pass(line.len());
        let Some((&code, rest)) = line.split_first_chunk::<3>() else { return false };
        let words = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b" ")).unwrap_or(rest);
        match &mut self.session {
            Session::Smtp(session) => session.reply(code, words, line, &mut self.replies),
            Session::Ftp(session) => session.reply(code, words, line, &mut self.replies),
        }
    }
}

/// Takes whole lines of a mail up to the next one that begins with a dot, which alone may end it. `false`: there are none.
fn pass_over_mail(rest: &mut &[u8]) -> bool {
    if rest.starts_with(b".") {
        return false;
    }
    let end = memchr::memmem::find(rest, b"\n.").or_else(|| memchr::memrchr(b'\n', rest));
    let bytes = end.map_or(0, |end| end + 1);
    work::pass(rest.len());
    *rest = &rest[bytes..];
    bytes > 0
}
