//! Errors in bytes that the other side sent.

/// The other side's: bytes that the protocol does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Garbled {
    /// It ends too early.
    #[error("it ends within {0}")]
    Short(&'static str),
    /// A part has a value that is not possible.
    #[error("{0} has an impossible value")]
    Value(&'static str),
    /// Something follows the end.
    #[error("{0} bytes follow its end")]
    Rest(usize),
    /// A length beyond the limit.
    #[error("a frame of {bytes} bytes; at most {most} are possible here")]
    Oversized {
        /// The length that it states.
        bytes: u64,
        /// The limit.
        most: usize,
    },
    /// The checksum of a frame differs from its bytes.
    #[error("the checksum of a frame is wrong")]
    Checksum,
    /// A type of frame that does not exist, or not at this place.
    #[error("a frame of type {0} is not possible here")]
    Frame(u8),
    /// Compressed bytes that cannot be restored to what they state.
    #[error("a batch cannot be decompressed")]
    Compressed,
    /// An invalid record.
    #[error("record {id}: {what}")]
    Record {
        /// Its number.
        id: u64,
        /// The error in it.
        what: String,
    },
}
