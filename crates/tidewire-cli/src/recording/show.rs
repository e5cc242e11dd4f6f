//! Messages about a recording: errors while it runs, and the summary at its end.

use std::time::Duration;

use tidewire::{Ledger, legible::legible};
use tidewire_archive::{Kept, PriorityLedger};
use tidewire_recorder::{Notice, Snapshot, Targets};

use super::options::Options;
use crate::{
    error::{self, CliError},
    live::{self, LiveReport},
    output::{Object, Out},
    terminal,
    units::{Bytes, Count, Lasting, counted},
};

/// Reports errors and what became of them.
pub fn report(notice: Notice) {
    if let Some(text) = notice.words() {
        error::notify(text);
    }
}

/// The summary, as text or as an object.
pub fn summary(
    figures: &Snapshot,
    targets: &Targets,
    elapsed: Duration,
    live: Option<(&LiveReport, &Ledger)>,
    options: &Options,
    out: &mut Out,
) -> Result<(), CliError> {
    if options.json {
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
        if let Some(waiting) = &figures.waiting {
            object.number("triggers", waiting.triggers);
            object.number("waiting_bytes", waiting.bytes);
            object.number("waiting_ns", waiting.span_ns);
        }
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
    let lost = Count(lost(figures));
    out.line(&format!("{packets} recorded, {lost} lost, {stored} stored in {segments}: {}", places.join(", ")))?;
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
    if let Some(waiting) = &figures.waiting {
        let (triggers, bytes) = (counted(waiting.triggers, "trigger", "triggers"), Bytes(waiting.bytes));
        let span = Lasting(waiting.span_ns);
        out.line(&format!("  look-back {triggers}; {bytes} of packets ({span}) waited in memory at the end"))?;
    }
    let kept = kept(targets);
    if kept.segments != figures.segments {
        let (segments, bytes) = (counted(kept.segments, "segment", "segments"), Bytes(kept.bytes));
        let removed = match figures.removed {
            0 => String::new(),
            count => format!("; {} removed to keep within bounds", counted(count, "was", "were")),
        };
        out.line(&format!("  there now {segments}, {bytes} with indexes{removed}"))?;
    }
    if kept.segments > 0 {
        let identity = if options.encrypt_to.is_empty() { "" } else { " --identity FILE" };
        let directories = targets.directories().iter().map(|directory| terminal::shell_word(directory.path()));
        out.line("find packets:")?;
        out.line(&format!("  tidewire recall {}{identity}", directories.collect::<Vec<_>>().join(" ")))?;
    }
    out.flush()
}

/// Packets that neither the kernel's ring, nor memory, nor the disk had room for.
pub fn lost(figures: &Snapshot) -> u64 {
    figures.dropped + figures.totals.all().shed_packets
}

/// Says where reading ended because a directory could not be written to, and what became of the packets. `read`: of the input.
pub fn failed(figures: &Snapshot, read: u64) -> String {
    let all = figures.totals.all();
    let packets = |count| counted(count, "packet is", "packets are");
    let segments = counted(figures.segments, "whole segment", "whole segments");
    let (last, complete) = (Count(read), packets(figures.completed_packets));
    let mut said = format!("reading ended after packet {last}: {complete} in {segments}");
    let hidden = all.written_packets.saturating_sub(figures.completed_packets);
    if hidden > 0 {
        said += &format!(", {} in hidden files that the next recording there completes", packets(hidden));
    }
    if all.shed_packets > 0 {
        said += &format!(", {} lost", packets(all.shed_packets));
    }
    said
}

/// Figures of all directories together.
pub fn kept(targets: &Targets) -> Kept {
    targets.directories().iter().map(tidewire_archive::Directory::kept).fold(Kept::default(), |sum, kept| Kept {
        segments: sum.segments + kept.segments,
        bytes: sum.bytes + kept.bytes,
        oldest_ns: [sum.oldest_ns, kept.oldest_ns].into_iter().flatten().min(),
    })
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
