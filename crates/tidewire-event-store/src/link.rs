//! A link in the place of a store.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// A link in the place of a store, in words: SQLite would have its log beside what it leads to, and this crate its lock beside the link.
pub(crate) fn link_in_place(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok().filter(|found| found.file_type().is_symlink())?;
    let to = fs::read_link(path).map_or_else(|_| "somewhere".into(), |to| to.display().to_string());
    Some(format!("it is a link of user {} to {to}: name what it leads to, or remove the link", found.uid()))
}
