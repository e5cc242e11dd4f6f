//! Measurements that the rows need, one command over all its captures at a time.

use std::{
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
    captures::{Capture, Captures},
    copies::Copies,
    cost::{Cost, Spent},
    place::Collector,
    rows::{Bound, LONG_VIEW, Make, QUICK_VIEWS, ROWS, Row, VIEWS},
    table::{self, Compared},
};
use crate::program::Program;

/// Packets of the three captures of a content, about: the first shows what the start costs, the others what packets do. Ratios are those
/// of captures seven times as long within 3 % (docs/bench-hostile.md).
const PACKETS: [usize; 3] = [10, 40, 160];
/// In the view that has the most of a content: what grows with the square of the input shows in longer captures.
const LONG_PACKETS: [usize; 3] = [40, 160, 800];
/// Of kinds with views of their own: windows, and blocks of compressed input, are longer than a few packets.
const OWN_PACKETS: [usize; 3] = [75, 300, 1200];
/// Of CPU time, which a few packets do not show.
const TIMED_PACKETS: [usize; 3] = [250, 1000, 4000];
/// Of content that ends: without it, once, and twice.
const ENDING: [usize; 3] = [0, 1, 2];

/// How often CPU time is measured, as others run beside it.
const TIMED_RUNS: usize = 3;

/// Measurements of a command between two starts of it: several threads share those of a command.
const BATCH: usize = 64;

/// The measured quantity, and the place.
pub struct Options {
    /// Folder for captures while they are needed, and for bench-hostile.md.
    pub output: PathBuf,
    /// The program `tidewire`.
    pub program: PathBuf,
    /// The compiled `peers/fork.c`.
    pub fork: PathBuf,
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
    packets: [usize; 3],
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.make, other.make)
            && (self.bound, self.view, self.packets) == (other.bound, other.view, other.packets)
    }
}

impl Row {
    /// The hostile and the benign measurement in a view.
    fn jobs(&self, view: &'static str, options: &Options) -> [Job; 2] {
        let packets = match () {
            () if options.time => TIMED_PACKETS,
            () if !self.views.is_empty() => OWN_PACKETS,
            () if view == LONG_VIEW => LONG_PACKETS,
            () => PACKETS,
        };
        let hostile_packets = if self.bound == Bound::Item { packets } else { ENDING };
        let hostile = Job { make: self.hostile, bound: self.bound, view, packets: hostile_packets };
        [hostile, Job { make: self.benign, bound: Bound::Item, view, packets }]
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
        for job in row.views(options).iter().flat_map(|view| row.jobs(view, options)) {
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
            let [Some(hostile), Some(benign)] = row.jobs(view, options).map(cost_of) else { continue };
            compared.push(Compared::new(row, table::shown(view), hostile, benign));
        }
    }
    let missing = costs.iter().filter(|cost| cost.is_none()).count();
    Ok(table::text(&compared, options.time, [costs.len() - missing, missing]))
}

/// Measurements of one command, at most [`BATCH`]: their indices. The views of a quick run come first: they show most where time is short.
fn batches(jobs: &[Job]) -> Vec<Vec<usize>> {
    let mut views: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        match views.iter_mut().find(|(view, _)| *view == job.view) {
            Some((_, indices)) => indices.push(index),
            None => views.push((job.view, vec![index])),
        }
    }
    views.sort_by_key(|(view, _)| !QUICK_VIEWS.contains(view));
    views.iter().flat_map(|(_, indices)| indices.chunks(BATCH)).map(<[usize]>::to_vec).collect()
}

/// The costs of jobs, in their order; `None`: there was no time. As many are measured at a time as there are processors.
fn costs(options: &Options, jobs: &[Job]) -> Result<Vec<Option<Cost>>, String> {
    let begun = Instant::now();
    let is_late = || options.minutes.is_some_and(|minutes| begun.elapsed().as_secs() >= 60 * minutes);
    let captures = Captures::new(&options.output.join("captures"))?;
    let batches = batches(jobs);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![None; jobs.len()]);
    let measure = |folder: &Path, batch: &[usize]| -> Result<(), String> {
        let view = jobs[batch[0]].view;
        let mut runner = Runner::new(options, view, folder)?;
        for &index in batch.iter().take_while(|_| !is_late()) {
            let cost = cost(&mut runner, &jobs[index], &captures)?;
            eprintln!("{}/{}: {}: {}", index + 1, jobs.len(), table::shown(view), cost.item.shown(0));
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

fn cost(runner: &mut Runner<'_>, job: &Job, captures: &Captures) -> Result<Cost, String> {
    let [start, short, long] = job.packets.map(|packets| runner.spent(&captures.of(job.make, packets)?));
    Ok(Cost::new(job.bound, &[start?, short?, long?], runner.options.time))
}

/// Runs a command over captures.
struct Runner<'a> {
    options: &'a Options,
    /// Name of the capture in the command: a link to the one that is read.
    link: PathBuf,
    places: PathBuf,
    command: Vec<String>,
    collector: Collector,
    /// `None`: CPU time is measured, of processes of their own.
    copies: Option<Copies>,
}

impl<'a> Runner<'a> {
    fn new(options: &'a Options, view: &str, folder: &Path) -> Result<Self, String> {
        let collector = Collector::new().map_err(|error| format!("a socket: {error}"))?;
        let (link, places) = (folder.join("capture.pcap"), folder.join("places"));
        let word = |word: &str| {
            let word = word.replace("{}", &link.to_string_lossy()).replace("{collector}", &collector.address());
            word.replace("{out}", &places.to_string_lossy())
        };
        let program = options.program.to_string_lossy();
        let words = [&*program].into_iter().chain(view.split(' ')).chain(["--workers", "1"]);
        let command: Vec<String> = words.map(word).collect();
        let copies = if options.time { None } else { Some(Copies::start(&command, &options.fork, &places)) };
        let copies = copies.transpose().map_err(|error| format!("{}: {error}", command.join(" ")))?;
        Ok(Self { options, link, places, command, collector, copies })
    }

    /// The cost of the command over a capture, and the bytes that it writes.
    fn spent(&mut self, capture: &Capture) -> Result<Spent, String> {
        let failed = |error| format!("{}: {error}", self.link.display());
        let path = fs::canonicalize(&capture.path).map_err(failed)?;
        let _ = fs::remove_file(&self.link);
        std::os::unix::fs::symlink(path, &self.link).map_err(failed)?;
        let (mut runs, mut written_bytes) = (Vec::new(), 0);
        for _ in 0..if self.options.time { TIMED_RUNS } else { 1 } {
            let (cost, bytes) = self.once().map_err(|error| format!("{}: {error}", self.command.join(" ")))?;
            runs.push(cost);
            written_bytes = bytes;
        }
        Ok(Spent { runs, items: capture.items, input_bytes: capture.bytes, written_bytes: written_bytes as f64 })
    }

    /// Cost of one run, and the bytes that it wrote.
    fn once(&mut self) -> Result<(f64, u64), String> {
        let (cost, bytes) = match &mut self.copies {
            Some(copies) => copies.run()?,
            None => {
                let words: Vec<&str> = self.command.iter().map(String::as_str).collect();
                let finished = Program::new("tidewire", &words).unpinned().scratch(&self.places).run()?;
                (finished.usage.cpu_s() * 1e9, finished.written_bytes)
            }
        };
        let sent_bytes = self.collector.bytes().map_err(|error| format!("a socket: {error}"))?;
        Ok((cost, bytes + sent_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::traffic::http, *};

    #[test]
    fn a_batch_has_one_command_and_those_of_a_quick_run_come_first() {
        let job = |view| Job { make: http::body, bound: Bound::Item, view, packets: PACKETS };
        let mut jobs = vec![job("streams --json {}"), job(QUICK_VIEWS[0]), job("streams --json {}")];
        assert_eq!(batches(&jobs), [vec![1], vec![0, 2]]);
        jobs.resize(BATCH + 2, job("streams --json {}"));
        assert_eq!(batches(&jobs).iter().map(Vec::len).collect::<Vec<_>>(), [1, BATCH, 1]);
    }

    #[test]
    fn the_long_view_has_long_captures() {
        let options = Options {
            output: PathBuf::new(),
            program: PathBuf::new(),
            fork: PathBuf::new(),
            quick: false,
            time: false,
            rows: Vec::new(),
            minutes: None,
        };
        assert!(QUICK_VIEWS.contains(&LONG_VIEW) && VIEWS.contains(&LONG_VIEW));
        let packets = |row: &Row, view| row.jobs(view, &options).map(|job| job.packets);
        let plain = ROWS.iter().find(|row| row.views.is_empty() && row.bound == Bound::Item);
        assert_eq!(plain.map(|row| packets(row, LONG_VIEW)), Some([LONG_PACKETS; 2]));
        assert_eq!(plain.map(|row| packets(row, VIEWS[0])), Some([PACKETS; 2]));
        let ending = ROWS.iter().find(|row| row.bound != Bound::Item);
        assert_eq!(ending.map(|row| packets(row, row.views[0])), Some([ENDING, OWN_PACKETS]));
    }
}
