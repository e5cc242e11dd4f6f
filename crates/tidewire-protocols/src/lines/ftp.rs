//! Sessions of FTP (RFC 959): each login is a transaction.

use super::{
    Step,
    fields::Ftp,
    replies::{Asked, Replies},
};
use crate::{
    text::{text, trimmed},
    transaction::Fields,
    value::{list_bytes, text_bytes},
};

/// Most commands of a transaction; further ones are in another one of the same user.
const COMMANDS_MAX: usize = 16;

/// Commands that read, write or remove files and folders.
const COMMANDS: [&[u8]; 8] = [b"RETR", b"STOR", b"APPE", b"DELE", b"RNFR", b"RNTO", b"MKD", b"RMD"];

/// A session as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct Session {
    ftp: Ftp,
    is_reported: bool,
}

impl Session {
    /// Takes a client's line with its end.
    pub(super) fn command(&mut self, line: &[u8], replies: &mut Replies) -> Step {
        let line = trimmed(line);
        let (verb, rest) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        let is = |word: &[u8]| verb.eq_ignore_ascii_case(word);
        let (mut step, mut asked) = (Step::default(), Asked::Other);
        if is(b"AUTH") {
            asked = Asked::Tls;
        } else if is(b"USER") {
            step.finished = self.has_login().then(|| self.take());
            self.ftp.user = Some(text(trimmed(rest)));
        } else if COMMANDS.into_iter().any(is) {
            if self.ftp.commands.len() >= COMMANDS_MAX {
                let user = self.ftp.user.clone();
                step.finished = Some(self.take());
                self.ftp.user = user;
            }
            self.ftp.commands.push(text(line));
        }
        replies.ask(asked);
        step
    }

    /// Takes a line of a reply; whether TLS begins behind it.
    pub(super) fn reply(&mut self, code: [u8; 3], words: &[u8], line: &[u8], replies: &mut Replies) -> bool {
        if &code == b"220" && self.ftp.server.is_none() {
            self.ftp.server = Some(text(words));
        }
        if replies.answered(line) == Some(Asked::Tls) {
            self.ftp.starttls = &code == b"234";
        }
        self.ftp.starttls
    }

    /// What is left to report.
    pub(super) fn finish(&mut self) -> Option<Fields> {
        (self.has_login() || self.ftp.starttls || !self.is_reported).then(|| self.take())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + text_bytes([&self.ftp.server, &self.ftp.user]) + list_bytes(&self.ftp.commands)
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
