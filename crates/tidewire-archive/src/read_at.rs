//! Reading at an offset: of a file, and through encryption and compression.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};

use crate::Error;

/// Bytes that can be read at any offset.
pub(crate) trait ReadAt: Send {
    /// How many there are.
    fn bytes(&self) -> u64;

    /// Replaces what is in `out` by the bytes from `offset` on: as many as are there, at most `bytes`.
    fn read_at(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Error>;
}

/// Bytes that lie in frames, each of which is opened whole.
pub(crate) trait Framed: Send {
    /// How many bytes there are in all frames.
    fn end(&self) -> u64;

    /// Opens the frame that holds the byte at `offset`: where its bytes begin, and these.
    fn frame(&mut self, offset: u64) -> Result<(u64, &[u8]), Error>;
}

impl<F: Framed> ReadAt for F {
    fn bytes(&self) -> u64 {
        self.end()
    }

    fn read_at(&mut self, mut offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        while out.len() < bytes && offset < self.end() {
            let (from, plain) = self.frame(offset)?;
            let rest = plain.get((offset - from) as usize..).unwrap_or_default();
            let rest = rest.get(..rest.len().min(bytes - out.len())).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            out.extend_from_slice(rest);
            offset += rest.len() as u64;
        }
        Ok(())
    }
}

/// A file as it lies there.
#[derive(Debug)]
pub(crate) struct Plain {
    file: File,
    path: PathBuf,
    bytes: u64,
}

/// Opens a regular file: a pipe would wait for its other end, a device has no end, and a link leads to what is of no archive.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    regular(OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(no_link)?)
}

/// An open file, if it is a regular one.
pub(crate) fn regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file; remove it")),
    }
}

/// Replaces the system's error of a link that is not followed.
pub(crate) fn no_link(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a symbolic link, and archives follow none; put the file itself there, or remove the link",
        ),
        _ => error,
    }
}

impl Plain {
    pub fn new(file: File, path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let metadata = file.metadata().map_err(Error::io(&path, "reading its size"))?;
        Ok(Self { file, path, bytes: metadata.len() })
    }
}

impl ReadAt for Plain {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let there = self.bytes.saturating_sub(offset).min(bytes as u64) as usize;
        out.resize(there, 0);
        let mut filled = 0;
        while filled < there {
            let rest = out.get_mut(filled..).unwrap_or_default();
            match self.file.read_at(rest, offset + filled as u64) {
                // It was made shorter.
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.path, "reading")(error)),
            }
        }
        out.truncate(filled);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let end = start.saturating_add(bytes).min(self.len());
        out.extend_from_slice(self.get(start..end).unwrap_or_default());
        Ok(())
    }
}
