//! Records on their way: as they are stored, plain or sealed.

use tidewire_events::{DecodeError, Record, Severity};

use crate::protocol::KeyId;

/// A record with what is known of it without its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number in the store that it is from.
    pub id: u64,
    /// Who found it.
    pub analyzer: String,
    /// What it is.
    pub kind: String,
    /// How bad it is.
    pub severity: Severity,
    /// Which fold it belongs to.
    pub fold: u64,
    /// How many events it holds.
    pub events: u64,
    /// The earliest time of its events, nanoseconds since 1970.
    pub first_ns: u64,
    /// The latest.
    pub last_ns: u64,
    /// The data key that its bytes are sealed with; `None`: they are a plain record.
    pub key: Option<KeyId>,
    /// A record, or what became of one when it was sealed.
    pub bytes: Vec<u8>,
}

impl Row {
    /// The row of a plain record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn plain(id: u64, record: &Record) -> Result<Self, DecodeError> {
        let message = record.message()?;
        let (analyzer, kind) = message.names();
        Ok(Self {
            id,
            analyzer: analyzer.to_owned(),
            kind: kind.to_owned(),
            severity: message.severity(),
            fold: record.fold(),
            events: record.count(),
            first_ns: record.first_ns(),
            last_ns: record.last_ns(),
            key: None,
            bytes: record.bytes().to_vec(),
        })
    }

    /// The record, if it is plain.
    ///
    /// # Errors
    /// Its bytes are no record.
    pub fn record(&self) -> Result<Option<Record>, DecodeError> {
        if self.key.is_some() { Ok(None) } else { Record::decode(&self.bytes).map(Some) }
    }
}
