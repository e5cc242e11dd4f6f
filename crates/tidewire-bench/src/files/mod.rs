//! `make bench`: peers and Tidewire in turn over capture files, on the same core and the same traces.

mod comparison;
mod rows;
mod run;
mod traces;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use tidewire_lab::random::Random;

use crate::{
    concurrency::Figures,
    machine::output_of,
    report::{Goal, Page, Results, Section, Table, is_wanted},
};
use comparison::{Comparison, Size, compare};
use rows::{Row, Tools, rows};
use run::in_turn;
use traces::Scale;

/// How the benchmark is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder in which traces are made and kept.
    pub folder: PathBuf,
    /// Folder for the report: `bench.md` and `bench.json`.
    pub output: PathBuf,
    /// Small traces, fewer runs.
    pub quick: bool,
    /// Measured runs of each program.
    pub runs: usize,
    /// Only rows whose names contain one of these; none: all.
    pub only: Vec<String>,
    /// Folder of the release build (`tidewire`, `tidewire-bench`, `nids-loop`).
    pub programs: PathBuf,
    /// The compiled reading floor.
    pub floor: PathBuf,
    /// scripts/record.sh.
    pub record: PathBuf,
}

/// How all rows are measured.
const METHOD: &str = "CPU seconds are user + system of the whole process, one core each (rows about wall time: all cores); \
Mpps and Gbit/s are packets and captured bits per CPU second; memory is the greatest resident set.\n";

/// Makes the traces that are absent. Call it in a separate process: the kernel counts what a process holds when it starts
/// another in the other's peak memory.
///
/// # Errors
/// A trace cannot be made.
pub fn prepare(folder: &Path, quick: bool, record: &Path) -> Result<(), String> {
    let scale = if quick { Scale::QUICK } else { Scale::FULL };
    check_room(folder, scale)?;
    traces::make(folder, scale, record, &|text| eprintln!("bench: {text}")).map(drop)
}

/// The measurements behind the tables, for the JSON.
#[derive(Default)]
struct Measured {
    comparisons: Vec<Comparison>,
    /// Cost by the number of connections.
    concurrency: Vec<Figures>,
    /// Peak memory: the row, the goal and the figure, bytes.
    memory: Vec<(String, u64, u64)>,
    sizes: HashMap<PathBuf, Size>,
}

impl Measured {
    fn write(&self, results: &mut Results, folder: &Path) -> Result<(), String> {
        results.set("comparisons", &self.comparisons)?;
        results.set("concurrency", &self.concurrency)?;
        results.set("memory", &self.memory)?;
        results.write(folder)
    }
}

/// Measures all wanted rows, writes the report after each, and returns it.
///
/// # Errors
/// A trace cannot be made, or the report cannot be written. A row that fails is noted.
pub fn run(options: &Options) -> Result<String, String> {
    let scale = if options.quick { Scale::QUICK } else { Scale::FULL };
    let traces = traces::make(&options.folder, scale, &options.record, &|text| eprintln!("bench: {text}"))?;
    let tools = tools(options)?;
    let remarks = format!(" Median of {} runs after a warm-up.", options.runs);
    let page = Page { name: "bench", title: "Benchmark", remarks, method: METHOD.into() };
    let mut results = Results::new(page, options.quick);
    results.notes.clone_from(&traces.notes);
    results.set("runs", options.runs)?;
    if tools.nids.is_none() {
        results.notes.push("libnids is absent: `nids-loop` was not built".into());
    }
    let mut measured = Measured::default();
    for row in rows(&tools, &traces).iter().filter(|row| is_wanted(&row.id, &options.only)) {
        results.measure(&row.id, || section(row, options, &tools, &mut measured));
        measured.write(&mut results, &options.output)?;
    }
    if is_wanted("concurrency", &options.only) {
        results.measure("concurrency", || concurrency(options, &tools, &mut measured));
    }
    measured.write(&mut results, &options.output)?;
    Ok(results.markdown())
}

/// Packets and captured bytes of a trace, as the reading floor counts them.
fn size_of(trace: &Path, tools: &Tools, sizes: &mut HashMap<PathBuf, Size>) -> Result<Size, String> {
    if let Some(size) = sizes.get(trace) {
        return Ok(*size);
    }
    let counts: serde_json::Value =
        serde_json::from_str(&output_of(&tools.floor, &[&trace.display().to_string()])).map_err(|e| e.to_string())?;
    let size = Size { packets: counts["packets"].as_u64().unwrap_or(0), bytes: counts["bytes"].as_u64().unwrap_or(0) };
    sizes.insert(trace.to_owned(), size);
    Ok(size)
}

/// Measures a row.
fn section(row: &Row, options: &Options, tools: &Tools, measured: &mut Measured) -> Result<Section, String> {
    let programs: Vec<_> = [&row.ours].into_iter().chain(row.others.iter().map(|other| &other.0)).cloned().collect();
    let mut costs = in_turn(&programs, options.runs)?.into_iter();
    let ours = costs.next().ok_or("no cost")?;
    let trace = size_of(&row.trace, tools, &mut measured.sizes)?;
    let (packets, megabytes) = (trace.packets as f64 / 1e6, trace.bytes as f64 / 1e6);
    let mut section = Section {
        title: row.title.clone(),
        text: format!("{packets:.2} M packets, {megabytes:.0} MB."),
        ..Section::default()
    };
    let columns = ["program", "CPU s", "wall s", "Mpps", "Gbit/s", "memory MB", "delivered", "compared"];
    let mut table = Table::new("", &columns);
    table.lines.push(comparison::cells(&ours, trace, String::new()));
    for (other, (_, on, goal)) in costs.zip(&row.others) {
        let other_trace = size_of(on.as_deref().unwrap_or(&row.trace), tools, &mut measured.sizes)?;
        let compared = compare(row, *goal, (&ours, trace), (&other, other_trace));
        eprintln!("bench:   {}", compared.line());
        table.lines.push(comparison::cells(&other, other_trace, compared.cell()));
        section.goals.extend(compared.as_goal());
        measured.comparisons.push(compared);
    }
    section.tables.push(table);
    if let Some(most) = row.memory_goal_bytes {
        measured.memory.push((row.id.clone(), most, ours.peak_bytes));
        section.goals.push(Goal {
            work: Some([format!("{}: peak memory", row.id), String::new()]),
            wanted: format!("at most {:.0} MB", most as f64 / 1e6),
            figure: format!("{:.0} MB", ours.peak_bytes as f64 / 1e6),
            met: Some(ours.peak_bytes <= most),
        });
    }
    Ok(section)
}

/// Cost by the number of concurrent connections.
fn concurrency(options: &Options, tools: &Tools, measured: &mut Measured) -> Result<Section, String> {
    let most = if options.quick { 6 } else { 7 };
    for power in 3..=most {
        let connections = 10_u64.pow(power).to_string();
        eprintln!("bench: {connections} connections at once");
        // The largest takes half a minute of CPU time: its figures hardly vary from run to run.
        let runs = if power == 7 { 1 } else { options.runs };
        let mut all = Vec::with_capacity(runs);
        for _ in 0..runs {
            let line = output_of("taskset", &["-c", "1", &tools.bench, "engine", &connections]);
            all.push(serde_json::from_str::<Figures>(&line).map_err(|error| format!("{error}: {line}"))?);
        }
        all.sort_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet));
        let figures = all.swap_remove(all.len() / 2);
        let (ns, bytes) = (figures.ns_per_packet, figures.bytes_per_connection);
        eprintln!("bench:   {ns:.1} ns a packet, {bytes:.0} bytes a connection");
        measured.concurrency.push(figures);
    }
    let mut section = Section {
        title: "Connections at once (batches made in memory, the engine's cycles only)".into(),
        ..Section::default()
    };
    let columns = ["connections", "packets", "ns a packet", "ns a packet of data", "bytes a connection"];
    let mut table = Table::new("", &columns);
    for figures in &measured.concurrency {
        table.lines.push(vec![
            figures.connections.to_string(),
            figures.packets.to_string(),
            format!("{:.1}", figures.ns_per_packet),
            format!("{:.1}", figures.ns_per_data_packet),
            format!("{:.0}", figures.bytes_per_connection),
        ]);
    }
    section.tables.push(table);
    section.goals = concurrency_goals(&measured.concurrency);
    Ok(section)
}

fn concurrency_goals(all: &[Figures]) -> Vec<Goal> {
    let (Some(few), Some(many)) = (all.first(), all.last()) else { return Vec::new() };
    let ratio = many.ns_per_packet / few.ns_per_packet;
    let title = format!("{} connections at once", many.connections);
    let bytes = many.bytes_per_connection;
    vec![
        Goal {
            work: Some([format!("{title}: cost per packet"), format!("{} at once", few.connections)]),
            wanted: "at most 3 ×".into(),
            figure: format!("{ratio:.2} ×"),
            met: Some(ratio <= 3.0),
        },
        Goal {
            work: Some([format!("{title}: memory a connection"), String::new()]),
            wanted: "at most 300 bytes".into(),
            figure: format!("{bytes:.0} bytes"),
            met: Some(bytes <= 300.0),
        },
    ]
}

fn tools(options: &Options) -> Result<Tools, String> {
    let program = |name: &str| options.programs.join(name);
    let scratch = options.folder.join("scratch");
    fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
    let patterns = options.folder.join("patterns.txt");
    fs::write(&patterns, pattern_list()).map_err(|error| error.to_string())?;
    Ok(Tools {
        tidewire: program("tidewire").display().to_string(),
        bench: program("tidewire-bench").display().to_string(),
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
