//! The line on a terminal that says how a recording goes.

use std::{path::Path, time::Duration};

use rustix::fs::statvfs;
use tidewire_archive::PriorityLedger;
use tidewire_recorder::{Recording, Snapshot, Targets};

use super::show::{kept, lost};
use crate::{
    status_line::{Item, StatusLine},
    times::now_ns,
    units::{Bytes, Count, counted},
};

/// The line.
pub struct Line {
    line: StatusLine,
    before: PriorityLedger,
}

impl Line {
    pub fn new() -> Self {
        Self { line: StatusLine::new(), before: PriorityLedger::default() }
    }

    /// Updates it, if it is due.
    pub fn show(&mut self, recording: &Recording) {
        let Some(since) = self.line.due() else { return };
        let (now, room) = (recording.snapshot(), room(recording.targets()));
        let items = items(&now, &self.before, since.as_secs_f64(), room, self.line.elapsed());
        self.before = now.totals.all();
        self.line.draw(items);
    }
}

/// Free bytes of the directories' file systems, and when the oldest segment began.
fn room(targets: &Targets) -> (u64, Option<u64>) {
    let free = |path: &Path| statvfs(path).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    let free = targets.directories().iter().map(|directory| free(directory.path())).sum();
    (free, kept(targets).oldest_ns)
}

fn items(
    now: &Snapshot,
    before: &PriorityLedger,
    seconds: f64,
    room: (u64, Option<u64>),
    elapsed: Duration,
) -> Vec<Item> {
    let all = now.totals.all();
    let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / seconds.max(1e-3)) as u64;
    let (bytes, packets) =
        (rate(all.received_bytes, before.received_bytes), rate(all.received_packets, before.received_packets));
    let mut items = vec![
        (0, format!("{} s: {}/s", elapsed.as_secs(), Bytes(bytes))),
        (4, format!("{} packets/s", Count(packets))),
        (1, format!("{} written", Bytes(now.stored_bytes))),
        (0, format!("{} lost", Count(lost(now)))),
    ];
    if let Some(waiting) = &now.waiting {
        let span = age_text(waiting.span_ns / 1_000_000_000);
        items.push((2, format!("waiting {} ({span})", Bytes(waiting.bytes))));
        items.push((3, counted(waiting.triggers, "trigger", "triggers")));
    }
    items.push((5, format!("{} left", Bytes(room.0))));
    if let Some(oldest) = room.1 {
        let age = now_ns().saturating_sub(oldest) / 1_000_000_000;
        items.push((6, format!("oldest {}", age_text(age))));
    }
    items
}

fn age_text(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use tidewire_recorder::Waiting;

    use super::*;
    use crate::status_line::fitted;

    #[test]
    fn the_line_says_how_it_goes_in_whole_items() {
        let before = PriorityLedger::default();
        let now = Snapshot { stored_bytes: 5_000_000_000, dropped: 3, ..Snapshot::default() };
        let of = |now: &Snapshot, oldest| items(now, &before, 1.0, (80_000_000_000, oldest), Duration::from_secs(12));
        let whole = "12 s: 0 B/s, 0 packets/s, 5.0 GB written, 3 lost, 80.0 GB left";
        assert_eq!(fitted(of(&now, None), 200), whole);
        let old = fitted(of(&now, Some(0)), 200);
        assert!(old.starts_with(&format!("{whole}, oldest ")), "{old}");
        assert_eq!(fitted(of(&now, Some(0)), old.len() - 1), whole);
        assert_eq!(fitted(of(&now, Some(0)), whole.len() - 1), "12 s: 0 B/s, 0 packets/s, 5.0 GB written, 3 lost");
        assert_eq!(fitted(of(&now, Some(0)), 20), "12 s: 0 B/s, 3 lost");
        let waiting = Some(Waiting { bytes: 12_000_000, span_ns: 5_400_000_000, triggers: 1 });
        let now = Snapshot { waiting, ..Snapshot::default() };
        assert_eq!(fitted(of(&now, None), 74), "12 s: 0 B/s, 0 B written, 0 lost, waiting 12.0 MB (5 s), 1 trigger");
        assert_eq!(age_text(7100), "118 min");
        assert_eq!(age_text(14 * 86_400), "14 days");
    }
}
