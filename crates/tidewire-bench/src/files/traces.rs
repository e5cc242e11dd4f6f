//! The traces. They are made once in a scratch folder and reused by the next run.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tidewire::LinkType;
use tidewire_files::{Block, Reader, Source};
use tidewire_lab::{
    generate::{Worst, concurrent, impair, worst},
    pcapfile::Writer,
    random::Random,
};

/// The sizes of the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Seconds that are recorded for **big**.
    pub big_seconds: u32,
    /// Connections of **100k**.
    pub connections: u64,
    /// Packets of each worst case.
    pub worst_packets: u64,
    /// Frames of **real**, at most.
    pub real_packets: usize,
}

impl Scale {
    /// For figures to quote.
    pub const FULL: Self =
        Self { big_seconds: 14, connections: 100_000, worst_packets: 1_000_000, real_packets: 450_000 };
    /// For a quick run.
    pub const QUICK: Self = Self { big_seconds: 3, connections: 20_000, worst_packets: 200_000, real_packets: 100_000 };
}

/// Paths of the traces, and why some are absent.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Recorded traffic of real kernels and servers.
    pub big: Option<PathBuf>,
    /// **big** on a lossy path.
    pub lossy: Option<PathBuf>,
    /// Many connections at once.
    pub concurrent: PathBuf,
    /// Public captures of every kind, merged.
    pub real: Option<PathBuf>,
    /// The worst cases, the benign reference first.
    pub worst: Vec<(Worst, PathBuf)>,
    /// Traces that are absent, and why.
    pub notes: Vec<String>,
}

/// Makes the traces that do not exist yet.
///
/// # Errors
/// The error of the file system. Traces that need root or the shared corpus are noted as absent instead.
pub fn make(folder: &Path, scale: Scale, record: &Path, log: &dyn Fn(&str)) -> Result<Traces, String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mut traces = Traces::default();
    let big = folder.join("big.pcap");
    let seconds = scale.big_seconds.to_string();
    let recorded = ready(&big, |path| {
        log(&format!("recording {seconds} s of real traffic (big)"));
        let status = Command::new(record).arg(path).arg(&seconds).status().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", record.display())) }
    });
    match recorded {
        Ok(()) => {
            let lossy = folder.join("lossy.pcap");
            ready(&lossy, |path| {
                log("making lossy");
                impair(&big, path, 1).map(drop).map_err(|error| error.to_string())
            })?;
            (traces.big, traces.lossy) = (Some(big), Some(lossy));
        }
        Err(why) => traces.notes.push(format!("**big** and **lossy** are absent: {why}")),
    }
    traces.concurrent = folder.join("concurrent.pcap");
    ready(&traces.concurrent, |path| {
        log("making 100k");
        concurrent(path, scale.connections, 10, 0, 1).map(drop).map_err(|error| error.to_string())
    })?;
    for &kind in Worst::ALL {
        let path = folder.join(format!("worst-{}.pcap", kind.name()));
        ready(&path, |path| worst(path, kind, scale.worst_packets, 1).map(drop).map_err(|error| error.to_string()))?;
        traces.worst.push((kind, path));
    }
    let real = folder.join("real.pcap");
    match corpus() {
        Some(captures) => {
            ready(&real, |path| {
                log("merging the shared corpus (real)");
                merge(&captures, path, scale.real_packets)
            })?;
            traces.real = Some(real);
        }
        None => traces.notes.push("**real** is absent: no `../shared/corpus` beside the checkout".into()),
    }
    Ok(traces)
}

/// Makes a file under another name and renames it when it is complete, unless it exists already.
fn ready(path: &Path, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    let unfinished = path.with_extension("unfinished");
    make(&unfinished)?;
    fs::rename(&unfinished, path).map_err(|error| error.to_string())
}

/// The shared corpus beside the checkout, or where `TIDEWIRE_CORPUS` says.
#[must_use]
pub fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = env::var_os("TIDEWIRE_CORPUS").map_or(beside, PathBuf::from).join("captures");
    folder.is_dir().then_some(folder)
}

struct Kept {
    time_ns: u64,
    at: usize,
    captured: usize,
    wire_bytes: u32,
}

/// Merges Ethernet captures by time. A seeded shuffle selects them if not all fit.
fn merge(folder: &Path, output: &Path, packets: usize) -> Result<(), String> {
    let mut files = Vec::new();
    list(folder, &mut files);
    files.sort();
    let mut random = Random::new(1);
    for last in (1..files.len()).rev() {
        files.swap(last, random.below(last as u64 + 1) as usize);
    }
    let (mut memory, mut kept) = (Vec::new(), Vec::new());
    let mut block = Block::new();
    for file in files {
        let Ok(mut reader) = Reader::open(&file) else { continue };
        while kept.len() < packets && matches!(reader.fill(&mut block), Ok(true)) {
            let batch = block.batch();
            for frame in batch.frames.iter().filter(|frame| frame.link == LinkType::ETHERNET) {
                let bytes = batch.bytes(frame);
                let (at, captured) = (memory.len(), bytes.len());
                memory.extend_from_slice(bytes);
                kept.push(Kept { time_ns: frame.timestamp.as_nanos(), at, captured, wire_bytes: frame.wire_bytes });
            }
        }
    }
    kept.sort_by_key(|frame| frame.time_ns);
    let mut writer = Writer::create(output).map_err(|error| error.to_string())?;
    for frame in kept {
        let bytes = &memory[frame.at..frame.at + frame.captured];
        writer.write_record(frame.time_ns / 1000, bytes, frame.wire_bytes).map_err(|error| error.to_string())?;
    }
    writer.finish().map(drop).map_err(|error| error.to_string())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
