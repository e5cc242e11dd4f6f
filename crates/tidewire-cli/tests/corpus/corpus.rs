//! The large corpus: where it is, what is in it, and how it is gone through.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// No capture may take longer, in a debug build on a busy machine; the largest has 40 MB.
const CAPTURE_TIME_MAX: Duration = Duration::from_secs(120);
/// Differences printed before the rest is only counted.
const DIFFERENCES_SHOWN: usize = 400;

/// One row of the corpus's manifest.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The manifest's name of the capture, as in `captures/zeek+zeek/…`, without `captures/`.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
    /// Packets, by capinfos; `None` where it refuses the file.
    pub packets: Option<u64>,
    /// The manifest's tags.
    pub exercises: String,
    /// Where the oracle's answers lie, if there are any.
    pub oracle: Option<PathBuf>,
}

impl Entry {
    /// The oracle's answers.
    pub fn oracle(&self) -> Value {
        let path = self.oracle.as_ref().expect("only called where there is one");
        parse(path)
    }
}

/// Reads a JSON file of the corpus.
pub fn parse(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the corpus is, or `None` (said on standard error) where it is absent.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("TIDEWIRE_CORPUS").map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    if path.join("MANIFEST.tsv").is_file() {
        return Some(path);
    }
    eprintln!("skipped: no corpus at {}; set TIDEWIRE_CORPUS to where its MANIFEST.tsv lies", path.display());
    None
}

/// Every capture of the corpus, in the manifest's order; `None` where the corpus is absent. `TIDEWIRE_CORPUS_ONLY`
/// keeps only the captures whose name contains it.
pub fn entries() -> Option<Vec<Entry>> {
    let corpus = find()?;
    let manifest = fs::read_to_string(corpus.join("MANIFEST.tsv")).expect("the manifest can be read");
    let mut lines = manifest.lines();
    let names: Vec<&str> = lines.next().expect("a line of names").split('\t').collect();
    let only = std::env::var("TIDEWIRE_CORPUS_ONLY").unwrap_or_default();
    let entry = |line: &str| {
        let row: BTreeMap<&str, &str> = names.iter().copied().zip(line.split('\t')).collect();
        let field = |name: &str| row.get(name).copied().unwrap_or_default();
        Entry {
            name: field("file").trim_start_matches("captures/").to_owned(),
            path: corpus.join(field("file")),
            sha256: field("sha256").to_owned(),
            packets: (field("packets_from") == "capinfos").then(|| field("packets").parse().unwrap_or_default()),
            exercises: field("exercises").to_owned(),
            oracle: (!field("oracle").is_empty()).then(|| corpus.join(field("oracle"))),
        }
    };
    let entries: Vec<Entry> = lines.map(entry).filter(|entry| entry.name.contains(&only)).collect();
    assert!(!only.is_empty() || entries.len() > 2_000, "the manifest has only {} captures", entries.len());
    Some(entries)
}

/// Runs `check` on every entry, on all cores. It returns the errors, a line each; a panic counts as one and is reported
/// with the capture's name. A capture that hangs ends the process, with its name.
pub fn each<T: Sync>(
    all: &[T],
    name: impl Fn(&T) -> &str + Sync,
    check: impl Fn(&T) -> Vec<String> + Sync,
) -> Differences {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let running: Vec<Mutex<Option<(Instant, usize)>>> = (0..threads).map(|_| Mutex::new(None)).collect();
    let finished = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for slot in &running {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = all.get(index) else { break };
                    *slot.lock().unwrap() = Some((Instant::now(), index));
                    let found = catch_unwind(AssertUnwindSafe(|| check(item)));
                    let found = found.unwrap_or_else(|panic| vec![format!("PANIC: {}", message(&*panic))]);
                    if !found.is_empty() {
                        let found = found.into_iter().map(|line| format!("{}: {line}", name(item)));
                        wrong.lock().unwrap().push((index, found.collect::<Vec<_>>()));
                    }
                }
                *slot.lock().unwrap() = None;
                finished.fetch_add(1, Ordering::Relaxed);
            });
        }
        while finished.load(Ordering::Relaxed) < threads {
            std::thread::sleep(Duration::from_millis(20));
            for slot in &running {
                if let Some((since, index)) = *slot.lock().unwrap()
                    && since.elapsed() > CAPTURE_TIME_MAX
                {
                    eprintln!("{}: not done after {CAPTURE_TIME_MAX:?}", name(&all[index]));
                    std::process::abort();
                }
            }
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    let captures = [wrong.len(), all.len()];
    Differences { captures, lines: wrong.into_iter().flat_map(|(_, lines)| lines).collect() }
}

/// Errors of a test's captures.
#[must_use]
pub struct Differences {
    /// Captures with differences, and all.
    captures: [usize; 2],
    lines: Vec<String>,
}

impl Differences {
    /// Says what is wrong, and fails where something is.
    pub fn conclude(self) {
        for line in self.lines.iter().take(DIFFERENCES_SHOWN) {
            eprintln!("{line}");
        }
        let [different, all] = self.captures;
        assert!(self.lines.is_empty(), "{} differences in {different} of {all} captures", self.lines.len());
        eprintln!("{all} captures");
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message").to_owned()
}
