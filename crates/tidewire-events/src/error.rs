//! Why an event cannot be made, encoded or decoded.

use crate::limits::{
    EXCERPT_BYTES_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, RECORD_EVENTS_MAX, VALUE_BYTES_MAX,
};

/// The analyzer's: an event beyond a limit, or with an invalid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// Analyzers, kinds and fields have names of the same form.
    #[error("'{}' is no name of {what}: expected 1 to {NAME_BYTES_MAX} letters, digits, '.', '-' and '_'", name.escape_debug())]
    Name {
        /// The thing to name.
        what: &'static str,
        /// The text.
        name: String,
    },
    /// A field has the name of one of the event's own members.
    #[error("a field cannot be called '{name}': every event has a member of that name")]
    Reserved {
        /// Its name.
        name: String,
    },
    /// Two fields with one name.
    #[error("two fields are called '{name}'")]
    Twice {
        /// Their name.
        name: String,
    },
    /// Too many fields.
    #[error("{count} fields: an event has at most {FIELDS_MAX}")]
    Fields {
        /// How many.
        count: usize,
    },
    /// A text or bytes of a field.
    #[error("the field '{name}' has {bytes} bytes: at most {VALUE_BYTES_MAX} are possible")]
    Value {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: usize,
    },
    /// The excerpt.
    #[error("an excerpt of {bytes} bytes: at most {EXCERPT_BYTES_MAX} are possible")]
    Excerpt {
        /// Its bytes.
        bytes: usize,
    },
    /// The addresses of a key are of different families.
    #[error("the key has an IPv4 and an IPv6 address")]
    Families,
    /// All together.
    #[error("an event of {bytes} bytes: at most {MESSAGE_BYTES_MAX} are possible")]
    Message {
        /// Its bytes.
        bytes: usize,
    },
}

/// The sender's: bytes that are no message, no record or no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It ends before it should.
    #[error("it ends within {0}")]
    Short(&'static str),
    /// There is more than there should be.
    #[error("{0} bytes follow its end")]
    Long(usize),
    /// Another version.
    #[error("it has the version {found} and {known} is known")]
    Version {
        /// The value that it states.
        found: u8,
        /// The value that can be decoded.
        known: u8,
    },
    /// A frame that states more than a message can have.
    #[error("it states {0} bytes: a message has at most {MESSAGE_BYTES_MAX}")]
    TooLong(u64),
    /// A record that states more events than one can have.
    #[error("it states {0} events: a record has 1 to {RECORD_EVENTS_MAX}")]
    Count(u64),
    /// A value that has no meaning.
    #[error("{0} has no meaning")]
    Value(&'static str),
    /// It is decoded, and breaks a limit or a rule of events.
    #[error(transparent)]
    Event(#[from] EventError),
}
