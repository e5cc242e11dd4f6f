//! What is shown at one moment: everything the view needs, and nothing it would have to ask for.

use std::time::Duration;

/// A picture of a capture that is under way.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Names of the interfaces.
    pub interfaces: String,
    /// Since the capture was opened.
    pub elapsed: Duration,
    /// Nothing changes until it is asked to go on.
    pub paused: bool,
    /// What came in the last interval, a second.
    pub now: Rates,
    /// What came in all.
    pub packets: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Where packets were lost, in the order of their way; those where none was are left out.
    pub losses: Vec<Loss>,
    /// Workers, in order.
    pub workers: Vec<Worker>,
    /// The engines' memory.
    pub memory: Memory,
    /// Flows that sent anything in the last interval, sorted as wished.
    pub flows: Vec<Flow>,
    /// Streams that are open.
    pub open: u64,
    /// What flows are sorted by.
    pub sort: Sort,
    /// The least first.
    pub reversed: bool,
    /// How many flows are scrolled past.
    pub scrolled: usize,
    /// What went wrong with an interface last.
    pub trouble: Option<String>,
}

/// Figures a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Packets.
    pub packets: f64,
    /// Bits.
    pub bits: f64,
}

/// Packets lost at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Where.
    pub place: &'static str,
    /// In the last interval, a second.
    pub rate: f64,
    /// In all.
    pub total: u64,
}

/// A worker's row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worker {
    /// The CPU it is bound to.
    pub cpu: Option<usize>,
    /// What it took in.
    pub now: Rates,
    /// Packets lost before it, a second.
    pub lost: f64,
    /// How full its fullest ring is, in thousandths.
    pub ring_permille: u32,
    /// How much of its memory is in use, in thousandths.
    pub memory_permille: u32,
}

/// Memory in use, of all workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Bytes in use.
    pub used: u64,
    /// Bytes that may be.
    pub limit: u64,
    /// Shares above which packets are shed, by priority, in thousandths; empty where nothing is.
    pub watermarks: Vec<u32>,
}

/// A flow's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Who with whom.
    pub name: String,
    /// The protocol's name.
    pub proto: String,
    /// In the last interval, both directions.
    pub now: Rates,
    /// Bytes of its frames so far, both directions.
    pub bytes: u64,
}

/// What flows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Bits a second.
    #[default]
    Bits,
    /// Packets a second.
    Packets,
    /// Bytes so far.
    Total,
}

impl Sort {
    /// The next in turn.
    pub fn next(self) -> Self {
        match self {
            Self::Bits => Self::Packets,
            Self::Packets => Self::Total,
            Self::Total => Self::Bits,
        }
    }
}
