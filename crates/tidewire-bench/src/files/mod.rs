//! `make bench`: peers and Tidewire in turn in one run, on the same core and the same traces.

mod measure;
mod report;
mod rows;
mod traces;

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Serialize;

use crate::{concurrency::Figures, random::Random};
use measure::{Cost, in_turn};
use rows::{Figure, Goal, Row, Tools, rows};
use traces::Scale;

pub use report::markdown;
pub use traces::corpus;

/// How the bench is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where traces are made and kept.
    pub folder: PathBuf,
    /// Where the tables are written: `bench.md` and `bench.json`.
    pub output: PathBuf,
    /// Small traces, fewer runs.
    pub quick: bool,
    /// Measured runs of each program.
    pub runs: usize,
    /// Only rows whose id holds one of these; none: all.
    pub only: Vec<String>,
    /// Folder of the release build (`tidewire`, `tidewire-lab`, `nids-loop`).
    pub programs: PathBuf,
    /// The built reading floor.
    pub floor: PathBuf,
    /// scripts/record.sh.
    pub record: PathBuf,
}

/// One comparison of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The row's id.
    pub row: String,
    /// What is done.
    pub title: String,
    /// What is compared: `cpu`, `wall` or `cpu per packet`.
    pub figure: &'static str,
    /// Tidewire's cost.
    pub ours: Cost,
    /// Packets and bytes of Tidewire's trace.
    pub trace: Size,
    /// The other's cost, and its trace.
    pub other: Cost,
    /// Packets and bytes of the other's trace.
    pub other_trace: Size,
    /// Tidewire's figure over the other's where at most so much is wanted, the other's over Tidewire's where at least.
    pub ratio: f64,
    /// What is wanted, in words.
    pub goal: String,
    /// Whether it is reached; `None` where nothing is wanted or there is no figure.
    pub met: Option<bool>,
}

/// A trace's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Packets.
    pub packets: u64,
    /// Captured bytes.
    pub bytes: u64,
}

/// All that a run showed.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// The machine: processor, cores, memory, kernel.
    pub machine: String,
    /// When, as `date -u` says.
    pub date: String,
    /// Whether small traces were used.
    pub quick: bool,
    /// Measured runs of each program.
    pub runs: usize,
    /// The table.
    pub comparisons: Vec<Comparison>,
    /// Cost by the number of connections.
    pub concurrency: Vec<Figures>,
    /// Peak memory of the row `lossy`: goal and figure.
    pub memory: Vec<(String, u64, u64)>,
    /// What is absent, and why.
    pub notes: Vec<String>,
}

/// Makes the traces that are not there yet. In a process of its own: what a process holds when it starts another counts
/// as the other's peak memory.
///
/// # Errors
/// A trace that cannot be made.
pub fn prepare(folder: &Path, quick: bool, record: &Path) -> Result<(), String> {
    let scale = if quick { Scale::QUICK } else { Scale::FULL };
    check_room(folder, scale)?;
    traces::make(folder, scale, record, &|text| eprintln!("bench: {text}")).map(drop)
}

/// Runs everything and writes the tables.
///
/// # Errors
/// A trace that cannot be made, or a Tidewire run that fails.
pub fn run(options: &Options) -> Result<Results, String> {
    let scale = if options.quick { Scale::QUICK } else { Scale::FULL };
    let log = |text: &str| eprintln!("bench: {text}");
    let traces = traces::make(&options.folder, scale, &options.record, &log)?;
    let tools = tools(options)?;
    let mut results = Results {
        machine: machine(),
        date: said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        quick: options.quick,
        runs: options.runs,
        comparisons: Vec::new(),
        concurrency: Vec::new(),
        memory: Vec::new(),
        notes: traces.notes.clone(),
    };
    if tools.nids.is_none() {
        results.notes.push("libnids is absent: `nids-loop` was not built".into());
    }
    let wanted = |id: &str| options.only.is_empty() || options.only.iter().any(|only| id.contains(only.as_str()));
    let mut sizes = HashMap::new();
    for row in rows(&tools, &traces).into_iter().filter(|row| wanted(&row.id)) {
        log(&row.title);
        if let Err(why) = compare(&row, options, &tools, &mut sizes, &mut results) {
            results.notes.push(format!("row `{}` failed: {why}", row.id));
            log(&format!("FAILED: {why}"));
        }
        report::write(&results, &options.output)?;
    }
    if wanted("concurrency") {
        concurrency(options, &tools, &mut results)?;
    }
    report::write(&results, &options.output)?;
    Ok(results)
}

fn compare(
    row: &Row,
    options: &Options,
    tools: &Tools,
    sizes: &mut HashMap<PathBuf, Size>,
    results: &mut Results,
) -> Result<(), String> {
    let programs: Vec<_> = [&row.ours].into_iter().chain(row.others.iter().map(|other| &other.0)).cloned().collect();
    let mut costs = in_turn(&programs, options.runs)?.into_iter();
    let ours = costs.next().ok_or("no cost")?;
    let mut size = |trace: &Path| -> Result<Size, String> {
        if let Some(size) = sizes.get(trace) {
            return Ok(*size);
        }
        let said: serde_json::Value =
            serde_json::from_str(&said(&tools.floor, &[&trace.display().to_string()])).map_err(|e| e.to_string())?;
        let size = Size { packets: said["packets"].as_u64().unwrap_or(0), bytes: said["bytes"].as_u64().unwrap_or(0) };
        sizes.insert(trace.to_owned(), size);
        Ok(size)
    };
    let trace = size(&row.trace)?;
    for (other, (_, on, goal)) in costs.zip(&row.others) {
        let other_trace = size(on.as_deref().unwrap_or(&row.trace))?;
        let [mine, theirs] = match row.figure {
            Figure::Cpu => [ours.cpu_s, other.cpu_s],
            Figure::Wall => [ours.wall_s, other.wall_s],
            Figure::CpuPerPacket => {
                [ours.cpu_s / trace.packets.max(1) as f64, other.cpu_s / other_trace.packets.max(1) as f64]
            }
        };
        let (ratio, goal, met) = match *goal {
            Goal::AtMost(most) => (mine / theirs, format!("at most {most} ×"), Some(mine / theirs <= most)),
            Goal::AtLeast(least) => (theirs / mine, format!("at least {least} × faster"), Some(theirs / mine >= least)),
            Goal::None => (theirs / mine, String::new(), None),
        };
        let met = if ratio.is_finite() { met } else { None };
        let figure = match row.figure {
            Figure::Cpu => "cpu",
            Figure::Wall => "wall",
            Figure::CpuPerPacket => "cpu per packet",
        };
        let (row, title) = (row.id.clone(), row.title.clone());
        let ours = ours.clone();
        let comparison = Comparison { row, title, figure, ours, trace, other, other_trace, ratio, goal, met };
        eprintln!("bench:   {}", report::line(&comparison));
        results.comparisons.push(comparison);
    }
    if let Some(goal) = row.memory_goal_bytes {
        results.memory.push((row.id.clone(), goal, ours.peak_bytes));
    }
    Ok(())
}

fn concurrency(options: &Options, tools: &Tools, results: &mut Results) -> Result<(), String> {
    let most = if options.quick { 6 } else { 7 };
    for power in 3..=most {
        let connections = 10_u64.pow(power).to_string();
        eprintln!("bench: {connections} connections at once");
        // The largest takes half a minute of CPU time: its figures hardly vary from run to run.
        let runs = if power == 7 { 1 } else { options.runs };
        let mut all = Vec::with_capacity(runs);
        for _ in 0..runs {
            let line = said("taskset", &["-c", "1", &tools.lab, "engine", &connections]);
            all.push(serde_json::from_str::<Figures>(&line).map_err(|error| format!("{error}: {line}"))?);
        }
        all.sort_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet));
        let figures = all.swap_remove(all.len() / 2);
        let (ns, bytes) = (figures.ns_per_packet, figures.bytes_per_connection);
        eprintln!("bench:   {ns:.1} ns a packet, {bytes:.0} bytes a connection");
        results.concurrency.push(figures);
    }
    Ok(())
}

fn tools(options: &Options) -> Result<Tools, String> {
    let program = |name: &str| options.programs.join(name);
    let scratch = options.folder.join("scratch");
    fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
    let patterns = options.folder.join("patterns.txt");
    fs::write(&patterns, pattern_list()).map_err(|error| error.to_string())?;
    Ok(Tools {
        tidewire: program("tidewire").display().to_string(),
        lab: program("tidewire-lab").display().to_string(),
        floor: options.floor.display().to_string(),
        nids: program("nids-loop").exists().then(|| program("nids-loop").display().to_string()),
        scratch,
        patterns: patterns.display().to_string(),
    })
}

/// 2,000 patterns of 6 to 20 bytes: words that do not occur, and eight that do, about once a response.
fn pattern_list() -> String {
    let mut random = Random::new(2000);
    let mut list: Vec<String> = [
        "Server: nginx",
        "ETag: \"",
        "Accept-Ranges: bytes",
        "User-Agent: tidewire-lab",
        "GET /1000.html",
        "Connection: close",
        "the tide comes in, the tide goes out, and every wave is counted</p>\\r",
        "Content-Type: application/octet-stream",
    ]
    .map(str::to_owned)
    .to_vec();
    while list.len() < 2000 {
        let bytes = 6 + random.below(15);
        list.push((0..bytes).map(|_| char::from(b'a' + random.below(26) as u8)).collect());
    }
    list.join("\n") + "\n"
}

/// Refuses to fill the memory: traces on tmpfs take what programs need.
fn check_room(folder: &Path, scale: Scale) -> Result<(), String> {
    if scale == Scale::QUICK || folder.join("big.pcap").exists() {
        return Ok(());
    }
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap_or_default();
    let available_kib: u64 = available.trim().trim_end_matches(" kB").parse().unwrap_or(u64::MAX);
    const WANTED_KIB: u64 = 10 << 20;
    if folder.starts_with("/dev/shm") && available_kib < WANTED_KIB {
        return Err(format!(
            "{} MiB of memory are free, the traces and the programs need 10 GiB: \
             set TIDEWIRE_BENCH_DIR to a folder on a disk, or QUICK=1",
            available_kib >> 10
        ));
    }
    Ok(())
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map_or_else(|error| error.to_string(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{model}, {cores} cores, {} GiB, Linux {}, {} (load before: {})",
        kib >> 20,
        said("uname", &["-r"]),
        env::consts::ARCH,
        load.split(' ').next().unwrap_or_default()
    )
}
