use std::io;

/// An operation that the kernel, or a driver, refused.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {error}")]
pub struct KernelError {
    operation: Operation,
    what: String,
    error: io::Error,
}

impl KernelError {
    pub(crate) fn new(operation: Operation, what: impl Into<String>, error: io::Error) -> Self {
        Self { operation, what: what.into(), error }
    }

    /// Which operation it was.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The operation in words, with the interface's name where there is one.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The system's error.
    #[must_use]
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }
}

/// Operations that the kernel can refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Reserving addresses for the rings.
    ReserveMemory,
    /// Making a packet socket's ring.
    MakeRing,
    /// Joining a fan-out group, or making one.
    JoinGroup {
        /// The group's number; `None` for a new group.
        group: Option<u16>,
        /// Mode and flags (`PACKET_FANOUT_…`).
        kind: u16,
        /// The interface's number.
        index: u32,
        /// Whether outgoing frames are left out.
        incoming: bool,
    },
    /// Giving a fan-out group its program.
    SteerGroup,
    /// Attaching a socket's filter.
    AttachFilter,
    /// Leaving out outgoing frames (`PACKET_IGNORE_OUTGOING`).
    IgnoreOutgoing,
    /// Having the network card stamp frames.
    HardwareTimestamps,
    /// Setting the number of an interface's channels.
    SetChannels {
        /// The interface's name.
        interface: String,
    },
    /// Opening an AF_XDP socket.
    OpenXsk,
    /// Registering an AF_XDP ring's memory.
    RegisterXskMemory,
    /// Binding an AF_XDP socket to a receive queue.
    BindXsk {
        /// Largest MTU whose frames fit into one buffer, where the interface's MTU exceeds it, bytes.
        mtu_max: Option<u32>,
    },
    /// Attaching an XDP program.
    AttachXdp {
        /// The interface's name, where it is known.
        interface: Option<String>,
    },
    /// Loading a filter.
    LoadFilter,
    /// Loading the capture programs.
    LoadPrograms {
        /// The oldest kernel that takes them.
        kernel: &'static str,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// Putting a program into the array of programs.
    InstallProgram,
    /// Making the flow tables.
    MakeFlowTables,
    /// Reading the size of a network card's table of filter rules.
    ReadRules,
    /// Reading the machine's boot id, from which a cross-process group derives its hash key.
    ReadBootId,
    /// Giving up privileges.
    Confine,
    /// Any other operation.
    Other,
}
