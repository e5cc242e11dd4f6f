//! The fields of a query and its answer.

use std::{borrow::Cow, time::Duration};
use tidewire_types::saturating_nanos;

use crate::value::{Members, Value, known_bytes, text_bytes};

/// The fields of a query and its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dns {
    /// Identification.
    pub id: u16,
    /// Operation, 0 for a query.
    pub opcode: u8,
    /// The name in the question: labels joined by dots, as UTF-8; a dot or a backslash within a label behind a backslash, control
    /// characters and other bytes as `\ddd` (RFC 6763 section 4.3, RFC 1035 section 5.1).
    pub query: Option<Box<str>>,
    /// The type in the question: its mnemonic, or `TYPE65280`.
    pub kind: Option<Cow<'static, str>>,
    /// The class if it is not IN.
    pub class: Option<u16>,
    /// How many questions there were, where not one.
    pub questions: u16,
    /// Whether the query was seen.
    pub is_asked: bool,
    /// Whether an answer was seen. What follows is the answer's.
    pub is_answered: bool,
    /// The response code: its mnemonic, or `RCODE12`.
    pub rcode: Option<Cow<'static, str>>,
    /// The second word of the header (RFC 1035 section 4.1.1) as it was sent: of the query, and of the answer; 0 where it was not seen.
    pub flags: [u16; 2],
    /// Authoritative answer.
    pub authoritative: bool,
    /// The answer was cut short.
    pub truncated: bool,
    /// Recursion desired (of the query where it was seen), and available.
    pub recursion: [bool; 2],
    /// The records of the answer section: the first 32, and not more behind 8 KiB of text.
    pub answers: Vec<Answer>,
    /// How many further records of that section were read.
    pub answers_left_out: u16,
    /// How many records its header states, by section: answers, authorities, additional ones.
    pub counts: [u16; 3],
    /// From the query to the answer, where both were seen.
    pub latency: Option<Duration>,
    /// The questions behind the first, at most 31.
    pub more: Vec<DnsQuestion>,
    /// Whether an earlier answer to the same question says something else.
    pub conflicting: bool,
}

/// A further question of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DnsQuestion {
    /// The name in the question, as [`Dns::query`].
    pub name: Box<str>,
    /// The type in the question.
    pub kind: Cow<'static, str>,
    /// The class if it is not IN.
    pub class: Option<u16>,
}

/// A record of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Whose it is.
    pub name: Box<str>,
    /// Its type.
    pub kind: Cow<'static, str>,
    /// How long it may be kept, seconds.
    pub ttl: u32,
    /// Its data, in the presentation format of its type; `\# LENGTH HEX` (RFC 3597) for types without one here.
    pub data: Box<str>,
}

impl DnsQuestion {
    /// A question, its type by mnemonic, its class if it is not IN.
    #[must_use]
    pub fn new(name: impl Into<Box<str>>, kind: impl Into<Cow<'static, str>>, class: Option<u16>) -> Self {
        Self { name: name.into(), kind: kind.into(), class }
    }
}

impl Answer {
    /// A record, its type by mnemonic, its data in presentation format.
    #[must_use]
    pub fn new(
        name: impl Into<Box<str>>,
        kind: impl Into<Cow<'static, str>>,
        ttl: u32,
        data: impl Into<Box<str>>,
    ) -> Self {
        Self { name: name.into(), kind: kind.into(), ttl, data: data.into() }
    }
}

impl Dns {
    pub(crate) fn request(&self) -> String {
        self.kind.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn response(&self) -> String {
        let mut said = self.said();
        if self.truncated {
            said += if said.is_empty() { "truncated" } else { " (truncated)" };
        } else if said.is_empty() && self.rcode.is_some() {
            said += "no records";
        }
        if self.conflicting {
            said += " (contradicts an earlier answer)";
        }
        said
    }

    /// The code or the records of the answer, if there are some.
    fn said(&self) -> String {
        let Some(rcode) = &self.rcode else { return String::new() };
        if rcode != "NOERROR" {
            return rcode.clone().into_owned();
        }
        // The answers of the type in the question, behind aliases.
        let answers = self.answers.iter().filter(|answer| Some(&answer.kind) == self.kind.as_ref());
        let data: Vec<&str> = answers.map(|answer| &*answer.data).collect();
        match (data.is_empty(), self.answers.first()) {
            (false, _) => data.join(" "),
            (true, Some(answer)) => format!("{} {}", answer.kind, answer.data),
            (true, None) => String::new(),
        }
    }

    pub(crate) fn values<'a>(&'a self, list: &mut Members<'_, 'a>) {
        list.number("id", Some(self.id.into()));
        if self.opcode != 0 {
            list.number("opcode", Some(self.opcode.into()));
        }
        list.text("query", &self.query);
        list.text("type", &self.kind);
        list.number("class", self.class.map(u64::from));
        if self.questions != 1 {
            list.number("questions", Some(self.questions.into()));
        }
        list.push("asked", Value::Truth(self.is_asked));
        list.push("answered", Value::Truth(self.is_answered));
        list.push("rd", Value::Truth(self.recursion[0]));
        if self.is_answered {
            list.text("rcode", &self.rcode);
            list.push("aa", Value::Truth(self.authoritative));
            list.push("tc", Value::Truth(self.truncated));
            list.push("ra", Value::Truth(self.recursion[1]));
            list.push("answers", Value::Objects(self.answers.iter().map(Answer::values).collect()));
            if self.answers_left_out > 0 {
                list.number("answers_left_out", Some(self.answers_left_out.into()));
            }
            for (name, count) in ["answer_count", "authority_count", "additional_count"].into_iter().zip(self.counts) {
                list.number(name, Some(count.into()));
            }
            list.number("latency_ns", self.latency.map(saturating_nanos));
        }
        if !self.more.is_empty() {
            list.push("more_questions", Value::Objects(self.more.iter().map(DnsQuestion::values).collect()));
        }
        if self.conflicting {
            list.push("conflicting", Value::Truth(true));
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let answers: usize = self.answers.iter().map(Answer::memory_bytes).sum();
        size_of::<Self>()
            + text_bytes([&self.query])
            + known_bytes([&self.kind, &self.rcode].into_iter().flatten())
            + answers
            + self.more.iter().map(DnsQuestion::memory_bytes).sum::<usize>()
    }
}

impl DnsQuestion {
    fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        let mut list = vec![("name", Value::Text(&self.name)), ("type", Value::Text(&self.kind))];
        list.extend(self.class.map(|class| ("class", Value::Number(class.into()))));
        list
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + known_bytes([&self.kind])
    }
}

impl Answer {
    fn values(&self) -> Vec<(&'static str, Value<'_>)> {
        vec![
            ("name", Value::Text(&self.name)),
            ("type", Value::Text(&self.kind)),
            ("ttl", Value::Number(self.ttl.into())),
            ("data", Value::Text(&self.data)),
        ]
    }

    /// Bytes of its name and of what it says.
    pub(crate) fn text_bytes(&self) -> usize {
        self.name.len() + self.data.len()
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + known_bytes([&self.kind]) + self.text_bytes()
    }
}
