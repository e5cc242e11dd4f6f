//! Rows on their way to columns.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::{
    columns::{
        ColumnsError,
        builder::{BATCH_ROWS, Builder},
        stage::Stage,
    },
    table::{Cell, Table},
};

/// Bytes of a row of `flows`, about.
const ROW_BYTES: u64 = 300;

/// Rows of a table that are gathered.
pub struct Batch {
    schema: SchemaRef,
    builders: Vec<Builder>,
    stage: Stage,
    rows: usize,
    /// The column of the next cell.
    at: usize,
}

impl Batch {
    /// No rows of `table` yet. `facts`: what the file says of itself, by key.
    #[must_use]
    pub fn new(table: &Table, facts: &[(&str, String)]) -> Self {
        let builders: Vec<Builder> = table.columns.iter().map(Builder::new).collect();
        let fields: Vec<_> = builders.iter().map(Builder::field).collect();
        let facts: HashMap<_, _> = facts.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let (schema, stage) = (Arc::new(Schema::new_with_metadata(fields, facts)), Stage::new(builders.len()));
        Self { schema, builders, stage, rows: 0, at: 0 }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// About how many bytes they are.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.rows as u64 * ROW_BYTES
    }

    /// Whether it should be taken.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS
    }

    /// The next cell of a row. Those beyond the table's columns are ignored.
    #[inline(always)]
    pub fn cell(&mut self, cell: Cell<'_>) {
        if self.at < self.builders.len() && !self.stage.push(self.at, &cell) {
            self.push_nested(cell);
        }
        self.at += 1;
    }

    /// A list or an object goes to its column at once.
    #[inline(never)]
    fn push_nested(&mut self, cell: Cell<'_>) {
        let builder = &mut self.builders[self.at];
        builder.push_waiting(&self.stage.waiting(self.at));
        builder.push(cell);
        self.stage.pass(self.at);
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        debug_assert_eq!(self.at, self.builders.len());
        while self.at < self.builders.len() {
            self.cell(Cell::Null);
        }
        (self.at, self.rows) = (0, self.rows + 1);
        if self.stage.end_row() {
            self.fill();
        }
    }

    /// Gives rows that wait to the columns.
    #[inline(never)]
    fn fill(&mut self) {
        for (column, builder) in self.builders.iter_mut().enumerate() {
            builder.push_waiting(&self.stage.waiting(column));
        }
        self.stage.clear();
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows as columns; none are left.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ColumnsError> {
        self.fill();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        let arrays = self.builders.iter_mut().map(Builder::finish).collect::<Result<Vec<ArrayRef>, _>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}
