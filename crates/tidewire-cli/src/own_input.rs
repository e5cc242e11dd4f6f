//! What is read is not written over.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::{
    error::CliError,
    place::{self, Standard},
};

/// Files that were read beside the captures: stores of events, patterns, configuration, identities.
static READ: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes a file that is read, and is no capture: no place for output may be it.
pub fn note(path: &Path) {
    READ.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// Refuses a place for output that is one of the files that are read, by whatever name, or lies in an archive that is: one of `captures`,
/// or what was [noted](note).
pub fn refuse_over(captures: &[PathBuf], output: &Path) -> Result<(), CliError> {
    // Also the file that standard output is appended to.
    let is_stdout = output.as_os_str() == "-" || place::named(output) == Some(Standard::Output);
    let there = fs::metadata(if is_stdout { Path::new("/proc/self/fd/1") } else { output }).ok();
    let folder = match output.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => output,
    };
    let folder = if output.is_dir() { output } else { folder };
    let folder = fs::canonicalize(folder).ok().filter(|_| !is_stdout);
    let noted = READ.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for input in captures.iter().filter(|input| input.as_os_str() != "-").chain(&noted) {
        let Ok(read) = fs::metadata(input) else { continue };
        let is_same = there.as_ref().is_some_and(|there| (there.dev(), there.ino()) == (read.dev(), read.ino()));
        let is_inside = read.is_dir()
            && fs::canonicalize(input)
                .is_ok_and(|input| folder.as_ref().is_some_and(|folder| folder.starts_with(input)));
        if is_same && read.is_file() || is_inside {
            let (input, output) = (input.display(), output.display());
            let what = if is_inside { "lies in the archive" } else { "is the file" };
            return Err(CliError::Usage(format!(
                "the output {output} {what} {input} that is read: name another place"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_no_input_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let (capture, link, archive) =
            (folder.path().join("a.pcap"), folder.path().join("b"), folder.path().join("archive"));
        fs::write(&capture, b"x").unwrap();
        fs::create_dir_all(archive.join("inner")).unwrap();
        std::os::unix::fs::symlink(&capture, &link).unwrap();
        let inputs = [capture.clone(), archive.clone(), "-".into()];
        for output in [&capture, &link, &archive.join("new"), &archive, &archive.join("inner/new")] {
            assert!(refuse_over(&inputs, output).is_err(), "{}", output.display());
        }
        for output in [Path::new("-"), &folder.path().join("new"), Path::new("/dev/null"), Path::new("new")] {
            refuse_over(&inputs, output).unwrap();
        }
    }
}
