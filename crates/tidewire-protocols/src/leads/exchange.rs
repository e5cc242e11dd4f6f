//! The dialogue before TLS, as far as it was read.

use super::{binary, kinds::Lead, lines::Dialogue, xmpp};
use crate::{
    input::{Input, Progress},
    line::{Line, take_repeated},
    work,
};

/// Most bytes of a message, a line or an element that are kept.
const KEPT_BYTES_MAX: usize = 1024;

/// Most bytes of a direction before TLS.
const BYTES_MAX: usize = 16 << 10;

#[derive(Debug, Default)]
struct Side {
    kept: Vec<u8>,
    line: Line,
    bytes: usize,
    /// Whether the first message was read.
    is_read: bool,
}

#[derive(Debug)]
pub(crate) struct Exchange {
    lead: Lead,
    sides: [Side; 2],
    /// Whether the client requested TLS in an element of XMPP.
    asks: bool,
    dialogue: Dialogue,
}

/// The result of a piece.
enum Step {
    More,
    /// TLS, or the protocol that the header of a proxy leads to.
    Switch,
    Refused,
}

impl Exchange {
    pub(crate) fn new(lead: Lead) -> Self {
        Self { lead, sides: Default::default(), asks: false, dialogue: Dialogue::default() }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.sides.iter().map(|side| side.kept.capacity() + side.line.memory_bytes()).sum::<usize>()
            + self.dialogue.memory_bytes()
    }

    pub(crate) fn data(&mut self, input: Input<'_>) -> Progress {
        let room = BYTES_MAX - self.sides[input.side].bytes;
        let bytes = &input.bytes[..input.bytes.len().min(room)];
        self.sides[input.side].bytes += bytes.len();
        let mut rest = bytes;
        while !rest.is_empty() {
            let step = match self.lead {
                Lead::Lines => self.until(b'\n', input.side, &mut rest),
                Lead::Xmpp => self.until(b'>', input.side, &mut rest),
                _ => self.message(input.side, &mut rest),
            };
            match step {
                Step::More => {}
                Step::Switch => return Progress::Switch(bytes.len() - rest.len()),
                Step::Refused => return Progress::Done,
            }
        }
        if bytes.len() < input.bytes.len() { Progress::Done } else { Progress::More }
    }

    /// A line or an element. The rest of a long one is left out.
    fn until(&mut self, end: u8, side: usize, rest: &mut &[u8]) -> Step {
        let line = &mut self.sides[side].line;
        let empty = match end {
            b'\n' => line.take_empty(rest),
            // Elements without a beginning.
            _ if line.is_at_start() => take_repeated(rest, b">"),
            _ => 0,
        };
        if end == b'\n' && side == 0 {
            self.dialogue.empty(empty);
        }
        let Some(text) = self.sides[side].line.take(rest, end, KEPT_BYTES_MAX) else { return Step::More };
        work::pass(text.len());
        match (self.lead, side) {
            (Lead::Xmpp, 0) => self.asks |= xmpp::asks(&text),
            (Lead::Xmpp, _) => match xmpp::answer(&text) {
                Some(true) if self.asks => return Step::Switch,
                Some(false) if self.asks => return Step::Refused,
                _ => {}
            },
            (_, 0) => self.dialogue.command(&text),
            _ if self.dialogue.reply(text.trim_ascii_end()) => return Step::Switch,
            _ => {}
        }
        Step::More
    }

    /// The first message of a side.
    fn message(&mut self, side: usize, rest: &mut &[u8]) -> Step {
        if self.sides[side].is_read {
            // The client goes on without the server's answer, which was not seen; a server says nothing before TLS.
            return if side == 0 { Step::Switch } else { Step::Refused };
        }
        let kept = &mut self.sides[side].kept;
        let wanted = loop {
            match binary::message_bytes(self.lead, side, kept) {
                Some(Some(wanted)) if kept.len() >= wanted => break wanted,
                Some(_) if rest.is_empty() => return Step::More,
                Some(_) if kept.len() < KEPT_BYTES_MAX => {}
                _ => return Step::Refused,
            }
            // Byte by byte, so that nothing behind the message is taken.
            work::add(1);
            kept.push(rest[0]);
            *rest = &rest[1..];
        };
        debug_assert_eq!(wanted, kept.len());
        let message = std::mem::take(kept);
        self.sides[side].is_read = true;
        match (self.lead, side) {
            (Lead::PostgreSql, 0) if !binary::is_request(&message) => Step::Refused,
            // The client asks again, for TLS instead of Kerberos, or goes on in clear text.
            (Lead::PostgreSql, 1) if message == b"N" => {
                self.sides.iter_mut().for_each(|side| side.is_read = false);
                Step::More
            }
            (Lead::Proxy, _) => Step::Switch,
            // A MySQL client asks for TLS in answer to the greeting, the others before the server's answer.
            (Lead::MySql, 0) => Step::Switch,
            (Lead::MySql, _) | (_, 0) => Step::More,
            _ if binary::consents(self.lead, &message) => Step::Switch,
            _ => Step::Refused,
        }
    }
}
