//! A record that can be printed, and the columns that it has.

use crate::clock::Clock;

/// How records are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Csv,
    Table,
}

impl Form {
    /// What `--json` and `--csv` come to.
    pub fn of(json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ => Self::Table,
        }
    }
}

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A column: its title, what `--columns` calls it, where cells stand, and how soon it goes when there is too little room
/// (0: never).
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    pub name: &'static str,
    pub align: Align,
    pub dispensable: u8,
    /// Whether cells are times, which have a brief form, and whose title says the time zone.
    pub is_time: bool,
}

impl Column {
    /// A column of words.
    pub const fn words(title: &'static str, name: &'static str, dispensable: u8) -> Self {
        Self { title, name, align: Align::Left, dispensable, is_time: false }
    }

    /// A column of figures.
    pub const fn figures(title: &'static str, name: &'static str, dispensable: u8) -> Self {
        Self { align: Align::Right, ..Self::words(title, name, dispensable) }
    }

    /// A column of times, as [`crate::clock::Clock::cell`] makes them.
    pub const fn time(title: &'static str, name: &'static str, dispensable: u8) -> Self {
        Self { is_time: true, ..Self::words(title, name, dispensable) }
    }
}

/// What is said beneath a row when a column of this title had no room.
#[derive(Clone, Debug)]
pub struct Aside {
    pub title: &'static str,
    pub text: String,
}

/// A row of a table, and what stands beneath it.
pub struct Cells {
    pub cells: Vec<String>,
    pub asides: Vec<Aside>,
    pub notes: Vec<String>,
}

impl Cells {
    /// A row with nothing beneath it.
    pub fn of(cells: Vec<String>) -> Self {
        Self { cells, asides: Vec::new(), notes: Vec::new() }
    }
}

/// A record that can be printed.
pub trait Row {
    /// Of the table, in the order of the line.
    const COLUMNS: &'static [Column];

    /// Appends it as a line of JSON.
    fn push_json(&self, out: &mut Vec<u8>);
    /// The names of its comma-separated values.
    fn csv_header(clock: &Clock) -> String;
    /// Appends it as a line of comma-separated values.
    fn push_csv(&self, out: &mut Vec<u8>, clock: &Clock);
    /// Its row of the table.
    fn cells(&self, clock: &Clock) -> Cells;
}
