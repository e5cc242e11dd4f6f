//! What is said of a recording: while it runs, and at the end.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::fs::statvfs;
use tidewire::{Ledger, legible::legible};
use tidewire_archive::PriorityLedger;
use tidewire_recorder::{Notice, Snapshot, Status, Targets};

use crate::{
    error::{self, CliError},
    live::{self, LiveReport},
    output::{Object, Out},
    progress, terminal,
    units::{Bytes, Count, counted},
};

/// Time between two updates of the line on a terminal.
const EVERY: Duration = Duration::from_secs(1);

/// Nanoseconds since the epoch.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The figures of all workers.
pub fn sum(statuses: &[Arc<Status>]) -> Snapshot {
    let mut sum = Snapshot::default();
    statuses.iter().for_each(|status| sum.add(&status.snapshot()));
    sum
}

/// Tells of errors and what became of them.
pub fn tell(notice: Notice) {
    match notice {
        Notice::Failed { error, retries: true } => {
            error::notify(format_args!("{error}; recording goes on in memory, and on the disk when it can"));
        }
        Notice::Failed { error, retries: false } => error::notify(error),
        Notice::Recovered { path, untold } => {
            let path = path.display();
            if untold > 0 {
                error::notify(format_args!("{path}: {} more failed meanwhile", counted(untold, "attempt", "attempts")));
            }
            error::notify(format_args!("{path}: recording goes on"));
        }
        Notice::Repeated { path, error, times } => {
            let times = counted(times, "more time", "more times");
            error::notify(format_args!("{}: {times} the same (last: {error})", path.display()));
        }
        Notice::Repaired { repaired } => error::notify(repaired),
        _ => {}
    }
}

/// What the file systems of the directories have left, and when the oldest segment began.
fn room(targets: &Targets) -> (u64, Option<u64>) {
    let free = |path: &std::path::Path| statvfs(path).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    let free = targets.directories().iter().map(|directory| free(directory.path())).sum();
    (free, targets.directories().iter().filter_map(|directory| directory.kept().oldest_ns).min())
}

/// The line on a terminal.
pub struct Line {
    is_on: bool,
    begun: Instant,
    drawn: Instant,
    before: PriorityLedger,
}

impl Line {
    pub fn new() -> Self {
        let is_on = std::io::stderr().is_terminal() && terminal::has_escapes();
        Self { is_on, begun: Instant::now(), drawn: Instant::now(), before: PriorityLedger::default() }
    }

    /// Updates it, if it is due.
    pub fn show(&mut self, statuses: &[Arc<Status>], targets: &Targets) {
        if !self.is_on || self.drawn.elapsed() < EVERY {
            return;
        }
        let seconds = self.drawn.elapsed().as_secs_f64();
        self.drawn = Instant::now();
        let now = sum(statuses);
        let text = line(&now, &self.before, seconds, room(targets), self.begun.elapsed());
        self.before = now.totals.all();
        let columns = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let text: String = text.chars().take(columns.saturating_sub(6)).collect();
        let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        progress::set_shown();
    }
}

fn line(now: &Snapshot, before: &PriorityLedger, seconds: f64, room: (u64, Option<u64>), elapsed: Duration) -> String {
    let all = now.totals.all();
    let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / seconds.max(1e-3)) as u64;
    let (bytes, packets) =
        (rate(all.received_bytes, before.received_bytes), rate(all.received_packets, before.received_packets));
    let lost = now.dropped + all.shed_packets;
    let mut text = format!(
        "{} s: {}/s, {} packets/s, {} written, {} lost, {} left",
        elapsed.as_secs(),
        Bytes(bytes),
        Count(packets),
        Bytes(now.stored_bytes),
        Count(lost),
        Bytes(room.0)
    );
    if let Some(oldest) = room.1 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = now.saturating_sub(Duration::from_nanos(oldest)).as_secs();
        text += &format!(", oldest {}", age_text(age));
    }
    text
}

fn age_text(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The summary, as text or as an object.
pub fn summary(
    figures: &Snapshot,
    targets: &Targets,
    elapsed: Duration,
    live: Option<(&LiveReport, &Ledger)>,
    json: bool,
    out: &mut Out,
) -> Result<(), CliError> {
    if json {
        let mut object = Object::open(out.buffer());
        object.number("elapsed_ns", u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        push_ledger(&mut object, &figures.totals.all());
        object.array("priorities", figures.totals.priorities(), |out, ledger| {
            let mut object = Object::open(out);
            object.number("priority", ledger.priority.into());
            push_ledger(&mut object, &ledger);
            object.close();
        });
        object.number("stored_bytes", figures.stored_bytes);
        object.number("segments", figures.segments);
        object.number("segments_removed", figures.removed);
        object.number("dropped_packets", figures.dropped);
        object.array("directories", targets.directories(), |out, directory| {
            let mut object = Object::open(out);
            let kept = directory.kept();
            object.text("path", &directory.path().to_string_lossy());
            object.number("segments", kept.segments);
            object.number("bytes", kept.bytes);
            object.close();
        });
        if let Some((report, ledger)) = live {
            live::push_json(&mut object, report, ledger);
        }
        object.close();
        out.buffer().push(b'\n');
        return out.flush();
    }
    let all = figures.totals.all();
    let segments = counted(figures.segments, "segment", "segments");
    let (packets, stored) = (counted(all.written_packets, "packet", "packets"), Bytes(figures.stored_bytes));
    let places: Vec<_> = targets
        .directories()
        .iter()
        .map(|directory| legible(&directory.path().to_string_lossy()).into_owned())
        .collect();
    out.line(&format!("{packets} recorded, {stored} stored in {segments}: {}", places.join(", ")))?;
    let fates = [
        ("received", all.received_packets, all.received_bytes),
        ("written", all.written_packets, all.written_bytes),
        ("cut off", all.cut_off_packets, all.cut_off_bytes),
        ("shed", all.shed_packets, all.shed_bytes),
        ("filtered", all.filtered_packets, all.filtered_bytes),
    ];
    for (name, packets, bytes) in fates.into_iter().filter(|(name, packets, _)| *packets > 0 || *name == "received") {
        let (packets, bytes) = (Count(packets).to_string(), Bytes(bytes).to_string());
        out.line(&format!("  {name:<10}{packets:>16} packets  {bytes:>10} on the wire"))?;
    }
    if figures.dropped > 0 {
        let packets = Count(figures.dropped).to_string();
        out.line(&format!("  dropped   {packets:>16} packets by the kernel before they were received"))?;
    }
    if figures.removed > 0 {
        out.line(&format!("  {} removed to keep within bounds", counted(figures.removed, "segment", "segments")))?;
    }
    out.flush()
}

fn push_ledger(object: &mut Object<'_>, ledger: &PriorityLedger) {
    object.number("received_packets", ledger.received_packets);
    object.number("received_bytes", ledger.received_bytes);
    object.number("written_packets", ledger.written_packets);
    object.number("written_bytes", ledger.written_bytes);
    object.number("cut_off_packets", ledger.cut_off_packets);
    object.number("cut_off_bytes", ledger.cut_off_bytes);
    object.number("shed_packets", ledger.shed_packets);
    object.number("shed_bytes", ledger.shed_bytes);
    object.number("filtered_packets", ledger.filtered_packets);
    object.number("filtered_bytes", ledger.filtered_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_it_goes() {
        let before = PriorityLedger::default();
        let now = Snapshot { stored_bytes: 5_000_000_000, dropped: 3, ..Snapshot::default() };
        let text = line(&now, &before, 1.0, (80_000_000_000, None), Duration::from_secs(12));
        assert_eq!(text, "12 s: 0 B/s, 0 packets/s, 5.0 GB written, 3 lost, 80.0 GB left");
        assert_eq!(age_text(7100), "118 min");
        assert_eq!(age_text(14 * 86_400), "14 days");
    }
}
