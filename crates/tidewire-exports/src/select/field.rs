//! Fields: columns of tables, what is made of several, and the fields of protocols.

use crate::{
    select::value::ValueKind,
    table::{Column, Kind, TRANSACTIONS, Table, Unit},
};

/// A field that can be tested.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: ValueKind,
    /// Whether 0 means that it is absent: counts, sizes, and ports.
    pub(super) zero_is_absent: bool,
    pub(super) source: Source,
}

/// Where its value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Columns, by index, of which one has to fulfil the test. Of `!=` all of them: see the parser.
    Any(Vec<usize>),
    /// The sum of columns.
    Sum(Vec<usize>),
    /// From a time to a later one.
    Between([usize; 2]),
    /// The elements of a list.
    Count(usize),
    /// A member of the elements of a list: the column, and the member's place.
    Part(usize, usize),
    /// A field of a protocol, by its path in JSON.
    Member(&'static str, Vec<&'static str>),
}

/// Names for what is made of several columns.
const ANY: [(&str, [&str; 2]); 2] =
    [("addr", ["client_addr", "server_addr"]), ("port", ["client_port", "server_port"])];

impl Field {
    fn of(name: impl Into<String>, kind: ValueKind, unit: Unit, source: Source) -> Self {
        let zero_is_absent = matches!(unit, Unit::Bytes | Unit::Count | Unit::Flags | Unit::Port);
        Self { name: name.into(), kind, zero_is_absent, source }
    }
}

/// The field that a name means: as tables have it, or as a member of JSON.
pub(super) fn find<'a>(fields: &'a [Field], word: &str) -> Option<&'a Field> {
    let of_name = |name: &str| fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    // `app` holds what has columns of its own; `c2s` and `s2c` of streams are endings of columns' names.
    let word = word.strip_prefix("app.").unwrap_or(word);
    let of_side = || {
        let (side, name) = word.split_once('.').filter(|(side, _)| matches!(*side, "c2s" | "s2c"))?;
        let name = if name == "payload_bytes_on_wire" { "payload_bytes" } else { name };
        of_name(&format!("{name}_{side}"))
    };
    of_name(word).or_else(|| of_name(&word.replace('.', "_"))).or_else(of_side)
}

/// All fields of a table.
pub(super) fn all(table: &'static Table) -> Vec<Field> {
    let mut fields = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        of_column(index, column, &mut fields);
    }
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    for (name, of) in ANY {
        if let [Some(first), Some(second)] = of.map(place) {
            let column = &table.columns[first];
            let kind = value_kind(column).unwrap_or(ValueKind::Text);
            fields.push(Field::of(name, kind, column.unit, Source::Any(vec![first, second])));
        }
    }
    // Sums of both directions.
    for (there, column) in table.columns.iter().enumerate() {
        let name = column.name.strip_suffix("_c2s").filter(|_| matches!(column.unit, Unit::Count | Unit::Bytes));
        if let Some((name, back)) = name.and_then(|name| Some((name, place(&format!("{name}_s2c"))?))) {
            let kind = if column.unit == Unit::Bytes { ValueKind::Bytes } else { ValueKind::Number };
            fields.push(Field::of(name, kind, column.unit, Source::Sum(vec![there, back])));
        }
    }
    if let [Some(from), Some(to)] = ["start_ns", "end_ns"].map(place) {
        let field = Field::of("duration", ValueKind::Duration, Unit::Duration, Source::Between([from, to]));
        fields.push(Field { zero_is_absent: true, ..field });
    }
    // Of a stream's transactions, one has to fulfil the test.
    if table.name != TRANSACTIONS.name && place("transactions").is_some() {
        for column in TRANSACTIONS.columns {
            of_protocol(column, &mut fields);
        }
    }
    fields
}

fn of_column(index: usize, column: &'static Column, fields: &mut Vec<Field>) {
    match column.kind {
        // As `start_ns` and `end_ns`.
        Kind::Time => {}
        Kind::Object(_) => of_protocol(column, fields),
        Kind::List(Kind::Object(members)) => {
            fields.push(Field::of(column.name, ValueKind::Number, Unit::Count, Source::Count(index)));
            let name = format!("{}.{}", column.name, "any");
            fields.push(Field::of(name, ValueKind::Text, Unit::None, Source::Any(vec![index])));
            for (place, member) in members.iter().enumerate() {
                if let Some(kind) = value_kind(member) {
                    let name = format!("{}.{}", column.name, member.name);
                    fields.push(Field::of(name, kind, member.unit, Source::Part(index, place)));
                }
            }
        }
        _ => {
            if let Some(kind) = value_kind(column) {
                fields.push(Field::of(column.name, kind, column.unit, Source::Any(vec![index])));
            }
        }
    }
}

fn of_protocol(column: &Column, fields: &mut Vec<Field>) {
    if let Kind::Object(members) = column.kind {
        of_members(column.name, &mut Vec::new(), members, fields);
    }
}

fn of_members(
    service: &'static str,
    path: &mut Vec<&'static str>,
    members: &'static [Column],
    fields: &mut Vec<Field>,
) {
    for member in members {
        path.push(member.name);
        match member.kind {
            Kind::Object(inner) | Kind::List(&Kind::Object(inner)) => of_members(service, path, inner, fields),
            _ => {
                if let Some(kind) = value_kind(member) {
                    let name = format!("{service}.{}", path.join("."));
                    fields.push(Field::of(name, kind, member.unit, Source::Member(service, path.clone())));
                }
            }
        }
        path.pop();
    }
}

/// The type of a column's values; `None`: it has none that could be tested.
fn value_kind(column: &Column) -> Option<ValueKind> {
    Some(match (column.kind, column.unit) {
        (_, Unit::Address) => ValueKind::Address,
        (_, Unit::Duration) => ValueKind::Duration,
        (Kind::Long, Unit::Bytes) => ValueKind::Bytes,
        (Kind::Long | Kind::Int | Kind::List(Kind::Long | Kind::Int), _) => ValueKind::Number,
        (Kind::Truth, _) => ValueKind::Truth,
        (Kind::Text | Kind::List(Kind::Text), _) => ValueKind::Text,
        _ => return None,
    })
}
