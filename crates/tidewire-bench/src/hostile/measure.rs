//! Captures of each kind, hostile and benign, and what the commands take for them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use super::{
    cost::{Cost, Spent},
    place::Collector,
    rows::{Bound, Make, QUICK_VIEWS, ROWS, Row, VIEWS},
    table::{self, Compared},
    traffic::{Made, http},
};
use crate::program::{COUNTER, Program, counted};

/// Packets of the short capture. The long one has four times as many.
const PACKETS: usize = 300;
/// Of CPU time, which a few packets do not show.
const TIMED_PACKETS: usize = 1000;

/// Packets of the capture that shows the start of a command, between the beginning and the end of a connection.
const START_PACKETS: usize = 1;

/// How often CPU time is measured, as others run beside it.
const TIMED_RUNS: usize = 3;

/// The measured quantity, and the place.
pub struct Options {
    /// Folder for captures while they are needed, and for bench-hostile.md.
    pub output: PathBuf,
    /// The program `tidewire`.
    pub program: PathBuf,
    /// Three commands.
    pub quick: bool,
    /// CPU time instead of instructions: an estimate in minutes.
    pub time: bool,
    /// Only rows whose names contain one of these.
    pub rows: Vec<String>,
    /// Time after which no further measurement begins: the tables then say how many are missing.
    pub minutes: Option<u64>,
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

/// Measures all rows; the tables, and whether all are within their bounds.
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
    let cost_of = |wanted: Job| jobs.iter().zip(&costs).find(|(job, _)| **job == wanted).and_then(|(_, cost)| *cost);
    let mut compared = Vec::new();
    for row in ROWS.iter().filter(is_wanted) {
        for view in row.views(options) {
            let [Some(hostile), Some(benign)] = row.jobs(view).map(cost_of) else { continue };
            compared.push(Compared::new(row, table::shown(view), hostile, benign));
        }
    }
    let missing = costs.iter().filter(|cost| cost.is_none()).count();
    Ok(table::text(&compared, options.time, [costs.len() - missing, missing]))
}

/// A capture of a kind, and how many items it holds.
struct Capture {
    path: PathBuf,
    items: f64,
    bytes: f64,
}

/// A capture of a kind.
fn capture(make: Make, packets: usize, folder: &Path, name: &str) -> Result<Capture, String> {
    let path = folder.join(name).with_extension("pcap");
    let made = Made::create(&path).and_then(|mut made| {
        let items = make(&mut made, packets);
        made.finish()?;
        Ok((items, fs::metadata(&path)?.len()))
    });
    let (items, bytes) = made.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Capture { path, items: items as f64, bytes: bytes as f64 })
}

/// The start of each view's command: its cost for a capture of hardly anything. Measured once, not for each kind, as it takes a second of
/// valgrind's time.
fn starts(options: &Options, jobs: &[Job]) -> Result<Vec<(&'static str, Spent)>, String> {
    let start = Capture { items: 0.0, ..capture(http::body, START_PACKETS, &options.output, "start")? };
    let spent = |view| Ok((view, spent(options, view, &start, &options.output)?));
    shared_starts(jobs).into_iter().map(spent).collect()
}

/// The views whose start is measured once: those of jobs that have no start of their own.
fn shared_starts(jobs: &[Job]) -> BTreeSet<&'static str> {
    jobs.iter().filter(|job| !has_start_of_its_own(job)).map(|job| job.view).collect()
}

/// Measurements that share captures: of one kind, in the views of a quick run or in the others.
fn batches(jobs: &[Job]) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    // The views of a quick run come first: they show most where time is short.
    for is_quick in [true, false] {
        let first = batches.len();
        for (index, job) in jobs.iter().enumerate().filter(|(_, job)| QUICK_VIEWS.contains(&job.view) == is_quick) {
            match batches[first..].iter_mut().find(|batch| jobs[batch[0]].is_of_kind(job)) {
                Some(batch) => batch.push(index),
                None => batches.push(vec![index]),
            }
        }
    }
    batches
}

/// The costs of jobs, in their order; `None`: there was no time. As many are measured at a time as there are processors.
fn costs(options: &Options, jobs: &[Job]) -> Result<Vec<Option<Cost>>, String> {
    let begun = Instant::now();
    let is_late = || options.minutes.is_some_and(|minutes| begun.elapsed().as_secs() >= 60 * minutes);
    let (starts, batches) = (starts(options, jobs)?, batches(jobs));
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![None; jobs.len()]);
    let measure = |folder: &Path, batch: &[usize]| -> Result<(), String> {
        let captures = captures(options, &jobs[batch[0]], folder)?;
        for &index in batch.iter().take_while(|_| !is_late()) {
            let job = &jobs[index];
            let start = starts.iter().find(|(view, _)| *view == job.view).map(|(_, spent)| spent);
            let cost = cost(options, folder, job, &captures, start.filter(|_| !has_start_of_its_own(job)))?;
            eprintln!("{}/{}: {}: {}", index + 1, jobs.len(), table::shown(job.view), cost.item.shown(0));
            found.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(cost);
        }
        Ok(())
    };
    let work = |worker: usize| -> Result<(), String> {
        let folder = options.output.join(format!("worker-{worker}"));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !is_late()) {
            measure(&folder, batch).inspect_err(|_| next.store(batches.len(), Ordering::Relaxed))?;
        }
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
    };
    let work = &work;
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the start of a command depends on what it reads: a file of Parquet has a fixed cost for each column, of tables that have rows.
/// Content that ends has captures without it.
fn has_start_of_its_own(job: &Job) -> bool {
    job.bound != Bound::Item || job.view.contains("parquet:")
}

/// The captures of a kind: one for starts of its own, a short one and a long one; of content that ends: without it, once, and twice.
fn captures(options: &Options, job: &Job, folder: &Path) -> Result<Vec<Capture>, String> {
    let packets = if options.time { TIMED_PACKETS } else { PACKETS };
    let sizes = if job.bound == Bound::Item { [packets / 4, packets, 4 * packets] } else { [0, 1, 2] };
    sizes.iter().map(|&packets| capture(job.make, packets, folder, &packets.to_string())).collect()
}

/// `start`: what the command's start took, where that is known.
fn cost(
    options: &Options,
    folder: &Path,
    job: &Job,
    captures: &[Capture],
    start: Option<&Spent>,
) -> Result<Cost, String> {
    let measured = captures.iter().skip(usize::from(start.is_some()));
    let measured = measured.map(|capture| spent(options, job.view, capture, folder));
    let all: Vec<Spent> = start.cloned().map(Ok).into_iter().chain(measured).collect::<Result<_, _>>()?;
    let all: &[Spent; 3] = all.as_slice().try_into().map_err(|_| "not three captures")?;
    Ok(Cost::new(job.bound, all, options.time))
}

/// The cost of a command that reads a capture, and the bytes that it writes.
fn spent(options: &Options, view: &str, capture: &Capture, folder: &Path) -> Result<Spent, String> {
    let (mut runs, mut written_bytes) = (Vec::new(), 0);
    for _ in 0..if options.time { TIMED_RUNS } else { 1 } {
        let (cost, bytes) = once(options, view, capture, folder)?;
        runs.push(cost);
        written_bytes = bytes;
    }
    Ok(Spent { runs, items: capture.items, input_bytes: capture.bytes, written_bytes: written_bytes as f64 })
}

/// Cost of one run, and the bytes that it wrote.
fn once(options: &Options, view: &str, capture: &Capture, folder: &Path) -> Result<(f64, u64), String> {
    let collector = Collector::new().map_err(|error| format!("a socket: {error}"))?;
    let places = folder.join("places");
    let word = |word: &str| {
        let word = word.replace("{}", &capture.path.to_string_lossy()).replace("{collector}", &collector.address());
        word.replace("{out}", &places.to_string_lossy())
    };
    let program = options.program.to_string_lossy();
    let words: Vec<String> = view.split(' ').map(word).collect();
    let mut command: Vec<&str> = if options.time { Vec::new() } else { COUNTER.to_vec() };
    command.push(&program);
    command.extend(words.iter().map(String::as_str));
    command.extend(["--workers", "1"]);
    let finished = Program::new("tidewire", &command).unpinned().scratch(&places).run()?;
    let sent_bytes = collector.finish().map_err(|error| format!("a socket: {error}"))?;
    let cost = if options.time {
        finished.usage.cpu_s() * 1e9
    } else {
        counted(&finished.errors).map_err(|error| format!("{}: {error}: {}", command.join(" "), finished.errors))?
    };
    Ok((cost, finished.written_bytes + sent_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_with_a_start_of_their_own_share_none() {
        let job = |bound, view| Job { make: http::body, bound, view };
        let parquet = "flows {} --to parquet:{out}/parquet";
        let jobs = [job(Bound::Item, parquet), job(Bound::Ends(1), "flows --json {}")];
        assert!(shared_starts(&jobs).is_empty());
        let jobs = [job(Bound::Item, parquet), job(Bound::Item, "flows --json {}")];
        assert!(shared_starts(&jobs).into_iter().eq(["flows --json {}"]));
    }
}
