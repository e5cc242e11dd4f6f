//! Opens outputs of rows with typed columns.

use super::{
    facts::{Content, Source},
    rotate::Rotate,
    tables::Tables,
    target::{Format, Place},
};
use crate::error::CliError;

/// Opens an output of rows.
pub fn open_tables(
    format: Format,
    place: &Place,
    rotate: Rotate,
    source: &Source,
    content: &Content,
    now_ns: u64,
) -> Result<Box<dyn Tables>, CliError> {
    let _ = (source, content, now_ns, rotate);
    match (format, place) {
        #[cfg(feature = "sqlite")]
        (Format::Sqlite, Place::Path(path)) => {
            Ok(Box::new(super::sqlite::Sqlite::open(path, content.tables, rotate, now_ns)?))
        }
        #[cfg(feature = "parquet")]
        (Format::Parquet, Place::Path(path)) => {
            Ok(Box::new(super::parquet::ParquetFolder::open(path, rotate, facts(source), content.rows_bytes)?))
        }
        #[cfg(feature = "parquet")]
        (Format::Arrow, place) => {
            let files = super::file::open_files(place, super::file::Frame::None, rotate, now_ns)?;
            let table = &content.tables[0];
            Ok(Box::new(super::arrow::Arrow::new(
                table,
                files.completed_by_caller(),
                rotate,
                &facts(source),
                content.rows_bytes,
            )))
        }
        (format, _) => Err(CliError::Usage(format!(
            "this tidewire was built without {}; it is a feature of the build: cargo build --release -p tidewire-cli --features {}",
            format.name(),
            format.feature().unwrap_or_default()
        ))),
    }
}

/// What files say of themselves.
#[cfg(feature = "parquet")]
fn facts(source: &Source) -> Vec<(&'static str, String)> {
    let input = source.interface.as_ref().map(|name| ("tidewire.interface", name.clone()));
    let input = input.or_else(|| source.file.as_ref().map(|name| ("tidewire.file", name.clone())));
    [("tidewire.version", env!("CARGO_PKG_VERSION").into())].into_iter().chain(input).collect()
}
