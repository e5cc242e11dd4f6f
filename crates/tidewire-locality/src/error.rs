use std::{error, fmt, time::Duration};

use crate::{BATCH_FRAMES_MAX, BATCH_FRAMES_MIN, TIMEOUT_MAX, TIMEOUT_MIN};

/// An invalid setting of locality buffering.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingError {
    /// An unknown key.
    UnknownKey {
        /// The value given.
        name: String,
    },
    /// An unknown setting.
    UnknownSetting {
        /// The value given.
        name: String,
    },
    /// Nothing between two commas.
    EmptySetting,
    /// A setting without its value.
    NoValue {
        /// The setting.
        name: String,
    },
    /// A setting given twice.
    Twice {
        /// The setting.
        name: String,
    },
    /// An invalid or too large number.
    NoNumber {
        /// The setting.
        name: String,
        /// The value given.
        value: String,
    },
    /// A value other than yes or no.
    NoSwitch {
        /// The setting.
        name: String,
        /// The value given.
        value: String,
    },
    /// Fewer packets than [`BATCH_FRAMES_MIN`], or more than [`BATCH_FRAMES_MAX`].
    BatchFrames {
        /// The value given.
        frames: u32,
    },
    /// Less than [`TIMEOUT_MIN`], or more than [`TIMEOUT_MAX`].
    Timeout {
        /// The value given.
        timeout: Duration,
    },
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("locality: ")?;
        match self {
            Self::UnknownKey { name } => {
                let what = "a key is port (the destination port), service (the lower known port) or flow";
                write!(f, "there is no key \"{name}\"; {what}")
            }
            Self::UnknownSetting { name } => {
                let known = "key, batch, timeout, thread and adaptive";
                write!(f, "there is no setting \"{name}\"; there are {known}")
            }
            Self::EmptySetting => f.write_str("an empty setting; write it as in service,batch=4000,timeout=100ms"),
            Self::NoValue { name } => write!(f, "{name} needs a value: {name}=..."),
            Self::Twice { name } => write!(f, "{name} is given twice"),
            Self::NoNumber { name, value } => write!(f, "{name}={value} is not a number of the right size"),
            Self::NoSwitch { name, value } => write!(f, "{name}={value}; say yes or no"),
            Self::BatchFrames { frames } => {
                write!(f, "a batch of {frames} packets; give {BATCH_FRAMES_MIN} to {BATCH_FRAMES_MAX} packets")
            }
            Self::Timeout { timeout } => {
                let (least, most) = (TIMEOUT_MIN.as_millis(), TIMEOUT_MAX.as_millis());
                write!(f, "a timeout of {} ms; give {least} to {most} ms", timeout.as_millis())
            }
        }
    }
}

impl error::Error for SettingError {}
