//! Records as JSON.

use crate::{
    json::{push_address, push_number, push_plain, push_string},
    records::{Absent, Field, Form, Get, RecordKind, ordered},
    table::{self, Cell, Kind},
};

/// Writes records of a kind as JSON, by their description. Names and what is around them are put together once.
pub struct Json<K: RecordKind> {
    members: Vec<Member<K>>,
}

struct Member<K: RecordKind> {
    /// The comma, unless it is the first of its object, the name and the colon.
    name: String,
    value: Value<K>,
}

enum Value<K: RecordKind> {
    Field { kind: Kind, is_word: bool, absent: Absent, get: Get<K> },
    Object { is_null_without_first: bool, members: Vec<Member<K>> },
}

impl<K: RecordKind> Json<K> {
    /// The JSON of a form of these fields.
    #[must_use]
    pub fn of(fields: &[Field<K>], form: Form) -> Self {
        let mut members: Vec<Member<K>> = Vec::new();
        let mut open = None;
        for field in ordered(fields, form) {
            let (object, name) = field.path(form);
            if object.is_none() || object != open {
                if let Some(object) = object {
                    let is_null_without_first = field.absent == Absent::Null;
                    let value = Value::Object { is_null_without_first, members: Vec::new() };
                    members.push(Member { name: named(object, members.is_empty()), value });
                }
                open = object;
            }
            let list = match members.last_mut() {
                Some(Member { value: Value::Object { members, .. }, .. }) if object.is_some() => members,
                _ => &mut members,
            };
            let value =
                Value::Field { kind: field.column.kind, is_word: field.is_word, absent: field.absent, get: field.get };
            list.push(Member { name: named(name, list.is_empty()), value });
        }
        Self { members }
    }

    /// Appends a record as a line.
    pub fn push<'r>(&self, out: &mut Vec<u8>, record: &'r K::Record<'r>) {
        push_object(out, &self.members, record);
        out.push(b'\n');
    }
}

fn named(name: &str, is_first: bool) -> String {
    let comma = if is_first { "" } else { "," };
    // A name that is a value is appended with it.
    if name.is_empty() { comma.to_owned() } else { format!("{comma}\"{name}\":") }
}

impl<K: RecordKind> Field<K> {
    /// The object that JSON has it in, if any, and its name there.
    pub(super) fn path(&self, form: Form) -> (Option<&'static str>, &'static str) {
        match (self.side, self.member) {
            (Some((side, base)), _) if form == Form::STREAM_JSON => {
                (Some(["c2s", "s2c"][side]), self.stream_name.unwrap_or(base))
            }
            (_, Some((object, name))) => (Some(object), name),
            _ => (None, self.column.name),
        }
    }
}

fn push_object<'r, K: RecordKind>(out: &mut Vec<u8>, members: &[Member<K>], record: &'r K::Record<'r>) {
    out.push(b'{');
    for member in members {
        match &member.value {
            Value::Field { kind, is_word, absent, get: Get::Cell(get) } => {
                let cell = get(record);
                if matches!(cell, Cell::Null) && *absent == Absent::Omitted {
                    continue;
                }
                out.extend_from_slice(member.name.as_bytes());
                push_value(out, *kind, *is_word, *absent, &cell);
            }
            Value::Field { get: Get::Raw(push), .. } => {
                let before = out.len();
                out.extend_from_slice(member.name.as_bytes());
                if !push(record, out) {
                    out.truncate(before);
                }
            }
            Value::Object { is_null_without_first, members } => {
                out.extend_from_slice(member.name.as_bytes());
                match *is_null_without_first && is_absent(members, record) {
                    true => out.extend_from_slice(b"null"),
                    false => push_object(out, members, record),
                }
            }
        }
    }
    out.push(b'}');
}

/// Whether the first member of an object is.
fn is_absent<'r, K: RecordKind>(members: &[Member<K>], record: &'r K::Record<'r>) -> bool {
    match members.first() {
        Some(Member { value: Value::Field { get: Get::Cell(get), .. }, .. }) => matches!(get(record), Cell::Null),
        _ => false,
    }
}

#[inline]
fn push_value(out: &mut Vec<u8>, kind: Kind, is_word: bool, absent: Absent, cell: &Cell<'_>) {
    match cell {
        Cell::Number(number) => push_number(out, *number),
        Cell::Text(text) if is_word => push_plain(out, text),
        Cell::Owned(text) if is_word => push_plain(out, text),
        Cell::Owned(text) => push_string(out, text),
        Cell::Address(address) => {
            out.push(b'"');
            push_address(out, *address);
            out.push(b'"');
        }
        Cell::Null => out.extend_from_slice(if absent == Absent::EmptyArray { b"[]" } else { b"null" }),
        cell => table::push_json(out, kind, cell),
    }
}
