/// Why a run did not begin, or could not be finished. What only cuts an input short is no error: see
/// [`Outcome::damages`](crate::Outcome::damages).
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
    Live(#[from] tidewire_live::Error),
    /// The caller's: settings that contradict each other or exceed a bound.
    #[error("{what}")]
    Setting {
        /// Which, and what would be accepted.
        what: String,
    },
    /// The handler's: a worker panicked. The other workers were stopped.
    #[error("worker {index} panicked: {message}")]
    Worker {
        /// The worker's index, from 0.
        index: usize,
        /// What the panic said.
        message: String,
    },
}
