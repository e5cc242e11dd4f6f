//! All data of one moment that the view shows.

use std::time::Duration;

/// A snapshot of a running capture.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Names of the interfaces.
    pub interfaces: String,
    /// Time since the capture was opened.
    pub elapsed: Duration,
    /// Whether updates are paused.
    pub paused: bool,
    /// Rates of the last interval.
    pub now: Rates,
    /// Packets in total.
    pub packets: u64,
    /// Bytes in total.
    pub bytes: u64,
    /// Losses by place, in order of the packets' way; places without losses are omitted.
    pub losses: Vec<Loss>,
    /// Workers, in order.
    pub workers: Vec<Worker>,
    /// The engines' memory.
    pub memory: Memory,
    /// Flows that sent anything in the last interval, sorted.
    pub flows: Vec<Flow>,
    /// Open streams.
    pub open: u64,
    /// The sort key.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub reversed: bool,
    /// Number of flows scrolled past.
    pub scrolled: usize,
    /// The last error of an interface.
    pub trouble: Option<String>,
}

/// Rates per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Packets.
    pub packets: f64,
    /// Bits.
    pub bits: f64,
}

/// Losses at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// The place.
    pub place: &'static str,
    /// In the last interval, per second.
    pub rate: f64,
    /// In total.
    pub total: u64,
}

/// A worker's row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worker {
    /// The CPU it is bound to.
    pub cpu: Option<usize>,
    /// Its rates.
    pub now: Rates,
    /// Packets lost before it, per second.
    pub lost: f64,
    /// Fill level of its fullest ring, in thousandths.
    pub ring_permille: u32,
    /// Share of its memory in use, in thousandths.
    pub memory_permille: u32,
}

/// Memory of all workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Bytes in use.
    pub used: u64,
    /// Limit, bytes.
    pub limit: u64,
    /// Shares above which packets are shed, by priority, in thousandths; empty without shedding.
    pub watermarks: Vec<u32>,
}

/// A flow's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its endpoints.
    pub name: String,
    /// The protocol's name.
    pub proto: String,
    /// Rates of the last interval, both directions.
    pub now: Rates,
    /// Bytes of its frames, both directions.
    pub bytes: u64,
}

/// Sort keys of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Bits a second.
    #[default]
    Bits,
    /// Packets a second.
    Packets,
    /// Total bytes.
    Total,
}

impl Sort {
    /// The next key.
    pub fn next(self) -> Self {
        match self {
            Self::Bits => Self::Packets,
            Self::Packets => Self::Total,
            Self::Total => Self::Bits,
        }
    }
}
