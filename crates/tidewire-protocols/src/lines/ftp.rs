//! Sessions of FTP (RFC 959): each login is a transaction.

use super::{
    dialect::{Dialect, Effects, ends_verb},
    replies::{Code, Command, Replies},
};
use crate::{
    fields::Ftp,
    line::{Beginnings, word, word_of},
    text::{text, trimmed},
    transaction::Fields,
    value::{list_bytes, text_bytes},
};

/// Most commands of a transaction; further ones are in another one of the same user.
const COMMANDS_MAX: usize = 16;

/// Commands that read, write or remove files and folders.
const COMMANDS: [&[u8]; 8] = [b"RETR", b"STOR", b"APPE", b"DELE", b"RNFR", b"RNTO", b"MKD", b"RMD"];

/// Beginnings of the commands that matter: a short one with what may follow it.
static BEGINNINGS: Beginnings<64> = Beginnings::of(&[
    b"USER", b"RETR", b"STOR", b"APPE", b"DELE", b"RNFR", b"RNTO", b"MKD ", b"MKD\r", b"MKD\n", b"MKD\t", b"MKD\x0c",
    b"RMD ", b"RMD\r", b"RMD\n", b"RMD\t", b"RMD\x0c",
]);

const AUTH: u32 = word(b"AUTH");
const NOOP: u32 = word(b"NOOP");

/// A session as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct Session {
    ftp: Ftp,
    is_reported: bool,
}

impl Session {
    /// The rest to report.
    pub(super) fn finish(&mut self) -> Option<Fields> {
        (self.has_login() || self.ftp.starttls || !self.is_reported).then(|| self.take())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.ftp.server, &self.ftp.user]) + list_bytes(&self.ftp.commands)
    }

    /// Takes a line that begins as a command that matters, without blanks around it.
    #[inline(never)]
    fn known_command(&mut self, line: &[u8]) -> Option<Fields> {
        let (verb, rest) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        let is = |word: &[u8]| verb.eq_ignore_ascii_case(word);
        let mut finished = None;
        if is(b"USER") {
            finished = self.has_login().then(|| self.take());
            self.ftp.user = Some(text(trimmed(rest)));
        } else if COMMANDS.into_iter().any(is) {
            if self.ftp.commands.len() >= COMMANDS_MAX {
                let user = self.ftp.user.clone();
                finished = Some(self.take());
                self.ftp.user = user;
            }
            self.ftp.commands.push(text(line));
        }
        finished
    }

    fn has_login(&self) -> bool {
        self.ftp.user.is_some() || !self.ftp.commands.is_empty()
    }

    fn take(&mut self) -> Fields {
        self.is_reported = true;
        let next = Ftp { server: self.ftp.server.clone(), ..Ftp::default() };
        Fields::Ftp(Box::new(std::mem::replace(&mut self.ftp, next)))
    }
}

impl Dialect for Session {
    const SHORTEST_BYTES: u32 = 4;

    #[inline(always)]
    fn command<'a>(&mut self, verb: u32, line: &'a [u8], effects: &mut Effects<'a>) -> Command {
        if verb == AUTH {
            return if ends_verb(&line[4..]) { Command::Tls } else { Command::Other };
        }
        if BEGINNINGS.has(verb) {
            effects.finished = self.known_command(trimmed(line));
            effects.interrupts = effects.finished.is_some();
        }
        Command::Other
    }

    #[inline(always)]
    fn plain<'a>(&mut self, near: u64, _: &'a [u8], _: &mut Option<&'a [u8]>) -> Option<(usize, Command)> {
        let (verb, is_whole) = (word_of(near as u32), (near >> 32) as u8 == b'\n');
        match verb {
            AUTH if is_whole => Some((5, Command::Tls)),
            NOOP if is_whole => Some((5, Command::Other)),
            _ => None,
        }
    }

    fn keep_name(&mut self, _: &[u8]) {}

    #[inline]
    fn is_body(&self) -> bool {
        false
    }

    fn end_body(&mut self) -> Command {
        Command::Other
    }

    #[inline]
    fn wants_greeting(&self) -> bool {
        self.ftp.server.is_none()
    }

    fn greet(&mut self, words: &[u8]) {
        self.ftp.server = Some(text(words));
    }

    fn answer(&mut self, command: Command, code: Code, _: &mut Replies) -> bool {
        if command == Command::Tls {
            self.ftp.starttls = code == Code::SECURE;
        }
        self.ftp.starttls
    }
}
