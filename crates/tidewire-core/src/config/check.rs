//! The range of each setting that has one, apart from memory.

use std::fmt;

use tidewire_types::PRIORITIES_MAX;

use crate::Config;

/// Largest [`Config::chunk_bytes`].
pub const CHUNK_BYTES_MAX: u32 = 16 << 20;

/// A setting out of range: see [`Config::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// [`Config::chunk_bytes`] is larger than [`CHUNK_BYTES_MAX`].
    ChunkBytes {
        /// The value.
        given: u32,
    },
    /// [`Config::overlap_bytes`] is no smaller than [`Config::chunk_bytes`].
    OverlapBytes {
        /// Bytes of the overlap.
        overlap: u32,
        /// Bytes of a chunk.
        chunk: u32,
    },
    /// [`Config::priorities`] is not 1 to 8.
    Priorities {
        /// The value.
        given: u8,
    },
    /// [`Config::base_threshold_permille`] is more than the whole memory.
    BaseThreshold {
        /// The value, in thousandths.
        given: u32,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ChunkBytes { given } => write!(f, "a chunk of {given} bytes: the limit is {CHUNK_BYTES_MAX}"),
            Self::OverlapBytes { overlap, chunk } => {
                write!(f, "an overlap of {overlap} bytes needs chunks that are larger, not of {chunk}")
            }
            Self::Priorities { given } => write!(f, "priorities must be 1 to {PRIORITIES_MAX}, got {given}"),
            Self::BaseThreshold { given } => {
                write!(f, "the base threshold is a share of the memory, at most 1000 thousandths, got {given}")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Checks the settings that have a range: chunks, overlap, priorities and the base threshold. The memory is checked by
    /// [`share_out`](Self::share_out).
    ///
    /// [`Engine::new`](crate::Engine::new) does not check. An engine whose settings are out of range keeps within its
    /// memory and delivers every byte, but not as configured: larger chunks are delivered early when the memory is used up, an
    /// overlap that is no smaller than the chunks makes a chunk of every byte, 0 priorities are 1, the ledger counts
    /// priorities above 7 modulo 8, and a base threshold above 1000 is 1000.
    ///
    /// # Errors
    /// The first setting that is out of range.
    ///
    /// ```
    /// use tidewire_core::{Config, ConfigError};
    ///
    /// let config = Config::default().with_chunk_bytes(4096).with_overlap_bytes(4096);
    /// assert_eq!(config.check(), Err(ConfigError::OverlapBytes { overlap: 4096, chunk: 4096 }));
    /// ```
    pub fn check(&self) -> Result<(), ConfigError> {
        check_delivery(self.chunk_bytes, self.overlap_bytes, self.priorities)?;
        match self.base_threshold_permille {
            0..=1000 => Ok(()),
            given => Err(ConfigError::BaseThreshold { given }),
        }
    }
}

/// Checks the settings of delivery that have a range.
pub(crate) fn check_delivery(chunk_bytes: u32, overlap_bytes: u32, priorities: u8) -> Result<(), ConfigError> {
    if chunk_bytes > CHUNK_BYTES_MAX {
        Err(ConfigError::ChunkBytes { given: chunk_bytes })
    } else if overlap_bytes > 0 && overlap_bytes >= chunk_bytes {
        Err(ConfigError::OverlapBytes { overlap: overlap_bytes, chunk: chunk_bytes })
    } else if !(1..=PRIORITIES_MAX).contains(&priorities) {
        Err(ConfigError::Priorities { given: priorities })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_at_the_edge_of_their_ranges() {
        let edge = Config::default()
            .with_chunk_bytes(CHUNK_BYTES_MAX)
            .with_overlap_bytes(CHUNK_BYTES_MAX - 1)
            .with_priorities(8)
            .with_base_threshold_permille(1000);
        assert_eq!(edge.check(), Ok(()));
        let given = CHUNK_BYTES_MAX + 1;
        assert_eq!(edge.clone().with_chunk_bytes(given).check(), Err(ConfigError::ChunkBytes { given }));
        let chunk = CHUNK_BYTES_MAX - 1;
        assert_eq!(
            edge.clone().with_chunk_bytes(chunk).check(),
            Err(ConfigError::OverlapBytes { overlap: chunk, chunk })
        );
        for given in [0, 9] {
            assert_eq!(edge.clone().with_priorities(given).check(), Err(ConfigError::Priorities { given }));
        }
        let given = 1001;
        assert_eq!(edge.with_base_threshold_permille(given).check(), Err(ConfigError::BaseThreshold { given }));
    }
}
