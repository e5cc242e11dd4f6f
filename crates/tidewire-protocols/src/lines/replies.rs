//! Which command a reply answers: commands may be sent before earlier ones are answered (RFC 2920).

use std::{collections::VecDeque, num::NonZeroU32};

/// Kinds of commands that wait in a row; later commands are forgotten.
const RUNS_MAX: usize = 64;

/// The kind of a command, as far as its reply matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Command {
    /// To send a mail.
    Mail,
    /// A change to TLS.
    Tls,
    /// To take another name of the client.
    Name,
    /// LMTP: to begin a mail, or to give one up.
    Reset,
    /// LMTP: to accept a recipient.
    Recipient,
    /// LMTP: to deliver a mail to each recipient.
    Delivery,
    #[default]
    Other,
}

/// The three digits of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(NonZeroU32);

impl Code {
    pub(super) const BYTES: usize = 3;
    /// The greeting, and the consent to TLS (SMTP).
    pub(super) const READY: Self = Self::digits(b"220");
    /// The consent to TLS (FTP).
    pub(super) const SECURE: Self = Self::digits(b"234");

    const fn digits(&[hundreds, tens, units]: &[u8; 3]) -> Self {
        match NonZeroU32::new(u32::from_le_bytes([hundreds, tens, units, 0])) {
            Some(digits) => Self(digits),
            None => panic!("digits of a constant"),
        }
    }

    /// That of a line, if it begins with one.
    #[inline(always)]
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let &[hundreds, tens, units] = line.first_chunk()?;
        let digits = u32::from_le_bytes([hundreds, tens, units, 0]);
        // The upper half of a digit is 3, and still is if 6 is added.
        const UPPER: u32 = 0xf0_f0f0;
        let are_digits = (digits & UPPER) | (((digits + 0x06_0606) & UPPER) >> 4) == 0x33_3333;
        if are_digits { NonZeroU32::new(digits).map(Self) } else { None }
    }

    /// The first digit, which says what kind of reply it is.
    #[inline(always)]
    pub(super) fn kind(self) -> u8 {
        self.0.get() as u8
    }
}

/// Commands that are sent one after the other: those of a kind are added together.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    replies: &'a mut Replies,
    command: Command,
    commands: u32,
}

impl Asking<'_> {
    /// So many commands were sent.
    #[inline(always)]
    pub fn ask(&mut self, command: Command, commands: u32) {
        if command != self.command {
            self.end();
            (self.command, self.commands) = (command, 0);
        }
        // They have come at once, a byte each at least.
        self.commands = self.commands.wrapping_add(commands);
    }

    /// No more of a kind follow.
    #[inline(always)]
    pub fn end(&mut self) {
        let commands = std::mem::take(&mut self.commands);
        if self.replies.has_room() || self.command == self.replies.last {
            self.replies.ask(self.command, commands);
        }
    }
}

/// Commands without a reply, and the reply that has begun.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// Kinds, and how many commands of each follow each other, before the last ones.
    earlier: VecDeque<(Command, u32)>,
    /// The kind of the last ones, and how many follow each other; 0: no command waits.
    last: Command,
    last_count: u32,
    is_greeted: bool,
    /// Whether commands are missing, so that a reply may be to any of them.
    is_lost: bool,
    /// The code of a reply of several lines that goes on.
    open: Option<Code>,
}

impl Replies {
    pub fn memory_bytes(&self) -> usize {
        self.earlier.capacity() * size_of::<(Command, u32)>()
    }

    /// So many commands were sent.
    #[inline(never)]
    pub fn ask(&mut self, command: Command, commands: u32) {
        if command == self.last && self.last_count > 0 {
            self.last_count = self.last_count.saturating_add(commands);
        } else if self.has_room() {
            self.begin(command, commands);
        }
    }

    /// Whether commands of another kind than the last ones are remembered.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.earlier.len() + 1 < RUNS_MAX
    }

    /// So many commands of another kind than the last ones were sent.
    #[inline(never)]
    fn begin(&mut self, command: Command, commands: u32) {
        if self.is_lost || commands == 0 {
            return;
        }
        if self.last_count > 0 {
            self.earlier.push_back((self.last, self.last_count));
        }
        (self.last, self.last_count) = (command, commands);
    }

    /// Commands that are about to be sent.
    #[inline]
    pub fn asking(&mut self) -> Asking<'_> {
        Asking { replies: self, command: Command::Other, commands: 0 }
    }

    /// Commands are missing: no reply is assigned any more.
    pub fn lose(&mut self) {
        self.is_lost = true;
        (self.earlier, self.last_count) = (VecDeque::new(), 0);
    }

    /// So many more replies come before those to other commands.
    pub fn expect(&mut self, count: u32) {
        if self.last_count == 0 {
            (self.last, self.last_count) = (Command::Other, count);
        } else if count > 0 {
            self.earlier.push_front((Command::Other, count));
        }
    }

    /// The first command that waits has its reply.
    #[inline(always)]
    fn take_first(&mut self) -> Option<Command> {
        if self.earlier.is_empty() {
            self.last_count = self.last_count.checked_sub(1)?;
            return Some(self.last);
        }
        self.take_earlier()
    }

    #[inline(never)]
    fn take_earlier(&mut self) -> Option<Command> {
        let (command, count) = self.earlier.front_mut()?;
        let command = *command;
        *count -= 1;
        if *count == 0 {
            self.earlier.pop_front();
        }
        Some(command)
    }

    /// Takes a line of a reply, which may be its last one. Returns the command that it answers, if it is.
    #[inline(always)]
    pub fn answered(&mut self, code: Code, is_last: bool) -> Option<Command> {
        // RFC 959 section 4.2: lines between may begin with other numbers.
        match self.open {
            Some(open) if open != code || !is_last => return None,
            None if !is_last => {
                self.open = Some(code);
                return None;
            }
            _ => self.open = None,
        }
        // A reply that another one follows.
        if code.kind() == b'1' {
            return None;
        }
        // The greeting answers nothing.
        if !self.is_greeted {
            self.is_greeted = true;
            if code == Code::READY || self.last_count == 0 {
                return None;
            }
        }
        self.take_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_answer_commands_in_their_order() {
        let mut replies = Replies::default();
        let answered = |replies: &mut Replies, line: &[u8]| {
            Code::of(line).and_then(|code| replies.answered(code, line.get(3) != Some(&b'-')))
        };
        assert_eq!(answered(&mut replies, b"220 mail"), None);
        for command in [Command::Other, Command::Other, Command::Mail] {
            replies.ask(command, 1);
        }
        assert_eq!(answered(&mut replies, b"250-one"), None);
        assert_eq!(answered(&mut replies, b"550 of another reply"), None);
        assert_eq!(answered(&mut replies, b" 250 indented"), None);
        assert_eq!(answered(&mut replies, b"250 done"), Some(Command::Other));
        assert_eq!(answered(&mut replies, b"150 soon"), None);
        assert_eq!(answered(&mut replies, b"550 no"), Some(Command::Other));
        assert_eq!(answered(&mut replies, b"354"), Some(Command::Mail));
        assert_eq!(answered(&mut replies, b"250 unexpected"), None);
    }

    #[test]
    fn codes_are_three_digits() {
        for first in 0..=255_u8 {
            for line in [[first, b'0', b'9'], [b'5', first, b'0'], [b'9', b'4', first]] {
                assert_eq!(Code::of(&line).is_some(), first.is_ascii_digit(), "{line:?}");
            }
        }
        assert_eq!(Code::of(b"22"), None);
        assert_eq!(Code::of(b"550 no").map(Code::kind), Some(b'5'));
    }
}
