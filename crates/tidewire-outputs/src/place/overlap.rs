//! Outputs that would meet a file that is read.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// How an output meets a file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// It is that file, by whatever name.
    SameFile,
    /// It lies in that folder, an archive.
    Inside,
}

/// How an output meets a file or a folder that is read; `None`: not at all, or one of them is not there.
#[must_use]
pub fn overlap(output: &Path, input: &Path) -> Option<Overlap> {
    let read = fs::metadata(input).ok()?;
    let is_same = fs::metadata(output).is_ok_and(|there| (there.dev(), there.ino()) == (read.dev(), read.ino()));
    if is_same && read.is_file() {
        return Some(Overlap::SameFile);
    }
    let folder = match output.parent() {
        _ if output.is_dir() => output,
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => output,
    };
    let is_inside = read.is_dir()
        && fs::canonicalize(input)
            .is_ok_and(|input| fs::canonicalize(folder).is_ok_and(|folder| folder.starts_with(input)));
    is_inside.then_some(Overlap::Inside)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_output_meets_an_input_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.pcap"), "x").unwrap();
        fs::create_dir_all(at("archive/inner")).unwrap();
        symlink(at("a.pcap"), at("b")).unwrap();
        fs::hard_link(at("a.pcap"), at("c")).unwrap();
        for name in ["a.pcap", "b", "c"] {
            assert_eq!(overlap(&at(name), &at("a.pcap")), Some(Overlap::SameFile), "{name}");
        }
        for name in ["archive", "archive/new", "archive/inner/new"] {
            assert_eq!(overlap(&at(name), &at("archive")), Some(Overlap::Inside), "{name}");
        }
        assert_eq!(overlap(&at("new"), &at("a.pcap")), None);
        assert_eq!(overlap(&at("a.pcap"), &at("none")), None);
    }
}
