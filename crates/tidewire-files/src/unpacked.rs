//! The bytes of a compressed file, decompressed: for callers that look for records by themselves.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
};

use crate::{
    Cancel, Error,
    input::{self, Bytes, InputKind, WithHead, read_head},
    limits::{HEAD_BYTES_MIN, LAYERS_MAX},
    reader::stop_error,
};

/// A compressed file, read from its beginning; every layer of compression is undone.
pub struct Unpacked {
    path: PathBuf,
    stream: Box<dyn Bytes>,
    /// Bytes that were read.
    offset: u64,
}

impl fmt::Debug for Unpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacked").field("path", &self.path).field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl Unpacked {
    /// Opens a compressed file; `None`: its content is not compressed.
    ///
    /// # Errors
    /// It cannot be read, has more than 4 layers of compression, or one that this program was built without.
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        let path = path.as_ref().to_path_buf();
        let (mut stream, _) = input::open(&path, true, Arc::new(AtomicU64::new(0)), &Cancel::default())?;
        let mut layers = 0;
        loop {
            let mut head = Vec::new();
            let stop = read_head(&mut *stream, &mut head, HEAD_BYTES_MIN);
            let kind = InputKind::of(&head);
            if !kind.is_compression() {
                let stream = Box::new(WithHead::new(head, stop, stream));
                return Ok((layers > 0).then_some(Self { path, stream, offset: 0 }));
            }
            if let Some(name) = input::missing(kind) {
                let what =
                    format!("is compressed with {name}, which this program was built without; decompress it first");
                return Err(Error::Unsupported { path, what });
            }
            if layers == LAYERS_MAX {
                let what = format!("is compressed more than {LAYERS_MAX} times over; unpack it first");
                return Err(Error::Unsupported { path, what });
            }
            stream = input::decompressed(kind, WithHead::new(head, stop, stream))
                .map_err(|stop| stop_error(stop, &path, 0, true))?;
            layers += 1;
        }
    }

    /// Reads decompressed bytes into `room`; 0 at the end.
    ///
    /// # Errors
    /// Reading failed, or the compressed data is cut or damaged.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        let read = self.stream.read(room).map_err(|stop| stop_error(stop, &self.path, self.offset, true))?;
        self.offset += read as u64;
        Ok(read)
    }
}
