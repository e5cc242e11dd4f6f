//! Reads the configuration file, and files that it names: with a limit, and only regular files.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
};

use super::error::{Error, Source};

/// Most bytes of a configuration file: thousands of lines, and the limit of a steering program.
pub const FILE_BYTES_MAX: usize = 64 << 10;

/// The purpose of a file, for errors.
pub struct FileLimits {
    noun: &'static str,
    /// The hint if it is missing.
    missing: &'static str,
    /// The hint if it is not a regular file.
    other: &'static str,
}

/// The file that `PCAP_CONFIG` names, or one of the default files.
pub const CONFIGURATION: FileLimits = FileLimits {
    noun: "configuration file",
    missing: "correct PCAP_CONFIG, or unset it",
    other: "name a text file in PCAP_CONFIG",
};

/// A file with a steering program.
pub const PROGRAM: FileLimits =
    FileLimits { noun: "program file", missing: "correct the path", other: "name a text file with a steering program" };

/// Reads the whole text of a file, and returns its source.
pub fn read(path: &Path, purpose: &FileLimits) -> Result<(Arc<Source>, String), Error> {
    let source = Arc::new(Source::File(path.display().to_string()));
    let fail = |message: String, hint: &str| Error {
        source: Arc::clone(&source),
        line: 0,
        column: 0,
        message,
        hint: hint.into(),
    };
    let noun = purpose.noun;
    // Opening a FIFO without this flag waits for a writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
    let file = opened.map_err(|error| match error.kind() {
        ErrorKind::NotFound if path.starts_with("~") => {
            fail(format!("{noun} not found"), "write the full path: ~ is not expanded")
        }
        ErrorKind::NotFound => fail(format!("{noun} not found"), purpose.missing),
        ErrorKind::PermissionDenied => fail(
            format!("the {noun} cannot be opened: {error}"),
            "check the permissions of the file and its directories",
        ),
        _ => fail(format!("the {noun} cannot be opened: {error}"), purpose.other),
    })?;
    let metadata = file.metadata().map_err(|error| fail(format!("cannot be inspected: {error}"), ""))?;
    if !metadata.is_file() {
        let kind = if metadata.is_dir() { "a directory" } else { "no regular file" };
        return Err(fail(format!("the {noun} is {kind}"), purpose.other));
    }
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| fail(format!("the {noun} cannot be read: {error}"), purpose.other))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(fail(format!("the {noun} has more than {} KiB", FILE_BYTES_MAX >> 10), "is it the right file?"));
    }
    text(source, bytes)
}

/// Converts the bytes to a text without zeroes.
fn text(source: Arc<Source>, bytes: Vec<u8>) -> Result<(Arc<Source>, String), Error> {
    let (valid, wrong) = match std::str::from_utf8(&bytes) {
        Ok(text) => match text.find('\0') {
            Some(at) => (text.get(..at).unwrap_or_default(), "a byte that is zero: this is no text"),
            None => return Ok((source, text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())),
        },
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), "a byte that is not UTF-8")
        }
    };
    let line = valid.matches('\n').count() as u32 + 1;
    let column = valid.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
    Err(Error { source, line, column, message: wrong.into(), hint: "write it in UTF-8".into() })
}
