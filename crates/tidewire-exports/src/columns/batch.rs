//! Rows on their way to columns.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::{
    columns::{
        ColumnsError,
        builder::{BATCH_ROWS, Builder},
    },
    table::{Cell, Table},
};

/// Bytes of a row of `flows`, about.
const ROW_BYTES: u64 = 300;

/// Rows of a table that are gathered.
pub struct Batch {
    schema: SchemaRef,
    builders: Vec<Builder>,
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
        Self { schema: Arc::new(Schema::new_with_metadata(fields, facts)), builders, rows: 0, at: 0 }
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
        if let Some(builder) = self.builders.get_mut(self.at) {
            builder.push(cell);
        }
        self.at += 1;
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        debug_assert_eq!(self.at, self.builders.len());
        self.builders.iter_mut().skip(self.at).for_each(|builder| builder.push(Cell::Null));
        (self.at, self.rows) = (0, self.rows + 1);
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows as columns; none are left.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ColumnsError> {
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        let arrays = self.builders.iter_mut().map(Builder::finish).collect::<Result<Vec<ArrayRef>, _>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}
