//! The contents of archives: times, packets, losses, pauses, encryption.

use std::path::PathBuf;

use tidewire::legible::legible;
use tidewire_archive::{Archive, Identities, Overview, Pause};

use crate::{
    clock::Clock,
    error::{self, CliError},
    output::{Object, Out, push_string},
    terminal,
    units::{Bytes, Lasting, counted},
};

/// Prints the overview of these archives.
pub fn print(directories: &[PathBuf], identity: &[PathBuf], json: bool) -> Result<u8, CliError> {
    let overview = Archive::open(directories, Identities::from_files(identity)?)?.overview()?;
    let mut out = Out::stdout();
    if json {
        push_json(&overview, out.buffer());
    } else {
        text(&overview, directories, &mut out)?;
    }
    out.flush()?;
    Ok(if overview.captures == 0 { error::NOT_FOUND } else { error::OK })
}

fn text(overview: &Overview, directories: &[PathBuf], out: &mut Out) -> Result<(), CliError> {
    let clock = Clock::new(None);
    let mut row = |name: &str, value: String| out.line(&format!("{name:<10}  {value}"));
    let names: Vec<_> = directories.iter().map(|path| path.display().to_string()).collect();
    let names = legible(&names.join(" ")).into_owned();
    row("archive", names)?;
    if overview.captures == 0 {
        return row("segments", "none: nothing was recorded or indexed there yet".into());
    }
    if let Some(first_ns) = overview.first_ns {
        let span = Lasting(overview.last_ns.saturating_sub(first_ns));
        let (from, to) = (clock.sentence(first_ns), clock.sentence(overview.last_ns));
        row("time", format!("{from} to {to} ({span})"))?;
    }
    if overview.unreadable + overview.unindexed < overview.captures {
        row("packets", format!("{}, {}", counted(overview.packets, "packet", "packets"), Bytes(overview.bytes)))?;
        let records = counted(overview.flow_records, "flow record", "flow records");
        row("streams", format!("{records}, one for each segment that a stream is in"))?;
    }
    if overview.growing > 0 {
        let (segments, so_far) = (counted(overview.growing, "segment", "segments"), Bytes(overview.growing_bytes));
        let uncounted = if overview.growing < overview.captures { ", not counted above" } else { "" };
        row(
            "writing",
            format!("{segments}, {so_far} so far{uncounted} (or left by a crash); searches find the packets"),
        )?;
    }
    row("segments", segments(overview))?;
    if !overview.interfaces.is_empty() {
        row("interfaces", legible(&overview.interfaces.join(", ")).into_owned())?;
    }
    losses(overview).into_iter().try_for_each(|(name, value)| row(name, value))?;
    for (place, pause) in overview.pauses.iter().enumerate() {
        let Pause { from_ns, to_ns } = *pause;
        let span = Lasting(to_ns - from_ns);
        let name = if place == 0 { "no packets" } else { "" };
        row(name, format!("{} to {} ({span})", clock.sentence(from_ns), clock.sentence(to_ns)))?;
    }
    let unlisted = overview.pause_count - overview.pauses.len() as u64;
    if unlisted > 0 {
        row("", format!("and {}", counted(unlisted, "shorter pause", "shorter pauses")))?;
    }
    overview.notes.iter().try_for_each(|note| row("note", note.to_string()))?;
    let words: Vec<_> = directories.iter().map(|path| terminal::shell_word(path)).collect();
    let names = words.join(" ");
    if overview.unreadable > 0 {
        return next(&[format!("tidewire recall {names} --identity FILE")], out);
    }
    let identity = if overview.encrypted > 0 { " --identity FILE" } else { "" };
    next(
        &[
            format!("tidewire flows {names}{identity}"),
            format!("tidewire recall {names}{identity} host ADDRESS -w found.pcapng"),
        ],
        out,
    )
}

/// Prints the commands that lead on, each on a line of its own.
fn next(commands: &[String], out: &mut Out) -> Result<(), CliError> {
    out.line("next")?;
    commands.iter().try_for_each(|command| out.line(&format!("  {command}")))
}

fn segments(overview: &Overview) -> String {
    let mut text =
        format!("{}, {} stored", counted(overview.captures, "segment", "segments"), Bytes(overview.stored_bytes));
    for (count, what) in [
        (overview.unfinished, "being written or left by a crash"),
        (overview.repaired, "completed after a crash"),
        (overview.unindexed - overview.growing, "without an index: not counted above"),
        (overview.encrypted, "encrypted"),
        (overview.unreadable, "that need another --identity: packets are not counted"),
        (overview.denied, "that you may not read"),
    ] {
        if count > 0 {
            text.push_str(&format!("; {count} {what}"));
        }
    }
    text
}

/// Packets of the ledger that are not in the archive, by cause.
fn losses(overview: &Overview) -> Vec<(&'static str, String)> {
    let ledger = &overview.ledger;
    let amount = |packets, bytes| format!("{}, {} on the wire", counted(packets, "packet", "packets"), Bytes(bytes));
    let fates = [
        ("cut off", ledger.cut_off_packets, ledger.cut_off_bytes, "beyond a cutoff"),
        ("lost", ledger.shed_packets, ledger.shed_bytes, "neither memory nor disk had room"),
        ("filtered", ledger.filtered_packets, ledger.filtered_bytes, "by a filter, sampling or trigger"),
    ];
    let fates = fates.into_iter().filter(|(_, packets, ..)| *packets > 0);
    let mut rows: Vec<_> =
        fates.map(|(name, packets, bytes, why)| (name, format!("{} ({why})", amount(packets, bytes)))).collect();
    if overview.damaged_bytes > 0 {
        rows.push(("damaged", format!("{} changed by the disk, their packets removed", Bytes(overview.damaged_bytes))));
    }
    if overview.removed > 0 {
        rows.push(("removed", format!("{} to keep within bounds", counted(overview.removed, "segment", "segments"))));
    }
    rows
}

fn push_json(overview: &Overview, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    object.object("overview", |object| {
        if let Some(first_ns) = overview.first_ns {
            object.number("first_ns", first_ns);
            object.number("last_ns", overview.last_ns);
        }
        let ledger = &overview.ledger;
        for (name, number) in [
            ("packets", overview.packets),
            ("packet_bytes", overview.bytes),
            ("flow_records", overview.flow_records),
            ("segments", overview.captures),
            ("stored_bytes", overview.stored_bytes),
            ("segments_unfinished", overview.unfinished),
            ("segments_repaired", overview.repaired),
            ("segments_unindexed", overview.unindexed),
            ("segments_growing", overview.growing),
            ("growing_bytes", overview.growing_bytes),
            ("segments_encrypted", overview.encrypted),
            ("segments_unreadable", overview.unreadable),
            ("segments_denied", overview.denied),
            ("segments_removed", overview.removed),
            ("cut_off_packets", ledger.cut_off_packets),
            ("cut_off_bytes", ledger.cut_off_bytes),
            ("shed_packets", ledger.shed_packets),
            ("shed_bytes", ledger.shed_bytes),
            ("filtered_packets", ledger.filtered_packets),
            ("filtered_bytes", ledger.filtered_bytes),
            ("damaged_bytes", overview.damaged_bytes),
            ("pause_count", overview.pause_count),
        ] {
            object.number(name, number);
        }
        object.array("pauses", overview.pauses.iter(), |out, pause| {
            let mut object = Object::open(out);
            object.number("from_ns", pause.from_ns);
            object.number("to_ns", pause.to_ns);
            object.close();
        });
        object.array("interfaces", overview.interfaces.iter(), |out, name| push_string(out, name));
        object.array("notes", overview.notes.iter().map(ToString::to_string), |out, note| push_string(out, &note));
    });
    object.close();
    out.push(b'\n');
}
