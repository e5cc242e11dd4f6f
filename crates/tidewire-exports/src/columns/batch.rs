//! Rows on their way to columns.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use tidewire_protocols::Value;

use crate::{
    columns::{
        ColumnsError,
        builder::{BATCH_ROWS, Builder},
        stage::Stage,
    },
    table::{Cell, Kind, Table},
};

/// Bytes of a row's numbers, about, absent ones left out.
const NUMBERS_BYTES: usize = 100;

/// Bytes of columns behind which a batch is full: twice what [`BATCH_ROWS`] rows of transactions take, whose columns are many.
pub(super) const BATCH_BYTES: usize = 16 << 20;

/// Rows of a table that are gathered.
pub struct Batch {
    schema: SchemaRef,
    builders: Vec<Builder>,
    stage: Stage,
    rows: usize,
    /// Bytes that each row takes in columns, whatever is in it.
    row_bytes: usize,
    /// Bytes behind which it is full.
    bytes_max: u64,
    /// Bytes of texts and of what is nested in cells.
    content_bytes: usize,
    /// The column of the next cell.
    at: usize,
}

impl Batch {
    /// No rows of `table` yet. `facts`: what the file says of itself, by key.
    #[must_use]
    pub fn new(table: &Table, facts: &[(&str, String)]) -> Self {
        let builders: Vec<Builder> = table.columns.iter().map(Builder::new).collect();
        let row_bytes = table.columns.iter().map(|column| cell_bytes(column.kind)).sum();
        let fields: Vec<_> = builders.iter().map(Builder::field).collect();
        let facts: HashMap<_, _> = facts.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let (schema, stage) = (Arc::new(Schema::new_with_metadata(fields, facts)), Stage::new(builders.len()));
        Self { schema, builders, stage, rows: 0, row_bytes, bytes_max: BATCH_BYTES as u64, content_bytes: 0, at: 0 }
    }

    /// Is full behind about so many bytes, if that is less than otherwise.
    #[must_use]
    pub fn within(self, bytes: u64) -> Self {
        Self { bytes_max: self.bytes_max.min(bytes), ..self }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// About how many bytes they are in columns, which have room for absent cells: in memory, and as Arrow.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.rows * self.row_bytes + self.content_bytes) as u64
    }

    /// About how many bytes they are without absent cells: as Parquet, which has none, before it is compressed.
    #[must_use]
    pub fn value_bytes(&self) -> u64 {
        (self.rows * NUMBERS_BYTES + self.content_bytes) as u64
    }

    /// Whether it should be taken: texts of rows may be of any length, so rows alone do not bound its memory.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes() >= self.bytes_max
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
        self.content_bytes += content_bytes(&cell);
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
        self.content_bytes += self.stage.text_bytes();
        for (column, builder) in self.builders.iter_mut().enumerate() {
            builder.push_waiting(&self.stage.waiting(column));
        }
        self.stage.clear();
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows as columns; none are left.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ColumnsError> {
        self.fill();
        self.content_bytes = 0;
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        let arrays = self.builders.iter_mut().map(Builder::finish).collect::<Result<Vec<ArrayRef>, _>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// Bytes of a cell in its column: a number, or where a text or list ends. Members of an object are columns of their own.
fn cell_bytes(kind: Kind) -> usize {
    match kind {
        Kind::Time | Kind::Long => 8,
        Kind::Int | Kind::Text | Kind::List(_) => 4,
        Kind::Truth => 0,
        Kind::Object(columns) => columns.iter().map(|column| cell_bytes(column.kind)).sum(),
    }
}

/// Bytes of an element of a list, but for text.
const ELEMENT_BYTES: usize = 8;

/// About how many bytes a nested cell takes beside its place.
fn content_bytes(cell: &Cell<'_>) -> usize {
    match cell {
        Cell::Text(text) => text.len(),
        Cell::Owned(text) => text.len(),
        Cell::List(cells) | Cell::Object(cells) => cells.iter().map(|cell| ELEMENT_BYTES + content_bytes(cell)).sum(),
        Cell::Members(members) => members_bytes(members),
        _ => 0,
    }
}

fn members_bytes(members: &[(&'static str, Value<'_>)]) -> usize {
    members.iter().map(|(_, value)| value_bytes(value)).sum()
}

fn value_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Texts(texts) => texts.iter().map(|text| ELEMENT_BYTES + text.len()).sum(),
        Value::Objects(list) => list.iter().map(|one| one.len() * ELEMENT_BYTES + members_bytes(one)).sum(),
        Value::Object(members) => members_bytes(members),
        _ => 0,
    }
}
