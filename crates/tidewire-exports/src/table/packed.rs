//! Rows as bytes: for a writer that gets them later, in another thread.
//!
//! Cells of a packed row are those of the record that it was made of, in the same order. The form is not for files: it has no version.

use std::net::IpAddr;

use tidewire_protocols::Value;

use crate::table::{Cell, Column, EVENTS, FLOWS, Kind, MATCHES, TRANSACTIONS, Table};

/// The tables, by the number that a packed row has of its own.
const TABLES: [&Table; 4] = [&FLOWS, &TRANSACTIONS, &MATCHES, &EVENTS];

/// The first byte of a cell or value.
mod tag {
    pub const NULL: u8 = 0;
    pub const NUMBER: u8 = 1;
    pub const SIGNED: u8 = 2;
    pub const FALSE: u8 = 3;
    pub const TRUE: u8 = 4;
    pub const TEXT: u8 = 5;
    pub const ADDRESS_4: u8 = 6;
    pub const ADDRESS_6: u8 = 7;
    pub const LIST: u8 = 8;
    pub const OBJECT: u8 = 9;
    pub const MEMBERS: u8 = 10;
    pub const TEXTS: u8 = 11;
    pub const OBJECTS: u8 = 12;
}

/// A row that was packed ([`Row::pack`](crate::table::Row::pack)).
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    table: &'static Table,
    end_ns: u64,
    cells: Bytes<'a>,
}

/// A row that is being packed.
pub(super) struct Packer<'o> {
    out: &'o mut Vec<u8>,
    begin: usize,
    columns: std::slice::Iter<'static, Column>,
}

impl<'o> Packer<'o> {
    /// Begins a row behind what is in `out`.
    pub(super) fn begin(out: &'o mut Vec<u8>, table: &'static Table, end_ns: u64) -> Self {
        let begin = out.len();
        out.extend_from_slice(&[0; 4]);
        out.push(TABLES.iter().position(|known| known.name == table.name).unwrap_or(0) as u8);
        out.extend_from_slice(&end_ns.to_le_bytes());
        Self { out, begin, columns: table.columns.iter() }
    }

    /// Adds the cell of the next column.
    pub(super) fn cell(&mut self, cell: &Cell<'_>) {
        push_cell(self.out, self.columns.next().map_or(Kind::Text, |column| column.kind), cell);
    }

    /// Ends the row.
    pub(super) fn end(self) {
        let bytes = u32::try_from(self.out.len() - self.begin - 4).unwrap_or(u32::MAX);
        self.out[self.begin..self.begin + 4].copy_from_slice(&bytes.to_le_bytes());
    }
}

impl<'a> Packed<'a> {
    /// The rows that were packed one after the other. What is no packed row ends them.
    pub fn all(bytes: &'a [u8]) -> impl Iterator<Item = Self> {
        let mut bytes = Bytes(bytes);
        std::iter::from_fn(move || {
            let length = u32::from_le_bytes(bytes.array()?);
            let mut row = Bytes(bytes.take(length as usize)?);
            let table = *TABLES.get(usize::from(row.byte()?))?;
            let end_ns = u64::from_le_bytes(row.array()?);
            Some(Self { table, end_ns, cells: row })
        })
    }

    pub(super) fn table(&self) -> &'static Table {
        self.table
    }

    pub(super) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    pub(super) fn cells(&self, each: &mut impl FnMut(Cell<'_>)) {
        let mut bytes = self.cells;
        for column in self.table.columns {
            // The members of a protocol are a list that the cell borrows.
            match bytes.0.first() {
                Some(&tag::MEMBERS) => {
                    bytes.byte();
                    let members = bytes.members(column.kind);
                    each(members.as_ref().map_or(Cell::Null, |members| Cell::Members(members)));
                }
                _ => each(bytes.cell().unwrap_or(Cell::Null)),
            }
        }
    }
}

fn push_cell(out: &mut Vec<u8>, kind: Kind, cell: &Cell<'_>) {
    match cell {
        Cell::Null => out.push(tag::NULL),
        Cell::Number(number) => push_number(out, *number),
        Cell::Signed(number) => push_signed(out, *number),
        Cell::Truth(truth) => out.push(if *truth { tag::TRUE } else { tag::FALSE }),
        Cell::Text(text) => push_text(out, text),
        Cell::Owned(text) => push_text(out, text),
        Cell::Address(IpAddr::V4(address)) => {
            out.push(tag::ADDRESS_4);
            out.extend_from_slice(&address.octets());
        }
        Cell::Address(IpAddr::V6(address)) => {
            out.push(tag::ADDRESS_6);
            out.extend_from_slice(&address.octets());
        }
        Cell::List(cells) => {
            push_count(out, tag::LIST, cells.len());
            cells.iter().for_each(|cell| push_cell(out, of_list(kind), cell));
        }
        Cell::Object(cells) => {
            push_count(out, tag::OBJECT, cells.len());
            let kinds = columns(kind).iter().map(|column| column.kind).chain(std::iter::repeat(Kind::Text));
            cells.iter().zip(kinds).for_each(|(cell, kind)| push_cell(out, kind, cell));
        }
        Cell::Members(members) => push_members(out, kind, members),
    }
}

/// Packs the members that have a column, which all of this version have; the others are in the row as JSON besides.
fn push_members(out: &mut Vec<u8>, kind: Kind, members: &[(&'static str, Value<'_>)]) {
    let columns = columns(kind);
    let mut hint = 0;
    let known = |hint: &mut usize, name: &str| {
        // Both are in the same order, so that mostly one walk is enough.
        let next = (*hint..columns.len()).chain(0..*hint).find(|index| columns[*index].name == name);
        *hint = next.map_or(*hint, |index| index + 1);
        next
    };
    push_count(out, tag::MEMBERS, 0);
    let (behind_count, mut count) = (out.len(), 0_u32);
    for (name, value) in members {
        if let Some(index) = known(&mut hint, name) {
            out.push(index as u8);
            push_value(out, columns[index].kind, value);
            count += 1;
        }
    }
    out[behind_count - size_of::<u32>()..behind_count].copy_from_slice(&count.to_le_bytes());
}

fn push_value(out: &mut Vec<u8>, kind: Kind, value: &Value<'_>) {
    match value {
        Value::Number(number) => push_number(out, *number),
        Value::Text(text) => push_text(out, text),
        Value::Seconds(seconds) => push_signed(out, *seconds),
        Value::Truth(truth) => out.push(if *truth { tag::TRUE } else { tag::FALSE }),
        Value::Texts(texts) => {
            push_count(out, tag::TEXTS, texts.len());
            texts.iter().for_each(|text| push_text(out, text));
        }
        Value::Objects(objects) => {
            push_count(out, tag::OBJECTS, objects.len());
            objects.iter().for_each(|members| push_members(out, of_list(kind), members));
        }
        Value::Object(members) => push_members(out, kind, members),
    }
}

fn columns(kind: Kind) -> &'static [Column] {
    match kind {
        Kind::Object(columns) => columns,
        _ => &[],
    }
}

fn of_list(kind: Kind) -> Kind {
    match kind {
        Kind::List(of) => *of,
        _ => Kind::Text,
    }
}

fn push_count(out: &mut Vec<u8>, tag: u8, count: usize) {
    out.push(tag);
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// Seven bits a byte, the lowest first: most numbers are small.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    out.push(tag::NUMBER);
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_signed(out: &mut Vec<u8>, number: i64) {
    out.push(tag::SIGNED);
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    push_count(out, tag::TEXT, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn count(&mut self) -> Option<usize> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some(number);
            }
        }
    }

    fn signed(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = self.count()?;
        std::str::from_utf8(self.take(bytes)?).ok()
    }

    fn cell(&mut self) -> Option<Cell<'a>> {
        Some(match self.byte()? {
            tag::NUMBER => Cell::Number(self.number()?),
            tag::SIGNED => Cell::Signed(self.signed()?),
            tag::FALSE => Cell::Truth(false),
            tag::TRUE => Cell::Truth(true),
            tag::TEXT => Cell::Text(self.text()?),
            tag::ADDRESS_4 => Cell::Address(self.array::<4>()?.into()),
            tag::ADDRESS_6 => Cell::Address(self.array::<16>()?.into()),
            tag::LIST => Cell::List(self.cells()?),
            tag::OBJECT => Cell::Object(self.cells()?),
            _ => Cell::Null,
        })
    }

    fn cells(&mut self) -> Option<Vec<Cell<'a>>> {
        (0..self.count()?).map(|_| self.cell()).collect()
    }

    fn members(&mut self, kind: Kind) -> Option<Vec<(&'static str, Value<'a>)>> {
        let columns = columns(kind);
        let member = |bytes: &mut Self| {
            let column = columns.get(usize::from(bytes.byte()?))?;
            Some((column.name, bytes.value(column.kind)?))
        };
        (0..self.count()?).map(|_| member(self)).collect()
    }

    fn value(&mut self, kind: Kind) -> Option<Value<'a>> {
        Some(match self.byte()? {
            tag::NUMBER => Value::Number(self.number()?),
            tag::SIGNED => Value::Seconds(self.signed()?),
            tag::FALSE => Value::Truth(false),
            tag::TRUE => Value::Truth(true),
            tag::TEXT => Value::Text(self.text()?),
            tag::TEXTS => Value::Texts((0..self.count()?).map(|_| self.list_text()).collect::<Option<_>>()?),
            tag::OBJECTS => Value::Objects((0..self.count()?).map(|_| self.list_object(kind)).collect::<Option<_>>()?),
            tag::MEMBERS => Value::Object(self.members(kind)?),
            _ => return None,
        })
    }

    /// A text of a list, behind its tag.
    fn list_text(&mut self) -> Option<&'a str> {
        (self.byte()? == tag::TEXT).then(|| self.text())?
    }

    /// An object of a list of this kind, behind its tag.
    fn list_object(&mut self, kind: Kind) -> Option<Vec<(&'static str, Value<'a>)>> {
        (self.byte()? == tag::MEMBERS).then(|| self.members(of_list(kind)))?
    }
}

/// A column is named by a byte.
const _: () = {
    let mut at = 0;
    while at < TABLES.len() {
        let (columns, mut index) = (TABLES[at].columns, 0);
        while index < columns.len() {
            if let Kind::Object(members) = columns[index].kind {
                assert!(members.len() <= 256);
            }
            index += 1;
        }
        at += 1;
    }
};
