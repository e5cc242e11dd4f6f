//! Commands and replies, line by line, up to a change to TLS.

use super::{
    fields::{Ftp, Smtp},
    replies::{Asked, Replies},
};
use crate::{
    input::{Input, Progress},
    text::{text, trimmed},
    transaction::{Fields, Transaction},
    value::Service,
};

/// Longest line that is kept; the rest of a longer one is left out.
const LINE_BYTES_MAX: usize = 1024;

/// Most recipients and commands that are kept.
const LIST_MAX: usize = 16;

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
    is_lost: bool,
}

#[derive(Debug)]
enum Session {
    Smtp(Box<Smtp>),
    Ftp(Box<Ftp>),
}

#[derive(Debug)]
pub(crate) struct Exchange {
    session: Session,
    sides: [Side; 2],
    replies: Replies,
    /// A client's further name that the server has not answered.
    next_client: Option<Box<str>>,
    /// Whether the body of a mail is being sent.
    is_mail: bool,
    start_ns: Option<u64>,
    end_ns: u64,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn new(kind: Kind) -> Self {
        let session = match kind {
            Kind::Smtp => Session::Smtp(Box::default()),
            Kind::Ftp => Session::Ftp(Box::default()),
        };
        Self {
            session,
            sides: Default::default(),
            replies: Replies::default(),
            next_client: None,
            is_mail: false,
            start_ns: None,
            end_ns: 0,
        }
    }

    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        if self.sides[input.side].is_lost {
            return Progress::More;
        }
        self.start_ns.get_or_insert(input.ns);
        self.end_ns = input.ns;
        let mut rest = input.bytes;
        while !rest.is_empty() {
            let skipped = usize::try_from(self.sides[input.side].skip).unwrap_or(usize::MAX).min(rest.len());
            if skipped > 0 {
                self.sides[input.side].skip -= skipped as u64;
                rest = &rest[skipped..];
                continue;
            }
            let end = memchr::memchr(b'\n', rest);
            let (part, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            rest = behind;
            let line = &mut self.sides[input.side].line;
            let room = LINE_BYTES_MAX.saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            if end.is_none() {
                break;
            }
            let line = std::mem::take(line);
            match input.side {
                0 => self.command(&line),
                _ if self.reply(line.trim_ascii_end()) => {
                    self.finish(out);
                    return Progress::Switch(input.bytes.len() - rest.len());
                }
                _ => {}
            }
        }
        Progress::More
    }

    pub(crate) fn gap(&mut self, side: usize) -> Progress {
        self.sides[side] = Side { is_lost: true, ..Side::default() };
        if self.sides.iter().all(|side| side.is_lost) { Progress::Done } else { Progress::More }
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        let Some(start_ns) = self.start_ns.take() else { return };
        let (service, fields) = match &mut self.session {
            Session::Smtp(smtp) => (Service::Smtp, Fields::Smtp(std::mem::take(smtp))),
            Session::Ftp(ftp) => (Service::Ftp, Fields::Ftp(std::mem::take(ftp))),
        };
        out(Transaction { start_ns, end_ns: self.end_ns, service, fields });
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let session = match &self.session {
            Session::Smtp(smtp) => smtp.memory_bytes(),
            Session::Ftp(ftp) => ftp.memory_bytes(),
        };
        let next_client = self.next_client.as_deref().map_or(0, str::len);
        self.sides.iter().map(|side| side.line.capacity()).sum::<usize>()
            + next_client
            + session
            + self.replies.memory_bytes()
    }

    /// Takes a line with its end.
    fn command(&mut self, line: &[u8]) {
        if self.is_mail {
            // A dot alone ends the mail, without blanks (RFC 5321 section 4.5.2).
            self.is_mail = !matches!(line, b".\r\n" | b".\n");
            if !self.is_mail {
                self.replies.ask(Asked::Other);
            }
            return;
        }
        let line = trimmed(line);
        let mut asked = Asked::Other;
        let (verb, rest) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        let rest = trimmed(rest);
        let is = |word: &[u8]| verb.eq_ignore_ascii_case(word);
        match &mut self.session {
            Session::Smtp(smtp) => match rest {
                _ if is(b"DATA") => {
                    self.is_mail = true;
                    asked = Asked::Mail;
                }
                size if is(b"BDAT") => {
                    let digits = size.split(|&byte| byte == b' ').next().unwrap_or_default();
                    self.sides[0].skip =
                        std::str::from_utf8(digits).ok().and_then(|size| size.parse().ok()).unwrap_or(0);
                }
                _ if is(b"STARTTLS") => asked = Asked::Tls,
                name if is(b"EHLO") || is(b"HELO") => match smtp.client {
                    _ if name.is_empty() => {}
                    None => smtp.client = Some(text(name)),
                    // A later one counts once the server accepts it.
                    Some(_) => {
                        self.next_client = Some(text(name));
                        asked = Asked::Name;
                    }
                },
                rest if is(b"MAIL") => {
                    smtp.mail_from.get_or_insert_with(|| text(path(rest)));
                }
                rest if is(b"RCPT") && smtp.rcpt_to.len() < LIST_MAX => smtp.rcpt_to.push(text(path(rest))),
                _ => {}
            },
            Session::Ftp(ftp) => match rest {
                _ if is(b"AUTH") => asked = Asked::Tls,
                name if is(b"USER") => ftp.user = Some(text(name)),
                _ if [&b"RETR"[..], b"STOR", b"APPE", b"DELE", b"RNFR", b"RNTO", b"MKD", b"RMD"]
                    .into_iter()
                    .any(is)
                    && ftp.commands.len() < LIST_MAX =>
                {
                    ftp.commands.push(text(line));
                }
                _ => {}
            },
        }
        self.replies.ask(asked);
    }

    /// Takes a line of a reply; whether TLS begins behind it.
    fn reply(&mut self, line: &[u8]) -> bool {
        let Some((code, rest)) = line.split_first_chunk::<3>() else { return false };
        let rest = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b" ")).unwrap_or(rest);
        match &mut self.session {
            Session::Smtp(smtp) if code == b"220" && smtp.server.is_none() => {
                let name = rest.split(|&byte| byte == b' ').next().unwrap_or_default();
                smtp.server = Some(text(name));
            }
            Session::Ftp(ftp) if code == b"220" && ftp.server.is_none() => ftp.server = Some(text(rest)),
            _ => {}
        }
        let Some(asked) = self.replies.answered(line) else { return false };
        match (asked, &mut self.session) {
            (Asked::Tls, Session::Smtp(smtp)) => {
                smtp.starttls = code == b"220";
                return smtp.starttls;
            }
            (Asked::Tls, Session::Ftp(ftp)) => {
                ftp.starttls = code == b"234";
                return ftp.starttls;
            }
            (Asked::Name, Session::Smtp(smtp)) => {
                if let Some(client) = self.next_client.take().filter(|_| code[0] == b'2') {
                    smtp.client = Some(client);
                }
            }
            // No mail is wanted.
            (Asked::Mail, _) if code[0] != b'3' => self.is_mail = false,
            _ => {}
        }
        false
    }
}

/// The address of `FROM:<address> PARAMETERS` (RFC 5321 section 4.1.1.2).
fn path(rest: &[u8]) -> &[u8] {
    let behind = rest.iter().position(|&byte| byte == b':').map_or(rest, |at| trimmed(&rest[at + 1..]));
    match behind.strip_prefix(b"<") {
        Some(inner) => inner.split(|&byte| byte == b'>').next().unwrap_or_default(),
        None => behind.split(|&byte| byte == b' ').next().unwrap_or_default(),
    }
}
