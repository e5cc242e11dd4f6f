//! Values, and tests of them.

use std::net::IpAddr;

use tidewire_protocols::Value;
use tidewire_types::{Size, Span};

use crate::table::Cell;

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number,
    /// A number with units of bytes.
    Bytes,
    /// Nanoseconds, written with units of time.
    Duration,
    Truth,
    Text,
    Address,
}

impl ValueKind {
    /// Without its article.
    pub(super) fn name(self) -> &'static str {
        let described = self.described();
        described.rsplit(' ').next().unwrap_or(described)
    }

    /// With its article.
    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Bytes => "a size",
            Self::Duration => "a duration",
            Self::Truth => "a boolean",
            Self::Text => "text",
            Self::Address => "an address",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Number => "443",
            Self::Bytes => "1M",
            Self::Duration => "30s",
            Self::Truth => "true",
            Self::Text => "example.org",
            Self::Address => "192.0.2.1 or 192.0.2.0/24",
        }
    }
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    StartsWith,
    EndsWith,
}

impl Operator {
    /// Whether values of a type can be compared so.
    pub(super) fn fits(self, kind: ValueKind) -> bool {
        match self {
            Self::Equal | Self::Unequal => true,
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => {
                matches!(kind, ValueKind::Number | ValueKind::Bytes | ValueKind::Duration)
            }
            Self::Contains | Self::StartsWith | Self::EndsWith => kind == ValueKind::Text,
        }
    }
}

/// A test that a value must fulfil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// There is one; of true and false: it is true.
    Exists,
    Number(Operator, u64),
    /// In small letters.
    Text(Operator, String),
    Truth(bool),
    /// A network: address and bits; whether it must be outside.
    Network(IpAddr, u8, bool),
    /// One of several.
    OneOf(Vec<Test>),
}

impl Test {
    /// Reads a value as the type of its field has it.
    pub(super) fn read(kind: ValueKind, operator: Operator, text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("'{text}' is not {}, as in {}{why}", kind.described(), kind.example());
        let with_units = |error: String| wrong(&format!("; {error}"));
        Ok(match kind {
            ValueKind::Number => Self::Number(operator, number(text).ok_or_else(|| wrong(""))?),
            ValueKind::Bytes => Self::Number(operator, text.parse::<Size>().map_err(with_units)?.0),
            ValueKind::Duration => Self::Number(operator, text.parse::<Span>().map_err(with_units)?.0),
            ValueKind::Text => Self::Text(operator, text.to_ascii_lowercase()),
            ValueKind::Truth => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" => Self::Truth(operator == Operator::Equal),
                "false" | "no" => Self::Truth(operator != Operator::Equal),
                _ => return Err(wrong("")),
            },
            ValueKind::Address => {
                let (address, bits) = network(text).ok_or_else(|| wrong(""))?;
                Self::Network(address, bits, operator == Operator::Unequal)
            }
        })
    }

    /// Whether it excludes a value: of several values all have to fulfil it.
    pub(super) fn is_exclusion(&self) -> bool {
        matches!(
            self,
            Self::Number(Operator::Unequal, _) | Self::Text(Operator::Unequal, _) | Self::Network(_, _, true)
        )
    }

    /// Whether values fulfil it, of which each does or does not; `None`: there are none.
    fn of_values(&self, values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
        let mut values = values.flatten().peekable();
        values.peek()?;
        Some(if self.is_exclusion() { values.all(|holds| holds) } else { values.any(|holds| holds) })
    }

    /// Whether a member of a list's elements fulfils it.
    pub(super) fn holds_of_parts(&self, cell: &Cell<'_>, member: usize) -> bool {
        let Cell::List(elements) = cell else { return false };
        let part = |element: &Cell<'_>| match element {
            Cell::Object(cells) => cells.get(member).map(|cell| self.holds(cell)),
            _ => None,
        };
        self.of_values(elements.iter().map(part)) == Some(true)
    }

    /// Whether a cell fulfils it.
    pub(super) fn holds(&self, cell: &Cell<'_>) -> bool {
        match (self, cell) {
            (_, Cell::Null) => false,
            (_, Cell::List(cells)) => self.of_values(cells.iter().map(|cell| Some(self.holds(cell)))) == Some(true),
            // Its texts; numbers have names of their own.
            (_, Cell::Object(cells)) => {
                let of_text = |cell: &Cell<'_>| matches!(cell, Cell::Text(_)).then(|| self.holds(cell));
                self.of_values(cells.iter().map(of_text)) == Some(true)
            }
            (Self::Exists, Cell::Truth(truth)) => *truth,
            (Self::Exists, _) => true,
            (Self::OneOf(tests), cell) => tests.iter().any(|test| test.holds(cell)),
            (Self::Number(operator, limit), Cell::Number(number)) => compared(*operator, number, limit),
            (Self::Number(operator, limit), Cell::Signed(number)) => {
                compared(*operator, &i128::from(*number), &i128::from(*limit))
            }
            (Self::Truth(wanted), Cell::Truth(truth)) => wanted == truth,
            (Self::Text(operator, wanted), Cell::Text(text)) => text_holds(*operator, text, wanted),
            (Self::Text(operator, wanted), Cell::Owned(text)) => text_holds(*operator, text, wanted),
            (Self::Network(network, bits, is_outside), Cell::Address(address)) => {
                is_inside(*address, *network, *bits) != *is_outside
            }
            (Self::Network(..), Cell::Text(text)) => {
                text.parse().is_ok_and(|address| self.holds(&Cell::Address(address)))
            }
            _ => false,
        }
    }
}

/// Whether a field of a protocol fulfils a test; `None`: it has no value.
pub(super) fn of_members(values: &[(&'static str, Value<'_>)], path: &[&str], test: &Test) -> Option<bool> {
    let (first, rest) = path.split_first()?;
    let of_name = |(name, value): &(&'static str, Value<'_>)| {
        if *name == *first { holds_within(value, rest, test) } else { None }
    };
    test.of_values(values.iter().map(of_name))
}

fn holds_within(value: &Value<'_>, path: &[&str], test: &Test) -> Option<bool> {
    match value {
        Value::Object(members) => of_members(members, path, test),
        Value::Objects(list) => test.of_values(list.iter().map(|members| of_members(members, path, test))),
        Value::Number(number) => Some(test.holds(&Cell::Number(*number))),
        Value::Text(text) => Some(test.holds(&Cell::Text(text))),
        Value::Seconds(seconds) => Some(test.holds(&Cell::Signed(*seconds))),
        Value::Truth(truth) => Some(test.holds(&Cell::Truth(*truth))),
        Value::Texts(texts) => test.of_values(texts.iter().map(|text| Some(test.holds(&Cell::Text(text))))),
    }
}

fn compared<T: Ord>(operator: Operator, number: &T, limit: &T) -> bool {
    match operator {
        Operator::Equal => number == limit,
        Operator::Unequal => number != limit,
        Operator::Less => number < limit,
        Operator::LessOrEqual => number <= limit,
        Operator::Greater => number > limit,
        Operator::GreaterOrEqual => number >= limit,
        Operator::Contains | Operator::StartsWith | Operator::EndsWith => false,
    }
}

fn text_holds(operator: Operator, text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let same = |part: Option<&[u8]>| part.is_some_and(|part| part.eq_ignore_ascii_case(wanted));
    match operator {
        Operator::Equal => same(Some(text)),
        Operator::Unequal => !same(Some(text)),
        Operator::StartsWith => same(text.get(..wanted.len())),
        Operator::EndsWith => same(text.len().checked_sub(wanted.len()).and_then(|at| text.get(at..))),
        Operator::Contains => wanted.is_empty() || text.windows(wanted.len()).any(|part| same(Some(part))),
        _ => false,
    }
}

/// Decimal with K, M, G or T for thousands, or hexadecimal with 0x.
fn number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+')) {
        return u64::from_str_radix(digits, 16).ok();
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    };
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()?.checked_mul(scale))?
}

fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        None => most,
        Some(bits) => bits.parse().ok().filter(|bits| *bits <= most)?,
    };
    Some((address, bits))
}

fn is_inside(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let same = |a: u128, b: u128, most: u8| bits == 0 || (a ^ b) >> (most - bits) == 0;
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        _ => false,
    }
}
