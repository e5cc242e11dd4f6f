//! Lists the segments and other captures of a directory.

use std::{fs, io, path::Path};

use crate::{Error, Folder, SegmentName, name::index_of};

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
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(unlisted(path))? {
        let name = entry.map_err(unlisted(path))?.file_name();
        names.extend(name.into_string());
    }
    names.sort();
    Ok(names)
}

/// The same of a directory that is open.
pub(crate) fn names_in(folder: &Folder) -> Result<Vec<String>, Error> {
    let mut names = folder.names().map_err(unlisted(folder.as_path()))?;
    names.sort();
    Ok(names)
}

/// Why the files of a directory cannot be listed.
fn unlisted(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Error::Denied { path: path.to_owned(), what: "the directory cannot be listed".into() }
        }
        _ => Error::io(path, "reading the directory")(error),
    }
}

/// Bytes of hidden files that are no open segments: checksums, files that are about to get their name, and what was set aside.
pub(crate) fn hidden_bytes(folder: &Folder) -> Result<u64, Error> {
    let is_open = |name: &str| crate::name::shown(name).and_then(SegmentName::parse).is_some();
    let hidden = names_in(folder)?.into_iter().filter(|name| name.starts_with('.') && !is_open(name));
    // One that is not there was just removed, or has its name.
    Ok(hidden.filter_map(|name| folder.stat(&name).ok()).filter_map(|found| u64::try_from(found.st_size).ok()).sum())
}

/// The complete segments of a directory, the oldest first.
pub(crate) fn segments(folder: &Folder) -> Result<Vec<Segment>, Error> {
    let mut segments: Vec<Segment> = Vec::new();
    for name in names_in(folder)? {
        let Some(parsed) = SegmentName::parse(&name) else { continue };
        // A link is no segment. One that is not there was just removed.
        let Some(of_file) = folder.bytes_of(&name) else { continue };
        let index_bytes = folder.bytes_of(&index_of(&name)).unwrap_or(0);
        segments.push(Segment { name: parsed, bytes: of_file, index_bytes });
    }
    segments.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, thread};

    use super::*;

    #[test]
    fn a_directory_that_may_not_be_listed_is_denied_however_it_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = Folder::open(folder.path()).expect("open");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o000)).expect("its mode");
        let listed = thread::scope(|scope| {
            let listing = scope.spawn(|| {
                // Root lists everything: the thread goes on as another user, if it is root's.
                let user = rustix::process::Uid::from_raw(65_534);
                let _ = rustix::thread::set_thread_res_uid(user, user, user);
                [names(folder.path()), names_in(&opened)]
            });
            listing.join().expect("no panic")
        });
        assert!(listed.iter().all(|listed| matches!(listed, Err(Error::Denied { .. }))), "{listed:?}");
    }
}
