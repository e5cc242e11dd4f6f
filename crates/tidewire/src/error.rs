/// Why a run is impossible, or could not be finished. Damage that ends an input early is no error of the run: see
/// [`Outcome::input_errors`](crate::Outcome::input_errors).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A capture file could not be opened, or read on.
    #[cfg(feature = "files")]
    #[error(transparent)]
    File(#[from] tidewire_files::Error),
    /// A filter expression is not valid, or has no meaning for the link type of a packet.
    #[cfg(feature = "filter")]
    #[error(transparent)]
    Filter(#[from] tidewire_filter::Error),
    /// An interface could not be captured from.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Live(tidewire_live::Error),
    /// A setting is out of range or contradicts another.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A worker's handler panicked. The other workers were stopped.
    #[error("worker {index} panicked: {message}")]
    Worker {
        /// The worker's index, from 0.
        index: usize,
        /// The panic message.
        message: String,
    },
}

#[cfg(feature = "live")]
impl From<tidewire_live::Error> for Error {
    fn from(error: tidewire_live::Error) -> Self {
        match error {
            // A filter is one mistake, whatever the input is.
            tidewire_live::Error::Filter(error) => Self::Filter(error),
            error => Self::Live(error),
        }
    }
}

impl Error {
    /// Advice about the error, for people. Errors of interfaces have such advice; other texts contain theirs.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            #[cfg(feature = "live")]
            Self::Live(error) => error.hint(),
            _ => None,
        }
    }
}

/// Most workers of one run. Every worker decodes every packet, so that more do not help long before this.
pub const WORKERS_MAX: usize = 64;

/// A setting out of range, and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The number of workers.
    #[error("workers must be 1 to {WORKERS_MAX}, got {given}")]
    Workers {
        /// The setting.
        given: usize,
    },
    /// Several workers for a call that runs one: use [`Capture::run`](crate::Capture::run).
    #[error("{given} workers: this call runs one, on the calling thread; Capture::run starts several")]
    OneWorker {
        /// The setting.
        given: usize,
    },
    /// A setting of [`Config`](crate::Config) that is out of range.
    #[error(transparent)]
    Config(#[from] tidewire_core::ConfigError),
    /// [`Capture::config`](crate::Capture::config) after [`Capture::configure`](crate::Capture::configure), whose changes it would discard.
    #[error("config() replaces what configure() changed before: call config() first")]
    ConfigLast,
    /// An unknown priority.
    #[error("{of}: priorities are 0 (the lowest) to 7")]
    Priority {
        /// The setting that has the priority.
        of: String,
    },
    /// Settings that need more than the memory.
    #[error(transparent)]
    Memory(#[from] tidewire_core::MemoryError),
    /// More applications than one run can hold.
    #[error("more than {limit} applications in one run")]
    Applications {
        /// The most applications.
        limit: usize,
    },
    /// More filter expressions than the applications of one run can have.
    #[error("more than {limit} different expressions among all applications")]
    Expressions {
        /// The most expressions.
        limit: usize,
    },
    /// A filter, in a program that was built without the feature `filter`.
    #[error("filter \"{expression}\": this program was built without the feature filter of tidewire")]
    NoFilters {
        /// The filter's expression.
        expression: String,
    },
}
