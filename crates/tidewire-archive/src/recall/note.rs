//! Notes on parts of an archive that a recall could not use.

use std::{fmt, path::PathBuf};

/// Names that a note lists.
const NAMES_MAX: usize = 3;

/// A part of the archive that a recall could not use, or a finding about the archive: for people. Captures with the same finding share a note.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Captures without an index that can be used were read whole.
    NoIndex {
        /// Their directory.
        folder: PathBuf,
        /// Their names.
        names: Vec<String>,
        /// The error of the index; empty: there is none.
        why: String,
    },
    /// Captures that are not searched.
    Unsearched {
        /// Their directory.
        folder: PathBuf,
        /// Their names.
        names: Vec<String>,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Captures that are not there, although their indexes are.
    Missing {
        /// Their directory.
        folder: PathBuf,
        /// Their names.
        names: Vec<String>,
    },
    /// Single streams cannot be found in captures that have no index.
    Skipped {
        /// Their directory.
        folder: PathBuf,
        /// Their names.
        names: Vec<String>,
    },
    /// A directory that the recording wrote to as well, and that is not searched.
    Companion {
        /// A directory that is searched.
        folder: PathBuf,
        /// The other one, as it was named when its recorder began.
        path: PathBuf,
    },
}

impl Note {
    /// Adds this note, or its names to one that says the same.
    pub(crate) fn push(self, notes: &mut Vec<Self>) {
        let is_same = |known: &&mut Self| match (&**known, &self) {
            (Self::NoIndex { folder, why, .. }, Self::NoIndex { folder: own, why: same, .. }) => {
                (folder, why) == (own, same)
            }
            (Self::Unsearched { folder, why, .. }, Self::Unsearched { folder: own, why: same, .. }) => {
                (folder, why) == (own, same)
            }
            (Self::Missing { folder, .. }, Self::Missing { folder: own, .. })
            | (Self::Skipped { folder, .. }, Self::Skipped { folder: own, .. }) => folder == own,
            _ => false,
        };
        match (notes.iter_mut().find(is_same).and_then(Self::names_mut), self) {
            (
                Some(known),
                Self::NoIndex { names, .. }
                | Self::Unsearched { names, .. }
                | Self::Missing { names, .. }
                | Self::Skipped { names, .. },
            ) => known.extend(names),
            (_, note) => notes.push(note),
        }
    }

    fn names_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::NoIndex { names, .. }
            | Self::Unsearched { names, .. }
            | Self::Missing { names, .. }
            | Self::Skipped { names, .. } => Some(names),
            Self::Companion { .. } => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIndex { folder, names, why } => {
                let (what, folder) =
                    (Captures(names, "has no index and is", "have no index and are"), folder.display());
                let why = if why.is_empty() { String::new() } else { format!("; {why}") };
                write!(f, "{folder}: {what} read whole: {}{why}", Names(names))?;
                write!(f, " (tidewire record --index-only {folder} makes it)")
            }
            Self::Unsearched { folder, names, why } => {
                let what = Captures(names, "was", "were");
                write!(f, "{}: {what} not searched: {} ({why})", folder.display(), Names(names))
            }
            Self::Missing { folder, names } => {
                let what = Captures(names, "is", "are");
                write!(f, "{}: {what} missing, and only indexed: {}", folder.display(), Names(names))
            }
            Self::Companion { folder, path } => {
                let (folder, path) = (folder.display(), path.display());
                write!(
                    f,
                    "{folder}: its recording wrote to {path} as well, which is not searched: name both directories"
                )
            }
            Self::Skipped { folder, names } => {
                let (folder, names) = (folder.display(), Names(names));
                write!(f, "{folder}: streams are not found by their ids in captures without an index: {names}")
            }
        }
    }
}

/// How many, and what they do.
struct Captures<'a>(&'a [String], &'a str, &'a str);

impl fmt::Display for Captures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "1 capture {}", self.1),
            count => write!(f, "{count} captures {}", self.2),
        }
    }
}

/// The first names, and how many more.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..NAMES_MAX).unwrap_or(self.0);
        f.write_str(&shown.join(", "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_which_the_same_is_said_share_a_note() {
        let mut notes = Vec::new();
        for name in ["a", "b", "c", "d", "e"] {
            let note = |why: &str| Note::NoIndex { folder: "x".into(), names: vec![name.into()], why: why.into() };
            note("").push(&mut notes);
        }
        Note::Skipped { folder: "x".into(), names: vec!["a".into()] }.push(&mut notes);
        let said: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "x: 5 captures have no index and are read whole: a, b, c and 2 more (tidewire record --index-only x makes it)",
                "x: streams are not found by their ids in captures without an index: a"
            ]
        );
    }
}
