//! Commands and replies, line by line, up to a change to TLS.

use super::{ftp, replies::Replies, smtp};
use crate::{
    input::{Input, Progress},
    transaction::{Fields, Transaction},
    value::Service,
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
    line: Vec<u8>,
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
            let end = memchr::memchr(b'\n', rest);
            let (part, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            rest = behind;
            if side.is_cut {
                side.is_cut = end.is_none();
                continue;
            }
            let room = LINE_BYTES_MAX.saturating_sub(side.line.len());
            side.line.extend_from_slice(&part[..part.len().min(room)]);
            if end.is_none() {
                break;
            }
            let line = std::mem::take(&mut side.line);
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

    /// So many bytes of a side are missing. Within the body of a mail what follows is known, else nothing is.
    pub(crate) fn gap(&mut self, side: usize, bytes: u64) -> Progress {
        let is_body = side == 0 && matches!(&self.session, Session::Smtp(session) if session.is_body());
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
        self.sides.iter().map(|side| side.line.capacity()).sum::<usize>() + session + self.replies.memory_bytes()
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
        let Some((&code, rest)) = line.split_first_chunk::<3>() else { return false };
        let words = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b" ")).unwrap_or(rest);
        match &mut self.session {
            Session::Smtp(session) => session.reply(code, words, line, &mut self.replies),
            Session::Ftp(session) => session.reply(code, words, line, &mut self.replies),
        }
    }
}
