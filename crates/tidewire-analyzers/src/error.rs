//! Why analyzers cannot be made.

use std::{io, path::PathBuf};

use tidewire_patterns::PatternError;

/// Why analyzers cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzersError {
    /// The environment's: a pattern file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The author's: a pattern file with a mistake.
    #[error("{}: {mistake}", path.display())]
    Patterns {
        /// The file.
        path: PathBuf,
        /// The line and what is wrong.
        mistake: PatternError,
    },
}
