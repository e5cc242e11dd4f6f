//! What is asked of a sender, and what it says of itself.

use std::time::Duration;

use crate::Rate;

/// How frames get to an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sender {
    /// Out of the kernel where that works, else through a packet socket.
    #[default]
    Auto,
    /// Out of the kernel itself: XDP live frames, redirected to the interface. Frames of at most 3,328 bytes.
    Kernel,
    /// A packet socket, past the queueing discipline.
    Socket,
}

impl Sender {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::Socket => "socket",
        }
    }
}

/// Where, how fast and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Interfaces: the clients' end, and the servers' where it is another; 1 or 2.
    pub interfaces: Vec<String>,
    /// See [`Sender`].
    pub sender: Sender,
    /// See [`Rate`].
    pub rate: Rate,
    /// Frames to send at most.
    pub packets: Option<u64>,
    /// How long to send at most.
    pub duration: Option<Duration>,
    /// Frames that a sender that was held up makes up for at once. Default 256: what a veth's ring holds.
    pub burst: u32,
    /// Frames between two hand-overs to the interface, 1 to 256. Default 64.
    pub batch: u32,
    /// The CPU to send from, counted among those that may be used.
    pub cpu: Option<usize>,
    /// Sends on interfaces that were not made for it.
    pub own_network: bool,
    /// Time between two reports of progress. Default one second.
    pub progress: Duration,
}

impl Plan {
    /// The defaults, for these interfaces: flat out, until the traffic ends.
    pub fn new<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> Self {
        Self {
            interfaces: interfaces.into_iter().map(Into::into).collect(),
            sender: Sender::Auto,
            rate: Rate::Flat,
            packets: None,
            duration: None,
            burst: 256,
            batch: 64,
            cpu: None,
            own_network: false,
            progress: Duration::from_secs(1),
        }
    }
}

/// Why sending ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The traffic came to its end, or as many frames as asked were sent.
    Done,
    /// The time was over.
    Duration,
    /// Somebody asked.
    Stopped,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Frames sent so far.
    pub packets: u64,
    /// Their bytes, with FCS.
    pub bytes: u64,
    /// Since the first.
    pub elapsed: Duration,
}
