//! Sessions of SMTP (RFC 5321) and LMTP (RFC 2033): each mail is a transaction.

use super::{
    dialect::{Dialect, Effects, ends_verb},
    path::path,
    replies::{Code, Command, Replies},
};
use crate::{
    fields::Smtp,
    line::{past_blanks, word, word_of},
    text::{text, trimmed},
    transaction::Fields,
    value::{list_bytes, text_bytes},
    work,
};

/// Most recipients of a mail that are kept.
const RECIPIENTS_MAX: usize = 16;

const EHLO: u32 = word(b"EHLO");
const HELO: u32 = word(b"HELO");
const LHLO: u32 = word(b"LHLO");
const MAIL: u32 = word(b"MAIL");
const RCPT: u32 = word(b"RCPT");
const DATA: u32 = word(b"DATA");
const BDAT: u32 = word(b"BDAT");
const RSET: u32 = word(b"RSET");
const NOOP: u32 = word(b"NOOP");
const STARTTLS: u32 = word(b"STAR");

/// A session as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct Session {
    server: Option<Box<str>>,
    client: Option<Box<str>>,
    /// A client's further name that the server has not answered.
    next_client: Option<Box<str>>,
    mail: Mail,
    /// Whether the body of a mail is being sent (DATA).
    is_body: bool,
    /// LMTP: the server answers a mail once for each recipient that it accepted (RFC 2033 section 4.2), which are so many.
    lmtp_recipients: Option<u32>,
    starttls: bool,
    is_reported: bool,
}

/// The mail that was begun last.
#[derive(Debug, Default)]
struct Mail {
    from: Option<Box<str>>,
    to: Vec<Box<str>>,
    is_begun: bool,
    /// Whether it was sent or given up: a recipient that follows belongs to another one.
    is_over: bool,
    /// The client's name by then.
    client: Option<Box<str>>,
}

impl Session {
    /// The client says its name, which ends a mail, too (RFC 5321 section 4.1.4).
    #[inline(always)]
    fn greeted<'a>(&mut self, given: &'a [u8], name: &mut Option<&'a [u8]>) -> Command {
        self.end_mail();
        if matches!(given, [] | [b'\n', ..] | [b' ', 0..=b' ', ..]) && given.trim_ascii_start().is_empty() {
            return Command::Other;
        }
        if self.client.is_none() {
            self.keep_client(given);
            return Command::Other;
        }
        // A later name counts once the server accepts it.
        *name = Some(given);
        Command::Name
    }

    #[inline(never)]
    fn keep_client(&mut self, name: &[u8]) {
        self.client = Some(text(trimmed(name)));
    }

    /// A mail begins.
    #[inline(never)]
    fn mail(&mut self, path_and_parameters: &[u8]) -> Option<Fields> {
        let finished = self.mail.is_begun.then(|| self.take());
        self.mail = Mail { from: Some(text(path(path_and_parameters))), is_begun: true, ..Mail::default() };
        finished
    }

    /// A recipient that is kept.
    #[inline(never)]
    fn recipient(&mut self, path_and_parameters: &[u8]) -> Option<Fields> {
        let finished = self.mail.is_over.then(|| self.take());
        self.mail.is_begun = true;
        self.mail.to.push(text(path(path_and_parameters)));
        finished
    }

    /// A chunk of a mail follows (RFC 3030 section 2); of so many bytes.
    #[inline(always)]
    fn chunk(&mut self, parameters: &[u8]) -> (Command, u64) {
        let (bytes, is_last) = chunk_of(parameters);
        if !is_last {
            return (Command::Other, bytes);
        }
        self.end_mail();
        (self.for_lmtp(Command::Delivery), bytes)
    }

    /// A chunk of less than ten bytes that are all there, or one whose size is a letter: it has no bytes. `behind`: the verb.
    #[inline(always)]
    fn plain_chunk(&self, behind: [u8; 3], rest: &[u8]) -> Option<(usize, Command)> {
        let [b' ', size, end] = behind else { return None };
        let size = match size {
            b'0'..=b'9' => usize::from(size - b'0'),
            b':'.. => 0,
            _ => return None,
        };
        let (line_bytes, command) = match end {
            b'\n' => (7, Command::Other),
            b' ' if !self.has_mail() && is_last_line(rest.get(7..12)?) => (12, self.for_lmtp(Command::Delivery)),
            _ => return None,
        };
        (rest.len() >= line_bytes + size).then_some((line_bytes + size, command))
    }

    /// The rest to report.
    pub(super) fn finish(&mut self) -> Option<Fields> {
        (self.mail.is_begun || self.starttls || !self.is_reported).then(|| self.take())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + text_bytes([&self.server, &self.client, &self.next_client, &self.mail.from, &self.mail.client])
            + list_bytes(&self.mail.to)
    }

    /// Kinds of replies that differ from others in LMTP only.
    #[inline]
    fn for_lmtp(&self, command: Command) -> Command {
        if self.lmtp_recipients.is_some() { command } else { Command::Other }
    }

    /// The mail was sent or given up.
    #[inline]
    fn end_mail(&mut self) {
        if self.has_mail() {
            self.give_up_mail();
        }
    }

    /// Whether a mail was begun that is not over.
    #[inline(always)]
    fn has_mail(&self) -> bool {
        self.mail.is_begun && !self.mail.is_over
    }

    /// Whether no further recipient is kept.
    #[inline(always)]
    fn is_full(&self) -> bool {
        !self.mail.is_over && self.mail.to.len() >= RECIPIENTS_MAX
    }

    #[inline(never)]
    fn give_up_mail(&mut self) {
        self.mail.is_over = true;
        self.mail.client = self.client.clone();
    }

    fn take(&mut self) -> Fields {
        let mail = std::mem::take(&mut self.mail);
        self.is_reported = true;
        Fields::Smtp(Box::new(Smtp {
            server: self.server.clone(),
            client: if mail.is_over { mail.client } else { self.client.clone() },
            mail_from: mail.from,
            rcpt_to: mail.to,
            starttls: self.starttls,
        }))
    }
}

/// Whether a verb that begins with STAR ends so.
#[inline(always)]
fn is_starttls(rest: &[u8]) -> bool {
    rest.split_first_chunk().is_some_and(|(end, rest)| word(end) == word(b"TTLS") && ends_verb(rest))
}

/// The size of a chunk, 0 if it has none, and whether it is the last one of its mail: of the bytes behind the verb.
#[inline(always)]
fn chunk_of(parameters: &[u8]) -> (u64, bool) {
    let rest = past_blanks(parameters);
    let (size, rest) = number(rest.strip_prefix(b"+").unwrap_or(rest));
    if ends_verb(rest) {
        return (size.unwrap_or(0), is_last(rest));
    }
    // Other bytes belong to the first parameter, which is no number.
    let behind = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    work::add(behind);
    (0, is_last(&rest[behind..]))
}

/// The number that digits begin with, and the bytes behind them. `None`: it is too great, or there are no digits.
#[inline(always)]
fn number(digits: &[u8]) -> (Option<u64>, &[u8]) {
    let (mut size, mut rest) = (Some(0_u64), digits);
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        size = size.and_then(|size| size.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        rest = behind;
    }
    (size, rest)
}

/// Whether the next parameter is LAST.
#[inline(always)]
fn is_last(mut parameters: &[u8]) -> bool {
    while let [b' ', rest @ ..] = parameters {
        parameters = rest;
    }
    let Some((letters, rest)) = parameters.split_first_chunk() else { return false };
    word(letters) == word(b"LAST") && ends_verb(rest)
}

/// Whether a line ends with LAST.
#[inline(always)]
fn is_last_line(end: &[u8]) -> bool {
    end.split_first_chunk().is_some_and(|(letters, rest)| word(letters) == word(b"LAST") && rest == b"\n")
}

impl Dialect for Session {
    const SHORTEST_BYTES: u32 = 5;

    #[inline(always)]
    fn command<'a>(&mut self, verb: u32, line: &'a [u8], effects: &mut Effects<'a>) -> Command {
        let rest = &line[4..];
        if verb == STARTTLS && is_starttls(rest) {
            return Command::Tls;
        }
        if !ends_verb(rest) {
            return Command::Other;
        }
        match verb {
            EHLO | HELO => self.greeted(rest, &mut effects.name),
            LHLO => {
                self.lmtp_recipients.get_or_insert(0);
                self.greeted(rest, &mut effects.name)
            }
            MAIL => {
                effects.finished = self.mail(trimmed(rest));
                effects.interrupts = effects.finished.is_some();
                self.for_lmtp(Command::Reset)
            }
            RCPT => {
                if !self.is_full() {
                    effects.finished = self.recipient(trimmed(rest));
                    effects.interrupts = effects.finished.is_some();
                }
                self.for_lmtp(Command::Recipient)
            }
            DATA => {
                self.is_body = true;
                Command::Mail
            }
            BDAT => {
                let (command, skip) = self.chunk(rest);
                (effects.skip, effects.interrupts) = (skip, true);
                command
            }
            RSET => {
                self.end_mail();
                self.for_lmtp(Command::Reset)
            }
            _ => Command::Other,
        }
    }

    #[inline(always)]
    fn plain<'a>(&mut self, near: u64, rest: &'a [u8], name: &mut Option<&'a [u8]>) -> Option<(usize, Command)> {
        let (verb, [first, second, third, fourth]) = (word_of(near as u32), ((near >> 32) as u32).to_le_bytes());
        let is_whole = first == b'\n';
        // In a session of LMTP it says the same (RFC 2033 section 4.1).
        let verb = if verb == LHLO && self.lmtp_recipients.is_some() { EHLO } else { verb };
        let command = match verb {
            NOOP => Command::Other,
            RSET if !self.has_mail() => self.for_lmtp(Command::Reset),
            EHLO | HELO if is_whole && !self.has_mail() => Command::Other,
            EHLO | HELO if self.client.is_some() && !self.has_mail() => {
                // A name of one or two letters.
                let bytes = match (first, third, fourth) {
                    (b' ', b'\n', _) => 7,
                    (b' ', b'!'.., b'\n') => 8,
                    _ => return None,
                };
                if second <= b' ' {
                    return None;
                }
                *name = rest.get(4..bytes);
                return Some((bytes, Command::Name));
            }
            RCPT if self.is_full() => self.for_lmtp(Command::Recipient),
            DATA => Command::Mail,
            BDAT if !is_whole => return self.plain_chunk([first, second, third], rest),
            BDAT => Command::Other,
            STARTTLS => {
                let is_tls = rest.len() > 8 && word_of((near >> 32) as u32) == word(b"TTLS") && rest[8] == b'\n';
                return is_tls.then_some((9, Command::Tls));
            }
            _ => return None,
        };
        let bytes = match (first, second) {
            (b'\n', _) => 5,
            (b'\r', b'\n') => 6,
            _ => return None,
        };
        self.is_body = command == Command::Mail;
        Some((bytes, command))
    }

    fn keep_name(&mut self, name: &[u8]) {
        self.next_client = Some(text(trimmed(name)));
    }

    #[inline]
    fn is_body(&self) -> bool {
        self.is_body
    }

    #[inline(always)]
    fn end_body(&mut self) -> Command {
        self.is_body = false;
        self.end_mail();
        self.for_lmtp(Command::Delivery)
    }

    #[inline]
    fn wants_greeting(&self) -> bool {
        self.server.is_none()
    }

    fn greet(&mut self, words: &[u8]) {
        self.server = Some(text(words.split(|&byte| byte == b' ').next().unwrap_or_default()));
    }

    fn answer(&mut self, command: Command, code: Code, replies: &mut Replies) -> bool {
        let is_accepted = code.kind() == b'2';
        match command {
            Command::Tls => {
                self.starttls = code == Code::READY;
                return self.starttls;
            }
            Command::Name => {
                if let Some(client) = self.next_client.take().filter(|_| is_accepted) {
                    self.client = Some(client);
                }
            }
            // No mail is wanted.
            Command::Mail if code.kind() != b'3' => self.is_body = false,
            Command::Reset => self.lmtp_recipients = Some(0),
            Command::Recipient if is_accepted => {
                self.lmtp_recipients = self.lmtp_recipients.map(|count| count.saturating_add(1));
            }
            Command::Delivery => {
                let recipients = self.lmtp_recipients.replace(0).unwrap_or_default();
                replies.expect(recipients.saturating_sub(1));
            }
            Command::Mail | Command::Recipient | Command::Other => {}
        }
        false
    }
}
