use std::{io, time::Duration};

/// Why a stream of bytes ends other than by its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Reading failed.
    Failed(io::Error),
    /// The file is not the one that was opened.
    Changed,
    /// The compressed data is cut or damaged.
    Damaged(String),
}

/// A stream of bytes. Not `io::Read`: damage is distinguished from failures of the system.
pub(crate) trait Bytes: Send {
    /// Reads into `room`; 0 at the end only (`room` is not empty).
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop>;

    /// Waits until there is something to read (the end is), at most so long; false: there is nothing. True where it is not
    /// known.
    fn wait(&mut self, most: Duration) -> bool {
        let _ = most;
        true
    }
}
