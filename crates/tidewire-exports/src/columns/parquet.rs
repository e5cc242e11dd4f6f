//! Parquet files.

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder},
    schema::types::ColumnPath,
};

use crate::{
    columns::{Batch, ColumnsError},
    table::{Column, Kind, Table},
};

/// Rows of a group, at most.
pub const ROW_GROUP_ROWS: usize = 256 << 10;

/// Most memory of a group, which is held until it is complete, and about twice more while it is written: behind so many bytes it is
/// complete, whatever its rows.
pub const ROW_GROUP_BYTES: usize = 32 << 20;

/// Bytes of a dictionary behind which texts of a group are written as they are: about 5,000 addresses. Looking up each of many more costs
/// as much as all the rest of a row.
const DICTIONARY_BYTES: usize = 96 << 10;

/// An encoder.
pub struct Parquet {
    writer: ArrowWriter<Vec<u8>>,
    /// Columns of a group, those inside of others included.
    leaves: usize,
    is_finished: bool,
    /// Groups whose rows are in `whole_rows`.
    counted_groups: usize,
    whole_rows: u64,
}

/// About what the index at a file's end holds of a column of a group, bytes.
const INDEX_BYTES: usize = 1 << 10;

impl Parquet {
    /// Begins a file of the table of `batch`.
    ///
    /// # Errors
    /// None that is known.
    pub fn new(table: &Table, batch: &Batch) -> Result<Self, ColumnsError> {
        let writer = ArrowWriter::try_new(Vec::new(), batch.schema().clone(), Some(properties(table)))?;
        let leaves = leaves(table.columns);
        Ok(Self { writer, leaves, is_finished: false, counted_groups: 0, whole_rows: 0 })
    }

    /// Adds the rows of `batch` and empties it.
    ///
    /// # Errors
    /// None that is known.
    pub fn push(&mut self, batch: &mut Batch) -> Result<(), ColumnsError> {
        if batch.rows() > 0 {
            self.writer.write(&batch.take()?)?;
        }
        if self.held_bytes() >= ROW_GROUP_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    /// Ends the group of rows before it is as large as it may be.
    ///
    /// # Errors
    /// None that is known.
    pub fn end_group(&mut self) -> Result<(), ColumnsError> {
        Ok(self.writer.flush()?)
    }

    /// Memory of rows that wait for their group to be complete, bytes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.writer.memory_size()
    }

    /// Rows of groups that are in [`bytes`](Self::bytes), or were, with their last byte: the encoder holds back the end of the last group.
    #[must_use]
    pub fn whole_rows(&mut self) -> u64 {
        // A writer that has finished lists no groups.
        if !self.is_finished {
            self.count_groups(self.writer.flushed_row_groups().len().saturating_sub(1));
        }
        self.whole_rows
    }

    /// Counts the rows of the first `count` groups; those before are counted already.
    fn count_groups(&mut self, count: usize) {
        let groups = self.writer.flushed_row_groups().get(self.counted_groups..count).unwrap_or_default();
        self.whole_rows += groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum::<u64>();
        self.counted_groups += groups.len();
    }

    /// About how much memory the index of the groups so far takes, which is written at the end, bytes.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.writer.flushed_row_groups().len() * self.leaves * INDEX_BYTES
    }

    /// The bytes to be written now.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        self.writer.inner_mut()
    }

    /// Bytes of rows that wait for their group to be complete, about.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.writer.in_progress_size()
    }

    /// Adds the end, which says what is where: without it nothing can be read.
    ///
    /// # Errors
    /// None that is known.
    pub fn finish(&mut self) -> Result<(), ColumnsError> {
        self.writer.flush()?;
        let (groups, rows) = (self.counted_groups, self.whole_rows);
        self.count_groups(self.writer.flushed_row_groups().len());
        if let Err(error) = self.writer.finish() {
            (self.counted_groups, self.whole_rows) = (groups, rows);
            return Err(error.into());
        }
        self.is_finished = true;
        Ok(())
    }
}

/// Snappy is read by everything that reads Parquet, and no C. Neither texts that differ in each row nor numbers are looked up in a
/// dictionary, which took half of the time: numbers are differences in as few bits as they need, and hashes as text nothing makes smaller. Only numbers have statistics: readers pass
/// over groups of rows by times and counts, and each group has every name.
fn properties(table: &Table) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("tidewire ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_offset_index_disabled(true);
    for column in table.columns {
        properties = with_column(properties, column, &[]);
    }
    properties.build()
}

/// The settings of a column, and of those inside of it. Lists keep what the library has as default.
fn with_column(mut all: WriterPropertiesBuilder, column: &Column, outside: &[&str]) -> WriterPropertiesBuilder {
    let path: Vec<&str> = outside.iter().copied().chain([column.name]).collect();
    if let Kind::Object(columns) = column.kind {
        return columns.iter().fold(all, |all, column| with_column(all, column, &path));
    }
    let place = ColumnPath::new(path.into_iter().map(str::to_owned).collect());
    let is_number = matches!(column.kind, Kind::Long | Kind::Int | Kind::Time);
    if is_number {
        all = all.set_column_encoding(place.clone(), Encoding::DELTA_BINARY_PACKED);
    }
    if is_number || is_unique(column) {
        all = all.set_column_dictionary_enabled(place.clone(), false);
    }
    if is_unique(column) {
        all = all.set_column_compression(place.clone(), Compression::UNCOMPRESSED);
    }
    if column.kind == Kind::Text {
        all = all.set_column_statistics_enabled(place, EnabledStatistics::None);
    }
    all
}

/// Columns, and those inside of them.
fn leaves(columns: &[Column]) -> usize {
    let of = |kind: &Kind| match kind {
        Kind::Object(columns) | Kind::List(Kind::Object(columns)) => leaves(columns),
        _ => 1,
    };
    columns.iter().map(|column| of(&column.kind)).sum()
}

fn is_unique(column: &Column) -> bool {
    column.name == "community_id"
}
