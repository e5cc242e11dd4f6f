//! Limits of an event, each with its reason. What exceeds one is an error that names it.

/// Bytes of an analyzer's name and of a kind, at most: names, not texts.
pub const NAME_BYTES_MAX: usize = 64;
/// Fields of an event, at most. With the key, 32 fields are 40 columns of a fold.
pub const FIELDS_MAX: usize = 32;
/// Bytes of one field that is a text or bytes, at most.
pub const VALUE_BYTES_MAX: usize = 4096;
/// Bytes of an excerpt, at most: the payload of a packet with some context.
pub const EXCERPT_BYTES_MAX: usize = 4096;
/// Bytes of an encoded event, at most: what a reader of messages sets aside for one.
pub const MESSAGE_BYTES_MAX: usize = 65_536;
/// Events of one record, at most: what a reader of a record can be made to unfold.
pub const RECORD_EVENTS_MAX: u64 = 1 << 20;
/// Bytes by which a record may be larger than the messages it holds.
pub const RECORD_HEADER_BYTES_MAX: usize = 64;
