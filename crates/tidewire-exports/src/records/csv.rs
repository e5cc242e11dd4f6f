//! Records as comma-separated values.

use tidewire::legible::distinct;

use crate::{
    json::{push_address, push_number},
    records::{Field, Form, Get, RecordKind, ordered},
    table::{Cell, Kind, Unit},
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
            (Some((side, _)), Some(name)) if form == Form::STREAM_CSV => format!("{name}_{}", ["c2s", "s2c"][side]),
            _ => field.column.name.to_owned(),
        };
        Self { fields: ordered(fields, form).into_iter().map(|field| (name(field), *field)).collect() }
    }

    /// The names, as a header. `has_times`: whether times are written as text, under names of their own.
    #[must_use]
    pub fn header(&self, has_times: bool) -> String {
        let name = |(name, field): &(String, Field<K>)| match has_times && field.column.unit == Unit::Time {
            true => name.replace("_ns", "_time"),
            false => name.clone(),
        };
        self.fields.iter().map(name).collect::<Vec<_>>().join(",")
    }

    /// Appends a record as a line.
    pub fn push<'r>(&self, out: &mut Vec<u8>, record: &'r K::Record<'r>, time: TimeText<'_>) {
        for (index, (_, field)) in self.fields.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let Get::Cell(get) = field.get else { continue };
            match (get(record), time) {
                (Cell::Number(ns), Some(time)) if field.column.unit == Unit::Time => {
                    out.extend_from_slice(time(ns).as_bytes());
                }
                (cell, _) => field.push_csv(out, &cell),
            }
        }
        out.push(b'\n');
    }
}

impl<K: RecordKind> Field<K> {
    fn push_csv(&self, out: &mut Vec<u8>, cell: &Cell<'_>) {
        match (cell, self.column.kind) {
            (Cell::Number(number), _) => push_number(out, *number),
            (Cell::Signed(number), _) => out.extend_from_slice(number.to_string().as_bytes()),
            (Cell::Truth(truth), _) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
            (Cell::Address(address), _) => push_address(out, *address),
            (Cell::Text(text), _) => self.push_csv_text(out, text),
            (Cell::Owned(text), _) => self.push_csv_text(out, text),
            // Objects are counted.
            (Cell::Null, Kind::List(Kind::Object(_))) => out.push(b'0'),
            (Cell::List(items), Kind::List(Kind::Object(_))) => push_number(out, items.len() as u64),
            (Cell::List(items), _) => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b'.');
                    }
                    self.push_csv(out, item);
                }
            }
            (Cell::Null, _) if self.is_always_quoted => push_quoted(out, ""),
            (Cell::Null | Cell::Object(_) | Cell::Members(_), _) => {}
        }
    }

    fn push_csv_text(&self, out: &mut Vec<u8>, text: &str) {
        match self.is_word {
            true => out.extend_from_slice(text.as_bytes()),
            false => push_quoted(out, text),
        }
    }
}

/// Appends text as a comma-separated value: quoted (RFC 4180), legible and [`distinct`].
pub fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(distinct(text).replace('"', "\"\"").as_bytes());
    out.push(b'"');
}
