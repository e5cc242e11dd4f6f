//! Records as rows of tables with typed columns: what Parquet, Arrow and SQLite are written from.
//!
//! Columns have the names of JSON's members (`docs/output.md`); those of a nested object are joined by `_`, as in the
//! comma-separated values. The fields of each protocol are one column, an object of the names that JSON has.

mod described;
mod fields;
mod packed;
mod row;
#[cfg(test)]
mod tests;
mod transactions;

use std::net::IpAddr;

use tidewire_protocols::Value;

use crate::{
    json::{Object, push_number, push_string, push_values},
    time::{SECOND_NS, push_civil, push_microseconds},
};
pub use described::{EVENTS, FLOWS, MATCHES};
pub use packed::Packed;
pub use row::Row;
pub use transactions::TRANSACTIONS;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A point in time, UTC, with microseconds. Its cells are nanoseconds since the epoch.
    Time,
    /// A number of up to 63 bits: what is greater is absent ([`long`]).
    Long,
    /// A number of up to 31 bits.
    Int,
    /// True or false.
    Truth,
    /// Text.
    Text,
    /// A list of one type.
    List(&'static Kind),
    /// An object.
    Object(&'static [Column]),
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name: stable.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether rows may be without it.
    pub is_optional: bool,
    /// The unit of its numbers, or the kind of its text.
    pub unit: Unit,
}

/// The unit of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// None: names, ids, codes, offsets.
    None,
    /// Nanoseconds since the epoch.
    Time,
    /// Nanoseconds, which expressions have with units of time.
    Duration,
    /// Nanoseconds, which expressions have as a number.
    Nanoseconds,
    /// How many there are.
    Count,
    /// Bytes.
    Bytes,
    /// Or-ed flags of TCP.
    Flags,
    /// An address.
    Address,
    /// A port; 0 where there is none.
    Port,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name: stable.
    pub name: &'static str,
    /// Its columns, in the order of a row's cells.
    pub columns: &'static [Column],
}

/// A cell.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// There is no value.
    Null,
    /// A number, or a time in nanoseconds since the epoch.
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// True or false.
    Truth(bool),
    /// Text.
    Text(&'a str),
    /// Text that was made for this cell. Visitors of rows get it as text.
    Owned(String),
    /// Text that is an address.
    Address(IpAddr),
    /// The elements of a list.
    List(Vec<Cell<'a>>),
    /// The members of an object, in the order of its columns.
    Object(Vec<Cell<'a>>),
    /// The members of an object by their names.
    Members(&'a [(&'static str, Value<'a>)]),
}

impl<'a> Cell<'a> {
    /// Frees the cell's memory. Most cells own none, and for these the call of `drop`, which is recursive, is left out.
    #[inline]
    pub(crate) fn release(self) {
        match self {
            Self::Owned(_) | Self::List(_) | Self::Object(_) => drop(self),
            _ => std::mem::forget(self),
        }
    }

    /// A text that may be absent.
    #[must_use]
    pub fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    /// A number that may be absent.
    #[must_use]
    pub fn number(number: Option<u64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }
}

/// A number as tables have it: readers have no unsigned 64 bits, or make decimals of them. What 63 bits do not hold, such as nanoseconds after
/// April 2262, is absent instead of another number.
#[must_use]
pub fn long(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// A column that every row has.
pub(crate) const fn always(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_optional: false, unit: Unit::None }
}

/// A column that rows may be without.
const fn maybe(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_optional: true, unit: Unit::None }
}

/// A number of bytes that every row has.
pub(crate) const fn bytes(name: &'static str) -> Column {
    always(name, Kind::Long).unit(Unit::Bytes)
}

impl Column {
    const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }
}

/// The name of an IP protocol in records, or its number.
pub(crate) fn protocol_cell(number: u8) -> Cell<'static> {
    tidewire::protocol_name(number).map_or_else(|| Cell::Owned(number.to_string()), Cell::Text)
}

/// Appends a cell as JSON: for databases that have no lists and objects.
pub fn push_json(out: &mut Vec<u8>, kind: Kind, cell: &Cell<'_>) {
    match (cell, kind) {
        (Cell::List(cells), Kind::List(of)) => {
            out.push(b'[');
            for (index, cell) in cells.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push_json(out, *of, cell);
            }
            out.push(b']');
        }
        (Cell::Object(cells), Kind::Object(columns)) => {
            let mut object = Object::open(out);
            for (column, cell) in columns.iter().zip(cells) {
                push_json(object.key(column.name), column.kind, cell);
            }
            object.close();
        }
        (Cell::Members(members), _) => {
            let mut object = Object::open(out);
            push_values(&mut object, members);
            object.close();
        }
        (Cell::Number(number), _) => push_number(out, *number),
        (Cell::Signed(number), _) => out.extend_from_slice(number.to_string().as_bytes()),
        (Cell::Truth(truth), _) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        (Cell::Text(text), _) => push_string(out, text),
        (Cell::Owned(text), _) => push_string(out, text),
        (Cell::Address(address), _) => push_string(out, &address.to_string()),
        (Cell::Null | Cell::List(_) | Cell::Object(_), _) => out.extend_from_slice(b"null"),
    }
}

/// Appends a time as databases read it: `2026-11-22 06:30:00.123456`, UTC.
pub fn push_time(out: &mut Vec<u8>, ns: u64) {
    push_civil(out, (ns / SECOND_NS) as i64, *b"- :");
    push_microseconds(out, ns);
}
