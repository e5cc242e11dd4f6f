//! Reads a manifest, whatever is in it, with bounded memory.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
};

use super::{
    line::{Event, Line},
    living::{REMOVALS_KEPT, keep_living},
};
use crate::{Digest, Error, Folder, Storage as _, name::MANIFEST, read_at::open_regular};

/// Version of lines.
pub(crate) const VERSION: u16 = 1;
/// Bytes of a manifest at most.
const BYTES_MAX: u64 = 8 << 30;
/// Bytes of a line at most: names have 255, digests 64.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Lines of segments that are there, at most: a petabyte in segments of 1 GiB.
const LINES_MAX: usize = 1 << 20;
/// Changed lines that are reported one by one, at most.
const BROKEN_MAX: usize = 1000;
/// Lines that are not needed are dropped once there are so many.
const DEAD_LINES_MAX: usize = 1 << 14;

/// The lines of a manifest that are needed, each of which was compared with the one before it. The last ones may be cut, or not have
/// been written: a crash.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub lines: Vec<Line>,
    /// Numbers, from 1, of lines that do not name the line before, or were changed themselves.
    pub broken: Vec<usize>,
    /// Lines of the file that are whole.
    pub count: u64,
    /// Segments that were removed, and of which there is no line in `lines`.
    pub removed: u64,
    /// The number of the last packet in the directory.
    pub packets_to: u64,
    /// Digest of the last line.
    pub last: String,
    /// Where whole lines end, and bytes behind.
    pub whole_bytes: u64,
    pub tail_bytes: u64,
}

/// Reads the manifest of a directory; none is an empty one.
pub(crate) fn read(folder: &Path) -> Result<Read, Error> {
    let path = folder.join(MANIFEST);
    read_opened(open_regular(&path), &path)
}

/// The same of a directory that is open.
pub(crate) fn read_in(folder: &Folder) -> Result<Read, Error> {
    read_opened(folder.open_regular(MANIFEST), &folder.path(MANIFEST))
}

fn read_opened(opened: io::Result<File>, path: &Path) -> Result<Read, Error> {
    let failed = |error| Error::io(path, "reading")(error);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Read::default()),
        Err(error) => return Err(failed(error)),
    };
    if file.metadata().map_err(failed)?.len() > BYTES_MAX {
        return Err(Error::damaged(path, "it is too long"));
    }
    let (mut file, mut read) = (BufReader::new(file.take(BYTES_MAX)), Read::default());
    // Invalid lines at the end: power failed while they were written.
    let (mut torn, mut at, mut before, mut number) = (Vec::new(), 0, String::new(), 0);
    let (mut line, mut needed) = (Vec::new(), 0);
    loop {
        let bytes = next_line(&mut file, &mut line).map_err(failed)?;
        at += bytes;
        let Some(content) = line.strip_suffix(b"\n") else {
            // Nothing, or what is no whole line; one that is too long has no end here.
            if bytes <= LINE_BYTES_MAX {
                break;
            }
            (before, number) = (String::new(), number + 1);
            note(&mut torn, number);
            continue;
        };
        number += 1;
        match serde_json::from_slice::<Line>(content) {
            Ok(parsed) => {
                if parsed.version > VERSION {
                    return Err(Error::Version { path: path.to_owned(), found: parsed.version, supported: VERSION });
                }
                torn.drain(..).for_each(|number| note(&mut read.broken, number));
                if parsed.previous != before || !parsed.is_text(content) {
                    note(&mut read.broken, number);
                }
                (read.last, read.whole_bytes) = (Digest::of(content), at);
                read.count += 1;
                read.packets_to = read.packets_to.max(parsed.packets_to);
                read.removed += parsed.removed;
                if parsed.event != Event::Compacted {
                    read.lines.push(parsed);
                }
            }
            Err(_) => note(&mut torn, number),
        }
        before = Digest::of(content);
        if read.lines.len() > 2 * needed + DEAD_LINES_MAX {
            read.removed += keep_living(&mut read.lines, REMOVALS_KEPT);
            needed = read.lines.len();
            if needed > LINES_MAX {
                return Err(Error::damaged(path, format!("it lists more than {LINES_MAX} segments")));
            }
        }
    }
    read.tail_bytes = at - read.whole_bytes;
    Ok(read)
}

fn note(numbers: &mut Vec<usize>, number: usize) {
    if numbers.len() < BROKEN_MAX {
        numbers.push(number);
    }
}

/// Reads a line, or skips one that is too long: then `line` is empty. Returns how many bytes that was.
fn next_line(file: &mut BufReader<io::Take<File>>, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut bytes = file.take(LINE_BYTES_MAX).read_until(b'\n', line)? as u64;
    if bytes < LINE_BYTES_MAX || line.ends_with(b"\n") {
        return Ok(bytes);
    }
    line.clear();
    loop {
        let there = file.fill_buf()?;
        let end = there.iter().position(|&byte| byte == b'\n');
        let skipped = end.map_or(there.len(), |end| end + 1);
        file.consume(skipped);
        bytes += skipped as u64;
        if end.is_some() || skipped == 0 {
            // Longer than the longest line, also where it ends just there.
            return Ok(bytes + u64::from(bytes == LINE_BYTES_MAX));
        }
    }
}
