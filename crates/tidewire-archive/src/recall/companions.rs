//! Directories that a recording wrote to beside those that are searched.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{entry::Entry, note::Note};

/// Directories that are named at most.
const COMPANIONS_MAX: usize = 256;

/// Other directories that the indexes of the searched ones name.
#[derive(Default)]
pub(super) struct Companions {
    /// The directories that are searched, by recording.
    searched: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Other directories, by path and recording: how many there are of it, and the directory whose index names them.
    named: BTreeMap<(String, String), (usize, PathBuf)>,
}

impl Companions {
    /// Adds what the captures of a directory say.
    pub fn add(&mut self, folder: &Path, entries: &[Entry]) {
        for summary in entries.iter().filter_map(|entry| entry.summary.as_ref()) {
            if summary.companions.is_empty() {
                continue;
            }
            self.searched.entry(summary.recording.clone()).or_default().insert(folder.to_owned());
            for path in &summary.companions {
                let key = (path.clone(), summary.recording.clone());
                if self.named.len() < COMPANIONS_MAX {
                    let all = summary.companions.len() + 1;
                    self.named.entry(key).or_insert_with(|| (all, folder.to_owned()));
                }
            }
        }
    }

    /// Those that are not searched.
    pub fn missing(&self, folders: &[PathBuf]) -> Vec<Note> {
        if self.named.is_empty() {
            return Vec::new();
        }
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let searched: BTreeSet<PathBuf> = folders.iter().map(|folder| real(folder)).collect();
        let missing = self.named.iter().filter(|((path, recording), (all, _))| {
            // Where all of them are, they may have been moved.
            let found = self.searched.get(recording).map_or(0, BTreeSet::len);
            found < *all && !searched.contains(&real(Path::new(path)))
        });
        let by_path: BTreeMap<&String, &PathBuf> = missing.map(|((path, _), (_, folder))| (path, folder)).collect();
        let note = |(path, folder): (&String, &PathBuf)| Note::Companion { folder: folder.clone(), path: path.into() };
        by_path.into_iter().map(note).collect()
    }
}
