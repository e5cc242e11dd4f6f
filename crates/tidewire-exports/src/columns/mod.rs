//! Tables as columns: Arrow IPC, and Parquet with the feature `parquet`.
//!
//! Rows are gathered in a [`Batch`]; an encoder makes bytes of it, which the caller takes and writes.

mod batch;
mod builder;
mod ipc;
#[cfg(feature = "parquet")]
mod parquet;
mod stage;
#[cfg(test)]
mod tests;

#[cfg(feature = "parquet")]
pub use self::parquet::{Parquet, ROW_GROUP_BYTES, ROW_GROUP_ROWS};
pub use self::{
    batch::Batch,
    ipc::{Ipc, IpcForm},
};

/// An error of the libraries of columns. As rows have the types of their tables, that is a mistake of this crate, or memory.
#[derive(Debug)]
pub struct ColumnsError(String);

impl std::fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ColumnsError {}

impl From<arrow_schema::ArrowError> for ColumnsError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self(error.to_string())
    }
}

#[cfg(feature = "parquet")]
impl From<::parquet::errors::ParquetError> for ColumnsError {
    fn from(error: ::parquet::errors::ParquetError) -> Self {
        Self(error.to_string())
    }
}
