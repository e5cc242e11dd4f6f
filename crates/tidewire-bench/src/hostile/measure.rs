//! Cost of a packet, hostile and benign: instructions, or CPU time.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    place::Collector,
    rows::{Bound, Make, QUICK_VIEWS, ROWS, Row, VIEWS},
    traffic::Made,
};
use crate::program::{CALLGRIND, Program, collected};

/// Most times that a packet of hostile content may cost what one of its twin costs.
const RATIO_MAX: f64 = 8.0;

/// Most times that the second half of a capture may cost what the first half costs: allocators and sorting have steps.
const GROWTH_MAX: f64 = 1.5;

/// Packets of the smallest capture. The others have twice and four times as many.
const PACKETS: usize = 300;
const QUICK_PACKETS: usize = 100;
/// Of CPU time, which a few packets do not show.
const TIMED_PACKETS: usize = 4000;

/// How often CPU time is measured; the least counts, as others run beside it.
const TIMED_RUNS: usize = 3;

/// The measured quantity, and the place.
pub struct Options {
    /// Folder for captures while they are needed, and for bench-hostile.md.
    pub output: PathBuf,
    /// The program `tidewire`.
    pub program: PathBuf,
    /// Small captures.
    pub quick: bool,
    /// CPU time instead of instructions: an estimate in minutes.
    pub time: bool,
    /// Only rows whose names contain one of these.
    pub rows: Vec<String>,
}

/// The cost of one kind in one view.
#[derive(Clone, Copy)]
struct Cost {
    /// Instructions of one item, or nanoseconds.
    item: f64,
    /// The second half against the first.
    growth: f64,
}

/// Measurements made once, though several rows may compare with it.
#[derive(Clone, Copy)]
struct Job {
    make: Make,
    bound: Bound,
    view: &'static str,
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.is_of_kind(other) && self.view == other.view
    }
}

impl Job {
    /// Whether both read the same captures.
    fn is_of_kind(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.make, other.make) && self.bound == other.bound
    }
}

impl Row {
    /// The hostile and the benign measurement in a view.
    fn jobs(&self, view: &'static str) -> [Job; 2] {
        let hostile = Job { make: self.hostile, bound: self.bound, view };
        [hostile, Job { make: self.benign, bound: Bound::Item, view }]
    }

    fn views(&self, options: &Options) -> &'static [&'static str] {
        match self.views {
            [] if options.quick => QUICK_VIEWS,
            [] => VIEWS,
            views => views,
        }
    }
}

/// Measures all rows; the table, and whether all are within their bounds.
///
/// # Errors
/// A program cannot be run, or a file cannot be written.
pub fn run(options: &Options) -> Result<(String, bool), String> {
    fs::create_dir_all(&options.output).map_err(|error| format!("{}: {error}", options.output.display()))?;
    let is_wanted = |row: &&Row| options.rows.is_empty() || options.rows.iter().any(|part| row.name.contains(&**part));
    let mut jobs: Vec<Job> = Vec::new();
    for row in ROWS.iter().filter(is_wanted) {
        for job in row.views(options).iter().flat_map(|view| row.jobs(view)) {
            if !jobs.contains(&job) {
                jobs.push(job);
            }
        }
    }
    let costs = costs(options, &jobs)?;
    let cost_of = |wanted: Job| jobs.iter().zip(&costs).find(|(job, _)| **job == wanted).map(|(_, cost)| *cost);
    let unit = if options.time { "CPU ns" } else { "instructions" };
    let mut table =
        format!("| content | command | {unit} | of its twin | ratio | growth | |\n|---|---|---|---|---|---|---|\n");
    let mut is_within = true;
    for row in ROWS.iter().filter(is_wanted) {
        for view in row.views(options) {
            let [Some(hostile), Some(benign)] = row.jobs(view).map(cost_of) else { continue };
            let twin = benign.item * row.bound.items();
            let ratio = hostile.item / twin;
            let is_row_within = ratio <= RATIO_MAX && hostile.growth <= GROWTH_MAX;
            is_within &= is_row_within;
            let _ = writeln!(
                table,
                "| {} | `{}` | {:.0} | {twin:.0} | {ratio:.1} | {:.2} | {} |",
                row.name,
                shown(view),
                hostile.item,
                hostile.growth,
                if is_row_within { "" } else { "**beyond**" },
            );
        }
    }
    let _ = writeln!(table, "\n| content | what it is |\n|---|---|");
    for row in ROWS.iter().filter(is_wanted) {
        let _ = writeln!(table, "| {} | {} |", row.name, row.kind);
    }
    Ok((table, is_within))
}

/// A view as it stands in the table.
fn shown(view: &str) -> String {
    view.replace(" {}", "").replace("{out}/", "").replace(":{collector}", "")
}

/// A capture of a kind, and how many items it holds.
struct Capture {
    path: PathBuf,
    items: f64,
}

/// The three captures of a kind.
fn captures(options: &Options, job: &Job, folder: &Path) -> Result<Vec<Capture>, String> {
    let packets = match (options.time, options.quick) {
        (true, _) => TIMED_PACKETS,
        (false, true) => QUICK_PACKETS,
        (false, false) => PACKETS,
    };
    let sizes = if job.bound == Bound::Item { [packets, 2 * packets, 4 * packets] } else { [0, 1, 2] };
    let capture = |(index, packets): (usize, usize)| {
        let path = folder.join(format!("{index}.pcap"));
        let made = Made::create(&path).and_then(|mut made| {
            let items = (job.make)(&mut made, packets);
            made.finish().map(|()| items)
        });
        let items = made.map_err(|error| format!("{}: {error}", path.display()))? as f64;
        Ok(Capture { path, items })
    };
    sizes.into_iter().enumerate().map(capture).collect()
}

/// The costs of jobs, in their order. Those of one kind are measured one after the other, of several kinds as many at a time as there are
/// processors.
fn costs(options: &Options, jobs: &[Job]) -> Result<Vec<Cost>, String> {
    let is_first = |index: &usize| !jobs[..*index].iter().any(|job| job.is_of_kind(&jobs[*index]));
    let kinds: Vec<usize> = (0..jobs.len()).filter(is_first).collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![None; jobs.len()]);
    let kind = |folder: &Path, first: &Job| -> Result<(), String> {
        let captures = captures(options, first, folder)?;
        for (index, job) in jobs.iter().enumerate().filter(|(_, job)| job.is_of_kind(first)) {
            let cost = cost(options, folder, job, &captures)?;
            eprintln!("{}/{}: {}: {:.0}, growth {:.2}", index + 1, jobs.len(), shown(job.view), cost.item, cost.growth);
            found.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(cost);
        }
        Ok(())
    };
    let work = |worker: usize| -> Result<(), String> {
        let folder = options.output.join(format!("worker-{worker}"));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        while let Some(&index) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
            kind(&folder, &jobs[index]).inspect_err(|_| next.store(kinds.len(), Ordering::Relaxed))?;
        }
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
    };
    let work = &work;
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    })?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_iter().collect::<Option<_>>().ok_or_else(|| "not all was measured".to_owned())
}

fn cost(options: &Options, folder: &Path, job: &Job, captures: &[Capture]) -> Result<Cost, String> {
    let costs = captures.iter().map(|capture| spent(options, job.view, capture, folder));
    let costs: Vec<f64> = costs.collect::<Result<_, _>>()?;
    let ([one, two, four], [cost_1, cost_2, cost_4]) = (captures, &costs[..]) else {
        return Err("not three captures".into());
    };
    if job.bound != Bound::Item {
        // Once it has ended, nothing more of it is read: the same again must cost nothing.
        return Ok(Cost { item: cost_2 - cost_1, growth: (cost_4 - cost_1) / (cost_2 - cost_1) });
    }
    let first = (cost_2 - cost_1) / (two.items - one.items);
    let second = (cost_4 - cost_2) / (four.items - two.items);
    // Times are not steady enough for this.
    let growth = if options.time { 1.0 } else { second / first };
    Ok(Cost { item: if options.time { (cost_4 - cost_1) / (four.items - one.items) } else { second }, growth })
}

/// Cost of reading a capture.
fn spent(options: &Options, view: &str, capture: &Capture, folder: &Path) -> Result<f64, String> {
    let collector = Collector::new().map_err(|error| format!("a socket: {error}"))?;
    let places = folder.join("places");
    let word = |word: &str| {
        let word = word.replace("{}", &capture.path.to_string_lossy()).replace("{collector}", &collector.address());
        word.replace("{out}", &places.to_string_lossy())
    };
    let program = options.program.to_string_lossy();
    let words: Vec<String> = view.split(' ').map(word).collect();
    let mut command: Vec<&str> = if options.time { Vec::new() } else { CALLGRIND.to_vec() };
    command.push(&program);
    command.extend(words.iter().map(String::as_str));
    command.extend(["--workers", "1"]);
    let measured = Program::new("tidewire", &command).unpinned().scratch(&places);
    if options.time {
        let runs = (0..TIMED_RUNS).map(|_| measured.run().map(|finished| finished.usage.cpu_s() * 1e9));
        return runs.collect::<Result<Vec<f64>, _>>().map(|runs| runs.into_iter().fold(f64::INFINITY, f64::min));
    }
    let finished = measured.run()?;
    collected(&finished.errors).map_err(|error| format!("{}: {error}: {}", command.join(" "), finished.errors))
}
