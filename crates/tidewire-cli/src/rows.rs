//! Records in the forms in which subcommands print them.

use crate::{
    clock::Clock,
    failure::Failure,
    layout::Layout,
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
    fn csv_header(clock: &Clock) -> String;
    /// Appends it as a line of comma-separated values.
    fn push_csv(&self, out: &mut Vec<u8>, clock: &Clock);
    /// Its row of the table.
    fn cells(&self, clock: &Clock) -> Cells;
}

/// Prints records that have been gathered and put in order. `names` is whether the line of names is printed where no
/// record follows.
pub fn print<R: Row>(
    rows: impl IntoIterator<Item = R>,
    form: Form,
    layout: &Layout,
    names: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut rows = rows.into_iter().peekable();
    if form == Form::Csv && (names || rows.peek().is_some()) {
        out.line(&layout.csv_header::<R>())?;
    }
    let mut table = Table::new(R::COLUMNS, layout);
    for row in rows {
        match form {
            Form::Json => row.push_json(out.buffer()),
            Form::Csv => layout.push_csv(&row, out.buffer()),
            Form::Table => {
                let cells = row.cells(&layout.clock);
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

    fn csv_header(clock: &Clock) -> String {
        R::csv_header(clock)
    }

    fn push_csv(&self, out: &mut Vec<u8>, clock: &Clock) {
        R::push_csv(self, out, clock);
    }

    fn cells(&self, clock: &Clock) -> Cells {
        R::cells(self, clock)
    }
}
