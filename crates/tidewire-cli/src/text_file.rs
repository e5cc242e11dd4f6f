//! Reads text files that a user names: configuration, steering programs, patterns. Each kind has a size limit, since a device or a
//! wrong file would be read until memory runs out.

use std::{fs::File, io::Read as _, path::Path};

use crate::{error::CliError, own_input, units::Bytes};

/// Most bytes of a configuration file: hundreds of times the size of all options.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Most bytes of a pattern file: a million long patterns.
pub const PATTERN_BYTES_MAX: u64 = 256 << 20;

/// Most bytes of a steering program; the language's own limit is lower.
pub const STEERING_BYTES_MAX: u64 = 1 << 20;

/// Reads a file, or a pipe to its end.
///
/// # Errors
/// [`CliError::Usage`]: the file cannot be read, or is longer than `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, CliError> {
    own_input::note(path);
    let (name, mut bytes) = (path.display(), Vec::new());
    let file = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    file.map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > most {
        let message = format!("{name} is longer than {}, the limit; is it the right file?", Bytes(most));
        return Err(CliError::Usage(message));
    }
    Ok(bytes)
}

/// Reads a file as text.
///
/// # Errors
/// As [`read`], and for invalid UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String, CliError> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::Usage(format!("{}: invalid UTF-8 at byte {at}", path.display()))
    })
}
