//! Which command a reply answers: commands may be sent before earlier ones are answered (RFC 2920).

use std::collections::VecDeque;

/// Kinds of commands that wait in a row; what is asked beyond is forgotten.
const RUNS_MAX: usize = 64;

/// What a command asked for, as far as its reply matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
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
    Other,
}

/// Commands without a reply, and the reply that has begun.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// Kinds, and how many commands of each follow each other.
    waiting: VecDeque<(Asked, u32)>,
    is_greeted: bool,
    /// Whether commands are missing, so that a reply may be to any of them.
    is_lost: bool,
    /// The code of a reply of several lines that goes on.
    open: Option<[u8; 3]>,
}

impl Replies {
    pub fn memory_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<(Asked, u32)>()
    }

    /// A command was sent.
    pub fn ask(&mut self, asked: Asked) {
        self.ask_more(asked, 1);
    }

    /// So many commands were sent.
    pub fn ask_more(&mut self, asked: Asked, commands: u32) {
        if self.is_lost || commands == 0 {
            return;
        }
        let has_room = self.waiting.len() < RUNS_MAX;
        match self.waiting.back_mut() {
            Some((kind, count)) if *kind == asked => *count = count.saturating_add(commands),
            _ if has_room => self.waiting.push_back((asked, commands)),
            _ => {}
        }
    }

    /// Commands are missing: no reply is assigned any more.
    pub fn lose(&mut self) {
        self.is_lost = true;
        self.waiting = VecDeque::new();
    }

    /// So many more replies come before those to other commands.
    pub fn expect(&mut self, count: u32) {
        if count > 0 {
            self.waiting.push_front((Asked::Other, count));
        }
    }

    /// A line of a reply came: what the command asked for that it answers, if it is its last one.
    pub fn answered(&mut self, line: &[u8]) -> Option<Asked> {
        let (code, rest) = line.split_first_chunk::<3>()?;
        if !code.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let is_last = rest.first() != Some(&b'-');
        // RFC 959 section 4.2: lines between may begin with other numbers.
        match self.open {
            Some(open) if open != *code || !is_last => return None,
            None if !is_last => {
                self.open = Some(*code);
                return None;
            }
            _ => self.open = None,
        }
        // A reply that another one follows.
        if code[0] == b'1' {
            return None;
        }
        // The greeting answers nothing.
        let is_greeting = !std::mem::replace(&mut self.is_greeted, true) && (code == b"220" || self.waiting.is_empty());
        if is_greeting {
            return None;
        }
        let (asked, count) = self.waiting.front_mut()?;
        let asked = *asked;
        *count -= 1;
        if *count == 0 {
            self.waiting.pop_front();
        }
        Some(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_answer_commands_in_their_order() {
        let mut replies = Replies::default();
        assert_eq!(replies.answered(b"220 mail"), None);
        [Asked::Other, Asked::Other, Asked::Mail].into_iter().for_each(|asked| replies.ask(asked));
        assert_eq!(replies.answered(b"250-one"), None);
        assert_eq!(replies.answered(b"550 of another reply"), None);
        assert_eq!(replies.answered(b" 250 indented"), None);
        assert_eq!(replies.answered(b"250 done"), Some(Asked::Other));
        assert_eq!(replies.answered(b"150 soon"), None);
        assert_eq!(replies.answered(b"550 no"), Some(Asked::Other));
        assert_eq!(replies.answered(b"354"), Some(Asked::Mail));
        assert_eq!(replies.answered(b"250 nothing asked"), None);
    }
}
