//! POP3 (RFC 2595), IMAP (RFC 9051), NNTP (RFC 4642) and IRC: a command, and the server's consent.

use super::kinds::{Lead, Look};

/// Greetings of servers, and first commands of clients that do not wait for one.
const GREETINGS: [&[u8]; 5] = [b"+OK", b"* OK", b"* PREAUTH", b"200 ", b"201 "];
const COMMANDS: [&[u8]; 4] = [b"STLS", b"STARTTLS", b"CAP LS", b"CAPA\r"];

pub(super) fn look(bytes: &[u8]) -> Look {
    let mut open = false;
    for (patterns, found) in [(&GREETINGS[..], Look::Server(Lead::Lines)), (&COMMANDS[..], Look::Client(Lead::Lines))] {
        for pattern in patterns {
            let common = bytes.len().min(pattern.len());
            if bytes[..common].eq_ignore_ascii_case(&pattern[..common]) {
                if common == pattern.len() {
                    return found;
                }
                open = true;
            }
        }
    }
    if open { Look::Open } else { Look::Unknown }
}

/// Commands that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    tls_command: Option<TlsCommand>,
    /// POP3: commands without a reply; they may be sent together (RFC 2449 section 6.6).
    open: u32,
    is_greeted: bool,
}

/// The command for TLS, and how its reply is found.
#[derive(Debug)]
enum TlsCommand {
    /// IMAP: by its tag.
    Tagged(Box<[u8]>),
    /// By its code; in POP3 behind so many replies.
    Plain(u32),
}

impl Dialogue {
    pub(super) fn memory_bytes(&self) -> usize {
        match &self.tls_command {
            Some(TlsCommand::Tagged(tag)) => tag.len(),
            _ => 0,
        }
    }

    /// Takes a client's line.
    pub(super) fn command(&mut self, line: &[u8]) {
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let is_command = |word: &[u8]| word.eq_ignore_ascii_case(b"STARTTLS") || word.eq_ignore_ascii_case(b"STLS");
        match (words.next(), words.next(), words.next()) {
            (Some(one), None, _) if is_command(one) => self.tls_command = Some(TlsCommand::Plain(self.open)),
            (Some(tag), Some(two), None) if is_command(two) => self.tls_command = Some(TlsCommand::Tagged(tag.into())),
            _ => {}
        }
        self.open = self.open.saturating_add(1);
    }

    /// Takes so many empty lines of a client.
    pub(super) fn empty(&mut self, lines: u32) {
        self.open = self.open.saturating_add(lines);
    }

    /// Takes a server's line, without its end; whether TLS begins behind it.
    pub(super) fn reply(&mut self, line: &[u8]) -> bool {
        let answer = self.answer(line);
        if answer == Some(false) {
            // The client may ask again.
            self.tls_command = None;
        }
        answer == Some(true)
    }

    /// The reply of a line to the command for TLS: `None` if it is not the reply.
    fn answer(&mut self, line: &[u8]) -> Option<bool> {
        let mut words = line.split(|&byte| byte == b' ');
        let (first, second) = (words.next()?, words.next().unwrap_or_default());
        let is = |word: &[u8], known: &[u8]| word.eq_ignore_ascii_case(known);
        if is(first, b"+OK") || is(first, b"-ERR") {
            return self.answer_of_pop3(is(first, b"+OK"));
        }
        if first == b"+" {
            // A challenge, whose answer is no command (RFC 5034 section 4).
            self.open = self.open.saturating_sub(1);
        }
        match self.tls_command.as_ref()? {
            TlsCommand::Tagged(tag) if **tag != *first => None,
            TlsCommand::Tagged(_) if is(second, b"OK") => Some(true),
            TlsCommand::Tagged(_) => (is(second, b"NO") || is(second, b"BAD")).then_some(false),
            // In IRC, lines begin with the server's name.
            TlsCommand::Plain(_) => match (first, second) {
                (b"382", _) | (_, b"670") => Some(true),
                (b"580" | b"691", _) | (_, b"691") => Some(false),
                _ => None,
            },
        }
    }

    fn answer_of_pop3(&mut self, is_consent: bool) -> Option<bool> {
        let is_greeting = !std::mem::replace(&mut self.is_greeted, true) && self.open == 0;
        if is_greeting {
            return None;
        }
        self.open = self.open.saturating_sub(1);
        match self.tls_command.as_mut()? {
            TlsCommand::Tagged(_) => None,
            TlsCommand::Plain(0) => Some(is_consent),
            TlsCommand::Plain(before) => {
                *before -= 1;
                None
            }
        }
    }
}
