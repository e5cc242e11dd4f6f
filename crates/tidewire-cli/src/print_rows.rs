//! Prints records as JSON, CSV or table.

use tidewire_exports::table;

use crate::{
    clock::Clock,
    error::CliError,
    layout::Layout,
    output::Out,
    row::{Cells, Column, Form, Row},
    table::Table,
};

/// Prints records of one kind, one after the other.
pub struct Printer<'a> {
    form: Form,
    layout: &'a Layout,
    table: Table,
    /// Whether comma-separated values have their header.
    has_header: bool,
    out: &'a mut Out,
}

impl<'a> Printer<'a> {
    /// Nothing printed yet.
    pub fn new<R: Row>(form: Form, layout: &'a Layout, out: &'a mut Out) -> Self {
        Self { form, layout, table: Table::new(&layout.columns::<R>(), layout), has_header: false, out }
    }

    /// Whether the reader is gone.
    pub fn is_closed(&self) -> bool {
        self.out.is_closed()
    }

    /// Prints the header of comma-separated values, which the first record does otherwise.
    pub fn header<R: Row>(&mut self) -> Result<(), CliError> {
        if self.form != Form::Csv || std::mem::replace(&mut self.has_header, true) {
            return Ok(());
        }
        self.out.line(&self.layout.csv_header::<R>())
    }

    /// Prints a record.
    pub fn row<R: Row>(&mut self, row: &R) -> Result<(), CliError> {
        match self.form {
            Form::Json => row.push_json(self.out.buffer()),
            Form::Csv => {
                self.header::<R>()?;
                self.layout.push_csv(row, self.out.buffer());
            }
            Form::Table => return self.cells(self.layout.cells(row)),
        }
        self.out.settle()
    }

    /// Prints a row of a table.
    pub fn cells(&mut self, cells: Cells) -> Result<(), CliError> {
        self.table.row_with_notes(cells.cells, cells.asides, cells.notes);
        self.table.settle(self.out)?;
        self.out.settle()
    }

    /// Prints a record of another form, which is a line already.
    pub fn line<R: Row>(&mut self, line: &[u8]) -> Result<(), CliError> {
        self.header::<R>()?;
        self.out.buffer().extend_from_slice(line);
        self.out.settle()
    }

    /// Prints the rest.
    pub fn finish(mut self) -> Result<(), CliError> {
        self.table.finish(self.out)
    }
}

/// Prints sorted records. `names`: whether CSV has a header without records.
pub fn print<R: Row>(
    rows: impl IntoIterator<Item = R>,
    form: Form,
    layout: &Layout,
    names: bool,
    out: &mut Out,
) -> Result<(), CliError> {
    let mut printer = Printer::new::<R>(form, layout, out);
    if names {
        printer.header::<R>()?;
    }
    rows.into_iter().try_for_each(|row| printer.row(&row))?;
    printer.finish()
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

    fn values() -> Vec<(String, table::Column)> {
        R::values()
    }

    fn value(&self, index: usize, clock: &Clock) -> String {
        R::value(self, index, clock)
    }
}
