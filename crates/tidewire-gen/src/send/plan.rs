//! Settings of a sender, and its progress.

use std::time::Duration;

use crate::Rate;

/// How frames are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sender {
    /// From the kernel where that works, otherwise through a packet socket.
    #[default]
    Auto,
    /// From the kernel: XDP live frames, redirected to the interface. Frames of at most 3,328 bytes.
    Kernel,
    /// A packet socket, bypassing the queueing discipline.
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
    /// One or two interfaces: the clients' end and the servers' end.
    pub interfaces: Vec<String>,
    /// See [`Sender`].
    pub sender: Sender,
    /// See [`Rate`].
    pub rate: Rate,
    /// Greatest number of frames.
    pub packets: Option<u64>,
    /// Greatest duration.
    pub duration: Option<Duration>,
    /// How many frames a delayed sender may catch up on at once. Default 256, the size of a veth's ring.
    pub burst: u32,
    /// Frames handed to the interface at once, 1 to 256. Default 64.
    pub batch: u32,
    /// The CPU to send from, counted among those that may be used.
    pub cpu: Option<usize>,
    /// Allows interfaces that were not made for this.
    pub own_network: bool,
    /// Time between two reports of progress. Default one second.
    pub progress: Duration,
}

impl Plan {
    /// The defaults, for these interfaces: as fast as possible, until the traffic ends.
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

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The traffic ended, or the requested number of frames was sent.
    Done,
    /// The duration is over.
    Duration,
    /// It was stopped.
    Stopped,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Frames sent so far.
    pub packets: u64,
    /// Their bytes, with FCS.
    pub bytes: u64,
    /// Time since the first frame.
    pub elapsed: Duration,
}
