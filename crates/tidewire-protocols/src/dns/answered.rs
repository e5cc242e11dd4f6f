//! Questions that were answered lately: another answer that differs was made by another host, or by one that changed its mind.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::message::Message;
use crate::fields::Dns;

/// Questions of a stream that are remembered behind their answer; the oldest is forgotten.
const ANSWERED_MAX: usize = 32;

/// The answers of a stream, by their questions.
#[derive(Debug, Default)]
pub(super) struct Answered(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    id: u16,
    question: u64,
    /// The answer's records without their order and lifetime; `None`: it was truncated.
    answer: Option<u64>,
    /// Times that the question was repeated, each of which may have an answer that differs.
    repeats: u32,
}

impl Answered {
    /// A question that was seen has its first answer.
    pub(super) fn first(&mut self, dns: &Dns, repeats: u32) {
        let entry = Entry { id: dns.id, question: question_of(dns), answer: answer_of(dns), repeats };
        match self.0.iter_mut().find(|old| (old.id, old.question) == (entry.id, entry.question)) {
            // It was put again.
            Some(old) => *old = entry,
            None => {
                if self.0.len() >= ANSWERED_MAX {
                    self.0.remove(0);
                }
                self.0.push(entry);
            }
        }
    }

    /// Whether an answer to no question that waits contradicts the earlier one to the same question.
    pub(super) fn contradicts(&mut self, dns: &Dns, message: &Message) -> bool {
        // Without its question an answer belongs to the query with its number.
        let question = (message.counts[0] > 0).then(|| question_of(dns));
        let is_same = |entry: &&mut Entry| entry.id == dns.id && question.is_none_or(|own| own == entry.question);
        let Some(entry) = self.0.iter_mut().rev().find(is_same) else { return false };
        if entry.repeats > 0 {
            entry.repeats -= 1;
            return false;
        }
        matches!((entry.answer, answer_of(dns)), (Some(first), Some(second)) if first != second)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Entry>()
    }
}

fn question_of(dns: &Dns) -> u64 {
    let mut hasher = DefaultHasher::new();
    dns.query.as_deref().unwrap_or_default().bytes().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
    (dns.kind.as_deref(), dns.class).hash(&mut hasher);
    hasher.finish()
}

fn answer_of(dns: &Dns) -> Option<u64> {
    let of_record = |(kind, data): (&str, &str)| {
        let mut hasher = DefaultHasher::new();
        (kind, data).hash(&mut hasher);
        hasher.finish()
    };
    let code = of_record(("", dns.rcode.as_deref().unwrap_or_default()));
    let records = dns.answers.iter().map(|answer| of_record((&answer.kind, &answer.data)));
    (!dns.truncated).then(|| records.fold(code, u64::wrapping_add))
}
