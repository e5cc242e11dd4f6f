//! Days and errors as all commands of keys have them.

use std::time::SystemTime;

use jiff::Timestamp;
use tidewire_delivery::keys::KeyError;

use crate::error::CliError;

/// The error of the command for a failure with keys.
pub(super) fn failed(error: KeyError) -> CliError {
    match error {
        KeyError::Name { .. } | KeyError::Missing(_) => CliError::Usage(error.to_string()),
        error => CliError::Input(error.to_string()),
    }
}

/// A day, in UTC.
pub(super) fn date(time: SystemTime) -> String {
    Timestamp::try_from(time).map(|time| time.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}
