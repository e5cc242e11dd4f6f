use std::time::{Duration, Instant};

use crate::Error;
use tidewire_live::{Interface, InterfaceCounts};

use super::plan::{Progress, RunEnd, Sender};
use crate::{rate::CABLE_BYTES, size::FCS_BYTES, traffic::Traffic};

/// Frames sent, by the sender's account and by the interfaces' counters.
#[derive(Clone, Debug)]
pub struct Report {
    /// The sender.
    pub sender: Sender,
    /// Why the kernel sender was not used, if it was tried.
    pub fallback: Option<String>,
    /// Why the run ended.
    pub ended: RunEnd,
    /// Frames handed to the interfaces; their numbers are 0 to one less.
    pub packets: u64,
    /// Their bytes, with FCS.
    pub bytes: u64,
    /// Their bits on the wire, preamble and gap included.
    pub cable_bits: u64,
    /// From the first frame to the last.
    pub elapsed: Duration,
    /// Frames that could not be generated; 0 unless there is a bug.
    pub failed: u64,
    /// How often the interface had no room for a frame, which was then retried (packet socket).
    pub refused: u64,
    /// How often the sender was delayed for longer than it may catch up on.
    pub late: u64,
    /// By interface.
    pub interfaces: Vec<Sent>,
    /// Further counts of the traffic.
    pub tally: Vec<(&'static str, u64)>,
}

/// Frames of an interface.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its name.
    pub interface: String,
    /// Frames handed to it.
    pub packets: u64,
    /// Its counters since the start: frames of all senders.
    pub counted: InterfaceCounts,
}

impl Sent {
    /// Frames that the interface neither sent nor dropped by its counters; 0 unless another sender uses it,
    /// or redirected frames are diverted.
    #[must_use]
    pub fn unaccounted(&self) -> i64 {
        let counted = self.counted.tx_packets.saturating_add(self.counted.tx_dropped);
        self.packets.cast_signed().saturating_sub(counted.cast_signed())
    }
}

impl Report {
    /// Frames that reached the other ends, by the interfaces' counters.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.interfaces.iter().map(|sent| sent.counted.tx_packets).sum()
    }

    /// Frames that the other ends had no room for, by the interfaces' counters.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.interfaces.iter().map(|sent| sent.counted.tx_dropped).sum()
    }

    /// Frames a second.
    #[must_use]
    pub fn packets_per_s(&self) -> f64 {
        self.packets as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Bits per second on the wire.
    #[must_use]
    pub fn cable_bits_per_s(&self) -> f64 {
        self.cable_bits as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The account of a run.
pub(super) struct Account {
    began: Instant,
    /// When the last frame was sent.
    pub last: Duration,
    pub packets: [u64; 2],
    /// On the wire, preamble and gap included.
    pub cable_bytes: u64,
    pub failed: u64,
    pub refused: u64,
    pub late: u64,
    before: Vec<(String, InterfaceCounts)>,
}

impl Account {
    pub fn new(links: &[Interface]) -> Result<Self, Error> {
        let now = |link: &Interface| Ok((link.name.clone(), Interface::find(&link.name)?.counts));
        let before = links.iter().map(now).collect::<Result<_, Error>>()?;
        let began = Instant::now();
        Ok(Self {
            began,
            last: Duration::ZERO,
            packets: [0; 2],
            cable_bytes: 0,
            failed: 0,
            refused: 0,
            late: 0,
            before,
        })
    }

    /// Starts the clock with the first frame.
    pub fn start(&mut self) {
        self.began = Instant::now();
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn bytes(&self) -> u64 {
        let packets: u64 = self.packets.iter().sum();
        self.cable_bytes.saturating_sub(packets * (CABLE_BYTES - u64::from(FCS_BYTES)))
    }

    pub fn progress(&self) -> Progress {
        Progress { packets: self.packets.iter().sum(), bytes: self.bytes(), elapsed: self.elapsed() }
    }

    /// The interfaces' counters since the start.
    pub fn counted(&self) -> Result<Vec<InterfaceCounts>, Error> {
        self.before.iter().map(|(name, before)| Ok(Interface::find(name)?.counts.since(before))).collect()
    }

    /// Waits until the interfaces have counted all frames: a veth counts a frame when its other end receives it.
    fn settled(&self) -> Result<Vec<InterfaceCounts>, Error> {
        const TIMEOUT: Duration = Duration::from_millis(500);
        let began = Instant::now();
        let all = |counts: &[InterfaceCounts]| {
            let pairs = counts.iter().zip(self.shares());
            pairs.into_iter().all(|(counts, sent)| counts.tx_packets + counts.tx_dropped >= sent)
        };
        let mut counts = self.counted()?;
        while !all(&counts) && began.elapsed() < TIMEOUT {
            std::thread::sleep(Duration::from_millis(2));
            counts = self.counted()?;
        }
        Ok(counts)
    }

    /// Frames by interface; a single interface is both ends.
    fn shares(&self) -> Vec<u64> {
        let [near, far] = self.packets;
        if self.before.len() < 2 { vec![near + far] } else { vec![near, far] }
    }

    pub fn finish(
        self,
        ended: RunEnd,
        sender: Sender,
        fallback: Option<String>,
        traffic: &dyn Traffic,
    ) -> Result<Report, Error> {
        // Without the counters of a removed interface the sender's account is still valid.
        let counted = self.settled().unwrap_or_else(|_| vec![InterfaceCounts::default(); self.before.len()]);
        let interfaces = self.before.iter().zip(counted).zip(self.shares());
        let interfaces = interfaces
            .map(|(((name, _), counted), packets)| Sent { interface: name.clone(), packets, counted })
            .collect();
        Ok(Report {
            sender,
            fallback,
            ended,
            packets: self.packets.iter().sum(),
            bytes: self.bytes(),
            cable_bits: self.cable_bytes * 8,
            elapsed: self.last,
            failed: self.failed,
            refused: self.refused,
            late: self.late,
            interfaces,
            tally: traffic.tally(),
        })
    }
}
