//! Records as comma-separated values.

use tidewire::legible::{distinct, legible};

use crate::{
    json::{push_address, push_number},
    records::{Field, Form, Get, Quotes, RecordKind, ordered},
    table::{Cell, Column, Kind, Unit},
};

/// Writes records of a kind as comma-separated values, by their description.
pub struct Csv<K: RecordKind> {
    fields: Vec<(String, Field<K>)>,
}

/// Writes a time otherwise than as nanoseconds.
pub type TimeText<'t> = Option<&'t dyn Fn(u64) -> String>;

impl<K: RecordKind> Csv<K> {
    /// The comma-separated values of a form of these fields.
    #[must_use]
    pub fn of(fields: &[Field<K>], form: Form) -> Self {
        let name = |field: &Field<K>| match (field.side, field.stream_name) {
            (Some((side, _)), Some(name)) if form.is_of_streams() => format!("{name}_{}", ["c2s", "s2c"][side]),
            _ => field.column.name.to_owned(),
        };
        let fields = ordered(fields, form).into_iter().filter(|field| !matches!(field.get, Get::Raw(_)));
        Self { fields: fields.map(|field| (name(field), *field)).collect() }
    }

    /// The names, as a header. `has_times`: whether times are written as text, under names of their own.
    #[must_use]
    pub fn header(&self, has_times: bool) -> String {
        let name = |(name, field): &(String, Field<K>)| match has_times && field.column.unit == Unit::Time {
            true => field.time_name.map_or_else(|| name.replace("_ns", "_time"), str::to_owned),
            false => name.clone(),
        };
        self.fields.iter().map(name).collect::<Vec<_>>().join(",")
    }

    /// Names of the values, with the columns that they are in tables.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.fields.iter().map(|(name, field)| (name.as_str(), &field.column))
    }

    /// A value that is a number.
    pub fn number<'r>(&self, index: usize, record: &'r K::Record<'r>) -> Option<u64> {
        match self.fields.get(index)?.1.get {
            Get::Number(get) => Some(get(record)),
            Get::Cell(get) => match get(record) {
                Cell::Number(number) => Some(number),
                _ => None,
            },
            Get::Raw(_) => None,
        }
    }

    /// A value as text, without quotes.
    pub fn text<'r>(&self, index: usize, record: &'r K::Record<'r>) -> String {
        let mut out = Vec::new();
        if let Some((_, field)) = self.fields.get(index) {
            field.push_value::<false>(&mut out, record, None);
        }
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends a record as a line.
    pub fn push<'r>(&self, out: &mut Vec<u8>, record: &'r K::Record<'r>, time: TimeText<'_>) {
        for (index, (_, field)) in self.fields.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            field.push_value::<true>(out, record, time);
        }
        out.push(b'\n');
    }
}

impl<K: RecordKind> Field<K> {
    // Callers write many values: a call of this costs as much as a number.
    #[inline(always)]
    fn push_value<'r, const QUOTED: bool>(&self, out: &mut Vec<u8>, record: &'r K::Record<'r>, time: TimeText<'_>) {
        let time = time.filter(|_| self.column.unit == Unit::Time);
        match (self.get, time) {
            (Get::Number(get), Some(time)) => out.extend_from_slice(time(get(record)).as_bytes()),
            (Get::Number(get), None) => push_number(out, get(record)),
            (Get::Cell(get), time) => match (get(record), time) {
                (Cell::Number(ns), Some(time)) => out.extend_from_slice(time(ns).as_bytes()),
                (cell, _) => self.push_csv::<QUOTED>(out, &cell),
            },
            (Get::Raw(_), _) => {}
        }
    }

    fn push_csv<const QUOTED: bool>(&self, out: &mut Vec<u8>, cell: &Cell<'_>) {
        match (cell, self.column.kind) {
            (Cell::Number(number), _) => push_number(out, *number),
            (Cell::Signed(number), _) => out.extend_from_slice(number.to_string().as_bytes()),
            (Cell::Truth(truth), _) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
            (Cell::Address(address), _) => push_address(out, *address),
            (Cell::Text(text), _) => self.push_csv_text::<QUOTED>(out, text),
            (Cell::Owned(text), _) => self.push_csv_text::<QUOTED>(out, text),
            // Objects are counted.
            (Cell::Null, Kind::List(Kind::Object(_))) => out.push(b'0'),
            (Cell::List(items), Kind::List(Kind::Object(_))) => push_number(out, items.len() as u64),
            (Cell::List(items), _) => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b'.');
                    }
                    self.push_csv::<QUOTED>(out, item);
                }
            }
            (Cell::Null, _) if self.quotes == Quotes::Always => push_text::<QUOTED>(out, ""),
            (Cell::Null | Cell::Object(_) | Cell::Members(_), _) => {}
        }
    }

    fn push_csv_text<const QUOTED: bool>(&self, out: &mut Vec<u8>, text: &str) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        match self.quotes {
            _ if self.is_word => out.extend_from_slice(text.as_bytes()),
            Quotes::IfNeeded if text.bytes().all(is_plain) => out.extend_from_slice(text.as_bytes()),
            Quotes::Legible | Quotes::IfNeeded => push_text::<QUOTED>(out, &legible(text)),
            Quotes::Distinct | Quotes::Always => push_text::<QUOTED>(out, &distinct(text)),
        }
    }
}

/// Appends text as a comma-separated value: quoted (RFC 4180), legible and [`distinct`].
pub fn push_quoted(out: &mut Vec<u8>, text: &str) {
    push_text::<true>(out, &distinct(text));
}

fn push_text<const QUOTED: bool>(out: &mut Vec<u8>, text: &str) {
    if !QUOTED {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}
