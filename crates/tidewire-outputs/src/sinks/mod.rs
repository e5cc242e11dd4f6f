//! The formats, each an output of its own that fails or not whatever becomes of the others.

#[cfg(feature = "parquet")]
mod arrow;
mod eve;
mod held;
mod lines;
mod message_files;
mod messages;
#[cfg(feature = "parquet")]
mod parquet;
mod row_writer;
mod rows;
#[cfg(feature = "sqlite")]
mod sqlite;
mod zeek;

use crate::{
    error::OutputError,
    record::TextForm,
    settings::Settings,
    sink::Sink,
    target::{Format, OutputDestination, Target},
};

/// Opens files and connections of a target.
///
/// # Errors
/// They cannot be opened; the format is not part of this build.
pub fn open(target: &Target, settings: &Settings, now_ns: u64) -> Result<Box<dyn Sink>, OutputError> {
    use tidewire_exports::zeek::Form;
    Ok(match (target.format, &target.place) {
        (Format::Zeek, OutputDestination::Path(path)) => Box::new(zeek::ZeekLogs::open(Form::Tsv, path, settings)?),
        (Format::ZeekJson, OutputDestination::Path(path)) => {
            Box::new(zeek::ZeekLogs::open(Form::Json, path, settings)?)
        }
        (Format::Eve, place) => Box::new(eve::EveFile::open(place, settings, now_ns)?),
        (Format::Json, place) => Box::new(lines::Lines::open(TextForm::Json, place, settings, now_ns)?),
        (Format::Csv, place) => Box::new(lines::Lines::open(TextForm::Csv, place, settings, now_ns)?),
        (format @ (Format::Sqlite | Format::Parquet | Format::Arrow), place) => {
            Box::new(rows::Rows::open(format, place, settings, now_ns)?)
        }
        (format, place) => Box::new(messages::Messages::open(format, place, settings, now_ns)?),
    })
}
