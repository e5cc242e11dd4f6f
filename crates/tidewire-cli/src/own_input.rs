//! Refuses to write over files that are read.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use clap::builder::{PathBufValueParser, TypedValueParser};
use tidewire_outputs::place::{Overlap, overlap};

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

/// Parses the path of a file that is read, and notes it. An option that has it is safe from its own command's outputs before the file is opened.
pub fn noted() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| {
        note(&path);
        path
    })
}

/// Refuses a place for output that is one of the files that are read, by whatever name, or lies in an archive that is: one of `captures`,
/// or what was [noted](note).
pub fn refuse_over(captures: &[PathBuf], output: &Path) -> Result<(), CliError> {
    // Also the file that standard output is appended to.
    let is_stdout = output.as_os_str() == "-" || place::named(output) == Some(Standard::Output);
    let there = if is_stdout { Path::new("/proc/self/fd/1") } else { output };
    let noted = READ.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let captures = captures.iter().map(|input| (input, input.as_os_str() == "-"));
    for (input, is_stdin) in captures.chain(noted.iter().map(|input| (input, false))) {
        // The file that standard input is open on, by whatever name.
        let found = overlap(there, if is_stdin { Path::new("/proc/self/fd/0") } else { input });
        if let Some(found) = found {
            let (shown, output) = (input.to_string_lossy(), output.display());
            let input = if is_stdin { "on standard input" } else { &*shown };
            let what = if found == Overlap::Inside { "lies in the archive" } else { "is the file" };
            return Err(CliError::Usage(format!(
                "the output {output} {what} {input} that is read: name another place"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

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
