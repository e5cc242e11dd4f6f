use std::io;

/// Why traffic could not be sent, or a network not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An interface cannot be looked up, or a program not be loaded.
    #[error(transparent)]
    Live(#[from] tidewire_live::Error),
    /// The caller's settings cannot be met.
    #[error("{0}")]
    Setting(String),
    /// An interface cannot send.
    #[error("{interface}: {what}")]
    Interface {
        /// Its name.
        interface: String,
        /// The mistake.
        what: String,
    },
    /// The system refused an operation.
    #[error("{what}: {source}{hint}")]
    System {
        /// The operation.
        what: String,
        /// The error of the system.
        source: io::Error,
        /// The remedy, after `; `, or nothing.
        hint: String,
    },
}

impl Error {
    /// The process lacks these capabilities for `what`.
    pub(crate) fn privilege(what: impl Into<String>, capabilities: &str) -> Self {
        tidewire_live::Error::Privilege { what: what.into(), capabilities: capabilities.into() }.into()
    }

    /// The error with what to do about it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Live(error) => error.with_hint().to_string(),
            _ => self.to_string(),
        }
    }
}
