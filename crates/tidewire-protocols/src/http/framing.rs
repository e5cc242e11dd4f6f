//! Fields of a head: those that say how the body behind it ends, and which of the others say anything new.

use crate::{
    line::{Beginnings, behind_last, equal_bytes, first_word, marked, short_ends, word},
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
            _ => match first_word(line) {
                Some(word) if FIELDS.has(word) => match self.take_begun(line, word, is_request) {
                    Some(last) => last,
                    None => return false,
                },
                _ => None,
            },
        };
        self.last = last;
        true
    }

    /// Takes lines of less than five bytes with their ends, too short for a field that matters, as many as end among the next eight bytes. How many;
    /// 0: none, or they have to be taken one by one. `ends`: the [`near_ends`](crate::line::near_ends) of the bytes.
    #[inline(always)]
    pub(super) fn take_short(&mut self, bytes: &mut &[u8], ends: u64) -> u32 {
        let ends = short_ends(ends, SHORTEST_BYTES);
        let Some(near) = bytes.first_chunk().filter(|_| ends != 0) else { return 0 };
        let near = u64::from_le_bytes(*near);
        let within = TOPS >> ends.leading_zeros();
        let starts = (ends << 8 | 0x80) & within;
        if starts & !from(near, b'!') == 0 {
            self.last = None;
        } else if !self.take_continued_short(near, within, starts) {
            return 0;
        }
        *bytes = bytes.get(behind_last(ends)..).unwrap_or_default();
        work::add(1);
        marked(ends)
    }

    /// The same of lines of which at least one continues another, or is empty.
    #[inline(always)]
    fn take_continued_short(&mut self, near: u64, within: u64, starts: u64) -> bool {
        let continued = equal_bytes(near, b' ') & starts;
        // Empty lines end a head.
        if (continued | from(near, b'!')) & starts != starts {
            return false;
        }
        let is_irrelevant = match self.last {
            _ if continued & 0x80 == 0 => true,
            None => true,
            Some(Name::Host) => self.has_host,
            _ if continued != starts => false,
            Some(Name::Length) => self.content_length.is_some() || (from(near, b'0') & !from(near, b':')) & within == 0,
            // No line is long enough for `chunked`; one without elements is not looked at here.
            Some(Name::Coding) if from(near, b'-') & within != 0 => {
                (self.has_coding, self.is_chunked) = (true, false);
                true
            }
            Some(_) => false,
        };
        if is_irrelevant && continued != starts {
            self.last = None;
        }
        is_irrelevant
    }

    /// The same of a line that begins with such a word.
    #[inline(always)]
    fn take_begun(&mut self, line: &[u8], word: u32, is_request: bool) -> Option<Option<Name>> {
        if self.is_over(word, is_request) {
            return Some(None);
        }
        // A field without a value.
        if word == HOST && matches!(line, [_, _, _, _, b':', b'\n']) {
            return Some(Some(Name::Host));
        }
        self.take_known(line, is_request)
    }

    /// Whether the next line continues a field whose text is kept.
    #[inline(always)]
    pub(super) fn keeps(&self, bytes: &[u8]) -> bool {
        matches!(bytes, [b' ' | b'\t', ..]) && !self.is_unnamed && self.last.is_some_and(Name::is_text)
    }

    /// Whether lines that begin so say nothing, whatever follows.
    #[inline(always)]
    fn is_over(&self, word: u32, is_request: bool) -> bool {
        match word {
            HOST => self.has_host || self.is_unnamed || !is_request,
            USER => self.has_texts & Name::UserAgent.bit() != 0 || self.is_unnamed || !is_request,
            REFERER => self.has_texts & Name::Referrer.bit() != 0 || self.is_unnamed || !is_request,
            SERVER => self.has_texts & Name::Server.bit() != 0 || self.is_unnamed || is_request,
            LOCATION => self.has_texts & Name::Location.bit() != 0 || self.is_unnamed || is_request,
            _ => false,
        }
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

const HOST: u32 = word(b"host");
const USER: u32 = word(b"user");
const REFERER: u32 = word(b"refe");
const CONTENT: u32 = word(b"cont");
const SERVER: u32 = word(b"serv");
const LOCATION: u32 = word(b"loca");
const TRANSFER: u32 = word(b"tran");

/// Bytes of the shortest line that is a field that matters, with its end: four letters and a colon are longer.
const SHORTEST_BYTES: u32 = 5;

/// The top bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The top bit of each byte that is this one or a greater one. `least`: an ASCII character.
#[inline(always)]
fn from(word: u64, least: u8) -> u64 {
    (((word & !TOPS) + 0x0101_0101_0101_0101 * u64::from(0x80 - least)) | word) & TOPS
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
