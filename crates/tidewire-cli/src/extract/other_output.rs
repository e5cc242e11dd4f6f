//! Directories that another output made: files of `extract` in one would be taken for a part of it, or replace one.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use tidewire_exports::zeek::Log;

/// Names of a directory that are looked at, at most. One of an output has its own among the first.
const NAMES_MAX: usize = 100_000;

/// The beginning of a database (<https://www.sqlite.org/fileformat2.html>, section 1.3).
const DATABASE: &[u8] = b"SQLite format 3\0";

/// The output that a directory holds, if any, in words.
pub fn in_folder(folder: &Path) -> Option<&'static str> {
    #[cfg(feature = "live")]
    if tidewire_archive::is_archive(folder) {
        return Some("an archive of 'tidewire record'");
    }
    let names = fs::read_dir(folder).ok()?.take(NAMES_MAX).flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.into_string().ok()).find_map(|name| {
        if Log::ALL.iter().any(|log| name.strip_suffix(".log").is_some_and(|stem| stem == log.name())) {
            return Some("logs of Zeek ('--to zeek:FOLDER')");
        }
        let store = name.strip_suffix(".lock")?;
        is_database(&folder.join(store)).then_some("a store of events")
    })
}

/// Whether a regular file begins as a database.
fn is_database(path: &Path) -> bool {
    let mut found = [0; DATABASE.len()];
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok() && found == DATABASE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_known_by_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("index.jsonl"), "").unwrap();
        fs::write(at("other.log"), "").unwrap();
        fs::write(at("other.lock"), "").unwrap();
        assert_eq!(in_folder(folder.path()), None);
        fs::write(at("events.db"), [DATABASE, b"rest"].concat()).unwrap();
        assert_eq!(in_folder(folder.path()), None, "a database of another program");
        fs::write(at("events.db.lock"), "").unwrap();
        assert_eq!(in_folder(folder.path()), Some("a store of events"));
        fs::remove_file(at("events.db.lock")).unwrap();
        fs::write(at("conn.log"), "").unwrap();
        assert!(in_folder(folder.path()).unwrap().contains("Zeek"));
        #[cfg(feature = "live")]
        {
            fs::remove_file(at("conn.log")).unwrap();
            fs::write(at("manifest.jsonl"), "").unwrap();
            assert!(in_folder(folder.path()).unwrap().contains("archive"));
        }
    }
}
