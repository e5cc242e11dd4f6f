//! The messages of a record. Who consumes them wants events, so each event is one; a flood is one message for each of its records, as
//! it would fill the topic with what is nearly the same. A sealed record is one message, or several parts where it is large.

use tidewire_event_store::Row;
use tidewire_events::{DecodeError, Record};

use super::key;
use crate::{
    destination::Failure,
    lines::{event_line, folded_line, sealed_line},
};

/// Bytes of a sealed record's line beside its content, at most: names of 64 bytes, numbers, headers.
const SEALED_LINE_BYTES: usize = 4096;

/// How records become messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// A record of at most so many events has a message for each; 0: none has.
    pub expand_max: u64,
    /// Bytes of a message, at most.
    pub bytes_max: usize,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    pub key: Vec<u8>,
    /// The schema of its value: a name that `docs/schemas` has.
    pub schema: &'static str,
    /// Its number in its record.
    pub index: usize,
    pub value: String,
}

/// The text that orders the messages of a store: the number of the record, and that of the message in it. Later ones are greater, as
/// text as well.
pub(super) fn sequence(record: u64, index: usize) -> String {
    format!("{record:020}-{index:07}")
}

/// Why not all messages of a record were given.
#[derive(Debug)]
pub(super) enum Error {
    /// The record cannot be read.
    Damaged(DecodeError),
    /// The next one was not taken.
    Taken(Failure),
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

/// Gives each message of a record, in order. `wrapped_bytes`: those of the wrapped data key that travels with it.
pub(super) fn each(
    row: &Row,
    wrapped_bytes: usize,
    form: Form,
    give: &mut dyn FnMut(Message) -> Result<(), Failure>,
) -> Result<(), Error> {
    match row.record()? {
        None => sealed(row, wrapped_bytes, form, give).map_err(Error::Taken),
        Some(record) if record.count() <= form.expand_max => events(row, &record, give),
        Some(record) => {
            let mut value = folded_line(row, &record, true)?;
            if value.len() + SEALED_LINE_BYTES > form.bytes_max {
                value = folded_line(row, &record, false)?;
            }
            let key = key::of_fold(row.fold);
            give(Message { key, schema: "tidewire.record/1", index: 0, value }).map_err(Error::Taken)
        }
    }
}

fn events(row: &Row, record: &Record, give: &mut dyn FnMut(Message) -> Result<(), Failure>) -> Result<(), Error> {
    let mut unfold = record.unfold()?;
    let mut index = 0;
    while let Some((number, message)) = unfold.next()? {
        let event = message.event()?;
        let (key, value) = (key::of_event(&event), event_line(row.id, number, &event));
        give(Message { key, schema: "tidewire.event/1", index, value }).map_err(Error::Taken)?;
        index += 1;
    }
    Ok(())
}

fn sealed(
    row: &Row,
    wrapped_bytes: usize,
    form: Form,
    give: &mut dyn FnMut(Message) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Multiples of three bytes: the base64 of all is that of the parts, one after the other.
    let room = form.bytes_max.saturating_sub(wrapped_bytes + SEALED_LINE_BYTES).max(4) / 4 * 3;
    let parts = row.bytes.len().div_ceil(room).max(1);
    for index in 0..parts {
        let begin = index * room;
        let bytes = row.bytes.get(begin..row.bytes.len().min(begin + room)).unwrap_or_default();
        let value = sealed_line(row, bytes, (parts > 1).then_some((index, parts)));
        give(Message { key: key::of_fold(row.fold), schema: "tidewire.sealed/1", index, value })?;
    }
    Ok(())
}
