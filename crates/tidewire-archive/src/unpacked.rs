//! Reading compressed captures of other programs at any offset. Their streams have no table of frames: what lies before an offset is
//! decompressed for it, so that reading forwards costs one pass, and each step back beyond a window another one.

use std::path::{Path, PathBuf};

use tidewire_files::Unpacked as Stream;

use crate::{Error, read_at::ReadAt};

/// Decompressed bytes that are kept behind the last one read: a step back within them costs nothing.
const WINDOW_BYTES: usize = 8 << 20;
/// Bytes that are decompressed at a time.
const PIECE_BYTES: usize = 256 << 10;

/// The decompressed bytes of a capture.
pub(crate) struct Unpacked {
    path: PathBuf,
    stream: Stream,
    /// Decompressed bytes, the last of which is the last one read.
    window: Vec<u8>,
    /// Where the window begins.
    from: u64,
    bytes: u64,
    /// Why decompression ended before the end of the file.
    damage: Option<String>,
}

impl Unpacked {
    /// Opens a compressed file; `None`: it is not compressed. `bytes`: how many decompressed bytes it is known to have.
    pub fn open(path: &Path, bytes: Option<u64>) -> Result<Option<Self>, Error> {
        let Some(stream) = Stream::open(path)? else { return Ok(None) };
        let known = bytes.is_some();
        let mut unpacked =
            Self { path: path.into(), stream, window: Vec::new(), from: 0, bytes: bytes.unwrap_or(0), damage: None };
        if !known {
            unpacked.bytes = unpacked.count();
            unpacked.restart()?;
        }
        Ok(Some(unpacked))
    }

    /// Why decompression ended before the end of the file, where the bytes were counted.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Decompressed bytes up to the end or the first damage.
    fn count(&mut self) -> u64 {
        let (mut piece, mut bytes) = (vec![0; PIECE_BYTES], 0);
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return bytes,
                Ok(read) => bytes += read as u64,
                Err(error) => {
                    self.damage = Some(error.to_string());
                    return bytes;
                }
            }
        }
    }

    fn restart(&mut self) -> Result<(), Error> {
        let again = Stream::open(&self.path)?;
        self.stream = again.ok_or_else(|| Error::damaged(&self.path, "it is no longer compressed"))?;
        (self.from, self.window) = (0, Vec::new());
        Ok(())
    }

    /// Decompresses another piece; false: this is the end.
    fn advance(&mut self) -> Result<bool, Error> {
        if self.window.len() > WINDOW_BYTES + PIECE_BYTES {
            let gone = self.window.len() - WINDOW_BYTES;
            self.window.drain(..gone);
            self.from += gone as u64;
        }
        let filled = self.window.len();
        self.window.resize(filled + PIECE_BYTES, 0);
        let read = self.stream.read(self.window.get_mut(filled..).unwrap_or_default());
        self.window.truncate(filled + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }
}

impl ReadAt for Unpacked {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        if offset < self.from {
            self.restart()?;
        }
        let mut at = offset;
        let end = offset.saturating_add(bytes as u64).min(self.bytes);
        while at < end {
            let there = at.saturating_sub(self.from) as usize;
            let rest = self.window.get(there..).unwrap_or_default();
            let rest = rest.get(..rest.len().min((end - at) as usize)).unwrap_or_default();
            if rest.is_empty() {
                if !self.advance()? {
                    break;
                }
                continue;
            }
            out.extend_from_slice(rest);
            at += rest.len() as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn bytes_are_those_of_the_plain_file_in_any_order() {
        let plain: Vec<u8> = (0..20_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 & 0x3f).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain.zst");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&zstd::bulk::compress(&plain, 1).unwrap()).unwrap();
        let mut unpacked = Unpacked::open(&path, None).unwrap().expect("compressed");
        assert_eq!(unpacked.bytes(), plain.len() as u64);
        let mut out = Vec::new();
        for (offset, bytes) in [(0, 100), (5 << 20, 1 << 20), (19 << 20, 4 << 20), (12 << 20, 7), (3, 1 << 20)] {
            unpacked.read_at(offset, bytes, &mut out).unwrap();
            let offset = offset as usize;
            assert!(out == plain[offset..plain.len().min(offset + bytes)], "{bytes} bytes at {offset}");
        }
    }

    #[test]
    fn what_is_not_compressed_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain");
        std::fs::write(&path, b"not compressed").unwrap();
        assert!(Unpacked::open(&path, None).unwrap().is_none());
    }
}
