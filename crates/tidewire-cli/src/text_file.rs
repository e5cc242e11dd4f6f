//! Files of text that a user names: configuration, steering programs, patterns. Each has a bound: a device or another file by
//! mistake would be read until no memory is left.

use std::{fs::File, io::Read as _, path::Path};

use crate::{error::CliError, units::Bytes};

/// Most bytes of a configuration file: hundreds of times what all options take.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Most bytes of a file of patterns: a million of long ones.
pub const PATTERN_BYTES_MAX: u64 = 256 << 20;

/// Most bytes of a steering program; the language's own bound is lower.
pub const STEERING_BYTES_MAX: u64 = 1 << 20;

/// Reads a file, or a pipe to its end.
///
/// # Errors
/// Wrong usage: it cannot be read, or is longer than `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, CliError> {
    let (name, mut bytes) = (path.display(), Vec::new());
    let file = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    file.map_err(|error| CliError::Usage(format!("{name}: cannot be read: {error}")))?;
    if bytes.len() as u64 > most {
        let message = format!("{name}: is longer than {}, the most that is taken; is it the right file?", Bytes(most));
        return Err(CliError::Usage(message));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As [`read`]; it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String, CliError> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::Usage(format!("{}: is no text in UTF-8: byte {at} begins no character", path.display()))
    })
}
