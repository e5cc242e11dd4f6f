//! Records as JSON.

use crate::{
    json::{push_address, push_number, push_plain, push_string},
    records::{Absent, CellOf, Field, Form, Get, NumberOf, PushJson, RecordKind, ordered},
    table::{self, Cell, Kind},
};

/// Writes records of a kind as JSON, by their description. Names and what is around them are put together once.
pub struct Json<K: RecordKind> {
    members: Vec<Member<K>>,
    /// Whether the first member may be left out.
    may_lack_first: bool,
}

struct Member<K: RecordKind> {
    name: Name,
    value: Value<K>,
}

/// The comma, unless the member is the first of its object, the name and the colon.
enum Name {
    /// Copied whole, which is faster than a copy of a length known only then.
    Short {
        padded: [u8; Name::SHORT],
        len: usize,
    },
    Long(String),
}

impl Name {
    const SHORT: usize = 32;

    fn of(name: &str, is_first: bool) -> Self {
        let comma = if is_first { "" } else { "," };
        // A name that is a value is appended with it.
        let text = if name.is_empty() { comma.to_owned() } else { format!("{comma}\"{name}\":") };
        let mut padded = [0; Self::SHORT];
        match padded.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text.as_bytes());
                Self::Short { padded, len: text.len() }
            }
            None => Self::Long(text),
        }
    }

    #[inline]
    fn push(&self, out: &mut Vec<u8>) {
        match self {
            Self::Short { padded, len } => {
                let before = out.len();
                out.extend_from_slice(padded);
                out.truncate(before + len);
            }
            Self::Long(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

enum Value<K: RecordKind> {
    Number(NumberOf<K>),
    Cell { kind: Kind, is_word: bool, absent: Absent, get: CellOf<K> },
    Raw(PushJson<K>),
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
                    members.push(Member { name: Name::of(object, members.is_empty()), value });
                }
                open = object;
            }
            let list = match members.last_mut() {
                Some(Member { value: Value::Object { members, .. }, .. }) if object.is_some() => members,
                _ => &mut members,
            };
            let value = match field.get {
                Get::Number(get) => Value::Number(get),
                Get::Raw(push) => Value::Raw(push),
                Get::Cell(get) => {
                    Value::Cell { kind: field.column.kind, is_word: field.is_word, absent: field.absent, get }
                }
            };
            list.push(Member { name: Name::of(name, list.is_empty()), value });
        }
        let is_optional = |value: &Value<K>| matches!(value, Value::Cell { absent: Absent::Omitted, .. });
        let may_lack_first = members.first().is_some_and(|first| is_optional(&first.value))
            && ordered(fields, form)[0].column.is_optional;
        Self { members, may_lack_first }
    }

    /// Appends a record as a line.
    pub fn push<'r>(&self, out: &mut Vec<u8>, record: &'r K::Record<'r>) {
        let begin = out.len();
        push_object(out, &self.members, record);
        if self.may_lack_first && out.get(begin + 1) == Some(&b',') {
            out.remove(begin + 1);
        }
        out.push(b'\n');
    }
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
            Value::Number(get) => {
                member.name.push(out);
                push_number(out, get(record));
            }
            Value::Cell { kind, is_word, absent, get } => match get(record) {
                cell @ Cell::Null if *absent == Absent::Omitted => cell.release(),
                cell => {
                    member.name.push(out);
                    push_value(out, *kind, *is_word, *absent, cell);
                }
            },
            Value::Raw(push) => {
                let before = out.len();
                member.name.push(out);
                if !push(record, out) {
                    out.truncate(before);
                }
            }
            Value::Object { is_null_without_first, members } => {
                member.name.push(out);
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
        Some(Member { value: Value::Cell { get, .. }, .. }) => matches!(get(record), Cell::Null),
        _ => false,
    }
}

/// Appends a cell of a column of this kind.
#[inline]
pub(crate) fn push_value(out: &mut Vec<u8>, kind: Kind, is_word: bool, absent: Absent, cell: Cell<'_>) {
    match &cell {
        Cell::Number(number) => push_number(out, *number),
        Cell::Truth(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        Cell::Text(text) if is_word => push_plain(out, text),
        Cell::Text(text) => push_string(out, text),
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
    cell.release();
}
