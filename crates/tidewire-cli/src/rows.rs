//! Records in the forms in which subcommands print them.

use crate::{
    failure::Failure,
    output::Out,
    table::{Aside, Column, Table},
};

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
    fn csv_header() -> String;
    /// Appends it as a line of comma-separated values.
    fn push_csv(&self, out: &mut Vec<u8>);
    /// Its row of the table.
    fn cells(&self) -> Cells;
}

/// Prints records that have been gathered and put in order. `names` is whether the line of names is printed where no
/// record follows.
pub fn print<R: Row>(rows: impl IntoIterator<Item = R>, form: Form, names: bool, out: &mut Out) -> Result<(), Failure> {
    let mut rows = rows.into_iter().peekable();
    if form == Form::Csv && (names || rows.peek().is_some()) {
        out.line(&R::csv_header())?;
    }
    let mut table = Table::new(R::COLUMNS);
    for row in rows {
        match form {
            Form::Json => row.push_json(out.buffer()),
            Form::Csv => row.push_csv(out.buffer()),
            Form::Table => {
                let cells = row.cells();
                table.row_with_notes(cells.cells, cells.asides, cells.notes);
                table.settle(out)?;
            }
        }
        out.settle()?;
    }
    table.finish(out)
}

impl<R: Row> Row for &R {
    const COLUMNS: &'static [Column] = R::COLUMNS;

    fn push_json(&self, out: &mut Vec<u8>) {
        R::push_json(self, out);
    }

    fn csv_header() -> String {
        R::csv_header()
    }

    fn push_csv(&self, out: &mut Vec<u8>) {
        R::push_csv(self, out);
    }

    fn cells(&self) -> Cells {
        R::cells(self)
    }
}
