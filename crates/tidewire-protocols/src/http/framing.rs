//! Fields of a head: those that say how the body behind it ends, and which of the others say anything new.

use crate::{
    line::{Beginnings, first_word, word},
    text::{long_text, text, trimmed},
    work,
};

/// Longest line that is kept; the rest of a longer one is left out.
pub(super) const LINE_BYTES_MAX: usize = 8 << 10;

/// How the body behind a head ends (RFC 9112 section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) content_length: Option<u64>,
    /// Whether a transfer coding was applied: it overrides Content-Length.
    pub(super) has_coding: bool,
    /// Whether the last transfer coding is chunked.
    pub(super) is_chunked: bool,
    /// Only the end of the message is wanted, not its fields.
    pub(super) is_unnamed: bool,
    /// Whether the field Host was there.
    pub(super) has_host: bool,
    /// Names whose text was there, a bit each: further ones do not count.
    pub(super) has_texts: u8,
    /// The field whose value the next line may continue.
    pub(super) last: Option<Name>,
}

impl Framing {
    /// That of a head of which nothing was read.
    pub(super) fn begun(is_unnamed: bool) -> Self {
        Self { is_unnamed, ..Self::default() }
    }

    /// Takes a line of a head, with its end, that says how the body ends, or nothing. `false`: it may say something else.
    #[inline(always)]
    pub(super) fn take(&mut self, line: &[u8], is_request: bool) -> bool {
        let last = match line.first() {
            Some(b' ' | b'\t') => return self.take_continued(line),
            Some(b'\n') => return false,
            Some(b'\r') if line.len() == 2 => return false,
            _ => match first_word(line).is_some_and(|word| FIELDS.has(word)) {
                true => match self.take_known(line, is_request) {
                    Some(last) => last,
                    None => return false,
                },
                false => None,
            },
        };
        self.last = last;
        true
    }

    /// The same of a line that continues the one before.
    #[inline(always)]
    fn take_continued(&mut self, line: &[u8]) -> bool {
        match self.last {
            None => true,
            Some(name) if name.is_framing() => {
                let is_whole = line.len() <= LINE_BYTES_MAX;
                if is_whole {
                    self.set(name, line);
                }
                is_whole
            }
            Some(Name::Host) if self.has_host => true,
            Some(_) => self.is_unnamed || trimmed(line).is_empty(),
        }
    }

    /// The same of a line that begins as a field that matters: the field whose value the next line may continue. `None`: it may say
    /// something else.
    #[inline]
    fn take_known(&mut self, line: &[u8], is_request: bool) -> Option<Option<Name>> {
        work::add(1);
        let Some((name, value)) = Name::split(line, is_request) else { return Some(None) };
        let is_over = match name {
            Name::Length | Name::Coding => {
                if line.len() > LINE_BYTES_MAX {
                    return None;
                }
                self.set(name, value);
                return Some(Some(name));
            }
            Name::Host => self.has_host || self.is_unnamed,
            _ => self.has_texts & name.bit() != 0 || self.is_unnamed,
        };
        // Without a value it says nothing, unless the next line does.
        match is_over {
            true => Some(None),
            false => (value == b"\n" || trimmed(value).is_empty()).then_some(Some(name)),
        }
    }

    /// Takes a value, or a part of it, of a field that says how the body ends.
    #[inline(always)]
    pub(super) fn set(&mut self, name: Name, value: &[u8]) {
        if name == Name::Length {
            self.content_length = self.content_length.or_else(|| length(value));
        } else if let Some(is_chunked) = ends_chunked(value) {
            // Several fields are one list (RFC 9110 section 5.3), of which the last element decides (RFC 9112 section 6.3).
            (self.has_coding, self.is_chunked) = (true, is_chunked);
        }
    }

    /// The length that the head announces for the body; `None`: the body ends otherwise.
    pub(super) fn announced(&self) -> Option<u64> {
        self.content_length.filter(|_| !self.has_coding)
    }

    /// Whether bytes may begin a line of a head that says more than how the body ends: then nothing is taken of few of them.
    #[inline]
    pub(super) fn may_want(rest: &[u8]) -> bool {
        FIELDS.may_have(rest)
    }
}

/// Beginnings of the fields that matter ([`Name`]).
static FIELDS: Beginnings<32> = Beginnings::of(&[b"host", b"user", b"refe", b"cont", b"serv", b"loca", b"tran"]);

/// Fields that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Host,
    UserAgent,
    Referrer,
    Kind,
    Server,
    Location,
    Length,
    Coding,
}

impl Name {
    /// Whether it says where the message ends.
    pub(super) fn is_framing(self) -> bool {
        matches!(self, Self::Length | Self::Coding)
    }

    /// Whether what it says is kept as it is.
    pub(super) fn is_text(self) -> bool {
        !self.is_framing() && self != Self::Host
    }

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Its value, which may be long where it is an address.
    pub(super) fn cut(self, value: &[u8]) -> Box<str> {
        if matches!(self, Self::Referrer | Self::Location) { long_text(value) } else { text(value) }
    }

    /// The name of a field, and the bytes behind its colon.
    #[inline]
    pub(super) fn split(line: &[u8], is_request: bool) -> Option<(Self, &[u8])> {
        const HOST: u32 = word(b"host");
        const USER: u32 = word(b"user");
        const REFERER: u32 = word(b"refe");
        const CONTENT: u32 = word(b"cont");
        const SERVER: u32 = word(b"serv");
        const LOCATION: u32 = word(b"loca");
        const TRANSFER: u32 = word(b"tran");
        let (letters, rest) = line.split_first_chunk()?;
        let behind = |end: &[u8]| {
            let (letters, rest) = rest.split_at_checked(end.len())?;
            let value = match rest {
                [b':', value @ ..] => value,
                // Blanks before the colon belong to no name.
                _ => rest.trim_ascii_start().strip_prefix(b":")?,
            };
            letters.eq_ignore_ascii_case(end).then_some(value)
        };
        let (name, value) = match (word(letters), is_request) {
            (HOST, true) => (Self::Host, behind(b"")?),
            (USER, true) => (Self::UserAgent, behind(b"-agent")?),
            (REFERER, true) => (Self::Referrer, behind(b"rer")?),
            (SERVER, false) => (Self::Server, behind(b"er")?),
            (LOCATION, false) => (Self::Location, behind(b"tion")?),
            (TRANSFER, _) => (Self::Coding, behind(b"sfer-encoding")?),
            (CONTENT, _) => match rest.get(4).map(u8::to_ascii_lowercase) {
                Some(b't') => (Self::Kind, behind(b"ent-type")?),
                _ => (Self::Length, behind(b"ent-length")?),
            },
            _ => return None,
        };
        Some((name, value))
    }
}

/// Most equal lengths in one field: a longer list is no length, as recipients may reject every list (RFC 9110 section 8.6).
const LENGTHS_MAX: usize = 64;

/// A length in decimal, or several equal ones. Databases keep it with a sign.
pub(super) fn length(mut list: &[u8]) -> Option<u64> {
    let mut length = None;
    for _ in 0..=LENGTHS_MAX {
        // Empty elements do not count (RFC 9110 section 5.6.1).
        while let [byte, rest @ ..] = list
            && (*byte == b',' || byte.is_ascii_whitespace())
        {
            list = rest;
        }
        if list.is_empty() {
            return length;
        }
        let (number, behind) = number(list)?;
        list = behind.trim_ascii_start();
        let is_whole = matches!(list, [] | [b',', ..]);
        if !is_whole || *length.get_or_insert(number) != number {
            return None;
        }
    }
    None
}

/// The number that digits begin with, and the bytes behind it.
#[inline]
fn number(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = None;
    while let [digit @ b'0'..=b'9', rest @ ..] = bytes {
        let sum = number.unwrap_or(0_u64).checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        number = Some(sum);
        bytes = rest;
    }
    number.filter(|&number| number <= i64::MAX as u64).map(|number| (number, bytes))
}

/// Whether the last element of a list is `chunked`; `None`: it has no element.
#[inline(always)]
fn ends_chunked(mut list: &[u8]) -> Option<bool> {
    while let [before @ .., b',' | b' ' | b'\t' | b'\n' | b'\r' | b'\x0c'] = list {
        list = before;
    }
    match list.split_last_chunk::<7>() {
        Some((before, last)) => Some(is_chunked(before, last)),
        None => (!list.is_empty()).then_some(false),
    }
}

/// Whether the last element of a list ends so, and is no longer.
fn is_chunked(before: &[u8], last: &[u8; 7]) -> bool {
    last.eq_ignore_ascii_case(b"chunked") && matches!(before.trim_ascii_end(), [] | [.., b','])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_lengths_are_bounded() {
        let list = |count: usize| length("7, ".repeat(count).as_bytes());
        assert_eq!([list(0), list(1), list(LENGTHS_MAX), list(LENGTHS_MAX + 1)], [None, Some(7), Some(7), None]);
        assert_eq!(length(b"7, 8"), None);
    }
}
