//! The stream of bytes that a capture format is read from: a file or a pipe, with its compression undone.

mod file;
mod kind;

pub(crate) use file::{Pipe, open};
pub(crate) use kind::{Kind, looks_like};

use std::io;

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

/// A stream of bytes. Not `io::Read`: damage is told apart from failures of the system.
pub(crate) trait Bytes: Send {
    /// Reads into `room`; 0 at the end only (`room` is not empty).
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop>;
}

/// Reads at most `bytes`, until `enough` are there or the stream ends; what stopped it, if not that.
pub(crate) fn read_head(stream: &mut dyn Bytes, bytes: usize, enough: usize) -> (Vec<u8>, Option<Stop>) {
    let mut head = vec![0; bytes];
    let mut filled = 0;
    while filled < enough
        && let Some(room) = head.get_mut(filled..).filter(|room| !room.is_empty())
    {
        match stream.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(stop) => {
                head.truncate(filled);
                return (head, Some(stop));
            }
        }
    }
    head.truncate(filled);
    (head, None)
}
