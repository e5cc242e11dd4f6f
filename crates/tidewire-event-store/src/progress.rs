//! Progress of the restoration of a store.

use std::fmt;

use tidewire_types::Bytes;

/// Progress of the copy of a store to its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreProgress {
    /// Bytes that are written.
    pub bytes: u64,
    /// Bytes of the store.
    pub bytes_total: u64,
    /// Whether the store is in its place again.
    pub is_done: bool,
}

impl fmt::Display for RestoreProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, bytes_total, is_done } = *self;
        let (bytes, all) = (Bytes(bytes), Bytes(bytes_total));
        match is_done {
            true => write!(f, "the store is in its place again ({all})"),
            false => write!(f, "the store was removed while it was open, and is put back: {bytes} of {all}"),
        }
    }
}

/// Gets the progress of a copy: at its beginning, every two seconds, and at its end if it succeeded.
pub(crate) type Report<'r> = &'r (dyn Fn(RestoreProgress) + Sync);
