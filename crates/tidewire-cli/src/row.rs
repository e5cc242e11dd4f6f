//! Printable records and their columns.

use tidewire_exports::{
    records::{Csv, RecordKind},
    table::{self, Kind, Unit},
};

use crate::{
    clock::Clock,
    units::{Bytes, Lasting},
};

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Csv,
    Table,
}

impl Form {
    /// The format of `--json` and `--csv`.
    pub fn of(json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ => Self::Table,
        }
    }
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A column: its title, its name in `--columns`, its alignment, and when it is dropped if there is too little room (0: never;
/// the greatest first).
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    pub name: &'static str,
    pub align: Align,
    pub dispensable: u8,
    /// Whether cells are times, which have a short form and a title with the time zone.
    pub is_time: bool,
    /// The comma-separated values that `--columns` has under this name, where none has it; not all records have all of them.
    pub values: &'static [&'static str],
}

impl Column {
    /// A column of words.
    pub const fn words(title: &'static str, name: &'static str, dispensable: u8) -> Self {
        Self { title, name, align: Align::Left, dispensable, is_time: false, values: &[] }
    }

    /// A column of numbers.
    pub const fn figures(title: &'static str, name: &'static str, dispensable: u8) -> Self {
        Self { align: Align::Right, ..Self::words(title, name, dispensable) }
    }

    /// A column of several comma-separated values, or of one of another name.
    pub const fn of(self, values: &'static [&'static str]) -> Self {
        Self { values, ..self }
    }

    /// The client's address and port.
    pub const fn client(dispensable: u8) -> Self {
        Self::words("CLIENT", "client", dispensable).of(&["client_addr", "client_port"])
    }

    /// The server's address and port.
    pub const fn server(dispensable: u8) -> Self {
        Self::words("SERVER", "server", dispensable).of(&["server_addr", "server_port"])
    }

    /// The time of the first packet.
    pub const fn start(dispensable: u8) -> Self {
        Self::time("START", "start", dispensable).of(&["start_ns", "start_time"])
    }

    /// From the first packet to the last.
    pub const fn duration(dispensable: u8) -> Self {
        Self::figures("DURATION", "duration", dispensable).of(&["start_ns", "start_time", "end_ns", "end_time"])
    }

    /// A column of a value that has none of its own. Its title lives as long as the program, which has one table.
    pub fn of_value(name: &str, column: &table::Column) -> Self {
        let title = &*name.replace('_', " ").to_uppercase().leak();
        let is_number = matches!(column.kind, Kind::Long | Kind::Int | Kind::List(Kind::Object(_)));
        let is_time = column.unit == Unit::Time;
        let align = if is_number && !is_time { Align::Right } else { Align::Left };
        Self { align, is_time, ..Self::words(title, column.name, 0) }
    }

    /// A column of times, as [`crate::clock::Clock::cell`] makes them.
    pub const fn time(title: &'static str, name: &'static str, dispensable: u8) -> Self {
        Self { is_time: true, ..Self::words(title, name, dispensable) }
    }
}

/// A note beneath a row if the column of this title is not shown.
#[derive(Clone, Debug)]
pub struct Aside {
    pub title: &'static str,
    pub text: String,
}

/// A row of a table with its notes.
pub struct Cells {
    pub cells: Vec<String>,
    pub asides: Vec<Aside>,
    pub notes: Vec<String>,
}

impl Cells {
    /// A row without notes.
    pub fn of(cells: Vec<String>) -> Self {
        Self { cells, asides: Vec::new(), notes: Vec::new() }
    }
}

/// A printable record.
pub trait Row {
    /// Columns of the table, in order.
    const COLUMNS: &'static [Column];

    /// Appends a line of JSON.
    fn push_json(&self, out: &mut Vec<u8>);
    /// The header of its comma-separated values.
    fn csv_header(clock: &Clock) -> String;
    /// Appends a line of comma-separated values.
    fn push_csv(&self, out: &mut Vec<u8>, clock: &Clock);
    /// Its table row.
    fn cells(&self, clock: &Clock) -> Cells;

    /// Values that a table has on request, beside its columns.
    fn values() -> Vec<(String, table::Column)> {
        Vec::new()
    }

    /// One of them as a cell.
    fn value(&self, _: usize, _: &Clock) -> String {
        String::new()
    }
}

/// The forms of a record whose fields are described: JSON, comma-separated values, and values that a table has on request. Its method
/// `view` passes on the record as descriptions have it.
macro_rules! described {
    ($json:path, $csv:path, $values:path) => {
        fn push_json(&self, out: &mut Vec<u8>) {
            self.view(tidewire_exports::records::Form::JSON, |record| $json().push(out, record));
        }

        fn csv_header(clock: &Clock) -> String {
            $csv().header(clock.is_given())
        }

        fn push_csv(&self, out: &mut Vec<u8>, clock: &Clock) {
            let form = tidewire_exports::records::Form::CSV;
            self.view(form, |record| clock.with_times(|times| $csv().push(out, record, times)));
        }

        fn values() -> Vec<(String, tidewire_exports::table::Column)> {
            $values().columns().map(|(name, column)| (name.to_owned(), *column)).collect()
        }

        fn value(&self, index: usize, clock: &Clock) -> String {
            let form = tidewire_exports::records::Form::CSV;
            self.view(form, |record| $crate::row::value($values(), index, record, clock))
        }
    };
}
pub(crate) use described;

/// A value as a cell, with its unit.
pub fn value<'r, K: RecordKind>(values: &Csv<K>, index: usize, record: &'r K::Record<'r>, clock: &Clock) -> String {
    let unit = values.columns().nth(index).map_or(Unit::None, |(_, column)| column.unit);
    match (values.number(index, record), unit) {
        (Some(bytes), Unit::Bytes) => Bytes(bytes).to_string(),
        (Some(ns), Unit::Time) => clock.cell(ns),
        (Some(ns), Unit::Duration | Unit::Nanoseconds) => Lasting(ns).to_string(),
        (Some(number), _) => number.to_string(),
        (None, _) => values.text(index, record),
    }
}
