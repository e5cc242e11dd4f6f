//! Cost of a stream queue for the capturing process, against a handler that only counts.

use std::path::Path;

use serde_json::json;
use tidewire_files::{Block, Reader, Source as _};
use tidewire_lab::pcapfile::Writer;
use tidewire_sensor::config::{CaptureInput, Unit};

use crate::{
    median::median,
    program::{CORE, Program},
    report::{Goal, Section, Table},
    sensor::{
        capturing::{Analyzers, Capturing, config},
        settings::Settings,
    },
};

/// The goal: CPU time against the counting handler.
const GOAL: f64 = 1.35;
/// Frames of **big** that callgrind counts instructions over.
const COUNTED_FRAMES: usize = 100_000;

/// A way to run the capture.
#[derive(Clone, Copy, Debug)]
struct Way {
    name: &'static str,
    chunk_bytes: u32,
    readers: usize,
    is_goal: bool,
}

const WAYS: [Way; 3] = [
    Way { name: "stream queue, one reader", chunk_bytes: 0, readers: 1, is_goal: true },
    Way { name: "stream queue, one reader, chunks of 16 KiB", chunk_bytes: 16 << 10, readers: 1, is_goal: false },
    Way { name: "stream queue, no reader", chunk_bytes: 0, readers: 0, is_goal: false },
];

/// One run of the capture.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    cpu_s: f64,
    records: u64,
    bytes: u64,
    read: u64,
}

fn run_way(settings: &Settings, way: Way, trace: &Path, wrapper: &[&str]) -> Result<Run, String> {
    let program = settings.programs.join("queue-loop");
    let mut config = config(&settings.folder, CaptureInput::Files(vec![trace.to_owned()]), Unit::Streams);
    let queue = &mut config.queues[0];
    (queue.chunk_bytes, queue.wait_for) = (way.chunk_bytes, way.readers);
    // Valgrind makes system calls that the sandbox refuses.
    config.capture.sandbox &= wrapper.is_empty();
    let core = CORE.to_string();
    let pinned = [&["taskset", "-c", core.as_str()], wrapper].concat();
    let capturing = Capturing::start(&pinned, &program, &config, None)?;
    let analyzers = Analyzers::start(&program, &settings.folder, way.readers, "0", &[])?;
    let (status, usage) = capturing.finish()?;
    let figures = analyzers.finish()?;
    let queue = status.queues.first().ok_or("the capture says nothing of its queue")?;
    let read = figures.iter().map(|figures| figures.read).sum();
    if way.readers > 0 && read != queue.records * way.readers as u64 {
        return Err(format!("{} records were published, {read} read", queue.records));
    }
    Ok(Run { cpu_s: usage.cpu_s(), records: queue.records, bytes: queue.bytes, read })
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "The capturing process with a stream queue".into(),
        text: "The whole file **big** (docs/bench.md), read once: CPU time of the capturing process, user and system, its start \
               and the thread that serves the queue included. The reader is another process on the other core; it copies every \
               record and misses none, since a queue over files holds. Settings are the defaults, but for the size of chunks. The counting handler is `tidewire-bench count` with the same \
               settings of the engine. Rounds in turn; the ratio is the median of the rounds' ratios. Instructions are \
               callgrind's, over the beginning of the file, the start of the process included."
            .into(),
        ..Section::default()
    };
    let Some(big) = &settings.big else {
        section.skipped.push("no recording of real traffic (needs root)".into());
        return Ok(section);
    };
    let words = ["count", &big.display().to_string(), "--checksum", "auto"];
    let counting = settings.program("counting handler", "tidewire-bench", &words);
    let rounds = if settings.quick { 2 } else { 5 };
    let mut alone = Vec::new();
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); WAYS.len()];
    for round in 0..=rounds {
        let finished = counting.run()?;
        if round > 0 {
            alone.push(finished.usage.cpu_s());
        }
        for (way, runs) in WAYS.iter().zip(&mut runs) {
            let run = run_way(settings, *way, big, &[])?;
            if round > 0 {
                runs.push(run);
            }
        }
    }
    let instructions = instructions(settings, big, &mut section);
    let mut table =
        Table::new("", &["program", "CPU s", "against counting", "records", "MB", "instructions", "against counting"]);
    let count = |index: usize| instructions.get(index).copied().flatten();
    let cells = |index: usize| {
        let own = count(index);
        let ratio = own.zip(count(0)).map(|(own, counting)| own / counting);
        [own.map_or("–".into(), |own| format!("{:.0} M", own / 1e6)), ratio.map_or("–".into(), |r| format!("{r:.2} ×"))]
    };
    let [own, _] = cells(0);
    let line = ["counting handler", &format!("{:.3}", median(&alone)), "", "", "", &own, ""].map(str::to_owned);
    table.lines.push(line.into());
    for (index, (way, runs)) in WAYS.iter().zip(&runs).enumerate() {
        let ratios: Vec<f64> = runs.iter().zip(&alone).map(|(run, alone)| run.cpu_s / alone).collect();
        let cpu: Vec<f64> = runs.iter().map(|run| run.cpu_s).collect();
        let (ratio, last) = (median(&ratios), runs.last().copied().unwrap_or_default());
        let [own, own_ratio] = cells(index + 1);
        table.lines.push(vec![
            way.name.into(),
            format!("{:.3}", median(&cpu)),
            format!("{ratio:.2} ×"),
            last.records.to_string(),
            format!("{:.0}", last.bytes as f64 / 1e6),
            own,
            own_ratio,
        ]);
        section.points.push(json!({ "way": way.name, "cpu_s": cpu, "counting_cpu_s": alone, "ratios": ratios,
            "records": last.records, "bytes": last.bytes, "read": last.read, "instructions": count(index + 1) }));
        if way.is_goal {
            section.goals.push(Goal {
                work: Some([
                    "big: capture with a stream queue and a reader, CPU time".into(),
                    "counting handler".into(),
                ]),
                wanted: format!("at most {GOAL} ×"),
                figure: format!("{ratio:.2} ×"),
                met: ratio.is_finite().then_some(ratio <= GOAL),
            });
        }
    }
    section.tables.push(table);
    Ok(section)
}

/// Instructions of the counting handler and of each way over the beginning of the file; `None` where callgrind cannot run.
fn instructions(settings: &Settings, big: &Path, section: &mut Section) -> Vec<Option<f64>> {
    let beginning = settings.folder.join("beginning.pcap");
    let frames = if settings.quick { COUNTED_FRAMES / 10 } else { COUNTED_FRAMES };
    let mut counts: Vec<Result<f64, String>> = Vec::new();
    if let Err(why) = write_beginning(big, &beginning, frames) {
        section.skipped.push(format!("instructions: {why}"));
        return Vec::new();
    }
    let output = settings.folder.join("callgrind.out");
    let option = format!("--callgrind-out-file={}", output.display());
    let valgrind = ["valgrind", "--tool=callgrind", option.as_str()];
    let trace = beginning.display().to_string();
    let path = settings.programs.join("tidewire-bench").display().to_string();
    let words = [&valgrind[..], &[&path, "count", &trace, "--checksum", "auto"]].concat();
    let counting = Program::new("counting handler", &words).run().map(drop);
    counts.push(counting.and_then(|()| total(&output)));
    for way in WAYS {
        counts.push(run_way(settings, way, &beginning, &valgrind).and_then(|_| total(&output)));
    }
    for why in counts.iter().filter_map(|count| count.as_ref().err()) {
        section.skipped.push(format!("instructions: {why}"));
    }
    counts.into_iter().map(Result::ok).collect()
}

/// The total of a profile, which is then removed.
fn total(path: &Path) -> Result<f64, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("callgrind wrote no profile: {error}"))?;
    let _ = std::fs::remove_file(path);
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    line.and_then(|line| line.split(' ').next()?.parse().ok()).ok_or_else(|| "callgrind's profile has no total".into())
}

fn write_beginning(from: &Path, to: &Path, frames: usize) -> Result<(), String> {
    let mut reader = Reader::open(from).map_err(|error| error.to_string())?;
    let mut writer = Writer::create(to).map_err(|error| error.to_string())?;
    let (mut block, mut left) = (Block::new(), frames);
    while left > 0 && reader.fill(&mut block).map_err(|error| error.to_string())? {
        let batch = block.batch();
        for frame in batch.frames.iter().take(left) {
            let written = writer.write_record(frame.timestamp.as_nanos() / 1000, batch.bytes(frame), frame.wire_bytes);
            written.map_err(|error| error.to_string())?;
            left -= 1;
        }
    }
    writer.finish().map(drop).map_err(|error| error.to_string())
}
