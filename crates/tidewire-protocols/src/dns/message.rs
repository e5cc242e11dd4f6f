//! Messages (RFC 1035 section 4.1).

use super::{
    name::{self, Names},
    names,
    record::Record,
};
use crate::{fields::Answer, work};

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 12;

/// Most records of an answer that are kept.
pub(super) const ANSWERS_MAX: usize = 32;

/// Most text of a message's answers that is kept, and of its further questions, bytes: by pointers, a message of 800 bytes names 16 KiB,
/// and four times as much where bytes are escaped. All that servers send over UDP lies within.
pub(super) const TEXT_BYTES_MAX: usize = 8 << 10;

/// Most questions of a message that are kept.
const QUESTIONS_MAX: usize = 32;

/// Most records of a message that are looked at.
const RECORDS_MAX: usize = 4096;

/// The pseudo record with the upper bits of the response code (RFC 6891).
const OPT: u16 = 41;

/// The first and the last record of a zone in a transfer (RFC 5936 section 2.2).
const SOA: u16 = 6;

/// The operation that changes a zone.
const UPDATE: u8 = 5;

/// A message as far as it is read.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: u16,
    pub(super) flags: u16,
    pub(super) counts: [u16; 4],
    pub(super) question: Option<Question>,
    /// Those behind the first.
    pub(super) more_questions: Vec<Question>,
    pub(super) answers: Vec<Answer>,
    /// How many records of the answer section are not kept.
    pub(super) left_out: u16,
    pub(super) rcode: u16,
    /// How many records of the answer section begin or end a zone (SOA).
    pub(super) zone_marks: u16,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) name: Box<str>,
    pub(super) kind: u16,
    pub(super) class: u16,
}

impl Question {
    /// Type and class.
    pub(super) fn numbers(&self) -> [u16; 2] {
        [self.kind, self.class]
    }
}

impl Message {
    /// Reads a message. One that breaks off has what came before; `None`: not even a header.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let [id, flags, counts @ ..] = header(message)?;
        let mut read = Self {
            id,
            flags,
            counts,
            question: None,
            more_questions: Vec::new(),
            answers: Vec::new(),
            left_out: 0,
            rcode: flags & 15,
            zone_marks: 0,
        };
        let names = &mut Names::new(message);
        let Some(at) = read.questions(names) else { return Some(read) };
        if read.is_response() {
            read.records(names, at);
        }
        Some(read)
    }

    pub(super) fn is_response(&self) -> bool {
        self.flags & 0x8000 != 0
    }

    pub(super) fn opcode(&self) -> u8 {
        (self.flags >> 11 & 15) as u8
    }

    pub(super) fn is_authoritative(&self) -> bool {
        self.flags & 0x0400 != 0
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.flags & 0x0200 != 0
    }

    /// Recursion desired, recursion available.
    pub(super) fn recursion(&self) -> [bool; 2] {
        [self.flags & 0x0100 != 0, self.flags & 0x0080 != 0]
    }

    /// Reads the questions; where the records begin.
    fn questions(&mut self, names: &mut Names<'_>) -> Option<usize> {
        let message = names.message();
        let (mut at, mut text_bytes) = (HEADER_BYTES, 0);
        for index in 0..usize::from(self.counts[0]) {
            let begin = at;
            at = name::skip(message, begin)?;
            let &[kind_high, kind_low, class_high, class_low] = message.get(at..)?.first_chunk()?;
            at += 4;
            work::add(at - begin);
            if index >= QUESTIONS_MAX || text_bytes > TEXT_BYTES_MAX {
                continue;
            }
            let name = names.read(begin)?.0;
            text_bytes += name.len();
            let question = Question {
                name,
                kind: u16::from_be_bytes([kind_high, kind_low]),
                class: u16::from_be_bytes([class_high, class_low]),
            };
            match index {
                0 => self.question = Some(question),
                _ => self.more_questions.push(question),
            }
        }
        Some(at)
    }

    fn records(&mut self, names: &mut Names<'_>, mut at: usize) {
        let total: usize = self.counts[1..].iter().map(|&count| usize::from(count)).sum();
        let mut room = TEXT_BYTES_MAX;
        for index in 0..total.min(RECORDS_MAX) {
            let Some(record) = Record::read(names.message(), at) else { return };
            at = record.end;
            // UPDATE has its prerequisites in the answers' place (RFC 2136 section 2.4).
            let is_answer = index < usize::from(self.counts[1]) && self.opcode() != UPDATE;
            self.zone_marks += u16::from(is_answer && record.kind == SOA);
            if is_answer && self.answers.len() < ANSWERS_MAX && room > 0 {
                let Some(answer) = record.answer(names) else {
                    self.left_out += 1;
                    continue;
                };
                work::pass(answer.text_bytes());
                room = room.saturating_sub(answer.text_bytes());
                self.answers.push(answer);
            } else if is_answer {
                self.left_out += 1;
            }
            if !is_answer && record.kind == OPT {
                self.rcode |= (record.ttl >> 24 << 4) as u16;
            }
        }
    }
}

/// Identification, flags and the four counts.
fn header(message: &[u8]) -> Option<[u16; 6]> {
    let bytes = message.first_chunk::<HEADER_BYTES>()?;
    Some(std::array::from_fn(|index| u16::from_be_bytes([bytes[2 * index], bytes[2 * index + 1]])))
}

/// Whether bytes can begin a message, as far as they are there.
pub(crate) fn may_be_header(bytes: &[u8]) -> bool {
    let Some(&flags) = bytes.get(2) else { return true };
    // Known operations: query, inverse query, status, notify, update, stateful.
    let is_known = matches!(flags >> 3 & 15, 0 | 1 | 2 | 4 | 5 | 6);
    let is_response = flags & 0x80 != 0;
    // A query has no response code.
    let is_query = is_response || bytes.get(3).is_none_or(|low| low & 15 == 0);
    // Few questions.
    let has_few = bytes.get(4).is_none_or(|&high| high == 0);
    is_known && is_query && has_few
}

/// Whether this is a message of which at least the header and, if there is one, the first question can be read: the condition for
/// datagrams on the port of DNS.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    let Some([_, _, questions, ..]) = header(bytes) else { return false };
    match questions {
        0 => may_be_header(bytes),
        1..=255 => name::end(bytes, HEADER_BYTES).is_some_and(|at| bytes.len() >= at + 4),
        _ => false,
    }
}

/// Whether the bytes are exactly one message with one question of a known type and class: what is recognised on any port.
pub(crate) fn is_whole_message(bytes: &[u8]) -> bool {
    let Some([_, flags, questions, counts @ ..]) = header(bytes) else { return false };
    // One bit is reserved (RFC 1035, RFC 4035).
    if questions != 1 || !may_be_header(bytes) || flags & 0x0040 != 0 {
        return false;
    }
    let total: usize = counts.iter().map(|&count| usize::from(count)).sum();
    if total > RECORDS_MAX || total * 11 > bytes.len() {
        return false;
    }
    let Some(at) = name::end(bytes, HEADER_BYTES) else { return false };
    let Some(&[high, low, class_high, class]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
        return false;
    };
    let kind = u16::from_be_bytes([high, low]);
    if class_high != 0 || !matches!(class, 1 | 3 | 4 | 255) || names::kind(kind).starts_with("TYPE") {
        return false;
    }
    let mut at = at + 4;
    for _ in 0..total {
        let Some(record) = Record::read(bytes, at) else { return false };
        at = record.end;
    }
    at == bytes.len()
}
