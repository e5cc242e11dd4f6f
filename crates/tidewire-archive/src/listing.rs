//! What a directory holds.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Error, SegmentName, name::index_of};

/// A complete segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its name.
    pub name: SegmentName,
    /// Bytes of its file.
    pub bytes: u64,
    /// Bytes of its index.
    pub index_bytes: u64,
}

impl Segment {
    /// Bytes of its file and of its index.
    #[must_use]
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.index_bytes
    }
}

/// Names of the files in a directory, in order.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, Error> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Error::Denied { path: path.to_owned(), what: "the directory cannot be listed".into() }
        }
        _ => Error::io(path, "reading the directory")(error),
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(|error| Error::io(path, "reading the directory")(error))?.file_name();
        names.extend(name.into_string());
    }
    names.sort();
    Ok(names)
}

/// Bytes of hidden files that are no open segments: checksums, files that are about to get their name, and what was set aside.
pub(crate) fn hidden_bytes(path: &Path) -> Result<u64, Error> {
    let is_open = |name: &str| crate::name::shown(name).and_then(SegmentName::parse).is_some();
    let hidden = names(path)?.into_iter().filter(|name| name.starts_with('.') && !is_open(name));
    // One that is not there was just removed, or has its name.
    Ok(hidden.filter_map(|name| fs::symlink_metadata(path.join(name)).ok()).map(|found| found.len()).sum())
}

/// The complete segments of a directory, the oldest first.
pub(crate) fn segments(path: &Path) -> Result<Vec<Segment>, Error> {
    let mut segments: Vec<Segment> = Vec::new();
    for name in names(path)? {
        let Some(parsed) = SegmentName::parse(&name) else { continue };
        // A link is no segment.
        let bytes = |path: PathBuf| {
            fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
        };
        // One that is not there was just removed.
        let Some(of_file) = bytes(path.join(&name)) else { continue };
        let index_bytes = bytes(path.join(index_of(&name))).unwrap_or(0);
        segments.push(Segment { name: parsed, bytes: of_file, index_bytes });
    }
    segments.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(segments)
}
