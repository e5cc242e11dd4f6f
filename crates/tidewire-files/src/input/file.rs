use super::{Bytes, Stop, system};
use crate::{Cancel, Error};
use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
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
    identity: system::Identity,
    read: Arc<AtomicU64>,
}

/// A pipe, a device or a stream of the caller's.
pub(crate) struct Pipe {
    stream: Box<dyn Read + Send>,
    /// The same, where it can be waited for.
    waited: Option<system::Waited>,
    read: Arc<AtomicU64>,
    cancel: Cancel,
}

/// How long a pipe is waited for before it is looked whether reading has to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// Opens `path`: a stream, its size where it is a file, and the count of the bytes read from it.
pub(crate) fn open(
    path: &Path,
    keep_open: bool,
    read: Arc<AtomicU64>,
    cancel: &Cancel,
) -> Result<(Box<dyn Bytes>, Option<u64>), Error> {
    let metadata = std::fs::metadata(path).map_err(|source| cannot_open(path, source))?;
    if metadata.is_dir() {
        return Err(Error::Directory { path: path.to_path_buf() });
    }
    if system::is_socket(&metadata) {
        let source = io::Error::other("it is a socket");
        return Err(Error::Open { path: path.to_path_buf(), cause: source });
    }
    // Opening a pipe without a writer waits for one: it is waited for before the first read instead.
    let file = if system::is_pipe(&metadata) { system::open_pipe(path) } else { File::open(path) };
    let file = file.map_err(|source| cannot_open(path, source))?;
    if !metadata.is_file() {
        return Ok((Box::new(Pipe::of_file(file, read, cancel)), None));
    }
    let metadata = file.metadata().map_err(|source| cannot_open(path, source))?;
    let (size, identity) = (metadata.len(), system::identity(&metadata));
    let file = keep_open.then_some(file);
    Ok((Box::new(OpenFile { path: path.to_path_buf(), file, keep_open, offset: 0, identity, read }), Some(size)))
}

fn cannot_open(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    if source.kind() == ErrorKind::NotFound { Error::Missing { path } } else { Error::Open { path, cause: source } }
}

impl OpenFile {
    fn reopened(&self) -> Result<File, Stop> {
        let file = File::open(&self.path).map_err(Stop::Failed)?;
        let metadata = file.metadata().map_err(Stop::Failed)?;
        // Growing is fine, it may still be written to; another file or one that lost what was read is not.
        if system::identity(&metadata) != self.identity || metadata.len() < self.offset {
            return Err(Stop::Changed);
        }
        Ok(file)
    }
}

impl Bytes for OpenFile {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.reopened()?,
        };
        let bytes = loop {
            match system::read_at(&mut file, room, self.offset) {
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
        Self { stream, waited: None, read, cancel: Cancel::default() }
    }

    /// A pipe or a device that is open.
    pub(crate) fn of_file(file: File, read: Arc<AtomicU64>, cancel: &Cancel) -> Self {
        let waited = system::Waited::of(&file);
        Self { stream: Box::new(file), waited, read, cancel: cancel.clone() }
    }

    /// Standard input, without the buffer of the standard library, in which bytes would be out of sight.
    pub(crate) fn stdin(read: Arc<AtomicU64>, cancel: &Cancel) -> Self {
        match system::stdin() {
            Some(file) => Self::of_file(file, read, cancel),
            None => Self::new(Box::new(io::stdin()), read),
        }
    }
}

impl Bytes for Pipe {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        loop {
            self.cancel.check().map_err(Stop::Failed)?;
            if !self.wait(PATIENCE) {
                continue;
            }
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
        // A file that cannot be waited for is read.
        self.waited.as_ref().is_none_or(|waited| waited.wait(most))
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
        let (mut stream, size) = open(&path, false, Arc::clone(&count), &Cancel::default()).unwrap();
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
