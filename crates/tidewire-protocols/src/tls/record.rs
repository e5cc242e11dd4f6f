//! The record layer (RFC 8446 section 5.1), and messages of the handshake inside of it (section 4): each may be cut anywhere,
//! several messages may share a record, and a message may take several.

use super::old;
use crate::work;

/// Longest message that is read; longer ones are skipped. Two certificates fit, as does a hello with post-quantum keys.
const MESSAGE_BYTES_MAX: usize = 32 << 10;

/// Longest record: 2^14 bytes, and what old versions add to encrypted ones.
const RECORD_BYTES_MAX: u16 = (1 << 14) + 2048;

/// Most records of a side in clear text, and most messages of the handshake in them. A handshake has a dozen messages; clients that hide
/// from observers cut a hello of 2 kB into records of one byte.
const RECORDS_MAX: u16 = 4096;
const MESSAGES_MAX: u16 = 1024;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// A message of a side in clear text.
pub(super) enum Message<'a> {
    /// Type and body of a message of the handshake.
    Handshake(u8, &'a [u8]),
    /// An alert's description.
    Alert(u8),
    /// Type and body of a hello of SSL 2.0.
    Old(u8, &'a [u8]),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the first byte.
    #[default]
    Begun,
    /// A hello of SSL 2.0.
    Old,
    /// Records of the handshake in clear text.
    Reading,
    /// Encrypted from here on.
    Encrypted,
    /// Bytes are missing.
    Lost,
    /// This is no record.
    Mistaken,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Side {
    state: State,
    header: [u8; 5],
    header_bytes: u8,
    /// Of the current record: what is still to come.
    left: u16,
    /// The cipher was changed; another hello may follow all the same (RFC 8446 appendix D.4).
    is_changed: bool,
    expects_hello: bool,
    /// A bit for each type of message of the handshake that came in clear text.
    seen: u32,
    /// The message that is not complete.
    message: Vec<u8>,
    /// Bytes of a message that is not read.
    skip: u32,
    alert: [u8; 2],
    alert_bytes: u8,
    records: u16,
    messages: u16,
}

/// Whether a message is one of those that are read: hellos and certificates.
fn is_read(kind: u8, length: usize) -> bool {
    matches!(kind, 1 | 2 | 11) && length <= MESSAGE_BYTES_MAX
}

/// The bit of a type of message; none of types that no version has.
fn bit(kind: u8) -> u32 {
    1_u32.checked_shl(kind.into()).unwrap_or(0)
}

type Take<'a> = &'a mut dyn FnMut(&mut Side, Message<'_>);

impl Side {
    pub(super) fn is_reading(&self) -> bool {
        matches!(self.state, State::Begun | State::Old | State::Reading)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.state == State::Encrypted || self.is_changed
    }

    /// Whether the cipher was changed in the midst of the handshake, as up to TLS 1.2.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Whether a message of one of these types came in clear text.
    pub(super) fn has_seen(&self, kinds: &[u8]) -> bool {
        kinds.iter().any(|&kind| self.seen & bit(kind) != 0)
    }

    pub(super) fn is_mistaken(&self) -> bool {
        self.state == State::Mistaken
    }

    pub(super) fn lose(&mut self) {
        if self.is_reading() {
            self.end(State::Lost);
        }
    }

    /// Another hello comes in clear text, even behind a change of the cipher.
    pub(super) fn expect_more(&mut self) {
        self.expects_hello = true;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.message.capacity()
    }

    fn end(&mut self, state: State) {
        self.state = state;
        self.message = Vec::new();
    }

    pub(super) fn data(&mut self, mut bytes: &[u8], take: Take<'_>) {
        if let (State::Begun, Some(first)) = (self.state, bytes.first()) {
            self.state = if first & 0x80 != 0 { State::Old } else { State::Reading };
        }
        if self.state == State::Old {
            self.old(&mut bytes, take);
        }
        while !bytes.is_empty() && self.is_reading() {
            if self.left > 0 {
                let (part, rest) = bytes.split_at(bytes.len().min(self.left.into()));
                self.left -= part.len() as u16;
                bytes = rest;
                match self.header[0] {
                    HANDSHAKE => self.handshake(part, take),
                    ALERT => self.alert(part, take),
                    _ => {}
                }
                continue;
            }
            let at = usize::from(self.header_bytes);
            let (part, rest) = bytes.split_at(bytes.len().min(self.header.len() - at));
            self.header[at..at + part.len()].copy_from_slice(part);
            self.header_bytes += part.len() as u8;
            bytes = rest;
            if usize::from(self.header_bytes) == self.header.len() {
                self.header_bytes = 0;
                self.record();
            }
        }
    }

    /// Takes bytes up to the end of a hello of SSL 2.0; behind a client's there may be records.
    fn old(&mut self, bytes: &mut &[u8], take: Take<'_>) {
        loop {
            let wanted = match self.message.first_chunk::<2>() {
                None => 2,
                Some(&length) => 2 + usize::from(u16::from_be_bytes(length) & 0x7fff),
            };
            if self.message.len() == wanted {
                break;
            }
            let part = bytes.len().min(wanted - self.message.len());
            if part == 0 {
                return;
            }
            self.message.extend_from_slice(&bytes[..part]);
            *bytes = &bytes[part..];
        }
        let message = std::mem::take(&mut self.message);
        let kind = message.get(2).copied().unwrap_or_default();
        self.end(match kind {
            old::CLIENT_HELLO => State::Reading,
            old::SERVER_HELLO => State::Encrypted,
            _ => State::Mistaken,
        });
        take(self, Message::Old(kind, message.get(3..).unwrap_or_default()));
    }

    /// A record's header is complete.
    fn record(&mut self) {
        let [kind, major, _, length @ ..] = self.header;
        let length = u16::from_be_bytes(length);
        if major != 3 || length > RECORD_BYTES_MAX {
            return self.end(State::Mistaken);
        }
        match kind {
            CHANGE_CIPHER_SPEC => self.is_changed = true,
            HANDSHAKE | ALERT if self.is_changed && !self.expects_hello => return self.end(State::Encrypted),
            HANDSHAKE | ALERT => {}
            APPLICATION_DATA => return self.end(State::Encrypted),
            _ => return self.end(State::Mistaken),
        }
        work::add(1);
        self.records += 1;
        if self.records > RECORDS_MAX || self.messages > MESSAGES_MAX {
            return self.end(State::Lost);
        }
        self.left = length;
    }

    fn handshake(&mut self, mut bytes: &[u8], take: Take<'_>) {
        while !bytes.is_empty() {
            work::add(1);
            if self.messages > MESSAGES_MAX {
                return self.end(State::Lost);
            }
            if self.skip > 0 {
                let skipped = bytes.len().min(self.skip as usize);
                self.skip -= skipped as u32;
                bytes = &bytes[skipped..];
                continue;
            }
            if self.message.is_empty()
                && let Some(rest) = self.whole_message(bytes, take)
            {
                bytes = rest;
                continue;
            }
            let wanted = match self.message.first_chunk::<4>() {
                None => 4,
                Some(&[_, a, b, c]) => 4 + u32::from_be_bytes([0, a, b, c]) as usize,
            };
            let part = bytes.len().min(wanted - self.message.len());
            self.message.extend_from_slice(&bytes[..part]);
            work::pass(part);
            bytes = &bytes[part..];
            self.end_message(take);
        }
        self.end_message(take);
    }

    /// Passes on the message that all of `bytes` begin with, if it is there as a whole; the bytes behind it.
    fn whole_message<'a>(&mut self, bytes: &'a [u8], take: Take<'_>) -> Option<&'a [u8]> {
        let (&[kind, a, b, c], rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if !is_read(kind, length) {
            return None;
        }
        let (body, rest) = rest.split_at_checked(length)?;
        self.pass(kind, body, take);
        Some(rest)
    }

    fn pass(&mut self, kind: u8, body: &[u8], take: Take<'_>) {
        self.seen |= bit(kind);
        self.messages += 1;
        if kind == 1 {
            self.expects_hello = false;
        }
        take(self, Message::Handshake(kind, body));
    }

    /// Passes on the message if it is complete; passes over one that is not read.
    fn end_message(&mut self, take: Take<'_>) {
        let Some(&[kind, a, b, c]) = self.message.first_chunk::<4>() else { return };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if !is_read(kind, length) {
            self.seen |= bit(kind);
            self.messages += 1;
            self.skip = length as u32;
            self.message.clear();
        } else if self.message.len() == 4 + length {
            let mut message = std::mem::take(&mut self.message);
            self.pass(kind, &message[4..], take);
            message.clear();
            self.message = message;
        }
    }

    fn alert(&mut self, bytes: &[u8], take: Take<'_>) {
        for &byte in bytes {
            if usize::from(self.alert_bytes) < self.alert.len() {
                self.alert[usize::from(self.alert_bytes)] = byte;
                self.alert_bytes += 1;
                if usize::from(self.alert_bytes) == self.alert.len() {
                    take(self, Message::Alert(byte));
                }
            }
        }
    }
}
