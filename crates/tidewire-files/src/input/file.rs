use super::{Bytes, Stop};
use crate::Error;
use std::{
    fs::{File, Metadata},
    io::{self, ErrorKind, Read},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::{FileExt, FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// A file on disk, read in order.
///
/// One that is not kept open is opened again for each read, at the place where the last one ended: a merge of more
/// files than the system lets a process open costs a few microseconds a piece, and no limit has to be raised.
pub(crate) struct OpenFile {
    path: PathBuf,
    file: Option<File>,
    keep_open: bool,
    offset: u64,
    identity: (u64, u64),
    read: Arc<AtomicU64>,
}

/// A pipe, a device or a stream of the caller's.
pub(crate) struct Pipe {
    stream: Box<dyn Read + Send>,
    /// The same, where it can be waited for.
    descriptor: Option<OwnedFd>,
    read: Arc<AtomicU64>,
}

/// Opens `path`: a stream, its size where it is a file, and the count of the bytes read from it.
pub(crate) fn open(path: &Path, keep_open: bool, read: Arc<AtomicU64>) -> Result<(Box<dyn Bytes>, Option<u64>), Error> {
    let metadata = std::fs::metadata(path).map_err(|source| cannot_open(path, source))?;
    if metadata.is_dir() {
        return Err(Error::Directory { path: path.to_path_buf() });
    }
    if metadata.file_type().is_socket() {
        let source = io::Error::other("it is a socket");
        return Err(Error::Open { path: path.to_path_buf(), source });
    }
    let file = File::open(path).map_err(|source| cannot_open(path, source))?;
    if !metadata.is_file() {
        return Ok((Box::new(Pipe::of_file(file, read)), None));
    }
    let metadata = file.metadata().map_err(|source| cannot_open(path, source))?;
    let (size, identity) = (metadata.len(), identity(&metadata));
    let file = keep_open.then_some(file);
    Ok((Box::new(OpenFile { path: path.to_path_buf(), file, keep_open, offset: 0, identity, read }), Some(size)))
}

fn cannot_open(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    if source.kind() == ErrorKind::NotFound { Error::Missing { path } } else { Error::Open { path, source } }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl OpenFile {
    fn reopened(&self) -> Result<File, Stop> {
        let file = File::open(&self.path).map_err(Stop::Failed)?;
        let metadata = file.metadata().map_err(Stop::Failed)?;
        // Growing is fine, it may still be written to; another file or one that lost what was read is not.
        if identity(&metadata) != self.identity || metadata.len() < self.offset {
            return Err(Stop::Changed);
        }
        Ok(file)
    }
}

impl Bytes for OpenFile {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.reopened()?,
        };
        let bytes = loop {
            match file.read_at(room, self.offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other.map_err(Stop::Failed)?,
            }
        };
        self.offset += bytes as u64;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.keep_open {
            self.file = Some(file);
        }
        Ok(bytes)
    }
}

impl Pipe {
    pub(crate) fn new(stream: Box<dyn Read + Send>, read: Arc<AtomicU64>) -> Self {
        Self { stream, descriptor: None, read }
    }

    /// A pipe or a device that is open.
    pub(crate) fn of_file(file: File, read: Arc<AtomicU64>) -> Self {
        let descriptor = file.try_clone().ok().map(OwnedFd::from);
        Self { stream: Box::new(file), descriptor, read }
    }

    /// Standard input, without the buffer of the standard library, in which bytes would be out of sight.
    pub(crate) fn stdin(read: Arc<AtomicU64>) -> Self {
        match io::stdin().as_fd().try_clone_to_owned() {
            Ok(descriptor) => Self::of_file(File::from(descriptor), read),
            Err(_) => Self::new(Box::new(io::stdin()), read),
        }
    }
}

impl Bytes for Pipe {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            match self.stream.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Failed(error)),
                Ok(bytes) => {
                    self.read.fetch_add(bytes as u64, Ordering::Relaxed);
                    return Ok(bytes);
                }
            }
        }
    }

    fn wait(&mut self, most: Duration) -> bool {
        let Some(descriptor) = &self.descriptor else { return true };
        let timeout = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        match poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => ready > 0,
            // What cannot be waited for is read.
            Err(error) => error != Errno::INTR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_opened_for_each_read_must_stay_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let write = |bytes: &[u8]| std::fs::write(&path, bytes).unwrap();
        write(b"0123456789");
        let count = Arc::new(AtomicU64::new(0));
        let (mut stream, size) = open(&path, false, Arc::clone(&count)).unwrap();
        let mut room = [0; 4];
        assert_eq!((stream.read(&mut room).unwrap(), room, size), (4, *b"0123", Some(10)));
        write(b"0123456789abcdef");
        assert_eq!((stream.read(&mut room).unwrap(), room), (4, *b"4567"), "it may grow");
        assert_eq!(count.load(Ordering::Relaxed), 8);
        write(b"0123");
        assert!(matches!(stream.read(&mut room), Err(Stop::Changed)), "it may not shrink");
        let other = folder.path().join("other");
        std::fs::write(&other, b"0123456789abcdef").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(matches!(stream.read(&mut room), Err(Stop::Changed)), "nor be another");
    }
}
