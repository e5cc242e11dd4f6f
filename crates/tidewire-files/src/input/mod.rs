//! The stream of bytes that a capture format is read from: a file or a pipe, with its compression undone.

mod bytes;
#[cfg(feature = "bzip2")]
mod bzip2;
mod feed;
mod file;
mod gzip;
mod kind;
mod lz4;
mod system;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
mod zstandard;

pub(crate) use bytes::{Bytes, Stop};
pub(crate) use file::{Pipe, open};
pub(crate) use kind::{InputKind, looks_like};

use crate::limits::HEAD_BYTES;
use std::time::Duration;

/// The beginning of a stream that was read to recognise it, then the rest, or what stopped it.
pub(crate) struct WithHead {
    head: Vec<u8>,
    taken: usize,
    stop: Option<Stop>,
    rest: Box<dyn Bytes>,
}

impl WithHead {
    pub(crate) fn new(head: Vec<u8>, stop: Option<Stop>, rest: Box<dyn Bytes>) -> Self {
        Self { head, taken: 0, stop, rest }
    }
}

impl Bytes for WithHead {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        let left = self.head.get(self.taken..).unwrap_or_default();
        if left.is_empty() {
            return self.stop.take().map_or_else(|| self.rest.read(room), Err);
        }
        let bytes = left.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..bytes), left.get(..bytes)) {
            to.copy_from_slice(from);
        }
        self.taken += bytes;
        Ok(bytes)
    }

    fn wait(&mut self, most: Duration) -> bool {
        self.taken < self.head.len() || self.stop.is_some() || self.rest.wait(most)
    }
}

impl WithHead {
    /// The next four bytes; zeros where there are none.
    fn read_array(&mut self) -> Result<[u8; 4], Stop> {
        let mut array = [0; 4];
        for slot in &mut array {
            self.read(std::slice::from_mut(slot))?;
        }
        Ok(array)
    }
}

/// The name of a compression that this program was built without.
pub(crate) fn missing(kind: InputKind) -> Option<&'static str> {
    match kind {
        InputKind::Zstd if !cfg!(feature = "zstd") => Some("zstd"),
        InputKind::Xz if !cfg!(feature = "xz") => Some("xz"),
        InputKind::Bzip2 if !cfg!(feature = "bzip2") => Some("bzip2"),
        _ => None,
    }
}

/// Adds one decompressor; returns `stream` unchanged for no compression.
pub(crate) fn decompressed(kind: InputKind, mut stream: WithHead) -> Result<Box<dyn Bytes>, Stop> {
    Ok(match kind {
        InputKind::Gzip => Box::new(gzip::Gzip::new(Box::new(stream))),
        #[cfg(feature = "zstd")]
        InputKind::Zstd => Box::new(zstandard::Zstandard::new(Box::new(stream))?),
        #[cfg(feature = "xz")]
        InputKind::Xz => Box::new(xz::Xz::new(Box::new(stream))),
        #[cfg(feature = "bzip2")]
        InputKind::Bzip2 => Box::new(bzip2::Bzip2::new(Box::new(stream))),
        InputKind::Lz4 => {
            let legacy = stream.head.first() == Some(&0x02);
            Box::new(lz4::Lz4::new(Box::new(stream), legacy))
        }
        InputKind::Skippable => {
            let (_, bytes) = (stream.read_array()?, stream.read_array()?);
            let mut feed = feed::Feed::new(Box::new(stream), ("zstd or lz4", "zstd -dc"));
            feed.skip(u64::from(u32::from_le_bytes(bytes)))?;
            let (there, rest) = feed.into_rest();
            Box::new(WithHead::new(there, None, rest))
        }
        // Formats; and what this program was built without, which is refused before.
        _ => Box::new(stream),
    })
}

/// Reads on until `head` has `enough` bytes, or the stream ends; what stopped it, if not that.
pub(crate) fn read_head(stream: &mut dyn Bytes, head: &mut Vec<u8>, enough: usize) -> Option<Stop> {
    let mut filled = head.len();
    head.resize(HEAD_BYTES.max(enough), 0);
    let mut stopped = None;
    while filled < enough
        && let Some(room) = head.get_mut(filled..).filter(|room| !room.is_empty())
    {
        match stream.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(stop) => {
                stopped = Some(stop);
                break;
            }
        }
    }
    head.truncate(filled);
    stopped
}
