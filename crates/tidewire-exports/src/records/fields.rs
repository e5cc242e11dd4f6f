//! Lists of fields: their order in a form, their columns and their cells.

use crate::{
    records::{Field, Form, Get, RecordKind},
    table::{Cell, Column},
};

/// The fields of a form, in its order.
pub(crate) fn ordered<K: RecordKind>(fields: &[Field<K>], form: Form) -> Vec<&Field<K>> {
    let mut chosen: Vec<_> = fields.iter().filter(|field| field.forms.has(form)).collect();
    chosen.sort_by_key(|field| field.rank(form));
    chosen
}

/// The place of a field: of those of directions, of the client's. An unknown name does not compile.
pub(crate) const fn place<K: RecordKind>(fields: &[Field<K>], name: &str) -> usize {
    let mut index = 0;
    while index < fields.len() {
        let known = match fields[index].side {
            Some((0, base)) => base,
            Some(_) => "",
            None => fields[index].column.name,
        };
        if is_same(known, name) {
            return index;
        }
        index += 1;
    }
    panic!("no such field")
}

/// Whether two texts are the same, when this is compiled.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other, mut at) = (one.as_bytes(), other.as_bytes(), 0);
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
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
            Get::Number(get) => each(Cell::Number(get(record))),
            Get::Raw(_) => each(Cell::Null),
        }
    }
}
