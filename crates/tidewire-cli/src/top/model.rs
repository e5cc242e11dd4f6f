//! Converts reports to snapshots: rates are differences between two reports.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use tidewire::{
    Fate,
    live::{LiveReport, WorkerReport},
};

use super::{
    flows::Noted,
    snapshot::{Flow, Loss, Memory, Rates, Snapshot, Sort, Worker},
};
use crate::{live_report::lost_places, record};

/// Interval between updates.
const INTERVAL: Duration = Duration::from_secs(1);

/// State of the last report.
#[derive(Default)]
pub struct Model {
    /// The current snapshot.
    pub snapshot: Snapshot,
    elapsed: Duration,
    losses: Vec<(&'static str, u64)>,
    workers: Vec<Before>,
    flows: HashMap<u64, (u64, u64)>,
}

/// Counters of a worker in the last report.
#[derive(Clone, Copy, Default)]
struct Before {
    at: Option<Instant>,
    packets: u64,
    bytes: u64,
    lost: u64,
}

impl Model {
    /// Processes a report if an update is due; calls `flows` then.
    pub fn take(&mut self, report: &LiveReport, flows: impl FnOnce() -> HashMap<u64, Noted>) {
        let is_first = self.workers.is_empty();
        if self.snapshot.paused || !is_first && report.elapsed < self.elapsed + INTERVAL {
            return;
        }
        let seconds = report.elapsed.saturating_sub(self.elapsed).as_secs_f64().max(1e-3);
        self.elapsed = report.elapsed;
        self.snapshot.elapsed = report.elapsed;
        self.workers.resize(report.workers.len(), Before::default());
        self.snapshot.workers =
            report.workers.iter().zip(&mut self.workers).map(|(worker, before)| row(worker, before, seconds)).collect();
        let sum = |figure: fn(&Rates) -> f64| self.snapshot.workers.iter().map(|worker| figure(&worker.now)).sum();
        self.snapshot.now = Rates { packets: sum(|rates| rates.packets), bits: sum(|rates| rates.bits) };
        let ledger = report.ledger();
        (self.snapshot.packets, self.snapshot.bytes) = (ledger.received, ledger.received_bytes);
        self.snapshot.open = ledger.streams_opened.saturating_sub(ledger.streams_closed);
        self.snapshot.memory.used = report.workers.iter().map(|worker| worker.buffered_bytes).sum();
        self.snapshot.memory.limit = report.workers.iter().map(|worker| worker.memory_bytes).sum();
        self.lose(report, seconds);
        self.rate(flows(), seconds);
        self.sort();
    }

    fn lose(&mut self, report: &LiveReport, seconds: f64) {
        let ledger = report.ledger();
        let mut losses = lost_places(&report.lost()).to_vec();
        let programs = report.interfaces.iter().filter_map(|interface| interface.kernel.as_ref());
        let shed: u64 = programs.flat_map(|kernel| kernel.shed).sum();
        losses.push(("shed by priority", shed + ledger.fate(Fate::Shed)));
        losses.push(("no room for the flow", ledger.fate(Fate::NoRoom)));
        let before = std::mem::replace(&mut self.losses, losses.clone());
        let of = |place: &str| before.iter().find(|loss| loss.0 == place).map_or(0, |loss| loss.1);
        let losses = losses.into_iter().filter(|loss| loss.1 > 0);
        self.snapshot.losses = losses
            .map(|(place, total)| Loss { place, total, rate: total.saturating_sub(of(place)) as f64 / seconds })
            .collect();
    }

    /// Rates of flows since the last update; idle flows are omitted.
    fn rate(&mut self, flows: HashMap<u64, Noted>, seconds: f64) {
        let before = std::mem::take(&mut self.flows);
        self.snapshot.flows.clear();
        for (id, noted) in flows {
            self.flows.insert(id, (noted.packets, noted.bytes));
            let (packets, bytes) = before.get(&id).copied().unwrap_or_default();
            let (packets, bytes) = (noted.packets.saturating_sub(packets), noted.bytes.saturating_sub(bytes));
            if packets == 0 {
                continue;
            }
            let (key, proto) = (noted.key, noted.key.proto);
            let ends = [key.client, key.server].map(|end| record::endpoint(end, proto));
            self.snapshot.flows.push(Flow {
                name: ends.join(" > "),
                proto: record::proto_name(proto).into_owned(),
                now: Rates { packets: packets as f64 / seconds, bits: bytes as f64 * 8.0 / seconds },
                bytes: noted.bytes,
            });
        }
    }

    /// Sorts flows by the selected key; ties by name.
    pub fn sort(&mut self) {
        let rank = |flow: &Flow| match self.snapshot.sort {
            Sort::Bits => flow.now.bits,
            Sort::Packets => flow.now.packets,
            Sort::Total => flow.bytes as f64,
        };
        let reversed = self.snapshot.reversed;
        self.snapshot.flows.sort_by(|a, b| {
            let order = rank(b).total_cmp(&rank(a));
            (if reversed { order.reverse() } else { order }).then_with(|| a.name.cmp(&b.name))
        });
        self.snapshot.scrolled = self.snapshot.scrolled.min(self.snapshot.flows.len().saturating_sub(1));
    }
}

/// A worker's row. Each worker reports at a different moment.
fn row(worker: &WorkerReport, before: &mut Before, seconds: f64) -> Worker {
    let now = Before {
        at: worker.at,
        packets: worker.ledger.received,
        bytes: worker.ledger.received_bytes,
        lost: worker.rings.dropped + worker.rings.failed,
    };
    let seconds = match (before.at, now.at) {
        (Some(before), Some(now)) if now > before => now.duration_since(before).as_secs_f64(),
        _ => seconds,
    };
    let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 / seconds;
    let row = Worker {
        cpu: worker.cpu,
        now: Rates { packets: rate(before.packets, now.packets), bits: rate(before.bytes, now.bytes) * 8.0 },
        lost: rate(before.lost, now.lost),
        ring_permille: worker.ring_level_permille,
        memory_permille: (worker.buffered_bytes.saturating_mul(1000) / worker.memory_bytes.max(1)) as u32,
    };
    *before = now;
    row
}

/// Watermarks of this number of priorities above a base, in thousandths.
pub fn watermarks(base_permille: u32, priorities: u32) -> Vec<u32> {
    let step = |i: u32| base_permille + 1000_u32.saturating_sub(base_permille) * i / priorities.max(1);
    (1..=priorities).map(step).collect()
}

impl Memory {
    /// Unused memory, with these watermarks.
    pub fn with(watermarks: Vec<u32>) -> Self {
        Self { used: 0, limit: 0, watermarks }
    }
}
