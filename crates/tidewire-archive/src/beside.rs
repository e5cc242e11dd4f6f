//! Files of a directory that no recorder wrote: captures of other programs, and other files.

use std::{fs, io, path::Path};

use tidewire_files::{Reader, Records, Unpacked};

use crate::{
    Error,
    name::{INDEX, MANIFEST, SEALED},
    read_at::{Plain, ReadAt as _, open_regular},
    seal::MAGIC,
};

/// Kind of a file that is no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// A capture that is indexed, and searched, as it lies there.
    Capture,
    /// A capture that is not searched: why, and what to do.
    Unsearched(&'static str),
    /// No capture that can be read: what is there instead.
    Other(&'static str),
}

/// Endings of names of captures: a user expects that a file of such a name is found.
const ENDINGS: [&str; 4] = ["pcap", "pcapng", "cap", "dmp"];

/// Endings of compressed files, behind those.
const COMPRESSED: [&str; 6] = [".gz", ".zst", ".lz4", ".xz", ".bz2", ".zstd"];

/// Whether a name is that of a capture.
pub(crate) fn is_named_as_capture(name: &str) -> bool {
    let name = COMPRESSED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// Whether a name of a directory is one of the recorder's files that are no segments, or hidden.
pub(crate) fn is_own_name(name: &str) -> bool {
    name.starts_with('.') || name == MANIFEST || name.trim_end_matches(SEALED).ends_with(INDEX)
}

/// Looks at a file that is no segment. Links are not followed.
///
/// # Errors
/// It cannot be read.
pub(crate) fn look(path: &Path) -> Result<Beside, Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return Ok(Beside::Other("a directory: name it itself")),
        Ok(found) if found.is_symlink() => return Ok(Beside::Other("a link, which is not followed")),
        Ok(found) if !found.is_file() => return Ok(Beside::Other("no regular file")),
        Ok(found) if found.len() == 0 => return Ok(Beside::Other("empty: no capture")),
        Ok(_) => {}
        // It was just removed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Beside::Other("removed")),
        Err(error) => return Err(Error::io(path, "opening")(error)),
    }
    let file = open_regular(path).map_err(Error::io(path, "opening"))?;
    let mut head = Vec::new();
    Plain::new(file, path)?.read_at(0, Records::HEAD_BYTES, &mut head)?;
    if Records::recognise(&head).is_some() {
        return Ok(Beside::Capture);
    }
    if head.starts_with(MAGIC) {
        return Ok(Beside::Unsearched("encrypted, and of no name that a recorder gives: give it its own again"));
    }
    if let Ok(Some(mut unpacked)) = Unpacked::open(path) {
        let mut head = [0; Records::HEAD_BYTES];
        let mut filled = 0;
        while let Some(room) = head.get_mut(filled..).filter(|room| !room.is_empty())
            && let Ok(read @ 1..) = unpacked.read(room)
        {
            filled += read;
        }
        if Records::recognise(head.get(..filled).unwrap_or_default()).is_some() {
            return Ok(Beside::Capture);
        }
    }
    Ok(match Reader::open(path) {
        Ok(_) => Beside::Unsearched("neither pcap nor pcapng: convert it first (tidewire record -r FILE -o DIR)"),
        Err(_) => Beside::Other("no capture"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_captures() {
        for name in ["a.pcap", "A.PCAPNG", "x.y.cap", "a.pcap.gz", "a.pcapng.zst"] {
            assert!(is_named_as_capture(name), "{name}");
        }
        for name in ["pcap", "a.txt", "a.gz", ""] {
            assert!(!is_named_as_capture(name), "{name}");
        }
    }
}
