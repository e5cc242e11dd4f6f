//! Prints records as JSON, CSV or table.

use crate::{
    clock::Clock,
    error::CliError,
    layout::Layout,
    output::Out,
    row::{Cells, Column, Form, Row},
    table::Table,
};

/// Prints sorted records. `names`: whether CSV has a header without records.
pub fn print<R: Row>(
    rows: impl IntoIterator<Item = R>,
    form: Form,
    layout: &Layout,
    names: bool,
    out: &mut Out,
) -> Result<(), CliError> {
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
