use std::io;

use crate::remedy::remedy;

/// Why interfaces cannot be captured from, or not any more. Each variant says who is at fault, and its text what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's: a filter that cannot be used.
    #[error(transparent)]
    Filter(#[from] tidewire_filter::Error),
    /// The caller's: there is no such interface.
    #[error("there is no interface {interface}; there are: {known}")]
    NoInterface {
        /// The name given.
        interface: String,
        /// The names there are.
        known: String,
    },
    /// The environment's: a capability is missing.
    #[error("{what} needs {capability}; {}", remedy(capability))]
    Privilege {
        /// What was tried.
        what: String,
        /// The capability, or several, as setcap takes them: `cap_net_raw,cap_bpf`.
        capability: &'static str,
    },
    /// The environment's: capabilities are missing.
    #[error("{what} {} {missing}; {}", verb(what), remedy(missing))]
    Capabilities {
        /// What they are needed for.
        what: String,
        /// Those that are missing, as setcap takes them: `cap_net_raw,cap_bpf`.
        missing: String,
    },
    /// The environment's: the kernel refused something.
    #[error("{what}: {source}{hint}")]
    Kernel {
        /// What was tried, with the interface's name where there is one.
        what: String,
        /// What the system says.
        source: io::Error,
        /// What can be done, after `; `, or nothing.
        hint: String,
    },
    /// The environment's: an interface went down or away. Frames captured before were delivered.
    #[error("{interface}: {what}")]
    Interface {
        /// Its name.
        interface: String,
        /// What happened.
        what: String,
    },
    /// The caller's: settings that cannot go together, or not on this machine.
    #[error("{0}")]
    Setting(String),
    /// The caller's: a steering program that cannot run here.
    #[error("{0}")]
    Steering(#[from] tidewire_steer::Error),
}

/// Several things need, one thing needs.
fn verb(what: &str) -> &'static str {
    if what.contains(" and ") || what.ends_with("programs") { "need" } else { "needs" }
}
