//! A conversation in DNS: which answer belongs to which query.

use std::time::Duration;
use tidewire_types::Timestamp;

use super::{
    answered::Answered,
    message::{ANSWERS_MAX, HEADER_BYTES, Message, Question, TEXT_BYTES_MAX},
    names,
};
use crate::{
    fields::{Answer, Dns, DnsQuestion},
    input::{Input, Progress},
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Most queries that wait for their answer; of more, the oldest is reported without one.
const PENDING_MAX: usize = 32;

/// Messages over TCP (RFC 1035 section 4.2.2) of one direction.
#[derive(Debug, Default)]
struct Side {
    /// Length and message as far as they came.
    message: Vec<u8>,
    is_lost: bool,
}

#[derive(Debug)]
pub(crate) struct Exchange {
    service: Service,
    sides: [Side; 2],
    pending: Vec<Pending>,
    answered: Answered,
    memory_bytes: usize,
}

#[derive(Debug)]
struct Pending {
    start_ns: u64,
    /// Type and class of the question; its name is a field.
    question: Option<[u16; 2]>,
    dns: Box<Dns>,
    /// Times that it was repeated.
    repeats: u32,
    /// Of a transfer that began: time of its last message, and how many records so far begin or end the zone.
    transfer: Option<(u64, u16)>,
}

/// Transfers of zones, whose answers are as many messages over TCP as they need (RFC 5936 section 2.2, RFC 1995).
const TRANSFERS: [u16; 2] = [251, 252];

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn new(service: Service) -> Self {
        Self { service, sides: Default::default(), pending: Vec::new(), answered: Answered::default(), memory_bytes: 0 }
    }

    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        if input.is_datagram {
            self.message(input.bytes, input, out);
            return Progress::More;
        }
        let mut side = std::mem::take(&mut self.sides[input.side]);
        let mut bytes = input.bytes;
        while !bytes.is_empty() && !side.is_lost {
            let wanted = match side.message.first_chunk::<2>() {
                None => 2,
                Some(&length) => 2 + usize::from(u16::from_be_bytes(length)),
            };
            let part = bytes.len().min(wanted - side.message.len());
            side.message.extend_from_slice(&bytes[..part]);
            work::pass(part);
            bytes = &bytes[part..];
            if side.message.len() == wanted && wanted != 2 {
                self.message(&side.message[2..], input, out);
                side.message.clear();
            } else if let [high, low] = side.message[..]
                && usize::from(u16::from_be_bytes([high, low])) < HEADER_BYTES
            {
                // No message is shorter than its header: this is something else.
                side.message.clear();
                side.is_lost = true;
            }
        }
        self.sides[input.side] = side;
        if self.sides.iter().all(|side| side.is_lost) { Progress::Done } else { Progress::More }
    }

    /// Where the next message begins is not known behind a gap.
    pub(crate) fn gap(&mut self, side: usize) -> Progress {
        self.sides[side] = Side { message: Vec::new(), is_lost: true };
        if self.sides.iter().all(|side| side.is_lost) { Progress::Done } else { Progress::More }
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        for pending in std::mem::take(&mut self.pending) {
            let end_ns = pending.transfer.map_or(pending.start_ns, |(end_ns, _)| end_ns);
            out(self.transaction(pending.start_ns, end_ns, pending.dns));
        }
        self.memory_bytes = 0;
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let sides: usize = self.sides.iter().map(|side| side.message.capacity()).sum();
        sides + self.memory_bytes + self.answered.memory_bytes()
    }

    fn transaction(&self, start_ns: u64, end_ns: u64, dns: Box<Dns>) -> Transaction {
        Transaction {
            start: Timestamp::from_nanos(start_ns),
            end: Timestamp::from_nanos(end_ns),
            service: self.service,
            fields: Fields::Dns(dns),
        }
    }

    fn message(&mut self, bytes: &[u8], input: Input<'_>, out: Out<'_>) {
        let Some(message) = Message::read(bytes) else { return };
        match message.is_response() {
            true => self.response(message, input, out),
            false => self.query(message, input.ns, out),
        }
    }

    /// Keeps a query, or a transfer that is not complete; of too many, the oldest is reported as it is.
    fn keep(&mut self, pending: Pending, out: Out<'_>) {
        self.memory_bytes += size_of::<Pending>() + pending.dns.memory_bytes();
        self.pending.push(pending);
        if self.pending.len() > PENDING_MAX {
            let oldest = self.pending.remove(0);
            self.memory_bytes = self.memory_bytes.saturating_sub(size_of::<Pending>() + oldest.dns.memory_bytes());
            let end_ns = oldest.transfer.map_or(oldest.start_ns, |(end_ns, _)| end_ns);
            out(self.transaction(oldest.start_ns, end_ns, oldest.dns));
        }
    }

    fn query(&mut self, message: Message, ns: u64, out: Out<'_>) {
        let question = message.question.as_ref().map(Question::numbers);
        let name = message.question.as_ref().map(|question| &*question.name);
        let is_repeated = |pending: &Pending| {
            pending.dns.id == message.id && pending.question == question && pending.dns.query.as_deref() == name
        };
        // Multicast queries have no identification, and need no answer.
        let repeated = || self.pending.iter().position(is_repeated);
        if self.service != Service::Mdns
            && let Some(place) = repeated()
        {
            self.pending[place].repeats += 1;
            return;
        }
        let mut dns = Box::new(Dns { is_asked: true, flags: [message.flags, 0], ..Dns::default() });
        describe(&mut dns, &message);
        if self.service == Service::Mdns {
            // Each question stands alone (RFC 6762 section 5.3).
            for question in message.question.into_iter().chain(message.more_questions) {
                describe_question(&mut dns, question);
                out(self.transaction(ns, ns, dns.clone()));
            }
            if dns.query.is_none() {
                out(self.transaction(ns, ns, dns));
            }
            return;
        }
        describe_questions(&mut dns, message.question, message.more_questions);
        self.keep(Pending { start_ns: ns, question, dns, repeats: 0, transfer: None }, out);
    }

    fn response(&mut self, mut message: Message, input: Input<'_>, out: Out<'_>) {
        let ns = input.ns;
        // Without its question an answer belongs to the query with its number.
        let belongs = |pending: &Pending| {
            pending.dns.id == message.id
                && match (&pending.question, &message.question) {
                    (Some([kind, _]), Some(answered)) => {
                        let name = pending.dns.query.as_deref().unwrap_or_default();
                        *kind == answered.kind && name.eq_ignore_ascii_case(&answered.name)
                    }
                    _ => true,
                }
        };
        let place = self.pending.iter().position(belongs);
        let mut pending = match place.map(|place| self.pending.remove(place)) {
            Some(pending) => {
                self.memory_bytes = self.memory_bytes.saturating_sub(size_of::<Pending>() + pending.dns.memory_bytes());
                pending
            }
            None => {
                let mut dns = Box::<Dns>::default();
                describe(&mut dns, &message);
                let question = message.question.as_ref().map(Question::numbers);
                describe_questions(&mut dns, message.question.take(), std::mem::take(&mut message.more_questions));
                Pending { start_ns: ns, question, dns, repeats: 0, transfer: None }
            }
        };
        let is_transfer = !input.is_datagram && pending.question.is_some_and(|[kind, _]| TRANSFERS.contains(&kind));
        match pending.transfer {
            // The transfer goes on.
            Some(_) => append(&mut pending.dns, &mut message),
            None => answer(&mut pending.dns, &mut message),
        }
        if pending.transfer.is_none() {
            let latency = Duration::from_nanos(ns.saturating_sub(pending.start_ns));
            pending.dns.latency = pending.dns.is_asked.then_some(latency);
        }
        if pending.dns.query.is_none() && self.service == Service::Mdns {
            // Multicast answers repeat no question.
            pending.dns.query = pending.dns.answers.first().map(|answer| answer.name.clone());
        }
        let marks = pending.transfer.map_or(0, |(_, marks)| marks).saturating_add(message.zone_marks);
        // A whole zone ends as it begins; how changes end is not followed.
        let is_complete =
            message.rcode != 0 || marks >= 2 && pending.question.is_some_and(|[kind, _]| kind == TRANSFERS[1]);
        if is_transfer && !is_complete {
            pending.transfer = Some((ns, marks));
            return self.keep(pending, out);
        }
        // Many hosts may answer a multicast question.
        if self.service != Service::Mdns && !is_transfer {
            match pending.dns.is_asked {
                true => self.answered.first(&pending.dns, pending.repeats),
                false => pending.dns.conflicting = self.answered.contradicts(&pending.dns, &message),
            }
        }
        out(self.transaction(pending.start_ns, ns, pending.dns));
    }
}

/// Fields of an answer.
fn answer(dns: &mut Dns, message: &mut Message) {
    dns.is_answered = true;
    dns.flags[1] = message.flags;
    dns.rcode = Some(names::rcode(message.rcode));
    dns.authoritative = message.is_authoritative();
    dns.truncated = message.is_truncated();
    dns.recursion[1] = message.recursion()[1];
    dns.counts = [message.counts[1], message.counts[2], message.counts[3]];
    dns.answers = std::mem::take(&mut message.answers);
    dns.answers_left_out = message.left_out;
}

/// Appends a further message of a transfer.
fn append(dns: &mut Dns, message: &mut Message) {
    dns.rcode = Some(names::rcode(message.rcode));
    for (count, more) in dns.counts.iter_mut().zip(&message.counts[1..]) {
        *count = count.saturating_add(*more);
    }
    let mut text_bytes: usize = dns.answers.iter().map(Answer::text_bytes).sum();
    dns.answers_left_out = dns.answers_left_out.saturating_add(message.left_out);
    for answer in message.answers.drain(..) {
        if dns.answers.len() < ANSWERS_MAX && text_bytes < TEXT_BYTES_MAX {
            text_bytes += answer.text_bytes();
            dns.answers.push(answer);
        } else {
            dns.answers_left_out = dns.answers_left_out.saturating_add(1);
        }
    }
}

/// Common fields of query and answer.
fn describe(dns: &mut Dns, message: &Message) {
    dns.id = message.id;
    dns.opcode = message.opcode();
    dns.questions = message.counts[0];
    dns.recursion = message.recursion();
}

fn describe_questions(dns: &mut Dns, first: Option<Question>, more: Vec<Question>) {
    dns.more = more.into_iter().map(dns_question).collect();
    if let Some(question) = first {
        describe_question(dns, question);
    }
}

fn describe_question(dns: &mut Dns, question: Question) {
    let question = dns_question(question);
    (dns.query, dns.kind, dns.class) = (Some(question.name), Some(question.kind), question.class);
}

fn dns_question(question: Question) -> DnsQuestion {
    // The upper bit asks for an answer to this host only (RFC 6762 section 5.4).
    let class = question.class & 0x7fff;
    DnsQuestion { name: question.name, kind: names::kind(question.kind), class: (class != 1).then_some(class) }
}
