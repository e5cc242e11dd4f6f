//! Errors with interfaces, as types that can be matched, and advice for people.

mod capabilities;
mod cause;
mod hint;
mod kernel;
mod setting;

pub(crate) use cause::system_error;
pub use hint::WithHint;
pub use kernel::{KernelError, Operation};
pub use setting::SettingError;

/// Why a capture from interfaces failed, or was interrupted.
///
/// The text says what failed and where. [`hint`](Self::hint) adds what to do about it, and
/// [`with_hint`](Self::with_hint) prints both.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A filter cannot be used: the caller's fault.
    #[error(transparent)]
    Filter(#[from] tidewire_filter::Error),
    /// An interface does not exist: the caller's fault.
    #[error("there is no interface {interface}; there are: {}", known.join(", "))]
    NoInterface {
        /// The name given.
        interface: String,
        /// The interfaces of this network namespace.
        known: Vec<String>,
    },
    /// The process lacks capabilities (capabilities(7)).
    #[error("{what} {} {capabilities}", verb(what))]
    Privilege {
        /// The operation that needs them.
        what: String,
        /// The missing capabilities, as setcap(8) takes them: `cap_net_raw,cap_bpf`.
        capabilities: String,
    },
    /// The kernel refused an operation.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// An interface stopped delivering frames. Frames captured before were delivered.
    #[error("{interface}: {problem}")]
    Interface {
        /// The interface's name.
        interface: String,
        /// The problem.
        problem: InterfaceProblem,
    },
    /// Settings contradict each other, exceed a limit, or cannot be met on this machine.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A steering program cannot run here: the caller's fault.
    #[error(transparent)]
    Steering(#[from] tidewire_steer::Error),
    /// A callback of the caller ended the capture.
    #[error(transparent)]
    Callback(Box<dyn std::error::Error + Send + Sync>),
}

/// A problem of an interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceProblem {
    /// It is switched off.
    #[error("the interface is down; capture continues when it is up again")]
    Down,
    /// It was removed. The capture waits for an interface of this name.
    #[error("the interface is gone; capture continues when one of this name appears")]
    Gone,
    /// It was removed, and this capture cannot continue on another interface of this name.
    #[error("the interface is gone, and its AF_XDP sockets with it: start again when it is back")]
    GoneForGood,
    /// The interface that has the name now is of another kind of hardware.
    #[error("is another kind of interface than it was; capture continues when it is one of that kind")]
    OtherHardware,
    /// An output of [`split`](crate::split) is switched off.
    #[error("is down, and would lose its share of the frames")]
    OutputDown,
    /// The driver of an output of [`split`](crate::split) drops redirected frames.
    #[error("would lose every frame: {reason}")]
    LosesRedirected {
        /// Why.
        reason: String,
    },
}

impl Error {
    /// The kernel refused an operation that has no specific advice. `what` names it.
    pub(crate) fn kernel(what: impl Into<String>, source: std::io::Error) -> Self {
        KernelError::new(Operation::Other, what, source).into()
    }

    /// The process lacks these capabilities for `what`.
    pub(crate) fn privilege(what: impl Into<String>, capabilities: impl Into<String>) -> Self {
        Self::Privilege { what: what.into(), capabilities: capabilities.into() }
    }
}

/// "A and B need", "A needs".
fn verb(what: &str) -> &'static str {
    if what.contains(" and ") || what.ends_with("programs") { "need" } else { "needs" }
}
