//! Sessions of SMTP (RFC 5321) and LMTP (RFC 2033): each mail is a transaction.

use super::{
    Step,
    fields::Smtp,
    path::path,
    replies::{Asked, Replies},
};
use crate::{
    text::{text, trimmed},
    transaction::Fields,
    value::{list_bytes, text_bytes},
};

/// Most recipients of a mail that are kept.
const RECIPIENTS_MAX: usize = 16;

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
    pub(super) fn is_body(&self) -> bool {
        self.is_body
    }

    /// Takes a client's line with its end.
    pub(super) fn command(&mut self, line: &[u8], replies: &mut Replies) -> Step {
        if self.is_body {
            // A dot alone ends the mail, without blanks (RFC 5321 section 4.5.2).
            self.is_body = !matches!(line, b".\r\n" | b".\n");
            if !self.is_body {
                self.end_mail();
                replies.ask(self.for_lmtp(Asked::Delivery));
            }
            return Step::default();
        }
        let line = trimmed(line);
        let (verb, rest) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        let rest = trimmed(rest);
        let is = |word: &[u8]| verb.eq_ignore_ascii_case(word);
        let mut step = Step::default();
        let asked = match rest {
            _ if is(b"DATA") => {
                self.is_body = true;
                Asked::Mail
            }
            chunk if is(b"BDAT") => {
                let mut words = chunk.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
                let size = words.next().and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                step.skip = size.unwrap_or(0);
                if words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"LAST")) {
                    self.end_mail();
                    self.for_lmtp(Asked::Delivery)
                } else {
                    Asked::Other
                }
            }
            _ if is(b"STARTTLS") => Asked::Tls,
            _ if is(b"RSET") => {
                self.end_mail();
                self.for_lmtp(Asked::Reset)
            }
            name if is(b"EHLO") || is(b"HELO") || is(b"LHLO") => {
                if is(b"LHLO") {
                    self.lmtp_recipients.get_or_insert(0);
                }
                self.greeted(name)
            }
            rest if is(b"MAIL") => {
                step.finished = self.mail.is_begun.then(|| self.take());
                self.mail = Mail { from: Some(text(path(rest))), is_begun: true, ..Mail::default() };
                self.for_lmtp(Asked::Reset)
            }
            rest if is(b"RCPT") => {
                step.finished = self.mail.is_over.then(|| self.take());
                self.mail.is_begun = true;
                if self.mail.to.len() < RECIPIENTS_MAX {
                    self.mail.to.push(text(path(rest)));
                }
                self.for_lmtp(Asked::Recipient)
            }
            _ => Asked::Other,
        };
        replies.ask(asked);
        step
    }

    /// The client says its name, which ends a mail, too (RFC 5321 section 4.1.4).
    fn greeted(&mut self, name: &[u8]) -> Asked {
        self.end_mail();
        if name.is_empty() {
            return Asked::Other;
        }
        if self.client.is_none() {
            self.client = Some(text(name));
            return Asked::Other;
        }
        // A later name counts once the server accepts it.
        self.next_client = Some(text(name));
        Asked::Name
    }

    /// Takes a line of a reply; whether TLS begins behind it.
    pub(super) fn reply(&mut self, code: [u8; 3], words: &[u8], line: &[u8], replies: &mut Replies) -> bool {
        if &code == b"220" && self.server.is_none() {
            self.server = Some(text(words.split(|&byte| byte == b' ').next().unwrap_or_default()));
        }
        let is_accepted = code[0] == b'2';
        match replies.answered(line) {
            Some(Asked::Tls) => {
                self.starttls = &code == b"220";
                return self.starttls;
            }
            Some(Asked::Name) => {
                if let Some(client) = self.next_client.take().filter(|_| is_accepted) {
                    self.client = Some(client);
                }
            }
            // No mail is wanted.
            Some(Asked::Mail) if code[0] != b'3' => self.is_body = false,
            Some(Asked::Reset) => self.lmtp_recipients = Some(0),
            Some(Asked::Recipient) if is_accepted => {
                self.lmtp_recipients = self.lmtp_recipients.map(|count| count.saturating_add(1));
            }
            Some(Asked::Delivery) => {
                let recipients = self.lmtp_recipients.replace(0).unwrap_or_default();
                replies.expect(recipients.saturating_sub(1));
            }
            _ => {}
        }
        false
    }

    /// What is left to report.
    pub(super) fn finish(&mut self) -> Option<Fields> {
        (self.mail.is_begun || self.starttls || !self.is_reported).then(|| self.take())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + text_bytes([&self.server, &self.client, &self.next_client, &self.mail.from, &self.mail.client])
            + list_bytes(&self.mail.to)
    }

    /// Kinds of replies that differ from others in LMTP only.
    fn for_lmtp(&self, asked: Asked) -> Asked {
        if self.lmtp_recipients.is_some() { asked } else { Asked::Other }
    }

    /// The mail was sent or given up.
    fn end_mail(&mut self) {
        if self.mail.is_begun && !std::mem::replace(&mut self.mail.is_over, true) {
            self.mail.client = self.client.clone();
        }
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
