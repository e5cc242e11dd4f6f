//! One capture with a queue, logs and a recording, beside three that have one of these each.

use std::{fs, path::Path};

use serde_json::json;
use tidewire_lab::generate::concurrent;

use crate::{
    median::median,
    program::Program,
    report::{Goal, Section, Table},
    sensor::settings::Settings,
};

/// The goal: CPU time against the sum of the three.
const GOAL: f64 = 0.6;

/// Connections that are open together, exchanges of each, and bytes of a segment's payload.
const FLOWS: u64 = 20_000;
const EXCHANGES: u64 = 5;
const SEGMENT_BYTES: u16 = 1400;
const SEED: u64 = 20_000;

/// The measured program of a configuration, whose tables are those of one purpose or of all.
fn sensor(settings: &Settings, name: &str, trace: &Path, tables: &str, scratch: &Path) -> Result<Program, String> {
    let file = settings.folder.join(format!("together-{}.toml", name.len()));
    let directory = settings.folder.join("together.run");
    let text = format!(
        "[sensor]\ndirectory = \"{}\"\n[capture]\nfiles = [\"{}\"]\n[events]\nenabled = false\n{tables}",
        directory.display(),
        trace.display()
    );
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let words = ["sensor", &file.display().to_string()];
    Ok(settings.program(name, "tidewire", &words).unpinned().scratch(scratch))
}

/// Three programs, and the one that does what they do.
fn programs(settings: &Settings, trace: &Path) -> Result<[Program; 4], String> {
    // On a disk: memory of a file system would be filled as segments are reserved, which costs more than all the rest.
    let scratch = settings.programs.join("together.scratch");
    let (place, file) = (scratch.display(), trace.display().to_string());
    let (log, archive) = (format!("eve:{place}/eve.json"), format!("{place}/archive"));
    let command = |name: &str, words: &[&str]| settings.program(name, "tidewire", words).unpinned().scratch(&scratch);
    let all = format!("[queue.a]\n[output.logs]\nto = \"{log}\"\n[record]\ndirectory = \"{archive}\"\n");
    Ok([
        sensor(settings, "queue: sensor", trace, "[queue.a]\n", &scratch)?,
        command("logs: flows --to eve", &["flows", &file, "--to", &log]),
        command("recording: record -r", &["record", "-r", &file, "-o", &archive]),
        sensor(settings, "all three: one sensor", trace, &all, &scratch)?,
    ])
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let flows = if settings.quick { FLOWS / 4 } else { FLOWS };
    let trace = settings.folder.join("together.pcap");
    let made = concurrent(&trace, flows, EXCHANGES, SEGMENT_BYTES, SEED);
    let (packets, bytes) = made.map_err(|error| format!("{}: {error}", trace.display()))?;
    let programs = programs(settings, &trace)?;
    let mut cpu: Vec<Vec<f64>> = vec![Vec::new(); programs.len()];
    let mut written = [0; 4];
    for round in 0..=settings.rounds() {
        for (index, program) in programs.iter().enumerate() {
            let finished = program.run()?;
            if finished.usage.status != 0 {
                return Err(format!("{}: exit status {}: {}", program.name, finished.usage.status, finished.errors));
            }
            written[index] = finished.written_bytes;
            if round > 0 {
                cpu[index].push(finished.usage.cpu_s());
            }
        }
    }
    let _ = fs::remove_file(&trace);
    let sums: Vec<f64> = (0..cpu[0].len()).map(|round| cpu[..3].iter().map(|rounds| rounds[round]).sum()).collect();
    let ratios: Vec<f64> = cpu[3].iter().zip(&sums).map(|(one, three)| one / three).collect();
    let ratio = median(&ratios);
    let mut table = Table::new("", &["program", "CPU s", "written MB"]);
    for ((program, cpu), written) in programs.iter().zip(&cpu).zip(written) {
        let cells = [program.name.clone(), format!("{:.3}", median(cpu)), format!("{:.1}", written as f64 / 1e6)];
        table.lines.push(cells.into());
    }
    table.lines.push(vec!["the three together".into(), format!("{:.3}", median(&sums)), String::new()]);
    Ok(Section {
        title: "One capture for everything".into(),
        text: format!(
            "A trace of {packets} packets, {:.0} MB, of {flows} connections that are open together, read once: a queue without a reader, \
             logs in EVE and a recording, each by a program of its own, and by one sensor. CPU time of all processes of each, user and \
             system, threads behind the capture included. Rounds in turn; the ratio is the median of the rounds' ratios.",
            bytes as f64 / 1e6
        ),
        points: vec![json!({
            "programs": programs.each_ref().map(|program| &program.name), "cpu_s": cpu, "ratios": ratios, "packets": packets, "bytes": bytes,
        })],
        goals: vec![Goal {
            work: Some(["queue, logs and recording by one sensor, CPU time".into(), "three programs".into()]),
            wanted: format!("at most {GOAL} ×"),
            figure: format!("{ratio:.2} ×"),
            met: ratio.is_finite().then_some(ratio <= GOAL),
        }],
        tables: vec![table],
        ..Section::default()
    })
}
