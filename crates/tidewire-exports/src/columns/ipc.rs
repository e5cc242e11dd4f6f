//! Arrow IPC: a stream, or a file, which has an index at its end.

use arrow_ipc::writer::{FileWriter, StreamWriter};

use crate::columns::{Batch, ColumnsError};

/// Which of both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpcForm {
    /// Whole up to wherever it ends.
    Stream,
    /// Read at random; worth nothing without its end. Feather version 2.
    File,
}

enum Writer {
    Stream(StreamWriter<Vec<u8>>),
    File(FileWriter<Vec<u8>>),
}

/// An encoder.
pub struct Ipc(Writer);

impl Ipc {
    /// Begins a stream or file of the table of `batch`.
    ///
    /// # Errors
    /// None that is known.
    pub fn new(form: IpcForm, batch: &Batch) -> Result<Self, ColumnsError> {
        let schema = batch.schema();
        Ok(Self(match form {
            IpcForm::Stream => Writer::Stream(StreamWriter::try_new(Vec::new(), schema)?),
            IpcForm::File => Writer::File(FileWriter::try_new(Vec::new(), schema)?),
        }))
    }

    /// Adds the rows of `batch` and empties it.
    ///
    /// # Errors
    /// None that is known.
    pub fn push(&mut self, batch: &mut Batch) -> Result<(), ColumnsError> {
        if batch.rows() == 0 {
            return Ok(());
        }
        let rows = batch.take()?;
        match &mut self.0 {
            Writer::Stream(writer) => writer.write(&rows)?,
            Writer::File(writer) => writer.write(&rows)?,
        }
        Ok(())
    }

    /// The bytes to be written now.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        match &mut self.0 {
            Writer::Stream(writer) => writer.get_mut(),
            Writer::File(writer) => writer.get_mut(),
        }
    }

    /// Adds the end.
    ///
    /// # Errors
    /// None that is known.
    pub fn finish(&mut self) -> Result<(), ColumnsError> {
        match &mut self.0 {
            Writer::Stream(writer) => writer.finish()?,
            Writer::File(writer) => writer.finish()?,
        }
        Ok(())
    }
}
