//! Descriptions of records: each field is stated once, with its name, type, unit, meaning and getter.
//!
//! JSON ([`Json`]), comma-separated values ([`Csv`]), typed columns ([`crate::table`]: Arrow, Parquet, SQLite, `--where`) and the
//! tables of `docs/output.md` ([`documented`]) are made of these descriptions. A field that is added to a description is in all of them.
//!
//! A description lists fields in the order of JSON. Other forms have the same order, but for fields that were added after a form's
//! order was fixed, or that the form has at its end: these are [`Field::late`].

mod csv;
mod document;
mod flows;
mod json;
#[cfg(test)]
mod tests;
mod transactions;

pub use csv::{Csv, push_quoted};
pub use document::documented;
pub(crate) use flows::FLOW;
pub use flows::{Flow, flow_csv, flow_json, flow_table, mptcp_token, stream_csv, stream_json};
pub use json::Json;
pub(crate) use transactions::TRANSACTION;
pub use transactions::{Transacted, transaction_csv, transaction_json};

use crate::table::{Cell, Column, Kind, Unit};

/// A kind of record.
pub trait RecordKind: Copy + 'static {
    /// The record, with the lifetime of what it borrows.
    type Record<'r>;
}

/// Makes the cell of a record.
pub type CellOf<K> = for<'r> fn(&'r <K as RecordKind>::Record<'r>) -> Cell<'r>;

/// Appends a value as JSON; `false`: there is none, and nothing was appended.
pub type PushJson<K> = for<'r> fn(&'r <K as RecordKind>::Record<'r>, &mut Vec<u8>) -> bool;

/// Where a value comes from.
#[derive(Clone, Copy)]
pub(crate) enum Get<K: RecordKind> {
    Cell(CellOf<K>),
    /// A value that exists as JSON only.
    Raw(PushJson<K>),
}

/// A form of records: one bit. Flows and streams are two selections of the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form(u8);

impl Form {
    /// Typed columns: Arrow, Parquet, SQLite and `--where`.
    pub const TABLE: Self = Self(1);
    /// JSON.
    pub const JSON: Self = Self(2);
    /// Comma-separated values.
    pub const CSV: Self = Self(4);
    /// JSON of `streams`: fields of a direction are members of `c2s` and `s2c`.
    pub const STREAM_JSON: Self = Self(8);
    /// Comma-separated values of `streams`: fields of one direction, then those of the other.
    pub const STREAM_CSV: Self = Self(16);
    /// All of them.
    pub const ALL: Self = Self(31);

    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether one of `other` is among these forms.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn groups_sides(self) -> bool {
        self.has(Self::STREAM_JSON.and(Self::STREAM_CSV))
    }
}

/// JSON of a value that is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// No member. Members that come first in their object are never left out.
    Omitted,
    Null,
    EmptyArray,
}

/// A field of a record.
#[derive(Clone, Copy)]
pub struct Field<K: RecordKind> {
    /// Name, type and unit.
    pub column: Column,
    /// Its meaning, for documents.
    pub meaning: &'static str,
    get: Get<K>,
    /// The direction whose value it is, and the name without the direction's.
    side: Option<(usize, &'static str)>,
    /// The name in forms of `streams`, if it is another one.
    stream_name: Option<&'static str>,
    /// The object that JSON has it in, and its name there.
    member: Option<(&'static str, &'static str)>,
    forms: Form,
    /// Forms that have it at their end, and its order there.
    late: (Form, u8),
    absent: Absent,
    /// Whether it is a word of our own, which needs neither escapes nor quotes.
    is_word: bool,
    /// Whether comma-separated values have quotes where it is absent.
    is_always_quoted: bool,
}

impl<K: RecordKind> Field<K> {
    const fn of(name: &'static str, kind: Kind, get: Get<K>, meaning: &'static str) -> Self {
        Self {
            column: Column { name, kind, is_optional: false, unit: Unit::None },
            meaning,
            get,
            side: None,
            stream_name: None,
            member: None,
            forms: Form::ALL,
            late: (Form(0), 0),
            absent: Absent::Omitted,
            is_word: false,
            is_always_quoted: false,
        }
    }

    /// A field of every form.
    pub const fn new(name: &'static str, kind: Kind, get: CellOf<K>, meaning: &'static str) -> Self {
        Self::of(name, kind, Get::Cell(get), meaning)
    }

    /// A field of JSON alone.
    pub(crate) const fn raw(name: &'static str, forms: Form, get: PushJson<K>, meaning: &'static str) -> Self {
        Self::of(name, Kind::Object(&[]), Get::Raw(get), meaning).only(forms)
    }

    /// A member of JSON whose name is a value, too: `get` appends both.
    pub(crate) const fn named_by_value(forms: Form, get: PushJson<K>, meaning: &'static str) -> Self {
        Self::raw("", forms, get, meaning)
    }

    /// Records may be without it.
    pub const fn optional(mut self) -> Self {
        self.column.is_optional = true;
        self
    }

    /// The unit of its numbers.
    pub const fn unit(mut self, unit: Unit) -> Self {
        self.column.unit = unit;
        self
    }

    /// Only these forms have it.
    pub const fn only(mut self, forms: Form) -> Self {
        self.forms = forms;
        self
    }

    /// These forms have it at their end, in the order of `rank` (from 1) and then of the description.
    pub const fn late(mut self, forms: Form, rank: u8) -> Self {
        self.late = (forms, rank);
        self
    }

    pub(crate) const fn within(mut self, object: &'static str, name: &'static str) -> Self {
        self.member = Some((object, name));
        self
    }

    pub(crate) const fn absent(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self.optional()
    }

    pub(crate) const fn word(mut self) -> Self {
        self.is_word = true;
        self
    }

    pub(crate) const fn always_quoted(mut self) -> Self {
        self.is_always_quoted = true;
        self
    }

    pub(crate) const fn side(mut self, side: usize, base: &'static str) -> Self {
        self.side = Some((side, base));
        self
    }

    pub(crate) const fn called_in_streams(mut self, name: &'static str) -> Self {
        self.stream_name = Some(name);
        self
    }

    /// The order within a form.
    fn rank(&self, form: Form) -> (u8, usize) {
        match (self.late, self.side) {
            ((late, rank), _) if late.has(form) => (rank, 0),
            (_, Some((side, _))) if form.groups_sides() => (0, side + 1),
            _ => (0, 0),
        }
    }
}

/// The fields of a form, in its order.
pub(crate) fn ordered<K: RecordKind>(fields: &[Field<K>], form: Form) -> Vec<&Field<K>> {
    let mut chosen: Vec<_> = fields.iter().filter(|field| field.forms.has(form)).collect();
    chosen.sort_by_key(|field| field.rank(form));
    chosen
}

/// The number of columns.
pub(crate) const fn count_columns<K: RecordKind>(fields: &[Field<K>]) -> usize {
    let (mut count, mut index) = (0, 0);
    while index < fields.len() {
        count += fields[index].forms.has(Form::TABLE) as usize;
        index += 1;
    }
    count
}

/// The fields that are columns, in their order: late ones are last. What follows of `N` beyond their number has the first one.
pub(crate) const fn of_table<K: RecordKind, const N: usize>(fields: &[Field<K>]) -> [Field<K>; N] {
    let mut all = [fields[0]; N];
    let (mut at, mut pass) = (0, 0);
    while pass < 2 {
        let mut index = 0;
        while index < fields.len() {
            let field = fields[index];
            if field.forms.has(Form::TABLE) && field.late.0.has(Form::TABLE) as usize == pass {
                all[at] = field;
                at += 1;
            }
            index += 1;
        }
        pass += 1;
    }
    all
}

/// Names and types of fields.
pub(crate) const fn columns<K: RecordKind, const N: usize>(fields: &[Field<K>; N]) -> [Column; N] {
    let mut all = [fields[0].column; N];
    let mut index = 0;
    while index < N {
        all[index] = fields[index].column;
        index += 1;
    }
    all
}

/// Fields of several parts of a description.
pub(crate) const fn joined<K: RecordKind, const N: usize>(parts: &[&[Field<K>]]) -> [Field<K>; N] {
    let mut all = [parts[0][0]; N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[at] = parts[part][index];
            at += 1;
            index += 1;
        }
        part += 1;
    }
    all
}

/// The number of fields of several parts.
pub(crate) const fn count<K: RecordKind>(parts: &[&[Field<K>]]) -> usize {
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// Passes on the cells of a record.
pub(crate) fn cells<'r, K: RecordKind>(
    fields: &[Field<K>],
    record: &'r K::Record<'r>,
    each: &mut impl FnMut(Cell<'_>),
) {
    for field in fields {
        match field.get {
            Get::Cell(get) => match get(record) {
                Cell::Owned(text) => each(Cell::Text(&text)),
                cell => each(cell),
            },
            Get::Raw(_) => each(Cell::Null),
        }
    }
}
